"""WebGPU devices. The backend is in `backend`; each other file is one part of it."""

from kgen_runtime.backends.webgpu.backend import WebgpuBackend as WebgpuBackend
