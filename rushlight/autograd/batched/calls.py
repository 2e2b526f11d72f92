"""An operator's call on batched tensors: at the innermost level, by the rule of its kind, or for each example."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ... import ops
from ...core.dispatch.inplace import rule_reads_first
from ...core.dispatch.mode import is_grad_enabled
from ...core.dispatch.slow_path import common_type
from ...core.tensor.dtype import can_cast
from ...core.tensor.size import wrap_dim
from ...core.tensor.tensor import Tensor, type_word
from .tensor import Batched, Level, hide, reveal

if TYPE_CHECKING:
    from ...core.dispatch.op import Op


__all__ = ["Call", "apply", "call", "write"]


class Call:
    """What a rule sees of a call: the operator's record, its arguments with the hidden dimension in front, and metadata.

    tensors: of each argument the tensor (size, *), or, if the argument is not batched, itself; batched: which are which;
    ranks: how many dimensions each has for the program. A rule returns tensors with the hidden dimension in front.
    """

    def __init__(self, record: Op, tensors: tuple, metadata: tuple, level: Level):
        self.record, self.metadata, self.level = record, metadata, level
        self.size = level.size
        self.seen = tensors
        self.batched = [isinstance(t, Batched) and _is_at(t, level) for t in tensors]
        self.tensors = [reveal(t, level) if b else t for t, b in zip(tensors, self.batched, strict=True)]
        self.ranks = [t._array.ndim if isinstance(t, Tensor) else 0 for t in tensors]

    def run(self, tensors: Any, metadata: Any = None) -> Any:
        """The operator on other tensors."""
        return self.record.invoke(self.record.function, tensors, self.metadata if metadata is None else metadata)

    def whole(self, i: int) -> Any:
        """Argument `i` with the hidden dimension, also if it is not batched. Shape: (size, *)"""
        t = self.tensors[i]
        return t if self.batched[i] or t is None else t.unsqueeze(0).expand(self.size, *t.shape)

    def aligned(self, i: int, rank: int) -> Any:
        """Argument `i` with as many dimensions as broadcasting among ranks up to `rank` needs. Shape: (size, 1..., *)"""
        t = self.tensors[i]
        if t is None or not self.batched[i] or self.ranks[i] == rank:
            return t
        return t.reshape(self.size, *(1,) * (rank - self.ranks[i]), *t.shape[1:])

    def options(self) -> dict[str, Any]:
        """The metadata by name."""
        return dict(zip(self.record.signature.metadata, self.metadata, strict=True))

    def with_options(self, **changed: Any) -> tuple:
        """The metadata with some values replaced."""
        return tuple({**self.options(), **changed}.values())

    def dims(self, value: Any, rank: int) -> Any:
        """Dimensions as the program counts them, counted after the hidden one."""
        if isinstance(value, (tuple, list)):
            return tuple([wrap_dim(d, rank) + 1 for d in value])
        return wrap_dim(value, rank) + 1


def _is_at(t: Batched, level: Level) -> bool:
    while isinstance(t, Batched):
        if t._level is level:
            return True
        t = t._inner
    return False


def _innermost(tensors: Sequence[Any]) -> Level:
    return max((t._level for t in tensors if isinstance(t, Batched)), key=lambda level: level.number)


def call(record: Op, tensors: tuple, metadata: tuple) -> Any:
    """The results of an operator, batched."""
    from .rules import rule_of

    level = _innermost(tensors)
    this = Call(record, tensors, metadata, level)
    try:
        result = rule_of(record)(this)
    except Exception as error:
        error.__suppress_context__ = True  # that there is no array says nothing
        raise
    return _hidden(result, level)


def _hidden(result: Any, level: Level) -> Any:
    if isinstance(result, Tensor):
        return hide(result, level)
    parts = [_hidden(r, level) for r in result]
    return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)


def one_by_one(this: Call) -> Any:
    """The operator on each example, and the results stacked: what is right for every operator."""
    if not this.size:
        return _empty(this)
    rows = []
    for i in range(this.size):
        own = [t.select(0, i) if b else t for t, b in zip(this.tensors, this.batched, strict=True)]
        rows.append(this.run(own))
    return _stacked(rows)


def _stacked(rows: list[Any]) -> Any:
    first = rows[0]
    if isinstance(first, Tensor):
        return ops.stack(rows)
    parts = [_stacked(list(column)) for column in zip(*rows, strict=True)]
    return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)


def _empty(this: Call) -> Any:
    """No results, of the shapes that results have for an example of ones."""
    own = [ops.ones(t.shape[1:], dtype=t.dtype) if b else t for t, b in zip(this.tensors, this.batched, strict=True)]
    return _none_of(this.run(own))


def _none_of(result: Any) -> Any:
    if isinstance(result, Tensor):
        return result.new_zeros((0, *result.shape))  # type: ignore[attr-defined]
    parts = [_none_of(r) for r in result]
    return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)


# ---------------------------------------------------------------------------------------------- writing


def write(record: Op, target: Tensor, others: tuple, metadata: tuple) -> Any:
    """The call of an operator whose result is written into `target`."""
    level = _innermost((target, *others))
    if not (isinstance(target, Batched) and _is_at(target, level)):
        raise RuntimeError(
            "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args "
            "that has more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped "
            "over in a vmap. Please try to use out-of-place operators instead of inplace arithmetic. If said operator is being "
            "called inside the PyTorch framework, please file a bug report instead."
        )
    result = call(record, (_kept(record, target, others), *others), metadata)
    if result.shape != target.shape:
        raise RuntimeError(
            f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(result.shape)}"
        )
    kind = common_type(record, (target, *others)) if record.promote else None
    if kind is not None and not can_cast(kind, target.dtype):
        raise RuntimeError(
            f"result type {type_word(result.dtype)} can't be cast to the desired output type {type_word(target.dtype)}"
        )
    level.wrote = True
    reveal(target, level).copy_(reveal(result, level))
    return target


def _kept(record: Op, target: Tensor, others: tuple) -> Tensor:
    """What the operator reads of `target`: a copy, where its gradient reads it after the write."""
    is_recorded = is_grad_enabled() and any(isinstance(t, Tensor) and t.requires_grad for t in (target, *others))
    return target.clone() if is_recorded and rule_reads_first(record) else target  # type: ignore[attr-defined]


# ---------------------------------------------------------------------------------------------- a user's operators


def apply(run: Callable, own: Callable | None, args: Sequence[Any]) -> Any:
    """A user's operator `run(*args)` on batched tensors: for each example, or by its `own` rule for batches."""
    level = _innermost(args)
    whole = [reveal(a, level) if isinstance(a, Batched) and _is_at(a, level) else a for a in args]
    dims = tuple([0 if w is not a else None for w, a in zip(whole, args, strict=True)])
    if own is not None:
        return _by_own_rule(own, whole, dims, level)
    rows = [
        run(*[w if d is None else w.select(0, i) for w, d in zip(whole, dims, strict=True)]) for i in range(level.size)
    ]
    return _hidden(_stacked(rows), level)


class VmapInfo(NamedTuple):
    """What torch tells a `vmap` of a Function."""

    batch_size: int
    randomness: str


def _by_own_rule(rule: Any, args: list[Any], dims: tuple, level: Level) -> Any:
    result, out_dims = rule(VmapInfo(level.size, level.randomness), dims, *args)
    if isinstance(result, Tensor):
        return _placed(result, out_dims, level)
    spread = out_dims if isinstance(out_dims, (tuple, list)) else (out_dims,) * len(result)
    return type(result)([_placed(r, d, level) for r, d in zip(result, spread, strict=True)])


def _placed(t: Any, dim: int | None, level: Level) -> Any:
    return t if dim is None else hide(t.movedim(dim, 0), level)
