"""The front end for models: ONNX in, programs of kernels out (docs/how-it-works/models.md)."""
