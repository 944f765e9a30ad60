"""Memory of a kernel: storage buffers, and arrays in workgroup memory."""

from __future__ import annotations

import dataclasses

from kgen.spec import DType
from kgen.targets.base import Target
from kgen.targets.powers_of_two import log2
from kgen.targets.vulkan.limits import NARROW_STORAGE, STORAGE_8BIT, STORAGE_16BIT
from kgen_runtime.manifest import TensorParam
from kgen_runtime.values import frozen

#: Possible numbers of scalars in one access, widest first.
VECTOR_WIDTHS = (4, 2, 1)
#: Bytes of the scalars that workgroup memory holds.
WORD = 4

_VECTORS = {
    "float": "vec",
    "half": "f16vec",
    "bfloat16": "bf16vec",
    "uint": "uvec",
    "ushort": "u16vec",
    "uchar": "u8vec",
}
_BYTES = {"float": 4, "uint": 4, "uvec2": 8, "ushort": 2, "half": 2, "uchar": 1}
#: Capability and device feature for scalars of fewer than 32 bits.
NARROW = {
    "half": ("StorageBuffer16BitAccess", STORAGE_16BIT),
    "ushort": ("StorageBuffer16BitAccess", STORAGE_16BIT),
    "uchar": ("StorageBuffer8BitAccess", STORAGE_8BIT),
}


@frozen
class PackedElement:
    """Element `number` of an access: `bits` bits from `bit` on, in the scalar `word` of the access.

    `place` is its number in the scalar; `is_last` marks the last element of the scalar.
    """

    number: int
    word: int
    place: int
    bit: int
    bits: int
    is_last: bool

    @property
    def is_first(self) -> bool:
        return self.place == 0


@frozen
class Tensor:
    """Storage buffer: an array of scalars, or of vectors of `vector` scalars.

    - `scalar`: SPIR-V type in memory: float, half, or uint, ushort or uchar for bits; uvec2 for 64
      bits, the lower word first.
    - `packed`: elements of fewer than 32 bits in a uint, the first one in its lowest bits.
    - `per_word`: accesses of fewer than 32 bits in a uint.
    """

    name: str
    binding: int
    dtype: DType
    scalar: str
    vector: int = 1
    packed: int = 1
    per_word: int = 1
    read_only: bool

    @property
    def variable(self) -> str:
        """Id of the buffer, which no name of a tensor can make equal to another id of the
        kernel."""
        return f"{self.name}_tensor"

    @property
    def element(self) -> str:
        """Type of the array's elements."""
        return vector_type(self.scalar, self.vector) if self.is_vector else self.scalar

    @property
    def is_vector(self) -> bool:
        return self.vector > 1

    @property
    def is_packed(self) -> bool:
        return self.packed > 1

    @property
    def is_single(self) -> bool:
        """Whether an access is a scalar with one element."""
        return self.width == 1 and not self.is_packed

    @property
    def is_f32(self) -> bool:
        return self.dtype is DType.F32

    @property
    def holds_floats(self) -> bool:
        return self.scalar == "float"

    @property
    def holds_halves(self) -> bool:
        return self.scalar == "half"

    @property
    def width(self) -> int:
        """Number of the tensor's elements in one access."""
        return self.vector * self.packed // self.per_word

    @property
    def parts(self) -> tuple[PackedElement, ...]:
        """Position of each element of an access in its words."""
        bits, together = 8 * WORD // self.packed, self.packed // self.per_word
        return tuple(
            PackedElement(
                number=n,
                word=n // together,
                place=n % together,
                bit=n % together * bits,
                bits=bits,
                is_last=n % together == together - 1,
            )
            for n in range(self.width)
        )

    @property
    def shares_words(self) -> bool:
        """Whether a word has several accesses, which may belong to several invocations."""
        return self.per_word > 1

    @property
    def per_word_log2(self) -> int:
        return log2(self.per_word)

    @property
    def place_mask(self) -> int:
        """Bits of an access's index that give its position in a word."""
        return self.per_word - 1

    @property
    def access_bits(self) -> int:
        """Bits of an access that shares a word."""
        return 8 * WORD // self.per_word

    @property
    def access_bits_log2(self) -> int:
        return log2(self.access_bits)

    @property
    def as_computed(self) -> bool:
        """Whether numbers are stored without conversion: f32, or s32 as words."""
        return not self.is_packed and self.scalar in ("float", "uint")

    @property
    def is_narrow(self) -> bool:
        """Whether scalars have fewer than 32 bits."""
        return self.scalar in NARROW

    @property
    def word(self) -> str:
        """Type in which the kernel computes on a scalar's bits."""
        return "uvec2" if self.scalar == "uvec2" else "uint"

    @property
    def words(self) -> str:
        """Type of an array element in which the kernel computes on bits."""
        return vector_type("uint", self.vector) if self.is_vector else self.word

    @property
    def floats(self) -> str:
        """Type of an access with as many f32."""
        return "float" if self.width == 1 else vector_type("float", self.width)

    @property
    def components(self) -> range:
        return range(self.vector)

    @property
    def numbers(self) -> range:
        """Numbers of the elements of an access."""
        return range(self.width)

    @property
    def element_bytes(self) -> int:
        return _BYTES[self.scalar] * self.vector


@frozen
class Shared:
    """Array in workgroup memory, of 4-byte scalars or of vectors of `vector` scalars.

    If `stages` is not None, it is the number of such arrays, one after another. With
    `by_component`, some accesses are to single scalars of a vector.
    """

    name: str
    scalar: str
    vector: int = 1
    length: int
    stages: int | None = None
    by_component: bool = False

    @property
    def element(self) -> str:
        return self.scalar if self.vector == 1 else vector_type(self.scalar, self.vector)

    @property
    def is_staged(self) -> bool:
        return self.stages is not None

    @property
    def shape(self) -> str:
        """Number of elements, for a comment."""
        return f"[{self.length}]" if self.stages is None else f"[{self.stages}][{self.length}]"

    @property
    def nbytes(self) -> int:
        return (self.stages or 1) * self.length * self.vector * WORD


def vector_type(scalar: str, width: int) -> str:
    return f"{_VECTORS[scalar]}{width}"


def bits_of(dtype: DType) -> str:
    """Return the scalar type that holds a dtype's bits."""
    return {1: "uchar", 2: "ushort", WORD: "uint", 2 * WORD: "uvec2"}[dtype.itemsize]


def buffer_of(
    p: TensorParam, binding: int, target: Target, vector: int, scalar: str = ""
) -> Tensor:
    """Return the tensor of a parameter, in accesses of `vector` scalars, which are bits by default.

    Scalars are words if elements have fewer than 32 bits and accesses are whole words, or if the
    target does not guarantee narrower memory.
    """
    tensor = Tensor(
        name=p.name,
        binding=binding,
        dtype=p.dtype,
        scalar=scalar or bits_of(p.dtype),
        vector=vector,
        read_only=p.role == "input",
    )
    access = tensor.element_bytes
    if not tensor.is_narrow or (access % WORD and target.has(NARROW_STORAGE)):
        return tensor
    return dataclasses.replace(
        tensor,
        scalar="uint",
        vector=max(1, access // WORD),
        packed=WORD // tensor.dtype.itemsize,
        per_word=max(1, WORD // access),
    )
