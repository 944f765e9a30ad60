"""Distribution of outputs over the threads of a second kernel, which joins parts of the first's."""

from __future__ import annotations

import math

from kgen.spec import Matmul
from kgen.targets.cuda.plan.epilogue.output import OutputTile
from kgen_runtime.manifest import Launch, Tile
from kgen_runtime.values import frozen

#: Threads of a CTA of the second kernel, and f32 elements of its accesses, if the launch then has
#: at least ENOUGH_CTAS. Smaller outputs get smaller CTAs and accesses, so that more SMs load parts.
NUM_THREADS, WIDEST, ENOUGH_CTAS = 128, 4, 128
FEW_THREADS = 32
F32_BYTES = 4


@frozen
class JoinedOutputs:
    """Outputs of a thread: `width` adjacent ones of a row of the batched matrix `spec`.

    A CTA of `num_threads` has consecutive outputs of one matrix.
    """

    spec: Matmul
    num_threads: int
    width: int

    @property
    def has_neighbours(self) -> bool:
        """Whether a thread has several outputs."""
        return self.width > 1

    @property
    def row_threads(self) -> int:
        """Threads that share a row."""
        return self.spec.n // self.width

    @property
    def thread_bytes(self) -> int:
        """Bytes of a thread's outputs in f32."""
        return self.width * F32_BYTES

    @property
    def last_thread(self) -> int:
        return self.spec.m * self.row_threads - 1

    @property
    def has_idle_threads(self) -> bool:
        """Whether some threads of the last CTA have no output."""
        return (self.last_thread + 1) % self.num_threads != 0

    @property
    def tile(self) -> OutputTile:
        return OutputTile(
            spec=self.spec,
            row_offsets=(0,),
            col_offsets=tuple(range(self.width)),
            width=self.width,
            m_edge=False,
            n_edge=False,
        )

    def launch(self, entry_point: str, arguments: tuple[str, ...]) -> Launch:
        batch, outputs = self.spec.batch, self.spec.m * self.spec.n
        each = self.width * self.num_threads
        return Launch(
            entry_point=entry_point,
            grid=(-(-outputs // each), 1, batch),
            block=(self.num_threads, 1, 1),
            arguments=arguments,
            tile=Tile(shape=(batch, outputs), extent=(1, each), axes=(2, 0)),
        )


def share_outputs(spec: Matmul) -> JoinedOutputs:
    """Return the distribution of the outputs of a batched matrix."""
    row_stride = spec.out_strides[1] if spec.m > 1 else 0
    batch_strides = spec.batch_strides("c") if spec.batch > 1 else ()
    few = spec.batch * spec.m * spec.n < ENOUGH_CTAS * NUM_THREADS * WIDEST
    return JoinedOutputs(
        spec=spec,
        num_threads=FEW_THREADS if few else NUM_THREADS,
        width=1 if few else math.gcd(WIDEST, spec.n, row_stride, *batch_strides),
    )
