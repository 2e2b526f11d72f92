"""A call of a public function as a call of torch's operator: the overload, and a value for each of its parameters.

torch's own functions take their arguments in the order of the schema (`bind`); those of `nn.functional` by names of
their own, which functional_rules.py translates.
"""

from __future__ import annotations

import numbers
from typing import Any, NamedTuple

from ....core.dispatch.aten.run import default_of
from ....core.tensor.tensor import Tensor
from .schemas import TAKES_NUMBERS, Parameter, Schema, accepts, is_list, overloads

__all__ = ["Call", "bind", "complete"]


class Call(NamedTuple):
    """An operator and its arguments, one for each parameter of the schema."""

    schema: Schema
    arguments: list[Any]


_ALIASES = {"input": "self", "axis": "dim", "keepdims": "keepdim", "x1": "self", "x2": "other", "training": "train"}
_IGNORED = {"out": None, "generator": None, "requires_grad": False, "names": None, "_stacklevel": ..., "inplace": False}


# losses of which torch's functions for Python have another default than the schema: they reduce nothing
_UNREDUCED = frozenset({
    "binary_cross_entropy_with_logits", "cosine_embedding_loss", "ctc_loss", "hinge_embedding_loss", "kl_div",
    "margin_ranking_loss", "triplet_margin_loss",
})  # fmt: skip


def bind(name: str, args: tuple, kwargs: dict[str, Any]) -> Call | None:
    """The overload of operator `name` that takes these arguments of Python, None where there is none that gives
    tensors.

    Overloads that take a tensor for a number come last.
    """
    kwargs = {k: v for k, v in kwargs.items() if k not in _IGNORED or _IGNORED[k] not in (v, ...)}
    for loose in (False, True):
        for schema in overloads(name):
            values = _values(schema, args, kwargs, loose) if "Tensor" in schema.returns else None
            if values is not None:
                return complete(schema, {"reduction": 0, **values} if name in _UNREDUCED else values)
    return None


def complete(schema: Schema, values: dict[str, Any]) -> Call | None:
    """The call with defaults for what is not given; None where a parameter without a default is missing."""
    arguments = []
    for p in schema.parameters:
        if p.name not in values and p.default is None:
            return None
        arguments.append(values[p.name] if p.name in values else default_of(p))
    return Call(schema, arguments)


def _values(schema: Schema, args: tuple, kwargs: dict[str, Any], loose: bool) -> dict[str, Any] | None:
    positional = [p for p in schema.parameters if not p.keyword]
    values = _positional(schema, positional, args, loose)
    if values is None:
        return None
    by_name = {p.name: p for p in schema.parameters}
    for key, value in kwargs.items():
        p = by_name.get(key) or by_name.get(_ALIASES.get(key, ""))
        if p is None or p.name in values or not _fits(schema, p, value, loose):
            return None
        values[p.name] = value
    return values if all(p.name in values or p.default is not None for p in schema.parameters) else None


def _positional(schema: Schema, parameters: list[Parameter], args: tuple, loose: bool) -> dict[str, Any] | None:
    values: dict[str, Any] = {}
    for i, p in enumerate(parameters):
        if i >= len(args):
            return values
        rest = args[i:]
        if _gathers(schema, parameters, p, rest, loose):
            values[p.name] = tuple(rest)
            return values
        if not _fits(schema, p, rest[0], loose):
            return None
        values[p.name] = rest[0]
    return values if len(args) <= len(parameters) else None


def _gathers(schema: Schema, parameters: list[Parameter], p: Parameter, rest: tuple, loose: bool) -> bool:
    """Whether the remaining arguments are the numbers, or tensors, of one list: view(2, 3), meshgrid(x, y)."""
    first = [q for q in parameters if q.type != "Tensor"][:1] == [p]
    if not first or not p.type.endswith("[]"):
        return False
    if p.type == "Tensor[]":
        return all(isinstance(v, Tensor) for v in rest)
    one = p._replace(type=p.type[:-2])
    return all(not isinstance(v, bool) and accepts(one, v, loose, False) for v in rest)


def _fits(schema: Schema, p: Parameter, value: Any, loose: bool) -> bool:
    return accepts(p, value, loose, schema.name in TAKES_NUMBERS)


def as_numbers(call: Call) -> set[int]:
    """The ids of the tensors that are given where the operator takes a number."""
    found: set[int] = set()
    for p, value in zip(call.schema.parameters, call.arguments, strict=True):
        if p.type.startswith("Tensor"):
            continue
        values = value if is_list(p.type) and isinstance(value, (list, tuple)) else [value]
        found |= {id(v) for v in values if isinstance(v, Tensor)}
    return found


def without_tensors(value: Any, ids: set[int]) -> Any:
    """Arguments with the numbers of the tensors whose ids are given."""
    if isinstance(value, Tensor):
        return value.item() if id(value) in ids else value
    if type(value) in (list, tuple):
        return type(value)(without_tensors(v, ids) for v in value)
    if type(value) is dict:
        return {k: without_tensors(v, ids) for k, v in value.items()}
    return value


def plain_number(value: Any) -> Any:
    """A number of NumPy's as Python's."""
    foreign = isinstance(value, numbers.Number) and type(value) not in (bool, int, float, complex)
    number: Any = value
    return number.item() if foreign and hasattr(value, "item") else value
