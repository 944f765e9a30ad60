"""Backend of WebGPU devices. The class is in `backend`."""

from kgen_runtime.backends.webgpu.backend import WebgpuBackend as WebgpuBackend
