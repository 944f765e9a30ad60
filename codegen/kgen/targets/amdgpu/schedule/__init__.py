"""Choice of a matmul's schedule: candidates, and a cost model that ranks them."""
