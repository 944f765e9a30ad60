"""What works beside the threads: cp.async, bulk copies, mbarriers, wgmma."""
