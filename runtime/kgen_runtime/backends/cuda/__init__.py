"""Backend of NVIDIA GPUs. The class is in `backend`."""

from kgen_runtime.backends.cuda.backend import CudaBackend as CudaBackend
