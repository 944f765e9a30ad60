"""How a matmul's schedule is chosen: candidates, and a model that ranks them."""
