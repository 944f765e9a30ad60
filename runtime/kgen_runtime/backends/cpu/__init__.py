"""The CPU. The backend is in `backend`; each other file is one part of running its kernels."""

from kgen_runtime.backends.cpu.backend import CpuBackend as CpuBackend
