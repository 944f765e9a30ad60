"""Happens-before relation: vector clocks, fences, synchronisation through memory."""
