"""Plan that all matmul main loops share: the batch, the outputs, the epilogue and its tensors."""

from __future__ import annotations

from typing import Any

from kgen.schedule.matmul import CooperativeMatmul, FmaMatmul, GpuMatmul
from kgen.spec import DType, Matmul
from kgen.targets.base import Target
from kgen.targets.batch import BatchCoordinate, batch_coordinates
from kgen.targets.contraction.grid import block_tiles, plan_launch
from kgen.targets.epilogue import FusedEpilogue
from kgen.targets.header import k_tiles_note
from kgen.targets.vulkan.limits import CEILING
from kgen.targets.vulkan.plan.checks import check_blocks, check_threads
from kgen.targets.vulkan.plan.matmul.epilogue import EpilogueFunction
from kgen.targets.vulkan.plan.matmul.matrix import epilogue_widths, output_width, tensor
from kgen.targets.vulkan.plan.matmul.operand import TiledOperand
from kgen.targets.vulkan.plan.matmul.outputs import Outputs, SumGroupStore, ThreadOutputs
from kgen.targets.vulkan.plan.vulkan_plan import VulkanPlan
from kgen_runtime.values import frozen


@frozen
class MatmulPlan(VulkanPlan):
    schedule: GpuMatmul
    spec: Matmul
    a: TiledOperand
    b: TiledOperand
    outputs: Outputs
    epilogue: EpilogueFunction

    @property
    def operands(self) -> tuple[TiledOperand, TiledOperand]:
        return (self.a, self.b)

    @property
    def totals(self) -> str:
        """Prefix of the ids of the final accumulators."""
        raise NotImplementedError

    @property
    def stores_sums(self) -> bool:
        """Whether the output is the integer accumulators."""
        return self.spec.out is DType.S32

    @property
    def ordered(self) -> tuple[str, ...]:
        """Ordered additions of the epilogue; a driver could move them into the accumulation
        otherwise."""
        return self.epilogue.rendered.ordered if self.epilogue.fused.changes else ()

    @property
    def sum_type(self) -> str:
        """Type of an accumulator in the epilogue; integers are converted before it."""
        return "uint" if self.stores_sums else "float"

    def sums(self, store: SumGroupStore) -> tuple[str, ...]:
        """Return the ids of the accumulators of an access."""
        if not self.outputs.is_vector:
            return (f"{self.totals}_{store.sum.name}",)
        return tuple(f"sum_{store.name}_{c}" for c in store.members)

    def results(self, store: SumGroupStore) -> tuple[str, ...]:
        """Return the ids of the values that an access stores."""
        if not self.epilogue.fused.changes:
            return self.sums(store)
        return tuple(f"finished_{store.name}_{c}" for c in store.members)

    def calls(self, store: SumGroupStore) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
        """Return the ids of each call of the epilogue: an accumulator, the result, the arguments'
        values."""
        columns = [self.epilogue.values(a, store) for a in self.epilogue.fused.arguments]
        values = zip(*columns, strict=True) if columns else [()] * len(store.members)
        return tuple(zip(self.sums(store), self.results(store), values, strict=True))

    @property
    def k_note(self) -> str:
        """Trip count of the K loop, for the header."""
        full, rest = divmod(self.spec.k, self.schedule.block_k)
        return k_tiles_note(full, self.schedule.block_k, rest)

    @property
    def invocations_note(self) -> str:
        """Outputs per invocation, for the header."""
        m, n = self.outputs.m, self.outputs.n
        return (
            f"{m.threads} x {n.threads} invocations (m x n), "
            f"{m.per_thread} x {n.per_thread} outputs each, {n.group} contiguous"
        )

    @property
    def batched(self) -> bool:
        return self.spec.batch > 1

    @property
    def batch_coordinates(self) -> tuple[BatchCoordinate, ...]:
        return batch_coordinates(self.spec)


@frozen
class PaddedPlan(MatmulPlan):
    """Plan of a product whose last K-tile is padded with zeros."""

    @property
    def k_tiles(self) -> int:
        return -(-self.spec.k // self.schedule.block_k)

    @property
    def last_k_tile(self) -> int:
        return self.k_tiles - 1

    @property
    def has_rest(self) -> bool:
        """Whether the last K-tile is partial."""
        return self.spec.k % self.schedule.block_k != 0

    @property
    def double_buffered(self) -> bool:
        return self.schedule.num_stages > 1


def sides_of(spec: Matmul, schedule: FmaMatmul) -> tuple[ThreadOutputs, ThreadOutputs]:
    """Return the outputs of an invocation along m and along n."""
    return (
        ThreadOutputs(size=spec.m, block=schedule.block_m, per_thread=schedule.thread_m),
        ThreadOutputs(size=spec.n, block=schedule.block_n, per_thread=schedule.thread_n),
    )


def common_fields(
    spec: Matmul,
    target: Target,
    schedule: FmaMatmul | CooperativeMatmul,
    operands: tuple[TiledOperand, TiledOperand],
) -> dict[str, Any]:
    """Return the fields that the plans of all main loops derive from A and B in the same way, by
    name.

    The functions are those of the epilogue. Its tensors are accessed by as many columns at a time
    as the output.
    """
    a, b = operands
    outputs = Outputs(spec=spec, m=a.side, n=b.side, width=output_width(spec, b.side.group))
    widths = epilogue_widths(spec, outputs.width)
    rest = (tensor(spec, target, name, each) for name, each in widths.items())
    found = (a.matrix.tensor, b.matrix.tensor, *rest)
    tensors = tuple(sorted(found, key=lambda t: t.binding))
    epilogue = EpilogueFunction(fused=FusedEpilogue(spec=spec))
    return {
        "spec": spec,
        "target": target,
        "schedule": schedule,
        "launches": (plan_launch(spec, schedule, schedule.num_threads),),
        "num_threads": schedule.num_threads,
        "tensors": tensors,
        "functions": epilogue.functions(tensors),
        "constants": epilogue.constants,
        "outputs": outputs,
        "epilogue": epilogue,
        "a": a,
        "b": b,
    }


def check_thread_tiles(schedule: FmaMatmul, target: Target) -> None:
    """Check that a workgroup is not too large. Raises ScheduleError, with thread tiles that fit."""
    limit = CEILING["maxComputeWorkGroupInvocations"]
    tiles = {"thread_m": schedule.thread_m, "thread_n": schedule.thread_n}
    blocks = {"thread_m": schedule.block_m, "thread_n": schedule.block_n}
    excess = schedule.num_threads
    while excess > limit and any(tiles[name] < blocks[name] for name in tiles):
        smallest = min((n for n in tiles if tiles[n] < blocks[n]), key=lambda name: tiles[name])
        tiles[smallest] *= 2
        excess //= 2
    remedy = ",".join(f"{name}={size}" for name, size in tiles.items())
    check_threads(schedule.num_threads, target, remedy)


def check_grid(spec: Matmul, target: Target, schedule: GpuMatmul) -> None:
    tiles = block_tiles(spec, schedule.block_m, schedule.block_n)
    check_blocks(tiles.rows, "block_m", schedule.block_m, target)
    check_blocks(tiles.cols, "block_n", schedule.block_n, target)
