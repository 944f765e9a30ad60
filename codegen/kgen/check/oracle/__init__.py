"""Oracle: every operation in float64 numpy, with the error bound of a correct kernel."""
