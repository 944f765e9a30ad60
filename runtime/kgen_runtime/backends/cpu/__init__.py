"""CPU backend. The class is in `backend`."""

from kgen_runtime.backends.cpu.backend import CpuBackend as CpuBackend
