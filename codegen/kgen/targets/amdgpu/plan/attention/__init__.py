"""Attention on matrix instructions: lanes, copies of heads, masks, and the plan of the kernel."""
