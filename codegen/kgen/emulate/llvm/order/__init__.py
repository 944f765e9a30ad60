"""What happened before what, and race detection in LDS and global memory."""
