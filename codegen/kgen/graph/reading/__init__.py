"""ONNX reader: parse and check a file, fix its shapes, fold its constants."""
