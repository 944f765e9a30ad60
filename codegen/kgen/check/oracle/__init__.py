"""Every operation in float64 numpy, and how far from it a correct kernel may be."""
