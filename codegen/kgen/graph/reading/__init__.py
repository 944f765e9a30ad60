"""ONNX files in: read, checked, shapes fixed, constants folded."""
