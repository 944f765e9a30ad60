"""The CPU targets, as data: features, vector registers and caches."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kgen.targets.base import Target
from kgen_runtime.values import frozen

#: Target name for the CPU of the building machine.
NATIVE = "native"
#: Features that generated code may use beyond an architecture's first version, as /proc/cpuinfo
#: names them. x86-64, x86-64-v3 and v4 are levels of the x86-64 psABI ("Low Level System
#: Information", table "Micro-architecture levels"), limited to features of use to arithmetic
#: kernels. bf16 and AMX have suffixes or levels of their own.
BASELINE_FEATURES = ("sse2",)
V3_FEATURES = (
    *("ssse3", "sse4_1", "sse4_2", "popcnt", "avx", "avx2", "fma", "f16c", "bmi1", "bmi2"),
    *("abm", "movbe"),
)
V4_FEATURES = (*V3_FEATURES, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
BF16_FEATURES = ("avx512_bf16",)
VNNI_FEATURES = ("avx512_vnni",)
#: Every processor with AMX tiles, from Sapphire Rapids on, also has the bf16 and VNNI features
#: (Intel, Architecture Instruction Set Extensions Programming Reference, "Recent Instruction Set
#: Extensions").
AMX_FEATURES = ("amx_tile", "amx_bf16", "amx_int8", *BF16_FEATURES, *VNNI_FEATURES)
AMX_FP16_FEATURES = ("amx_fp16",)
AVX_VNNI_FEATURES = ("avx_vnni",)
NEON_FEATURES = ("fp", "asimd")
DOTPROD_FEATURES = ("asimddp",)

#: Features that some matmul kernels use; other kernels do not require them.
PRODUCT_FEATURES = AMX_FEATURES + AMX_FP16_FEATURES + AVX_VNNI_FEATURES + DOTPROD_FEATURES
#: LLVM's names of features that differ from those of /proc/cpuinfo.
_LLVM_WORDS = {
    "sse4_1": "sse4.1",
    "sse4_2": "sse4.2",
    "bmi1": "bmi",
    "abm": "lzcnt",
    "fp": "fp-armv8",
    "asimd": "neon",
    "asimddp": "dotprod",
    "avx512_bf16": "avx512bf16",
    "avx512_vnni": "avx512vnni",
    "avx_vnni": "avxvnni",
    "amx_tile": "amx-tile",
    "amx_bf16": "amx-bf16",
    "amx_int8": "amx-int8",
    "amx_fp16": "amx-fp16",
}
LLVM_FEATURES: dict[str, str] = {
    feature: _LLVM_WORDS.get(feature, feature)
    for feature in (*BASELINE_FEATURES, *V4_FEATURES, *NEON_FEATURES, *PRODUCT_FEATURES)
}

#: Names of a level's limits, in the order of `Level.limits`.
#:
#: - Vector registers: Intel SDM volume 1, 10.2 (SSE: 16 of 16 bytes), 14.1 (AVX: 16 of 32 bytes)
#:   and 15.1 (AVX-512: 32 of 64 bytes); Arm Architecture Reference Manual, A1.4.1 (32 of 16 bytes).
#:   SSE needs one register for a product before it is added, which leaves 15.
#: - `l1_bytes` and `l2_bytes` (data cache, per core) only choose block sizes. Most cores of a level
#:   have at least the default: Nehalem and Haswell 32 K, 256 K; Skylake-SP 32 K, 1 M; Sapphire
#:   Rapids 48 K, 2 M; Neoverse N1 64 K, 1 M (the default is below this for smaller cores).
#: - `l3_bytes`, shared by all cores, decides which outputs non-temporal stores write. A server's
#:   last-level cache is larger than 32 M, a laptop's smaller.
#: - `stack_bytes` limits a kernel's packing buffers. A thread's stack has 8 MiB by default under
#:   glibc, and 128 KiB under musl, whose users raise it.
LIMITS = ("vector_bytes", "vector_registers", "l1_bytes", "l2_bytes")
COMMON_LIMITS = {"l3_bytes": 32 << 20, "stack_bytes": 256 * 1024}


@frozen
class Level:
    """Instruction-set level. Schedules are chosen for `core` unless a target names another one.
    `suffixes` are features that a target's name may add, in any combination. `limits` are the
    values of the names in `LIMITS`."""

    arch: str
    features: Sequence[str]
    limits: Sequence[int]
    core: str
    suffixes: Mapping[str, Sequence[str]]

    def target(
        self, name: str, suffixes: Collection[str], core: str | None = None, **caches: int
    ) -> Target:
        """Return the target with some of the level's suffixes, for a core and its cache sizes."""
        added = (word for suffix in suffixes for word in self.suffixes[suffix])
        return Target(
            name=name,
            family="cpu",
            arch=self.arch,
            features=frozenset({*self.features, *added}),
            limits={**dict(zip(LIMITS, self.limits, strict=True)), **COMMON_LIMITS, **caches},
            device=core or self.core,
        )


#: Levels by name, from the lowest to the highest of each architecture.
LEVELS: Mapping[str, Level] = {
    "x86-64": Level(
        arch="x86_64",
        features=BASELINE_FEATURES,
        limits=(16, 15, 32 << 10, 256 << 10),
        core="Nehalem",
        suffixes={},
    ),
    "x86-64-v3": Level(
        arch="x86_64",
        features=V3_FEATURES,
        limits=(32, 16, 32 << 10, 256 << 10),
        core="Zen 3",
        suffixes={"vnni": AVX_VNNI_FEATURES},
    ),
    "x86-64-v4": Level(
        arch="x86_64",
        features=V4_FEATURES,
        limits=(64, 32, 32 << 10, 1 << 20),
        core="Zen 4",
        suffixes={"bf16": BF16_FEATURES, "vnni": VNNI_FEATURES},
    ),
    "x86-64-amx": Level(
        arch="x86_64",
        features=V4_FEATURES + AMX_FEATURES,
        limits=(64, 32, 48 << 10, 2 << 20),
        core="Golden Cove",
        suffixes={"fp16": AMX_FP16_FEATURES},
    ),
    "aarch64-neon": Level(
        arch="aarch64",
        features=NEON_FEATURES,
        limits=(16, 32, 32 << 10, 512 << 10),
        core="Neoverse",
        suffixes={"dotprod": DOTPROD_FEATURES},
    ),
}
#: Synonyms of suffixes, as in x86-64-amx+amx-fp16.
SUFFIX_NAMES = {"amx-fp16": "fp16"}


def with_suffixes(name: str) -> Target | None:
    """Return the target of a name such as x86-64-v4+vnni+bf16, or None for an unknown name."""
    name, *given = name.split("+")
    wanted = {SUFFIX_NAMES.get(suffix, suffix) for suffix in given}
    level = LEVELS.get(name)
    if level is None or len(wanted) < len(given) or not wanted <= level.suffixes.keys():
        return None
    suffixes = [suffix for suffix in level.suffixes if suffix in wanted]
    return level.target("+".join([name, *suffixes]), suffixes)


def known(name: str) -> Target:
    """Return a target by its name. Raises KeyError for any other name."""
    if (found := with_suffixes(name)) is None:
        raise KeyError(f"{name} is not a CPU target")
    return found


#: Names of the targets that verification covers one by one.
_NAMES = (
    *("x86-64", "x86-64-v3", "x86-64-v3+vnni", "x86-64-v4", "x86-64-v4+vnni", "x86-64-v4+bf16"),
    *("x86-64-amx", "x86-64-amx+fp16", "aarch64-neon", "aarch64-neon+dotprod"),
)
TARGETS: tuple[Target, ...] = tuple(map(known, _NAMES))
