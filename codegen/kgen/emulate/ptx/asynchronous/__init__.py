"""Asynchronous operations: cp.async, bulk copies (TMA), mbarriers, wgmma."""
