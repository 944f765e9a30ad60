"""Which schedule to take: a matmul's by the model, the others' by the row's length or the size."""

from __future__ import annotations

from kgen.schedule import GpuRelu, GpuSoftmax, Schedule
from kgen.spec import Matmul, Relu, Softmax, Spec
from kgen.targets.base import Target
from kgen.targets.cuda import candidates
from kgen.targets.cuda.candidates import power_of_two
from kgen.targets.cuda.limits import WARP_SIZE
from kgen.targets.cuda.plan.copy import MAX_ACCESS_BYTES
from kgen.targets.cuda.plan.softmax import widest_vector

#: CTAs that run at once on a GPU of ordinary size. Only speed depends on it.
NOMINAL_CTAS = 128

RELU_THREADS = 256

SOFTMAX_THREADS = 128
MAX_SOFTMAX_THREADS = 1024
#: Up to this many columns a row is a warp's (or a part of one), 32 elements for each lane.
WARP_ROW_COLS = 1024
#: Longer rows get a CTA with about this many elements per thread, and stay in registers up to the
#: second number: 1024 threads have 64 registers each.
WANTED_PER_THREAD = 16
MAX_HELD = 32


def choose(spec: Spec, target: Target) -> Schedule:
    """The schedule of an operation on a target."""
    if isinstance(spec, Matmul):
        return candidates.choose(spec, target)
    if isinstance(spec, Relu):
        return _choose_relu(spec)
    assert isinstance(spec, Softmax)
    return _choose_softmax(spec)


def _choose_relu(spec: Relu) -> GpuRelu:
    vector = MAX_ACCESS_BYTES // spec.dtype.itemsize
    unroll = 4 if spec.elements >= NOMINAL_CTAS * RELU_THREADS * vector * 4 else 1
    return GpuRelu(num_threads=RELU_THREADS, vector=vector, unroll=unroll)


def _choose_softmax(spec: Softmax) -> GpuSoftmax:
    vector = widest_vector(spec)
    if spec.cols <= WARP_ROW_COLS:
        per_row = min(WARP_SIZE, power_of_two(spec.cols // vector))
        rows = SOFTMAX_THREADS // per_row
        return GpuSoftmax(num_threads=SOFTMAX_THREADS, rows_per_block=rows, vector=vector)
    wanted = power_of_two(-(-spec.cols // WANTED_PER_THREAD))
    threads = max(SOFTMAX_THREADS, min(MAX_SOFTMAX_THREADS, wanted))
    held = -(-spec.cols // (threads * vector)) * vector
    return GpuSoftmax(num_threads=threads, vector=vector, resident=int(held <= MAX_HELD))
