"""The CPU targets, as data: features, vector registers and caches."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kgen.targets.base import Target
from kgen_runtime.values import frozen

#: Name of the target of the machine that builds.
NATIVE = "native"
#: Features beyond each architecture's first version that generated code may use, in the words of
#: /proc/cpuinfo; bf16 and AMX are suffixes or levels of their own. x86-64, x86-64-v3 and v4 are
#: levels of the x86-64 psABI ("Low Level System Information", table "Micro-architecture levels"),
#: with the features that an arithmetic kernel can use.
BASELINE_FEATURES = ("sse2",)
V3_FEATURES = (
    *("ssse3", "sse4_1", "sse4_2", "popcnt", "avx", "avx2", "fma", "f16c", "bmi1", "bmi2"),
    *("abm", "movbe"),
)
V4_FEATURES = (*V3_FEATURES, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
BF16_FEATURES = ("avx512_bf16",)
VNNI_FEATURES = ("avx512_vnni",)
#: Every processor with tiles, from Sapphire Rapids on, has both (Intel, Architecture Instruction
#: Set Extensions Programming Reference, "Recent Instruction Set Extensions").
AMX_FEATURES = ("amx_tile", "amx_bf16", "amx_int8", *BF16_FEATURES, *VNNI_FEATURES)
AMX_FP16_FEATURES = ("amx_fp16",)
AVX_VNNI_FEATURES = ("avx_vnni",)
NEON_FEATURES = ("fp", "asimd")
DOTPROD_FEATURES = ("asimddp",)

#: Features that only kernels of some products use, and that other kernels do not require.
PRODUCT_FEATURES = AMX_FEATURES + AMX_FP16_FEATURES + AVX_VNNI_FEATURES + DOTPROD_FEATURES
#: LLVM's words for features, where they differ.
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

#: Vector registers: Intel SDM volume 1, 10.2 (SSE: 16 of 16 bytes), 14.1 (AVX: 16 of 32 bytes) and
#: 15.1 (AVX-512: 32 of 64 bytes); Arm Architecture Reference Manual, A1.4.1 (32 of 16 bytes). SSE
#: multiplies into a register of its own before it adds, which leaves 15. `l1_bytes` and `l2_bytes`
#: (data cache, per core) only choose block sizes. The defaults are what most cores of a level have
#: at least: Nehalem and Haswell 32 K, 256 K; Skylake-SP 32 K, 1 M; Sapphire Rapids 48 K, 2 M;
#: Neoverse N1 64 K, 1 M, with room for smaller cores. `l3_bytes`, of all cores together, decides
#: what is written past the caches: 32 M are a part of a server's and more than a laptop's.
#: `stack_bytes` is what a kernel's packing buffers may take: threads have 8 MiB under glibc by
#: default and 128 KiB under musl, whose users raise it.
LIMITS = ("vector_bytes", "vector_registers", "l1_bytes", "l2_bytes")
COMMON_LIMITS = {"l3_bytes": 32 << 20, "stack_bytes": 256 * 1024}


@frozen
class Level:
    """Instruction set. `core` is the default core to choose schedules for; `suffixes` are features
    that may be added, in any combination. `limits` are numbers for the names in `LIMITS`."""

    arch: str
    features: Sequence[str]
    limits: Sequence[int]
    core: str
    suffixes: Mapping[str, Sequence[str]]

    def target(
        self, name: str, suffixes: Collection[str], core: str | None = None, **caches: int
    ) -> Target:
        """Return the level with some of its suffixes, as a target of a core with these caches."""
        added = (word for suffix in suffixes for word in self.suffixes[suffix])
        return Target(
            name=name,
            family="cpu",
            arch=self.arch,
            features=frozenset({*self.features, *added}),
            limits={**dict(zip(LIMITS, self.limits, strict=True)), **COMMON_LIMITS, **caches},
            device=core or self.core,
        )


#: Levels by name, the least of each architecture first.
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
#: Other names of suffixes: x86-64-amx+amx-fp16.
SUFFIX_NAMES = {"amx-fp16": "fp16"}


def with_suffixes(name: str) -> Target | None:
    """Return the level with these suffixes, such as x86-64-v4+vnni+bf16; None if it is none."""
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


#: Targets that are proven on their own.
_NAMES = (
    *("x86-64", "x86-64-v3", "x86-64-v3+vnni", "x86-64-v4", "x86-64-v4+vnni", "x86-64-v4+bf16"),
    *("x86-64-amx", "x86-64-amx+fp16", "aarch64-neon", "aarch64-neon+dotprod"),
)
TARGETS: tuple[Target, ...] = tuple(map(known, _NAMES))
