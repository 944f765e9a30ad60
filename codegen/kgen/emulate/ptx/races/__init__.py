"""Race detection: who accessed each granule of shared and global memory."""
