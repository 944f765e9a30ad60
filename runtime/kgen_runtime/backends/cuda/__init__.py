"""NVIDIA GPUs. The backend is in `backend`; each other file is one part of the driver."""

from kgen_runtime.backends.cuda.backend import CudaBackend as CudaBackend
