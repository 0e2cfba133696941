"""What a capture is: cameras, scenes, readers, transforms, SfM, splat file formats, pure math. Imports no other floor."""
