"""Race detector: shadow tables of the accesses to each granule of shared and global memory."""
