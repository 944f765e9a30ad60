"""Model compiler: ONNX in, programs of kernels out (docs/how-it-works/models.md)."""
