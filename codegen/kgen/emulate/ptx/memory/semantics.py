"""Memory semantics of accesses and fences, from the words of their opcode (PTX ISA 8.3 to 8.6)."""

from __future__ import annotations

from kgen.emulate.ptx.frontend.opcode_words import OpcodeWords
from kgen.emulate.ptx.order.tags import Strength
from kgen_runtime.values import frozen

_SCOPES = {
    "cta": Strength.CTA,
    "cluster": Strength.CLUSTER,
    "gpu": Strength.GPU,
    "gl": Strength.GPU,
    "sys": Strength.GPU,
}


@frozen
class Semantics:
    """Semantics of an access: `strength` is the scope of a strong access, which may acquire or
    release.

    `constant`: the bytes do not change during the kernel (ld.global.nc).
    """

    strength: Strength = Strength.WEAK
    acquire: bool = False
    release: bool = False
    constant: bool = False


WEAK = Semantics()


def scope_of(words: OpcodeWords, default: Strength = Strength.GPU) -> Strength:
    """Return the scope that the opcode names; .sys is treated as the scope of the only GPU."""
    name = words.choice(*_SCOPES)
    return default if name is None else _SCOPES[name]


def semantics_of(words: OpcodeWords, default: str = "weak") -> Semantics:
    """Return the semantics of ld, st, atom or red. `default` applies if the opcode names none."""
    if words.flag("nc"):
        return Semantics(constant=True)
    order = words.choice("weak", "volatile", "relaxed", "acquire", "release", "acq_rel") or default
    if order == "weak":
        return WEAK
    return Semantics(
        strength=scope_of(words),
        acquire=order in ("acquire", "acq_rel"),
        release=order in ("release", "acq_rel"),
    )
