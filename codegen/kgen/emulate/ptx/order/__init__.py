"""What happened before what: vector clocks, fences, synchronisation through memory."""
