"""Indexing with a hidden dimension: `x[...]` in its forms, and its gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import ops
from ...core.tensor.tensor import Tensor
from .calls import Call, one_by_one
from .tensor import reveal

__all__ = ["INDEXING"]

_FULL = slice(None)


def basic(this: Call) -> Any:
    """Integers, slices, None and Ellipsis."""
    return this.run(this.tensors, ((_FULL, *this.options()["index"]),))


def basic_gradient(this: Call) -> Any:
    """Zeros with the incoming gradient in the part that was read."""
    o = this.options()
    index = o["index"] if isinstance(o["index"], tuple) else (o["index"],)
    return this.run([this.whole(0)], this.with_options(shape=(this.size, *o["shape"]), index=(_FULL, *index)))


def diagonal_gradient(this: Call) -> Any:
    o, rank = this.options(), len(this.options()["shape"])
    dims = {n: this.dims(o[n], rank) for n in ("dim1", "dim2")}
    return this.run([this.whole(0)], this.with_options(shape=(this.size, *o["shape"]), **dims))


def unfold_gradient(this: Call) -> Any:
    o, rank = this.options(), len(this.options()["shape"])
    changed = {"shape": (this.size, *o["shape"]), "dimension": this.dims(o["dimension"], rank)}
    return this.run([this.whole(0)], this.with_options(**changed))


# ---------------------------------------------------------------------------------------------- index tensors


class _Places:
    """The index tensors of a call, from argument `start` on, and where their dimensions are in a result.

    lead: how many dimensions stay in front of the first index; k: how many the indices have together; separated: whether a
    dimension stays between two of them, which puts those of the indices first (NumPy's rule).
    """

    def __init__(self, this: Call, start: int):
        self.this, self.start = this, start
        used = [i for i in range(start, len(this.seen)) if this.seen[i] is not None]
        self.lead = used[0] - start
        self.k = max(this.ranks[i] for i in used)
        self.separated = used[-1] - used[0] + 1 != len(used)
        self.own = any(this.batched[i] for i in used)

    def whole(self) -> list[Any]:
        """The indices, those that are batched with the hidden dimension in front of all of the indices' own."""
        rank = max(self.this.ranks[self.start :])
        return [self.this.aligned(i, rank) for i in range(self.start, len(self.this.seen))]

    def examples(self) -> Any:
        """The numbers of the examples, as an index for the hidden dimension. Shape: (size, 1...)"""
        return ops.arange(self.this.size).reshape(-1, *(1,) * self.k)  # type: ignore[attr-defined]

    def full(self) -> list[Any]:
        """The indices into a tensor with the hidden dimension: by example if they are batched."""
        return [self.examples() if self.own else None, *self.whole()]

    def outward(self, result: Any) -> Any:
        """What `full` reads, with its dimensions in an example's order."""
        lead, k = self.lead, self.k
        if self.own:  # the examples' index is another one in front
            if not lead or self.separated:
                return result
            return result.movedim(tuple(range(1, k + 1)), tuple(range(lead + 1, lead + k + 1)))
        return result.movedim(k, 0) if self.separated else result

    def inward(self, value: Any) -> Any:
        """The reverse of `outward`, for what is written at `full`."""
        lead, k = self.lead, self.k
        if self.own:
            if not lead or self.separated:
                return value
            return value.movedim(tuple(range(lead + 1, lead + k + 1)), tuple(range(1, k + 1)))
        return value.movedim(0, k) if self.separated else value


def by_tensors(this: Call) -> Any:
    """The elements at index tensors."""
    places = _Places(this, 1)
    if this.batched[0]:
        return places.outward(this.run([this.tensors[0], *places.full()]))
    result = this.run([this.tensors[0], *places.whole()])
    return result if places.separated else result.movedim(places.lead, 0)


def by_tensors_gradient(this: Call) -> Any:
    """Zeros with the incoming gradient added at the places that were read."""
    places = _Places(this, 1)
    g = places.inward(this.whole(0))
    return this.run([g, *places.full()], this.with_options(shape=(this.size, *this.options()["shape"])))


def put(this: Call) -> Any:
    """The first argument with values at the places of index tensors."""
    places = _Places(this, 2)
    x, value = this.whole(0), this.tensors[1]
    rank = this.ranks[0] - sum(t is not None for t in this.seen[2:]) + places.k
    if this.batched[1]:
        value = places.inward(this.aligned(1, rank))
    elif places.own or places.separated:
        value = places.inward(_as_batch(value, rank))
    return this.run([x, value, *places.full()])


def _as_batch(value: Any, rank: int) -> Any:
    return value.reshape(1, *(1,) * (rank - value.dim()), *value.shape)


def of_rows(this: Call) -> Any:
    """index_select: entries along one dimension."""
    dim = this.dims(this.options()["dim"], this.ranks[0]) - 1
    index = this.seen[1].reshape(-1)
    if not this.ranks[0]:  # one index picks the number itself
        picked = this.seen[0].unsqueeze(0)[index]
        return reveal(picked.squeeze(0) if index.numel() == 1 else picked, this.level)
    return reveal(this.seen[0][(_FULL,) * dim + (index,)], this.level)


def shared_index(this: Call) -> Any:
    """index_add, index_copy and index_fill along one dimension, where all examples share the index."""
    if this.batched[1] or not this.ranks[0]:
        return one_by_one(this)
    tensors = [this.tensors[1] if i == 1 else this.whole(i) if self_ranked(this, i) else t
               for i, t in enumerate(this.tensors)]  # fmt: skip
    if len(tensors) > 2 and this.batched[2] and not self_ranked(this, 2):
        return one_by_one(this)
    return this.run(tensors, this.with_options(dim=this.dims(this.options()["dim"], this.ranks[0])))


def self_ranked(this: Call, i: int) -> bool:
    """Whether argument `i` is a tensor with the first one's number of dimensions."""
    return isinstance(this.seen[i], Tensor) and this.ranks[i] == this.ranks[0]


INDEXING: dict[str, Callable[[Call], Any]] = {
    "part": basic,
    "part.select": basic,
    "part.unsqueeze": basic,
    "part.alias": basic,
    "_embed": basic_gradient,
    "_diagonal_backward": diagonal_gradient,
    "_unfold_backward": unfold_gradient,
    "index": by_tensors,
    "_index_backward": by_tensors_gradient,
    "index_put": put,
    "index_select": of_rows,
    "index_add": shared_index,
    "index_copy": shared_index,
    "index_fill": shared_index,
}
