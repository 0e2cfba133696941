"""Structure from motion: photos without poses to a COLMAP model, in a child process, cached by content."""
