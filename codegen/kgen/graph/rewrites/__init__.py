"""What is made of a graph before it is fused: other values, the same results."""
