"""Asynchronous work: cp.async, bulk copies, mbarriers, wgmma."""
