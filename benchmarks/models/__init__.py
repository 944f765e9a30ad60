"""Whole models beside ONNX Runtime and OpenVINO."""
