"""Plan of attention on matrix instructions: lanes, staging of heads, masks, and the kernel."""
