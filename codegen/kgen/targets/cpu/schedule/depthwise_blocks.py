"""Candidate blocks of depthwise convolutions on CPUs, ranked by predicted cycles.

A prediction counts multiply-adds and loads at the core's published rates, and lines of the image
and of the output. Each row of the image is read from far once; other blocks that share the row read
it again. Each row of the kernel reads again what does not stay in the first-level cache.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import cached_property

import numpy as np

from kgen.schedule import CpuDepthwise, CpuMatmul
from kgen.spec import Conv2d
from kgen.targets.base import Candidate, Target
from kgen.targets.contraction.candidate_table import Column, Fixed, Space, Table, ceil_div, ranked
from kgen.targets.contraction.implicit_gemm import ImplicitGemm, implicit_gemm
from kgen.targets.cpu.cores import WAY_BYTES, TargetCore, coefficients, log_seconds
from kgen.targets.cpu.plan.cpu_plan import LINE_BYTES
from kgen.targets.cpu.plan.finishing import finishing_vector
from kgen.targets.cpu.plan.kernels.depthwise import most_outputs, places_read_first
from kgen_runtime.values import frozen

#: Accumulators that hide the latency of multiply-adds: two per cycle, up to six cycles each.
SUMS = 12


def choose(conv: Conv2d, target: Target) -> CpuDepthwise:
    return candidates(conv, target, most=1)[0].schedule


def completed(
    conv: Conv2d, target: Target, schedule: CpuDepthwise, given: Collection[str]
) -> CpuDepthwise:
    """Return the best schedule that has the `given` fields of a schedule."""
    fixed = {name: int(getattr(schedule, name)) for name in given}
    found = candidates(conv, target, fixed, most=1)
    return found[0].schedule if found else schedule


def candidates(
    conv: Conv2d, target: Target, fixed: Fixed | None = None, *, most: int | None
) -> tuple[Candidate[CpuDepthwise], ...]:
    """Return the `most` schedules with the least predicted times, the best first."""
    return _ranked(conv, target, space(conv, target, fixed or {}), most)


def predicted(conv: Conv2d, target: Target, schedule: CpuDepthwise) -> Candidate[CpuDepthwise]:
    """Predict the time of a schedule in one thread, with warm caches."""
    return _ranked(conv, target, Space.of(schedule), 1)[0]


def _ranked(
    conv: Conv2d, target: Target, found: Space[CpuDepthwise], most: int | None
) -> tuple[Candidate[CpuDepthwise], ...]:
    if not len(found):
        return ()
    blocks = _DepthwiseBlocks(conv=conv, target=target, space=found)
    clock = TargetCore(target=target).rates.clock
    warm, cold = (blocks.terms(is_cold=is_cold) for is_cold in (False, True))
    times: list[Column] = [sum(terms.values()) / clock for terms in (warm, cold)]
    return tuple(
        Candidate(
            schedule=blocks.space.schedule(row),
            seconds=float(times[0][row]),
            terms={name: float(term[row]) for name, term in warm.items()},
        )
        for _, row in ranked([log_seconds(times, blocks.busiest)], most)
    )


def space(conv: Conv2d, target: Target, fixed: Fixed) -> Space[CpuDepthwise]:
    """Return the schedules whose blocks divide columns, channels and rows nearly evenly.

    Tiles have equal width, at most what half of the registers hold as accumulators, or SUMS if
    there is room for them. Besides, registers hold the weights of a kernel row, one input element
    and, for integers, a product. A block prefetches the next row.
    """
    count, registers = conv.out_sizes[-1], target.limits["vector_registers"]
    beside = conv.kernel[-1] + 1 + conv.dtype.is_integer
    widest = min(max(registers // 2, min(registers - beside, SUMS)), most_outputs(conv))
    tile = fixed.get("tile", ceil_div(count, ceil_div(count, widest)))
    vector = finishing_vector(implicit_gemm(conv), target, conv.outputs).count
    table = Table(
        CpuDepthwise,
        fixed,
        task=_parts(conv.images * math.prod(conv.out_sizes[:-1]), 1),
        tile=[tile],
        columns=[0, *(n for n in _parts(count, tile) if n < count)],
        channels=[0, *(n for n in _parts(conv.outputs, vector) if n < conv.outputs)],
        prefetch=[int(conv.rank > 1 and conv.out_sizes[-2] > 1)],
    )
    return table.space(table["task"] > 0)


def _parts(length: int, unit: int) -> list[int]:
    """Return the sizes of nearly equal parts of a length, in whole units."""
    units = ceil_div(length, unit)
    return sorted({ceil_div(units, parts) * unit for parts in range(1, units + 1)})


@frozen
class _DepthwiseBlocks:
    """Blocks of all candidates of a space; a task computes one."""

    conv: Conv2d
    target: Target
    space: Space[CpuDepthwise]

    @cached_property
    def gemm(self) -> ImplicitGemm:
        return implicit_gemm(self.conv)

    @cached_property
    def out_rows(self) -> int:
        return self.conv.images * math.prod(self.conv.out_sizes[:-1])

    @cached_property
    def rows(self) -> Column:
        return np.minimum(self.space.columns["task"], self.out_rows)

    @cached_property
    def columns(self) -> Column:
        columns = self.space.columns["columns"]
        return np.where(columns > 0, columns, self.conv.out_sizes[-1])

    @cached_property
    def channels(self) -> Column:
        channels = self.space.columns["channels"]
        return np.where(channels > 0, channels, self.conv.outputs)

    @cached_property
    def down(self) -> Column:
        return ceil_div(self.out_rows, self.rows)

    @cached_property
    def in_row(self) -> Column:
        """Number of blocks that a row of the output crosses, for all channels."""
        across = ceil_div(self.conv.out_sizes[-1], self.columns)
        return across * ceil_div(self.conv.outputs, self.channels)

    def busiest(self, threads: int) -> Column:
        """Return the fraction of the work that the busiest thread does."""
        tasks, block = self.down * self.in_row, self.rows * self.columns * self.channels
        largest = block / (self.out_rows * self.conv.out_sizes[-1] * self.conv.outputs)
        return np.maximum(ceil_div(tasks, threads) / tasks, largest)

    def terms(self, *, is_cold: bool) -> dict[str, Column]:
        """Return the cycles of one thread, by term. With `is_cold`, memory holds the image."""
        conv, core, c = self.conv, TargetCore(target=self.target), self.space.columns
        per_event, itemsize = coefficients(self.target, CpuMatmul), conv.dtype.itemsize
        kernel_rows, taps = math.prod(conv.kernel[:-1]), math.prod(conv.kernel)
        step, reach = (conv.strides[-2], conv.reaches[-2]) if conv.rank > 1 else (1, 1)
        ahead = c["prefetch"] * step

        vector = finishing_vector(self.gemm, self.target, conv.outputs).count
        vectors = self.out_rows * ceil_div(conv.outputs, vector)
        products = vectors * conv.out_sizes[-1] * taps / core.multiply_adds
        seen = (c["tile"] - 1) * conv.strides[-1] + conv.reaches[-1]
        fetched = math.prod(len(places_read_first(conv, axis)) for axis in range(conv.rank))
        loads = kernel_rows * (seen + conv.kernel[-1]) + (c["prefetch"] > 0) * fetched * c["tile"]
        loads = loads * vectors * ceil_div(conv.out_sizes[-1], c["tile"]) / core.loads

        # A row of a block: its pixels, runs of lines, lines, and bytes in the first-level cache.
        # Pixels that share cache sets leave the other sets unused.
        pixels = np.minimum(
            (self.columns - 1) * conv.strides[-1] + conv.reaches[-1], conv.sizes[-1]
        )
        has_all = self.channels == conv.outputs
        pixel, part = conv.channels * itemsize, self.channels * itemsize / conv.multiplier
        runs, run = np.where(has_all, 1, pixels), LINE_BYTES * np.ceil(part / LINE_BYTES)
        nbytes = pixels * np.where(has_all, pixel, run)
        row = pixels * np.where(has_all, pixel, np.maximum(run, math.gcd(pixel, WAY_BYTES[0])))
        lines = nbytes / LINE_BYTES
        beside = taps * itemsize + self.columns * conv.out.itemsize
        near = (kernel_rows + ahead) * row + self.channels * beside

        # Rows of all blocks that are read first, and those that are read again.
        most = conv.images * math.prod(conv.sizes[:-1])
        first = self.down * np.minimum(self.rows * step + max(reach - step, 0), most)
        again = np.maximum(self.out_rows * (kernel_rows + ahead) - first, 0)
        # A block that exceeds a cache loses what exceeds it, and all if it is twice as large.
        again_line = per_event["a_l2"] * np.clip(near / core.l1 - 1, 0, 1)
        again_line = again_line + per_event["a_far"] * np.clip(near / core.l2 - 1, 0, 1)
        terms = {
            "arithmetic": np.maximum(products, loads),
            "tasks": per_event["tasks"] * self.down * self.in_row,
            "rows": again * self.in_row * lines * again_line,
        }
        # Multiply-adds hide prefetches from a cache, not those from memory.
        place = core.first_read(self.gemm.bytes_moved, is_cold=is_cold)
        line = per_event[{"l2": "b_l2", "far": "l3_line", "memory": "memory_line"}[place]]
        written = self.out_rows * conv.out_sizes[-1] * conv.outputs * conv.out.itemsize / LINE_BYTES
        transfer = (first * self.in_row * lines + written) * line
        transfer = transfer + first * self.in_row * runs * per_event[f"first_runs_{place}"]
        hidden = 0.0 if place == "memory" else sum(terms.values())
        return terms | {"memory": np.maximum(transfer - hidden, 0.0)}
