"""The front end for models: ONNX in, programs of kernels out; docs/models.md says how."""
