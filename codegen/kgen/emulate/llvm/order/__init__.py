"""Happens-before, and race detection in LDS and global memory."""
