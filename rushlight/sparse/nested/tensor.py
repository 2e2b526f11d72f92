"""The class of nested tensors: what they are made of, sizes, printing, and the calls that come to them.

The elements are in one plain tensor, `_entries`, whose history and gradient are the nested tensor's. In the jagged layout it
is (sum of lengths, *), the sequences one after the other; in the strided one it is flat, the parts one after the other.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np

from ... import ops
from ...core.dispatch.mode import no_grad
from ...core.dispatch.torch_function import DisableTorchFunctionSubclass, activate
from ...core.tensor.layout import jagged, strided
from ...core.tensor.placeholder import Placeholder
from ...core.tensor.size import Size
from ...core.tensor.tensor import Tensor, wrap
from ..without_array import WithoutArray

__all__ = ["NestedInt", "NestedTensor", "like", "of_parts", "of_values"]

_new = object.__new__
_numbers = count(1)


class NestedInt:
    """The size of a dimension whose lengths differ: equal to itself only. Prints as j1, j2, ... in order of creation."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = next(_numbers)

    def __repr__(self) -> str:
        return f"j{self.number}"

    def _refuse(self, *args: Any) -> Any:
        raise RuntimeError(f"{self} is the size of a dimension whose lengths differ: it is no number")

    __int__ = __index__ = __float__ = __bool__ = __add__ = __radd__ = __sub__ = __mul__ = __rmul__ = __lt__ = __gt__ = (
        _refuse
    )


class NestedTensor(WithoutArray):
    """A tensor of tensors of unlike sizes, made by `torch.nested.nested_tensor`."""

    __slots__ = ()
    is_nested = True
    _layout: Any
    _offsets: Any  # jagged: where each sequence begins, and the end of the last
    _symbol: Any  # jagged: the size of their dimension
    _ragged_idx: int  # jagged: that dimension
    _shapes: Any  # strided: the size of each part

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None) -> Any:
        from .rules import call  # which are made of this class

        with DisableTorchFunctionSubclass():
            return call(func, args, kwargs or {})

    # ---------------------------------------------------------------- sizes

    @property
    def layout(self) -> Any:  # type: ignore[override]
        return self._layout

    def _count(self) -> int:
        return len(self._shapes) if self._layout is strided else len(self._offsets) - 1

    @property
    def shape(self) -> Any:  # type: ignore[override]
        if self._layout is strided:
            raise RuntimeError("Internal error: NestedTensorImpl doesn't support sizes. Please file an issue.")
        inner: list[Any] = list(self._entries.shape)
        inner[self._ragged_idx - 1] = self._symbol
        return tuple.__new__(Size, (self._count(), *inner))

    def size(self, dim: int | None = None) -> Any:
        """The size, or that of one dimension."""
        if dim is None:
            return self.shape
        if self._layout is jagged:
            return self.shape[dim]
        rank = self.dim()
        if not -rank <= dim < rank:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})"
            )
        sizes = {s[dim % rank - 1] for s in self._shapes} if dim % rank else {len(self._shapes)}
        if len(sizes) > 1:
            raise RuntimeError(f"Given dimension {dim} is irregular and does not have a size.")
        return sizes.pop() if sizes else 0

    def dim(self) -> int:
        """How many dimensions it has, that of the parts included."""
        if self._layout is jagged:
            return self._entries.dim() + 1
        return len(self._shapes[0]) + 1 if self._shapes else 1

    ndimension = dim
    ndim = property(dim)  # type: ignore[assignment]

    def numel(self) -> int:
        """How many elements there are."""
        return self._entries.numel()

    def stride(self, dim: int | None = None) -> Any:
        """Of the elements, as if the first dimension were one of theirs."""
        if self._layout is strided:
            raise RuntimeError("Internal error: NestedTensorImpl doesn't support strides. Please file an issue.")
        steps = self._entries.stride()
        every = (self._entries.shape[self._ragged_idx - 1] * steps[0] if steps else 1, *steps)
        return every if dim is None else every[dim]

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the parts follow one another in memory."""
        return self._entries.is_contiguous()

    def contiguous(self, memory_format: Any = None) -> Any:
        """The tensor itself where its parts follow one another in memory, else a copy that does."""
        return self if self._entries.is_contiguous() else like(self, self._entries.contiguous())  # type: ignore[attr-defined]

    def __len__(self) -> int:
        if self._layout is strided:
            raise RuntimeError("Internal error: NestedTensorImpl doesn't support sizes. Please file an issue.")
        return self._count()

    def __iter__(self) -> Any:
        return iter(self.unbind())

    # ---------------------------------------------------------------- what it is made of

    def unbind(self, dim: int = 0) -> tuple:
        """The parts, as views."""
        if dim not in (0, -self.dim()):
            raise RuntimeError(f"unbind(): only supported for NestedTensor on dim=0, got {dim}")
        if self._layout is strided:
            sizes = [int(np.prod(s)) for s in self._shapes]
            flat = self._entries.split(sizes) if sizes else ()  # type: ignore[attr-defined]
            return tuple([t.view(s) for t, s in zip(flat, self._shapes, strict=True)])
        return self._entries.split(np.diff(self._offsets._array).tolist(), self._ragged_idx - 1)  # type: ignore[attr-defined]

    def values(self) -> Tensor:
        """All elements: (sum of lengths, *), or flat in the strided layout."""
        return self._entries.view_as(self._entries)  # type: ignore[attr-defined]

    def _jagged(self, name: str) -> None:
        if self._layout is strided:
            raise AttributeError(f"'Tensor' object has no attribute '{name}'")

    @property
    def offsets(self) -> Any:
        self._jagged("offsets")
        return lambda: self._offsets

    @property
    def lengths(self) -> Any:
        self._jagged("lengths")
        return lambda: None

    def to_padded_tensor(self, padding: float, output_size: Any = None) -> Tensor:
        """A dense tensor, filled up with `padding` behind each part.

        Shape: (n, s_i, *) -> (n, max of s_i, *)
        """
        parts = self.unbind()
        if not parts:
            return ops.zeros(0)
        largest = [max(sizes) for sizes in zip(*(p.shape for p in parts), strict=True)]
        if output_size is not None:
            wanted = list(output_size)[1:]
            if len(wanted) != len(largest) or any(a < b for a, b in zip(wanted, largest, strict=True)):
                raise RuntimeError(
                    "Value in output_size is less than NestedTensor padded size. Truncation is not supported."
                )
            largest = wanted
        pad = ops.OPS["constant_pad_nd"]
        return ops.stack([pad(p, _missing(p.shape, largest), padding) for p in parts])

    # ---------------------------------------------------------------- as `WithoutArray` asks

    def _like(self, values: Tensor) -> Any:
        return like(self, values)

    def _values_like_mine(self, other: Any) -> Tensor:
        if not isinstance(other, NestedTensor) or other._entries.shape != self._entries.shape:
            raise RuntimeError("the gradient of a nested tensor has to be a nested tensor of its sizes")
        return other._entries

    def numpy(self, *, force: bool = False) -> Any:
        """Raises RuntimeError: the elements are not one array."""
        self.size() if self._layout is strided else None
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    def tolist(self) -> Any:
        """Raises RuntimeError: unbind() gives the parts."""
        if self._layout is strided:
            raise RuntimeError("Internal error: NestedTensorImpl doesn't support strides. Please file an issue.")
        raise RuntimeError(".tolist() is not supported for tensor subclasses, got NestedTensor")

    def __bool__(self) -> bool:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        if self._layout is strided:
            return self._listed()
        grad = f", grad_fn={self.grad_fn!r}" if self.grad_fn is not None else ""
        grad = grad or (", requires_grad=True" if self.requires_grad else "")
        return (
            f"NestedTensor(size={tuple(self.shape)}, offsets={self._offsets}{grad}, contiguous={self.is_contiguous()})"
        )

    __str__ = __repr__

    def _listed(self) -> str:
        with no_grad():
            parts = [p.detach() for p in self.unbind()]
        if self.requires_grad:
            parts = [p.requires_grad_() for p in parts]
        text = ",\n".join(repr(p) for p in parts).replace("\n", "\n  ")
        end = f", grad_fn=<{self.grad_fn.name()}>" if self.grad_fn is not None else ""
        end = end or (", requires_grad=True" if self.requires_grad else "")
        return f"nested_tensor([\n  {text}\n]{end})" if parts else f"nested_tensor([\n\n]{end})"

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __deepcopy__(self, memo: Any) -> Any:
        made = like(self, self._entries.detach().clone())  # type: ignore[attr-defined]
        return made.requires_grad_() if self.requires_grad else made

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise NotImplementedError("nested tensors are not pickled: save values() and offsets(), or unbind()")


def _missing(shape: Any, largest: list[int]) -> list[int]:
    """The padding of `constant_pad_nd`, from the last dimension on."""
    return [k for a, b in zip(reversed(shape), reversed(largest), strict=True) for k in (0, b - a)]


def _made(values: Tensor, layout: Any) -> Any:
    activate()  # functions ask from now on
    t: Any = _new(NestedTensor)
    t._entries, t._layout = values, layout
    t._array = Placeholder(values._array.shape, values._array.dtype)
    t._storage = t._view = None
    return t


def of_values(values: Tensor, offsets: Tensor, ragged: int = 1, symbol: Any = None) -> Any:
    """A jagged tensor."""
    t = _made(values, jagged)
    t._offsets, t._ragged_idx, t._symbol = offsets, ragged, NestedInt() if symbol is None else symbol
    return t


def of_parts(parts: list[Any], layout: Any, ragged: int | None = None) -> Any:
    """A nested tensor of these, with their history."""
    if layout is strided:
        values = ops.cat([p.reshape(-1) for p in parts]) if parts else ops.zeros(0)
        t = _made(values, strided)
        t._shapes = [tuple(p.shape) for p in parts]
        return t
    if not parts:
        raise RuntimeError("Cannot construct a nested tensor of layout torch.jagged from an empty list of tensors")
    if parts[0].dim() < 1:
        raise RuntimeError("Cannot construct a nested tensor of layout torch.jagged from 0-d tensors")
    differing = [d for d in range(parts[0].dim()) if len({p.shape[d] for p in parts}) > 1]
    if len(differing) > 1:
        raise RuntimeError(
            "Failed to construct a nested tensor of layout torch.jagged: the tensors differ in the sizes of several "
            "dimensions"
        )
    ragged = ragged or (differing[0] + 1 if differing else 1)
    lengths = [p.shape[ragged - 1] for p in parts]
    offsets = wrap(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
    return of_values(ops.cat(parts, ragged - 1), offsets, ragged)


def like(t: Any, values: Tensor, ragged: int | None = None) -> Any:
    """A nested tensor of the lengths of `t`, with other values."""
    if t._layout is jagged:
        return of_values(values, t._offsets, ragged or t._ragged_idx, t._symbol)
    made = _made(values, strided)
    made._shapes = t._shapes
    return made
