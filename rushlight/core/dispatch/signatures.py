"""What `inspect.signature` and `help` show of functions that take `*args`, or are compiled at their first call.

`inspect` follows `__wrapped__` up to an object with a `__signature__`; those below make theirs when it is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inspect import Signature

    from .op import Op

NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim"}  # torch takes NumPy's names for these parameters too


def of_entry(record: Op) -> Signature:
    """The signature of an operator's public function."""
    sig, out = record.signature, record.out
    if record.kind != "general":
        parameters = ", ".join(record.shown[: 2 if record.kind == "binary" else 1])
        return _signature(record.name, parameters + ", *, out" * out, out)
    if sig.variadic:
        parameters = ", ".join([f"*{sig.arrays[0]}", *sig.keyword, *["out"] * out])
        return _signature(record.name, parameters, out, None, sig.keyword_defaults)
    return _signature(
        record.name, sig.parameters(out), out, sig.public_defaults(), sig.public_keyword_defaults(out) or {}
    )


def of_inplace(record: Op) -> Signature:
    """The signature of the method `name_`."""
    sig = record.signature
    if record.kind != "general":
        return _signature(record.name, "input" if record.kind == "unary" else "self, other", False)
    star = [f"*{sig.star}"] if sig.star else ["*"] if sig.keyword else []
    names = ["self", *sig.arrays[1:], *sig.positional]
    defaults = tuple(sig.defaults[n] for n in names if n in sig.defaults)
    parameters = ", ".join([*names, *star, *sig.keyword])
    return _signature(record.name, parameters, False, defaults, sig.keyword_defaults)


def _signature(name: str, parameters: str, out: bool, defaults: Any = None, by_name: dict | None = None) -> Signature:
    from inspect import signature

    scope: dict[str, Any] = {}
    exec(f"def call({parameters}): ...", scope)
    call = scope["call"]
    call.__defaults__, call.__kwdefaults__ = defaults, {**(by_name or {}), **({"out": None} if out else {})}
    return signature(call)


class OfInplace:
    """Carries the signature of a method `name_`."""

    __slots__ = ("record",)

    def __init__(self, record: Op):
        self.record = record

    @property
    def __signature__(self) -> Signature:
        return of_inplace(self.record)


class WithOut:
    """Carries the signature of a function to which `out=` was added, and NumPy's names with it."""

    __slots__ = ("__wrapped__",)

    def __init__(self, f: Callable):
        self.__wrapped__ = f

    @property
    def __signature__(self) -> Signature:
        from inspect import Parameter, signature

        plain = signature(self.__wrapped__)
        given = [*plain.parameters.values()]
        words = [n for n, own in NUMPY_NAMES.items() if own in plain.parameters and n not in plain.parameters]
        added = [Parameter(n, Parameter.KEYWORD_ONLY, default=None) for n in (*words, "out")]
        last = [given.pop()] if given and given[-1].kind is Parameter.VAR_KEYWORD else []
        return plain.replace(parameters=[*given, *added, *last])


def binary_operator(self, other):
    """What `inspect` shows of the methods behind Python's operators."""
