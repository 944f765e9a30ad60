"""Cost model of verification: time and memory per kernel, and their budgets.

Every number is a count of work, not a measured time, so that a bundle and a seed always give the
same verification. `work` is multiply-adds for a matmul, and elements otherwise.
"""

from __future__ import annotations

import math

import numpy as np

from kgen.check.oracle.operations import Box, depth, output_shape, row_shape
from kgen.check.verify import sampling, walk
from kgen.errors import VerificationError
from kgen.host_memory import available_memory
from kgen_runtime.manifest import KernelEntry

#: Work of one emulated data set, by main loop: about a second on one core.
EMULATED_WORK = {
    "mma": 2**29,
    "wgmma": 2**29,
    "pingpong": 2**29,
    "direct": 2**29,
    "gemv": 2**26,
    "fma": 2**26,
    "amx": 2**24,
    "stream": 2**21,
    "row": 2**20,
}
OTHER_EMULATED_WORK = 2**20
#: Work of one emulated data set of CPU vector kernels: steps of K of an mr x nr register tile.
EMULATED_STEPS = 2**12
#: Factor for CPU tasks, which are few and long, so that several run.
TASKS_PATIENCE = 20
#: Largest factor by which a sample may exceed its budget to include every kind of tile.
EMULATION_PATIENCE = 60
#: Work of the scalar reference per data set: all elements up to the first number (they share rows
#: and columns), a sample of the second beyond. The float64 oracle covers all elements.
SCALAR_WORK, SCALAR_SAMPLE_WORK = 2**18, 2**17
#: Multiply-adds that one scalar element costs, whatever its operation.
SCALAR_ELEMENT_WORK = 64
#: Work of the float64 oracle per data set; beyond it, a sample of the tiles is compared.
ORACLE_WORK = 2**37
#: Work up to which the oracle computes a whole output of which a sample is compared.
ORACLE_WHOLE_WORK = 2**32
#: Work per second of the slowest device: a tenth of the rate of lavapipe on one busy core.
SLOWEST_DEVICE = 2e8
#: Elements that one piece of the oracle holds at a time.
PANEL_ELEMENTS = 2**22


def work_per_element(entry: KernelEntry) -> int:
    if entry.spec["op"] == "rowwise":
        rows, cols = row_shape(entry)
        return rows * cols // math.prod(output_shape(entry))
    return depth(entry)


def emulated_workgroups(entry: KernelEntry) -> int:
    """Return how many workgroups of a kernel an emulator may run per data set."""
    launch = sampling.sampled_launch(entry)
    tile = launch.tile
    if tile is None:
        return 0
    elements = math.prod(tile.extent)
    if sampling.is_product_of_tasks(entry):
        work = TASKS_PATIENCE * emulated_budget(entry)
        return -(-work // (elements * work_per_element(entry)))
    if tile.walk is not None:
        elements = elements * walk.share(launch, tile) // math.prod(launch.cluster)
    return max(1, emulated_budget(entry) * tile.parts // (elements * work_per_element(entry)))


def emulated_budget(entry: KernelEntry) -> int:
    """Return the work that is emulated in about a second."""
    mainloop = str(entry.schedule.get("mainloop"))
    if mainloop in ("blis", "dot"):
        return EMULATED_STEPS * int(entry.schedule["mr"]) * int(entry.schedule["nr"])
    return EMULATED_WORK.get(mainloop, OTHER_EMULATED_WORK)


def emulated_seconds(entry: KernelEntry, sample: sampling.Sample | None) -> float:
    """Return the estimated seconds of an emulated data set on one idle core.

    `sample` is None for all workgroups.
    """
    boxes = (whole_output(entry),) if sample is None else sample.boxes
    elements: int = sum(math.prod(s.stop - s.start for s in box) for box in boxes)
    return elements * work_per_element(entry) / emulated_budget(entry)


def emulation_refusal(entry: KernelEntry, sample: sampling.Sample | None) -> str | None:
    """Return why emulating the sample takes too long, or None."""
    seconds = emulated_seconds(entry, sample)
    if seconds <= EMULATION_PATIENCE:
        return None
    return f"emulating it would take {seconds / 60:.0f} minutes or more; verify it on a device"


def scalar_elements(entry: KernelEntry) -> int:
    """Return how many output elements the scalar reference may compute per data set."""
    elements = math.prod(output_shape(entry))
    if elements * (work_per_element(entry) + SCALAR_ELEMENT_WORK) <= SCALAR_WORK:
        return elements
    each = work_per_element(entry)
    if entry.spec["op"] == "rowwise":
        # A single element needs its whole row.
        each = row_shape(entry)[1]
    elif entry.op == "attention":
        each *= output_shape(entry)[2]
    return max(2, SCALAR_SAMPLE_WORK // (each + SCALAR_ELEMENT_WORK))


def oracle_work(entry: KernelEntry) -> int:
    return math.prod(output_shape(entry)) * work_per_element(entry)


def whole_output(entry: KernelEntry) -> Box:
    return tuple(slice(0, n) for n in output_shape(entry))


def oracle_pieces(entry: KernelEntry, boxes: tuple[Box, ...]) -> tuple[Box, ...]:
    """Return boxes that the oracle computes to cover `boxes`, in pieces that fit in memory.

    One large product costs less than many small ones, so everything is computed if that is cheap.
    """
    if len(boxes) > 1 and oracle_work(entry) > ORACLE_WHOLE_WORK:
        return boxes
    return panels(entry, whole_output(entry))


def compared_boxes(entry: KernelEntry, seed: int) -> tuple[Box, ...]:
    """Return the whole output, or a sample of its tiles if it is too large for the oracle."""
    if oracle_work(entry) <= ORACLE_WORK:
        return (whole_output(entry),)
    shape = output_shape(entry)
    tile = sampling.sampled_launch(entry).tile
    extents = shape if tile is None else tile.extent
    extents = tuple(min(e, 256) for e in extents)
    counts = [-(-n // e) for n, e in zip(shape, extents, strict=True)]
    pieces = sampling.corners(counts, np.random.default_rng(seed))
    return tuple(
        tuple(
            slice(i * e, min((i + 1) * e, n)) for i, e, n in zip(piece, extents, shape, strict=True)
        )
        for piece in pieces
    )


def slowest_seconds(entry: KernelEntry) -> float:
    """Return more seconds than a kernel takes on any device, unless it hangs."""
    return oracle_work(entry) / SLOWEST_DEVICE


def panels(entry: KernelEntry, box: Box) -> tuple[Box, ...]:
    """Return a box cut into pieces of about PANEL_ELEMENTS elements, operands included."""
    shape = [s.stop - s.start for s in box]
    if entry.op in ("matmul", "conv2d", "attention"):
        side = max(64, min(math.isqrt(PANEL_ELEMENTS), 8 * PANEL_ELEMENTS // depth(entry)))
        rows, cols = min(side, shape[1]), min(side, shape[2])
        each = rows * cols + (rows + cols) * depth(entry)
        steps = [max(1, PANEL_ELEMENTS // each), rows, cols]
    elif entry.spec["op"] == "rowwise":
        steps = [max(1, PANEL_ELEMENTS // row_shape(entry)[1]), shape[1]]
    else:
        steps = [PANEL_ELEMENTS]
    pieces: list[Box] = [()]
    for span, step in zip(box, steps, strict=True):
        cuts = [
            slice(start, min(start + step, span.stop))
            for start in range(span.start, span.stop, step)
        ]
        pieces = [(*piece, cut) for piece in pieces for cut in cuts]
    return tuple(pieces)


def check_memory(entry: KernelEntry, doing: str = "verifying", sets: int = 1) -> None:
    """Raise VerificationError if this machine lacks the memory to verify a kernel.

    The memory is that of every buffer six times, the workspaces, and the oracle's pieces in
    binary64 with intermediate results. The six are the data and a copy to run on, the other
    process's copy, its copy between guard bands, the device's if it shares the host's memory, and
    one in transit between the processes. `sets` counts sets of data.
    """
    tensors = sum(p.nbytes for p in entry.parameters)
    scratch = sum(w.nbytes for w in entry.workspaces)
    elements = sum(math.prod(p.shape) for p in entry.parameters)
    needed = sets * (6 * tensors + scratch) + 4 * 8 * min(elements, 8 * PANEL_ELEMENTS)
    limit = available_memory()
    if needed > limit:
        raise VerificationError(
            f"{entry.name}: {doing} it needs {needed} bytes of memory; {limit} bytes are "
            "available; use a smaller shape, or a machine with more memory"
        )
