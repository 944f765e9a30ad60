"""Products by wgmma: operands, fragments in registers, the launch and the limits."""
