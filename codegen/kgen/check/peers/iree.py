"""IREE peer: the product as linalg, compiled for this CPU, on preallocated input buffers.

A call uses the virtual machine's `invoke` with a prepared list of arguments, on the device that
runs in the calling thread. IREE allocates the result in every call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kgen.check.peers.peer import Peer
from kgen.check.tensors import BITS, Bits, Bytes, strided_bits
from kgen.errors import DeviceError
from kgen.spec.epilogue import PRODUCT
from kgen_runtime.backend import DeviceInfo
from kgen_runtime.dtypes import DType
from kgen_runtime.manifest import KernelEntry

TYPES = {DType.F32: "f32", DType.F16: "f16", DType.BF16: "bf16", DType.S8: "i8", DType.S32: "i32"}
ELEMENTS = {
    DType.F32: "FLOAT_32",
    DType.F16: "FLOAT_16",
    DType.BF16: "BFLOAT_16",
    DType.S8: "INT_8",
}
PACKAGES = "pip install iree-base-compiler iree-base-runtime"
#: Device that runs in the calling thread only.
DEVICE = "local-sync"
OPTIONS = ("--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3")


def iree(entry: KernelEntry, buffers: Mapping[str, Bytes], device: DeviceInfo) -> Peer:
    spec = entry.spec
    if device.backend != "cpu" or entry.op != "matmul" or spec["batch"] > 1:
        raise DeviceError("against=iree supports single matmuls on CPUs; try against=torch")
    plain = spec["alpha"] == 1.0 and spec["beta"] == 0.0 and spec["epilogue"] == PRODUCT
    a, b = (next(p for p in entry.inputs if p.name == name) for name in "ab")
    if not plain or spec["layout"] != "nn" or spec["scales"] or a.dtype not in ELEMENTS:
        raise DeviceError(f"against=iree does not support {entry.key}; try against=torch")
    try:
        import iree.compiler as compiler
        import iree.runtime as runtime
    except ImportError:
        raise DeviceError(f"iree is not installed; {PACKAGES}") from None

    try:
        code = compiler.compile_str(
            _module(entry), target_backends=["llvm-cpu"], extra_args=list(OPTIONS)
        )
    except compiler.CompilerToolError as error:
        raise DeviceError(
            f"iree does not compile {entry.key}: {_reason(error)}; try against=torch"
        ) from None
    config = runtime.Config(DEVICE)
    context = runtime.SystemContext(config=config)
    module = runtime.VmModule.copy_buffer(context.instance, code)
    context.add_vm_module(module)
    function = module.lookup_function("main")
    arguments = runtime.VmVariantList(2)
    for param in (a, b):
        bits = strided_bits(buffers[param.name], param)
        arguments.push_ref(_on_device(runtime, config.device, bits, ELEMENTS[param.dtype]))
    invoke = context.vm_context.invoke

    results = [runtime.VmVariantList(1)]

    def run() -> None:
        results[0] = runtime.VmVariantList(1)
        invoke(function, arguments, results[0])

    def result() -> Bits:
        view = results[0].get_as_object(0, runtime.HalBufferView)
        dtype = np.dtype(BITS[entry.output.dtype.itemsize])
        bits: Bits = view.map().asarray(list(entry.output.shape), dtype)
        return bits

    return Peer(name="iree", run=run, result=result, keep=context)


def _on_device(runtime: Any, device: Any, bits: Bits, element: str) -> Any:
    return device.allocator.allocate_buffer_copy(
        memory_type=runtime.MemoryType.DEVICE_LOCAL,
        allowed_usage=runtime.BufferUsage.DEFAULT,
        device=device,
        buffer=np.ascontiguousarray(bits),
        element_type=getattr(runtime.HalElementType, element),
    )


def _reason(error: Exception) -> str:
    """Return the first line of the compiler's diagnostics that names an error."""
    lines = str(error).splitlines()
    return next((line for line in lines if "error:" in line), lines[0])


def _module(entry: KernelEntry) -> str:
    """Return the product in MLIR, with sums in the kernel's accumulator type."""
    m, n, k = (entry.spec[size] for size in "mnk")
    narrow, out = TYPES[entry.inputs[0].dtype], TYPES[entry.output.dtype]
    sums = "i32" if narrow == "i8" else "f32"
    zero = "0" if sums == "i32" else "0.0"
    a, b, wide = f"tensor<{m}x{k}x{narrow}>", f"tensor<{k}x{n}x{narrow}>", f"tensor<{m}x{n}x{sums}>"
    rounded = f"tensor<{m}x{n}x{out}>"
    round_ = f"%out = arith.truncf %sums : {wide} to {rounded}\n  return %out : {rounded}"
    return f"""
func.func @main(%a: {a}, %b: {b}) -> {rounded} {{
  %zero = arith.constant {zero} : {sums}
  %empty = tensor.empty() : {wide}
  %start = linalg.fill ins(%zero : {sums}) outs(%empty : {wide}) -> {wide}
  %sums = linalg.matmul ins(%a, %b : {a}, {b}) outs(%start : {wide}) -> {wide}
  {f"return %sums : {wide}" if sums == out else round_}
}}
"""
