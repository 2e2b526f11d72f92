"""Our operators run with the arguments of torch's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .schemas import Parameter, Schema

if TYPE_CHECKING:
    from ..op import Op

__all__ = ["REDUCTIONS", "RENAMED", "default_of", "is_default", "run_record"]

RENAMED = {"input": "self", "tensor": "other", "stop": "end", "size_": "size", "window": "kernel_size"}


def run_record(record: Op, schema: Schema, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Our operator, given the arguments of torch's. Raises LookupError where it does not take all of them."""
    positional = [p for p in schema.parameters if not p.keyword]
    if len(args) > len(positional) or any(p.name in kwargs for p in positional[: len(args)]):
        raise LookupError
    values = {p.name: a for p, a in zip(positional, args, strict=False)} | kwargs
    sig, tensors, left = record.signature, [], dict(values)
    defaults = {**sig.defaults, **sig.keyword_defaults}
    names = [*sig.positional, *([sig.star] if sig.star else []), *sig.keyword]
    metadata = []
    for name in names:
        theirs = next((k for k in left if k == name or RENAMED.get(name) == k), None)
        if theirs is not None:
            metadata.append(_ours(name, left.pop(theirs)))
            continue
        known = next(
            (p for p in schema.parameters if p.name in (name, RENAMED.get(name)) and p.default is not None), None
        )
        if name not in defaults and known is None:
            raise LookupError
        metadata.append(defaults[name] if name in defaults else _ours(name, default_of(known)))  # type: ignore[arg-type]
    for p in schema.parameters:
        if p.name in left and (p.type.startswith("Tensor") or len(tensors) < len(sig.arrays)):
            tensors.append(left.pop(p.name))
    if any(v is not None and not is_default(p, v) for p in schema.parameters if (v := left.get(p.name)) is not None):
        raise LookupError
    if sig.variadic:
        if len(tensors) != 1:
            raise LookupError
        return record.invoke(record.function, tensors[0], tuple(metadata))
    tensors += [None] * (len(sig.arrays) - len(tensors))
    return record.invoke(record.function, tensors, tuple(metadata))


REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def _ours(name: str, value: Any) -> Any:
    """The value of an argument as our operators take it."""
    if name == "reduction" and isinstance(value, int):
        return ("none", "mean", "sum")[value]
    return tuple(value) if type(value) is list else value


_WORDS = {"None": None, "True": True, "False": False, "Mean": 1, "Sum": 2, "[]": [], "contiguous_format": None}


def default_of(p: Parameter) -> Any:
    text = p.default
    assert text is not None
    if text in _WORDS:
        return _WORDS[text]
    if text.startswith("["):
        return [int(v) for v in text[1:-1].split(",")]
    try:
        return float(text) if "." in text or "e" in text else int(text)
    except ValueError:
        return text.strip("'\"")


def is_default(p: Parameter, value: Any) -> bool:
    if p.default is None:
        return False
    default = default_of(p)
    return type(value) is type(default) and value == default or value is None and default is None
