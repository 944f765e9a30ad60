"""Copies between the host and a Vulkan device, through staging memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgen_runtime.backends.vulkan.memory import MemoryBlock, MemoryKind, VulkanBuffer, VulkanMemory
from kgen_runtime.backends.vulkan.queue import Queue
from kgen_runtime.backends.vulkan.recording import Recorder, Recording

if TYPE_CHECKING:
    from kgen_runtime.backend import HostBytes

#: Bytes of the staging block for copies from and to memory that is not host-visible.
STAGING_BYTES = 32 * 2**20


class Transfers:
    """Copies of one device; each returns when it is finished. Not thread-safe: the backend holds a
    lock."""

    def __init__(self, memory: VulkanMemory, recorder: Recorder, queue: Queue) -> None:
        self._memory, self._recorder, self._queue = memory, recorder, queue
        #: Staging blocks, and the recording of a copy; created by the first copy.
        self._staging: dict[MemoryKind, MemoryBlock] = {}
        self._recording: Recording | None = None

    def destroy(self) -> None:
        if self._recording is not None:
            self._recorder.forget(self._recording)
        for block in self._staging.values():
            self._memory.release(block)

    def to_device(self, buffer: VulkanBuffer, host: HostBytes) -> None:
        self._queue.wait()
        if (mapped := buffer.host) is not None:
            mapped[: host.nbytes] = host
            return
        block, staging = self._stage(MemoryKind.UPLOAD)
        for start in range(0, host.nbytes, STAGING_BYTES):
            piece = host[start : start + STAGING_BYTES]
            staging[: piece.nbytes] = piece
            self._copy(block, buffer.block, (0, buffer.offset + start, piece.nbytes))

    def from_device(self, host: HostBytes, buffer: VulkanBuffer) -> None:
        self._queue.wait()
        if (mapped := buffer.host) is not None:
            host[:] = mapped[: host.nbytes]
            return
        block, staging = self._stage(MemoryKind.DOWNLOAD)
        for start in range(0, host.nbytes, STAGING_BYTES):
            piece = host[start : start + STAGING_BYTES]
            self._copy(buffer.block, block, (buffer.offset + start, 0, piece.nbytes))
            piece[:] = staging[: piece.nbytes]

    def _stage(self, kind: MemoryKind) -> tuple[MemoryBlock, HostBytes]:
        if kind not in self._staging:
            self._staging[kind] = self._memory.new_block(STAGING_BYTES, kind)
        block = self._staging[kind]
        assert block.host is not None
        return block, block.host

    def _copy(self, source: MemoryBlock, target: MemoryBlock, region: tuple[int, int, int]) -> None:
        """Copy (source offset, target offset, bytes) and wait."""
        if self._recording is None:
            self._recording = self._recorder.new(())
        self._recorder.write_copy(self._recording, source, target, region)
        self._queue.submit(self._recording)
        self._queue.wait()
