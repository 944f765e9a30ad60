"""Race detection for bulk copies from and to global memory (PTX ISA 8.10, 9.7.9.25.4).

A copy that reads global memory does so at some time until it completes. A copy that writes global
memory does so at some time until its thread has waited for the group, not only for the reads. A
conflicting access must be ordered before the copy or after that time. A reduction is a relaxed
operation in GPU scope; it is assumed to happen when its group is waited for.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kgen.emulate.ptx.exec.machine import Machine
from kgen.emulate.ptx.order.tags import Strength
from kgen.emulate.ptx.races.global_access import Transfer
from kgen.emulate.ptx.races.global_shadow import GlobalShadow
from kgen.emulate.ptx.races.global_units import Units
from kgen.emulate.ptx.types import Array
from kgen.emulate.windows import WINDOW_BITS
from kgen_runtime.values import frozen

#: By CTA: global addresses of the rows that its copy accesses, and bytes per row.
Rows = Mapping[int, tuple[Array, int]]


@frozen
class Reading:
    """Units of a buffer that a copy reads, and their writers when the copy started."""

    shadow: GlobalShadow
    units: Units
    writers: Array


@frozen
class Writing:
    """Rows of a buffer that a copy will write; `units` is None for a reduction."""

    shadow: GlobalShadow
    transfer: Transfer
    units: Units | None


def begin_read(machine: Machine, thread: Array, rows: Rows) -> list[Reading]:
    """Start reads of a copy, issued by a thread of each CTA, [C]. Raises Violation for a race."""
    found = []
    for shadow, transfer in _transfers(machine, thread, rows, Strength.WEAK):
        units, writers = shadow.begin_read(machine, transfer)
        found.append(Reading(shadow=shadow, units=units, writers=writers))
    return found


def finish_read(machine: Machine, readings: list[Reading], actor: int) -> None:
    """End a copy's reads at the current time of an asynchronous actor."""
    for reading in readings:
        reading.shadow.finish_read(machine, reading.units, reading.writers, actor)


def begin_write(machine: Machine, thread: Array, rows: Rows, *, reduces: bool) -> list[Writing]:
    """Start writes of a copy, or of a reduction."""
    strength = Strength.GPU if reduces else Strength.WEAK
    found = []
    for shadow, transfer in _transfers(machine, thread, rows, strength):
        units = None if reduces else shadow.begin_write(machine, transfer)
        found.append(Writing(shadow=shadow, transfer=transfer, units=units))
    return found


def finish_write(machine: Machine, writings: list[Writing], ctas: Array) -> None:
    """End writes after threads of these CTAs [C] have waited, as if they wrote the bytes now."""
    for writing in writings:
        if writing.units is not None:
            writing.shadow.finish_write(machine, writing.units, ctas)
        elif (part := writing.transfer.of_ctas(machine, ctas)).place.size:
            writing.shadow.write(machine, part)


def leave(machine: Machine, writings: list[Writing], ctas: Array) -> None:
    """End writes of threads in these CTAs that exited without waiting: the time of the write is
    unknown."""
    for writing in writings:
        if writing.units is None:
            part = writing.transfer.of_ctas(machine, ctas)
            writing.shadow.begin_write(machine, part)


def _transfers(
    machine: Machine, thread: Array, rows: Rows, strength: Strength
) -> list[tuple[GlobalShadow, Transfer]]:
    """Yield rows by buffer and size, for the buffers that are checked."""
    if not machine.checks:
        return []
    parts: dict[tuple[int, int], list[tuple[Array, Array]]] = {}
    for cta, (address, nbytes) in rows.items():
        if address.size and nbytes:
            number = (int(address[0]) >> WINDOW_BITS) - 1
            place = np.full(address.shape, cta * machine.warps * 32 + int(thread[cta]))
            offset = address & ((1 << WINDOW_BITS) - 1)
            parts.setdefault((number, nbytes), []).append((place, offset))
    found = []
    for (number, nbytes), pieces in parts.items():
        shadow = machine.order.shadow(number)
        if shadow is not None:
            places, offsets = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))
            transfer = Transfer(place=places, offset=offsets, nbytes=nbytes, strength=strength)
            found.append((shadow, transfer))
    return found


def chosen(rows: Rows, ctas: Array) -> Rows:
    """Return the rows of the CTAs in a mask [C]."""
    return {cta: row for cta, row in rows.items() if ctas[cta]}
