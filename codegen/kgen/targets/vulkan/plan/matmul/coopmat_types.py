"""Cooperative matrices that devices support: types, sizes, the needs of a module that uses them,
and the division of a block among subgroups."""

from __future__ import annotations

from abc import ABC, abstractmethod

from kgen.schedule import CooperativeAttention, CooperativeMatmul
from kgen.spec import DType
from kgen.targets.powers_of_two import log2
from kgen_runtime.values import frozen

#: Features that all modules need. Subgroups must have a fixed number of lanes.
FEATURES = ("cooperativeMatrix", "vulkanMemoryModel", "subgroupSizeControl", "computeFullSubgroups")
#: Capabilities that all modules need.
CAPABILITIES = ("CooperativeMatrixKHR", "VulkanMemoryModel", "GroupNonUniform")
EXTENSION = "SPV_KHR_cooperative_matrix"


@frozen
class Size:
    """Size of matrices, m x k by k x n, and the lanes of a subgroup that multiplies them.

    `rounds_f16` says whether devices with this size convert f16 as kgen does; lavapipe guarantees
    less.
    """

    m: int
    n: int
    k: int
    lanes: int
    rounds_f16: bool = True

    @property
    def text(self) -> str:
        return f"{self.m}x{self.n}x{self.k}"

    def product(self, dtype: DType, sums: DType) -> dict[str, object]:
        """Return the properties of a product of these matrices, as a device lists them."""
        shape: dict[str, object] = {"m": self.m, "n": self.n, "k": self.k}
        return shape | {"a": dtype.value, "b": dtype.value, "c": sums.value, "result": sums.value}

    def requirements(self, dtype: DType, sums: DType) -> dict[str, object]:
        """Return the device requirements of a module with these products."""
        return {
            "features": [*FEATURES, *TYPES[dtype].features],
            "cooperative_matrix": self.product(dtype, sums),
            "subgroup_size": self.lanes,
        }


@frozen
class CooperativeTypes:
    """Component types of A and B and of accumulators in SPIR-V, and their requirements.

    - `element`: the component in a vector, where its sign does not matter.
    - `signs`: operands of a multiply-add that say which components are signed.
    - `sizes`: supported sizes, the preferred one first.
    """

    component: str
    element: str
    sums: str
    signs: str = ""
    capabilities: tuple[str, ...]
    extensions: tuple[str, ...] = ()
    features: tuple[str, ...]
    sizes: tuple[Size, ...]

    @property
    def on_integers(self) -> bool:
        return self.sums == "int"


#: Sizes of 16-bit floats: AMD from RDNA3 on and NVIDIA; NVIDIA; lavapipe.
SIZES_16BIT = (
    Size(m=16, n=16, k=16, lanes=32),
    Size(m=32, n=8, k=16, lanes=32),
    Size(m=16, n=8, k=16, lanes=32),
    Size(m=8, n=8, k=8, lanes=8, rounds_f16=False),
)
#: Sizes of bf16: AMD from RDNA4 on and NVIDIA.
SIZES_BF16 = (SIZES_16BIT[0], SIZES_16BIT[2])
#: Sizes of s8: NVIDIA; AMD; lavapipe.
SIZES_8BIT = (
    Size(m=16, n=16, k=32, lanes=32),
    Size(m=16, n=8, k=32, lanes=32),
    Size(m=16, n=16, k=16, lanes=32),
    Size(m=8, n=8, k=8, lanes=8, rounds_f16=False),
)
TYPES = {
    DType.F16: CooperativeTypes(
        component="half",
        element="half",
        sums="float",
        capabilities=("Float16",),
        features=("shaderFloat16",),
        sizes=SIZES_16BIT,
    ),
    DType.BF16: CooperativeTypes(
        component="bfloat16",
        element="bfloat16",
        sums="float",
        capabilities=("BFloat16TypeKHR", "BFloat16CooperativeMatrixKHR"),
        extensions=("SPV_KHR_bfloat16",),
        features=("shaderBFloat16Type", "shaderBFloat16CooperativeMatrix"),
        sizes=SIZES_BF16,
    ),
    DType.S8: CooperativeTypes(
        component="char",
        element="uchar",
        sums="int",
        signs="MatrixASignedComponentsKHR|MatrixBSignedComponentsKHR|MatrixCSignedComponentsKHR"
        "|MatrixResultSignedComponentsKHR",
        capabilities=("Int8",),
        features=("shaderInt8",),
        sizes=SIZES_8BIT,
    ),
}


@frozen
class SubgroupGrid(ABC):
    """Division of a block of results among m x n subgroups of a workgroup, and the matrices of each
    subgroup."""

    schedule: CooperativeMatmul | CooperativeAttention
    size: Size

    @property
    @abstractmethod
    def block(self) -> tuple[int, int, int]:
        """Rows and columns of the block, and depth of the products in it."""

    @property
    @abstractmethod
    def m(self) -> int:
        """Number of subgroups along the rows."""

    @property
    def number(self) -> int:
        return self.schedule.num_threads // self.size.lanes

    @property
    def n(self) -> int:
        return self.number // self.m

    @property
    def n_mask(self) -> int:
        return self.n - 1

    @property
    def n_log2(self) -> int:
        return log2(self.n)

    @property
    def warp_m(self) -> int:
        """Number of rows of a subgroup."""
        return self.block[0] // self.m

    @property
    def warp_n(self) -> int:
        return self.block[1] // self.n

    @property
    def fits(self) -> bool:
        """Whether each subgroup has whole matrices."""
        _, columns, depth = self.block
        if self.number == 0 or columns % self.n or depth % self.size.k:
            return False
        return self.warp_m % self.size.m == self.warp_n % self.size.n == 0

    @property
    def rows(self) -> range:
        """Numbers of a subgroup's matrices along the rows."""
        return range(self.warp_m // self.size.m)

    @property
    def columns(self) -> range:
        return range(self.warp_n // self.size.n)
