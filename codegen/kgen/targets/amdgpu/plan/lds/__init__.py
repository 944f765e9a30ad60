"""Local data share: the layout of tiles, and the cost of a wave's accesses."""
