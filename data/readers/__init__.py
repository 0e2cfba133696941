"""One reader per kind of capture. Each turns files into a `Capture`: what they state, nothing decided yet."""
