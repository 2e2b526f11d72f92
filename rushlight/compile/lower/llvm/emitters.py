"""The code that each scalar operator becomes: `@emits(name)` registers it, `emitter` finds it.

An emitter is called with the builder and the arguments; one of integers also with whether they are signed. It serves
registers of one kind:

    float     float32 lanes (float16 and bfloat16 are float32 numbers in registers)
    widened   float32 lanes too, but what the emitter gets, and gives, is float64
    double    float64 lanes
    integer   integers and bool
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ....core.interrupts import may_register
from ...ir.scalar_ops import SCALAR_OPS
from .ir import Builder, Val

__all__ = ["Emitter", "emits", "emitter", "libm"]

Emitter = Callable[..., Val]
_KINDS = ("float", "widened", "double", "integer")
_emitters: dict[tuple[str, str], Emitter] = {}


def emits(name: str, *kinds: str) -> Callable[[Emitter], Emitter]:
    """Decorator: what an operator becomes in registers of these kinds, by default float and double.

    Raises ValueError for a name without a row in `ir/scalar_ops.py`, for an unknown kind, and for a second emitter of a kind.
    """

    def register(rule: Emitter) -> Emitter:
        for kind in kinds or ("float", "double"):
            if name not in SCALAR_OPS or kind not in _KINDS:
                raise ValueError(f"no scalar operator {name!r}, or no kind of registers {kind!r}")
            if not may_register(_emitters.get((name, kind)), rule):
                raise ValueError(f"two emitters of {name!r} for {kind} registers")
            _emitters[name, kind] = rule
        return rule

    return register


def emitter(name: str, elem: str) -> Emitter | None:
    """The emitter of an operator for registers of an element type; None where generated code does not have it."""
    kind = elem if elem in ("float", "double") else "integer"
    own = _emitters.get((name, kind))
    if own is not None or kind == "integer":
        return own
    if kind == "float" and (name, "widened") in _emitters:
        return partial(_through_double, _emitters[name, "widened"])
    function = SCALAR_OPS[name].libm
    return partial(_libm, function) if function else None


def _through_double(rule: Emitter, b: Builder, *args: Val) -> Val:
    return b.convert("fptrunc", rule(b, *(b.convert("fpext", x, "double") for x in args)), "float")


def libm(b: Builder, name: str, *args: Val) -> Val:
    """A function of C's library, lane by lane."""
    return b.per_lane(f"@{name}{'f' if args[0].elem == 'float' else ''}", list(args), args[0].elem)


def _libm(name: str, b: Builder, *args: Val) -> Val:
    return libm(b, name, *args)
