"""Local data share: where an element of a tile lies, and what an access of a wave costs."""
