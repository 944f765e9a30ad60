"""Cost of verification in time and memory, and its budget.

Every number here is a count of work, never a measured time, so that the same bundle and seed are
always verified in the same way. `work` is multiply-adds for a matmul and elements otherwise.
"""

from __future__ import annotations

import math

import numpy as np

from kgen.check.oracle.operations import Box, depth, output_shape, row_shape
from kgen.check.verify import sampling, walk
from kgen.errors import VerificationError
from kgen.host_memory import available_memory
from kgen_runtime.manifest import KernelEntry

#: Work that one emulated data set may take, by main loop: about a second each on one core.
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
#: The same where a CPU's vectors are multiplied: steps of K of a register tile of mr x nr.
EMULATED_STEPS = 2**12
#: Tasks of a CPU are few and long: so much of that work is spent on several.
TASKS_PATIENCE = 20
#: A sample may need more than this work, to hold every kind of tile, up to this many times.
EMULATION_PATIENCE = 60
#: Work of the scalar reference per data set: all elements up to the first number (they
#: share rows and columns), a sample of the second beyond. The float64 oracle has all of them.
SCALAR_WORK, SCALAR_SAMPLE_WORK = 2**18, 2**17
#: Cost of one scalar element in multiply-adds, whatever its operation.
SCALAR_ELEMENT_WORK = 64
#: Work of the float64 oracle per data set; beyond it, a sample of the tiles is compared.
ORACLE_WORK = 2**37
#: Work up to which the oracle computes all of an output of which a sample is compared.
ORACLE_WHOLE_WORK = 2**32
#: Work per second that the slowest device does: lavapipe on one busy core, at a tenth of its rate.
SLOWEST_DEVICE = 2e8
#: Elements that one piece of the oracle holds at a time.
PANEL_ELEMENTS = 2**22


def work_per_element(entry: KernelEntry) -> int:
    if entry.spec["op"] == "rowwise":
        rows, cols = row_shape(entry)
        return rows * cols // math.prod(output_shape(entry))
    return depth(entry)


def emulated_workgroups(entry: KernelEntry) -> int:
    """How many workgroups of a kernel an emulator may run per data set."""
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
    """Work that is emulated in about a second."""
    mainloop = str(entry.schedule.get("mainloop"))
    if mainloop in ("blis", "dot"):
        return EMULATED_STEPS * int(entry.schedule["mr"]) * int(entry.schedule["nr"])
    return EMULATED_WORK.get(mainloop, OTHER_EMULATED_WORK)


def emulated_seconds(entry: KernelEntry, sample: sampling.Sample | None) -> float:
    """Estimated seconds of a data set in an emulator on one quiet core; a sample of None is
    everything."""
    boxes = (whole_output(entry),) if sample is None else sample.boxes
    elements: int = sum(math.prod(s.stop - s.start for s in box) for box in boxes)
    return elements * work_per_element(entry) / emulated_budget(entry)


def emulation_refusal(entry: KernelEntry, sample: sampling.Sample | None) -> str | None:
    """Why running the sample, or everything if there is none, in an emulator is out of reach."""
    seconds = emulated_seconds(entry, sample)
    if seconds <= EMULATION_PATIENCE:
        return None
    return f"emulating it would take {seconds / 60:.0f} minutes or more; verify it on a device"


def scalar_elements(entry: KernelEntry) -> int:
    """How many output elements the scalar reference may compute per data set."""
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
    """Boxes that the oracle computes to cover `boxes`, in pieces that fit in memory.

    One large product costs less than many small ones, so everything is computed if that is cheap.
    """
    if len(boxes) > 1 and oracle_work(entry) > ORACLE_WHOLE_WORK:
        return boxes
    return panels(entry, whole_output(entry))


def compared_boxes(entry: KernelEntry, seed: int) -> tuple[Box, ...]:
    """The output, or a sample of its tiles if the oracle could not keep up."""
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
    """More than a kernel takes on any device, unless it hangs."""
    return oracle_work(entry) / SLOWEST_DEVICE


def panels(entry: KernelEntry, box: Box) -> tuple[Box, ...]:
    """A box cut into pieces of about PANEL_ELEMENTS elements, operands included."""
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
    """Raise VerificationError if this machine cannot hold what verifying the kernel takes, or what
    so many sets of its data do.

    That is every buffer six times (the data and a copy to run on; the other process's, between its
    guard bands, and on the device where that has the host's memory; one on the way between the
    processes), the workspaces, and the oracle's pieces in binary64 with the
    intermediate results made of them.
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
