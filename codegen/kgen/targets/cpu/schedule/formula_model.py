"""Predicted time of element-wise and row-wise kernels: instructions, and lines of memory."""

from __future__ import annotations

from kgen.ops import Primitive as P
from kgen.ops import steps
from kgen.schedule import CpuMatmul, Schedule
from kgen.spec import Elementwise, Rowwise
from kgen.targets.base import Candidate, Target
from kgen.targets.cpu.caches import Caches
from kgen.targets.cpu.cores import core_of
from kgen.targets.cpu.plan.cpu_plan import LINE_BYTES
from kgen.targets.cpu.schedule.cost_model import coefficients

#: Instructions of a vector of exponentials or logarithms, and of a row beside its vectors.
EXPONENTIAL, ROW = 14, 40
#: Primitives that are no instruction: constants stay in registers.
FREE = (P.CONSTANT, P.VIEW)


def predicted(
    spec: Elementwise | Rowwise, target: Target, schedule: Schedule
) -> Candidate[Schedule]:
    """Predict the time of one thread with warm caches."""
    core, width = core_of(target), target.limits["vector_bytes"]
    rows, columns = (spec.rows, spec.cols) if isinstance(spec, Rowwise) else (1, spec.elements)
    vectors = rows * -(-columns * spec.compute.itemsize // width)
    found = [step.primitive for step in steps(*spec.primitives()) if step.primitive not in FREE]
    smooth = sum(primitive in (P.EXP2, P.LOG2) for primitive in found)
    count = len(found) + (EXPONENTIAL - 1) * smooth + len(spec.outputs)
    terms = {
        "issue": (vectors * count + ROW * rows) / core.multiply_adds.get(width, 1.0),
        "memory": line_cycles(target, spec.bytes_moved) * spec.bytes_moved / LINE_BYTES,
    }
    return Candidate(schedule=schedule, seconds=sum(terms.values()) / core.clock, terms=terms)


def line_cycles(target: Target, nbytes: float) -> float:
    """Return the cycles of a line that is one of `nbytes`, from the cache level that holds them."""
    names = {"l2": "b_l2", "far": "l3_line", "memory": "memory_line"}
    return coefficients(target, CpuMatmul)[names[Caches(target=target).first_read(nbytes)]]
