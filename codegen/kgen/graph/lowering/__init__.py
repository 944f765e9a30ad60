"""Lowering: a fused graph becomes kernel calls, each a spec with its buffers."""
