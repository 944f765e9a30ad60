"""Small transformers with random weights, exported by both exporters of PyTorch."""
