"""`torch.distributed.tensor.placement_types`: how a tensor is laid out over processes.

They are plain values, one for each dimension of a mesh: a `DTensor` is cut by the first one, then what is left by the next.

>>> Shard(0), Replicate(), str(Partial("avg"))
(Shard(dim=0), Replicate(), 'P(avg)')
"""

from __future__ import annotations

from typing import Any

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """A layout over the processes of one dimension of a mesh. Equal to placements of the same class and values."""

    __slots__ = ("_values",)
    _values: tuple[Any, ...]

    def __init__(self) -> None:
        self._values = ()

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether each process has a part of the tensor, cut along `dim` (None: along any dimension)."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether each process has the whole tensor."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether each process has a term of the tensor, to be reduced by `reduce_op` (None: by any)."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._values == other._values  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((type(self), self._values))


class Shard(Placement):
    """Each process has a part of the tensor, cut along dimension `dim`."""

    __slots__ = ()

    def __init__(self, dim: int) -> None:
        self._values = (dim,)

    @property
    def dim(self) -> int:
        """The dimension that is cut."""
        return self._values[0]

    def __repr__(self) -> str:
        return f"Shard(dim={self.dim})"

    def __str__(self) -> str:
        return f"S({self.dim})"


class _StridedShard(Placement):
    """Each process has one piece of each of `split_factor` groups along dimension `dim`."""

    __slots__ = ()

    def __init__(self, dim: int, *, split_factor: int) -> None:
        self._values = (dim, split_factor)

    @property
    def dim(self) -> int:
        """The dimension that is cut."""
        return self._values[0]

    @property
    def split_factor(self) -> int:
        """How many groups there are."""
        return self._values[1]

    def __repr__(self) -> str:
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"

    def __str__(self) -> str:
        return f"_S({self.dim}, {self.split_factor})"


class Replicate(Placement):
    """Each process has the whole tensor."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Replicate()"

    def __str__(self) -> str:
        return "R"


class Partial(Placement):
    """Each process has a term of the tensor; `reduce_op` ("sum", "avg", "min", "max", "product") makes it whole."""

    __slots__ = ()

    def __init__(self, reduce_op: str = "sum") -> None:
        self._values = (reduce_op,)

    @property
    def reduce_op(self) -> str:
        """The reduction."""
        return self._values[0]

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"
