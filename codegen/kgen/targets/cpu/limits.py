"""The CPU targets, as data: features, vector registers and caches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kgen.targets.base import Target

#: Of the machine that builds.
NATIVE = "native"
#: Features beyond each architecture's first version that generated code may use, in the words of
#: /proc/cpuinfo, with LLVM's word for each; bf16 and AMX are suffixes or levels of their own.
#: x86-64, x86-64-v3 and v4 are levels of the x86-64 psABI ("Low Level System Information", table
#: "Micro-architecture levels"); of each only what an arithmetic kernel can use is asked for.
BASELINE_FEATURES: dict[str, str] = {"sse2": "sse2"}
V3_FEATURES: dict[str, str] = {
    "ssse3": "ssse3",
    "sse4_1": "sse4.1",
    "sse4_2": "sse4.2",
    "popcnt": "popcnt",
    "avx": "avx",
    "avx2": "avx2",
    "fma": "fma",
    "f16c": "f16c",
    "bmi1": "bmi",
    "bmi2": "bmi2",
    "abm": "lzcnt",
    "movbe": "movbe",
}
V4_FEATURES: dict[str, str] = {
    **V3_FEATURES,
    "avx512f": "avx512f",
    "avx512bw": "avx512bw",
    "avx512cd": "avx512cd",
    "avx512dq": "avx512dq",
    "avx512vl": "avx512vl",
}
BF16_FEATURES: dict[str, str] = {"avx512_bf16": "avx512bf16"}
VNNI_FEATURES: dict[str, str] = {"avx512_vnni": "avx512vnni"}
#: Every processor with tiles, from Sapphire Rapids on, has both (Intel, Architecture Instruction
#: Set Extensions Programming Reference, "Recent Instruction Set Extensions").
AMX_FEATURES: dict[str, str] = {
    "amx_tile": "amx-tile",
    "amx_bf16": "amx-bf16",
    "amx_int8": "amx-int8",
    **BF16_FEATURES,
    **VNNI_FEATURES,
}
AMX_FP16_FEATURES: dict[str, str] = {"amx_fp16": "amx-fp16"}
AVX_VNNI_FEATURES: dict[str, str] = {"avx_vnni": "avxvnni"}
NEON_FEATURES: dict[str, str] = {"fp": "fp-armv8", "asimd": "neon"}
DOTPROD_FEATURES: dict[str, str] = {"asimddp": "dotprod"}

#: What only some products use: others neither use it nor ask for it.
PRODUCT_FEATURES: dict[str, str] = (
    BF16_FEATURES
    | VNNI_FEATURES
    | AVX_VNNI_FEATURES
    | AMX_FEATURES
    | AMX_FP16_FEATURES
    | DOTPROD_FEATURES
)
LLVM_FEATURES: dict[str, str] = (
    BASELINE_FEATURES | V3_FEATURES | V4_FEATURES | NEON_FEATURES | PRODUCT_FEATURES
)

#: Vector registers: Intel SDM volume 1, 10.2 (SSE: 16 of 16 bytes), 14.1 (AVX: 16 of 32 bytes) and
#: 15.1 (AVX-512: 32 of 64 bytes); Arm Architecture Reference Manual, A1.4.1 (32 of 16 bytes). SSE
#: multiplies into a register of its own before it adds, which leaves 15. `l1_bytes` and `l2_bytes`
#: (data cache, per core) only choose block sizes. The defaults are what most cores of a level have
#: at least: Nehalem and Haswell 32 K, 256 K; Skylake-SP 32 K, 1 M; Sapphire Rapids 48 K, 2 M;
#: Neoverse N1 64 K, 1 M, with room for smaller cores. `l3_bytes`, of all cores together, decides
#: what is written past the caches: 32 M are a part of a server's and more than a laptop's.
#: `stack_bytes` is what a kernel's packing buffers may take: threads have 8 MiB under glibc by
#: default and 128 KiB under musl, whose users raise it.
BASELINE_LIMITS = {
    "vector_bytes": 16,
    "vector_registers": 15,
    "l1_bytes": 32768,
    "l2_bytes": 262144,
}
V3_LIMITS = {"vector_bytes": 32, "vector_registers": 16, "l1_bytes": 32768, "l2_bytes": 262144}
V4_LIMITS = {"vector_bytes": 64, "vector_registers": 32, "l1_bytes": 32768, "l2_bytes": 1048576}
AMX_LIMITS = V4_LIMITS | {"l1_bytes": 49152, "l2_bytes": 2097152}
NEON_LIMITS = {"vector_bytes": 16, "vector_registers": 32, "l1_bytes": 32768, "l2_bytes": 524288}
L3_BYTES = 32 << 20
STACK_BYTES = 256 * 1024
#: The core that schedules for a level are chosen for, whatever the machine that builds: the ones
#: that the model's cycles were measured on, or the level's only kind.
BASELINE_CORE, V3_CORE, V4_CORE, AMX_CORE = "Nehalem", "Zen 3", "Zen 4", "Golden Cove"
NEON_CORE = "Neoverse"


def x86_target(
    name: str,
    *levels: Mapping[str, str],
    limits: Mapping[str, int],
    device: str,
    **caches: int,
) -> Target:
    """`device` is the core that schedules are chosen for."""
    return Target(
        name=name,
        family="cpu",
        arch="x86_64",
        features=frozenset(word for level in levels for word in level),
        limits={**limits, "l3_bytes": L3_BYTES, "stack_bytes": STACK_BYTES, **caches},
        device=device,
    )


def neon_target(name: str, *levels: Mapping[str, str], **caches: int) -> Target:
    return Target(
        name=name,
        family="cpu",
        arch="aarch64",
        features=frozenset(word for level in (NEON_FEATURES, *levels) for word in level),
        limits={**NEON_LIMITS, "l3_bytes": L3_BYTES, "stack_bytes": STACK_BYTES, **caches},
        device=NEON_CORE,
    )


#: What may be added to a level, in any combination; those that are proven on their own are listed.
SUFFIXES: dict[str, dict[str, Mapping[str, str]]] = {
    "x86-64": {},
    "x86-64-v3": {"vnni": AVX_VNNI_FEATURES},
    "x86-64-v4": {"bf16": BF16_FEATURES, "vnni": VNNI_FEATURES},
    "x86-64-amx": {"fp16": AMX_FP16_FEATURES},
    "aarch64-neon": {"dotprod": DOTPROD_FEATURES},
}
#: The feature's own name does as well: x86-64-amx+amx-fp16.
SUFFIX_NAMES = {"amx-fp16": "fp16"}

TARGETS: tuple[Target, ...] = (
    x86_target("x86-64", BASELINE_FEATURES, limits=BASELINE_LIMITS, device=BASELINE_CORE),
    x86_target("x86-64-v3", V3_FEATURES, limits=V3_LIMITS, device=V3_CORE),
    x86_target("x86-64-v3+vnni", V3_FEATURES, AVX_VNNI_FEATURES, limits=V3_LIMITS, device=V3_CORE),
    x86_target("x86-64-v4", V4_FEATURES, limits=V4_LIMITS, device=V4_CORE),
    x86_target("x86-64-v4+vnni", V4_FEATURES, VNNI_FEATURES, limits=V4_LIMITS, device=V4_CORE),
    x86_target("x86-64-v4+bf16", V4_FEATURES, BF16_FEATURES, limits=V4_LIMITS, device=V4_CORE),
    x86_target("x86-64-amx", V4_FEATURES, AMX_FEATURES, limits=AMX_LIMITS, device=AMX_CORE),
    x86_target(
        "x86-64-amx+fp16",
        V4_FEATURES,
        AMX_FEATURES,
        AMX_FP16_FEATURES,
        limits=AMX_LIMITS,
        device=AMX_CORE,
    ),
    neon_target("aarch64-neon"),
    neon_target("aarch64-neon+dotprod", DOTPROD_FEATURES),
)


def with_suffixes(name: str) -> Target | None:
    """The level with these suffixes, such as x86-64-v4+vnni+bf16; None if it is none."""
    level, *given = name.split("+")
    known = SUFFIXES.get(level, {})
    wanted = {SUFFIX_NAMES.get(suffix, suffix) for suffix in given}
    if level not in SUFFIXES or len(wanted) < len(given) or not wanted <= known.keys():
        return None
    name = "+".join([level, *(suffix for suffix in known if suffix in wanted)])
    listed = {target.name: target for target in TARGETS}
    added = frozenset(word for suffix in wanted for word in known[suffix])
    base = listed[level]
    return listed.get(name) or replace(base, name=name, features=base.features | added)
