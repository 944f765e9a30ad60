"""What is known of a kernel from its machine code, with nothing executed."""
