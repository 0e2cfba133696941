"""From an image file to the pixels of a camera: probe, decode, turn, undistort, shrink, mask, cache."""
