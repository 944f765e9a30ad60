"""Row-wise kernels: phases, and the exchange of partial results between the lanes of a row."""
