"""Verification of whole models: programs against onnx's reference evaluator."""
