"""Shapes: torch's `Size`, and the arithmetic that operators share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from math import prod
from operator import index
from typing import Any


class Size(tuple):
    """The shape of a tensor: a tuple of ints that prints as torch's and can count its elements."""

    def __new__(cls, sizes: Iterable = ()) -> Size:
        if type(sizes) is Size:
            return sizes
        sizes = tuple(sizes)
        for n, size in enumerate(sizes):
            if type(size) is not int:
                return size_of([_whole(size, n) for n, size in enumerate(sizes)])
        return size_of(sizes)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def numel(self) -> int:
        return prod(self)

    def __getitem__(self, place) -> Any:
        part = tuple.__getitem__(self, place)
        return size_of(part) if isinstance(place, slice) else part

    def __add__(self, other):
        if not isinstance(other, tuple):
            raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to torch.Size")
        traced = any(type(size) is not int for size in self)  # sizes that a trace computes again stay what they are
        joined = tuple.__add__(self, other)
        return size_of(joined) if traced else Size(joined)

    def __radd__(self, other):
        if not isinstance(other, tuple):
            return NotImplemented
        traced = any(type(size) is not int for size in self)
        joined = tuple.__add__(other, self)
        return size_of(joined) if traced else Size(joined)

    def __mul__(self, n):
        return size_of(tuple.__mul__(self, n))

    __rmul__ = __mul__

    def __reduce__(self):
        return Size, (tuple(self),)


size_of = partial(tuple.__new__, Size)  # of what is known to be ints


def _whole(size: Any, n: int) -> int:
    if hasattr(size, "__index__"):
        return index(size)
    raise TypeError(f"torch.Size() takes an iterable of 'int' (item {n} is '{type(size).__name__}')")


def wrap_dim(dim: int, ndim: int) -> int:
    """`dim` counted from the front. Raises IndexError outside the range; a 0-d tensor counts as 1-d."""
    if type(dim) is not int and is_bool(dim):
        raise TypeError(f"argument 'dim' must be int, not {_kind(dim)}")
    n = ndim or 1
    if not -n <= dim < n:
        if not hasattr(dim, "__index__"):
            raise TypeError(f"argument 'dim' must be int, not {type(dim).__name__}")
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim + n if dim < 0 else dim


def check_dim(name: str, dim: Any) -> None:
    """Raise torch's error where the `dim` of a method is no integer, nor a tensor of a single one."""
    is_number = getattr(dim, "ndim", 0) == 0 and hasattr(dim, "__index__")
    if type(dim) is not int and (not is_number or is_bool(dim)):
        raise TypeError(f"{name}(): argument 'dim' (position 1) must be int, not {_kind(dim)}")


def is_bool(value: Any) -> bool:
    """Whether a value is True or False, also as NumPy's or in a tensor: Python takes such a number for an index, torch not."""
    return str(getattr(value, "dtype", type(value))) in ("torch.bool", "bool", "<class 'bool'>")


def _kind(value: Any) -> str:
    kind = type(value)
    return f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


def wrap_dims(dims: Iterable[int], ndim: int) -> tuple[int, ...]:
    """Each of `dims` counted from the front. Raises RuntimeError when one appears twice, TypeError where the first is a bool."""
    dims = tuple(dims)
    if dims and type(dims[0]) is bool:  # torch looks at the first alone
        raise TypeError("argument 'dim' must be tuple of ints, but found element of type bool at pos 0")
    wrapped = tuple([wrap_dim(d if type(d) is int else index(d), ndim) for d in dims])
    if len(set(wrapped)) != len(wrapped):
        twice = next(d for d in wrapped if wrapped.count(d) > 1)
        raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
    return wrapped


def shape_from(args: Sequence[Any], name: str = "", argument: str = "size") -> tuple[int, ...]:
    """The shape in a call such as `f(2, 3)`, `f((2, 3))` or `f(Size)`; entries may be 0-d integer tensors.

    Raises TypeError for anything else, as function `name` about its `argument`; with a name, for no arguments too.
    """
    if not args and name:
        raise TypeError(missing(name, argument))
    given = args
    if len(args) == 1 and not hasattr(args[0], "__index__"):
        args = args[0]
        if not isinstance(args, (tuple, list)):
            raise _no_shape(name, argument, f"must be tuple of ints, not {type(args).__name__}")
    try:
        shape = tuple([a if type(a) is int else a.__index__() for a in args])
    except (TypeError, AttributeError):
        raise _wrong_entry(args, len(args) == 1 and args is given, name, argument) from None
    if shape and type(args[0]) is bool:  # torch looks at the first alone
        raise _wrong_entry(("bool",), len(args) == 1 and args is given, name, argument, "bool")
    return shape


def missing(name: str, argument: str) -> str:
    """torch's message where an argument of function `name` was not given."""
    return f'{name}() missing 1 required positional arguments: "{argument}"'


def shape_keyword(value: Any, name: str, argument: str = "size") -> tuple[int, ...]:
    """The shape given by the keyword `argument` of function `name`: a tuple or list, never a number, as in torch."""
    if not isinstance(value, (tuple, list)):
        kind = type(value).__name__
        raise TypeError(f"{name}(): argument '{argument}' must be tuple of ints, not {kind}")
    return shape_from((value,), name, argument)


def _no_shape(name: str, argument: str, words: str) -> TypeError:
    return TypeError((f"{name}(): argument '{argument}' (position 1) " if name else f"argument '{argument}' ") + words)


def _wrong_entry(entries: Sequence[Any], alone: bool, name: str, argument: str, kind: str = "") -> TypeError:
    """torch's error about the first of `entries` that is no integer; `alone`: it is the only argument of the call."""
    at, bad = next((i, kind or type(a).__name__) for i, a in enumerate(entries) if not _is_index(a))
    if alone:
        return _no_shape(name, argument, f"must be tuple of ints, not {bad}")
    if not at:
        return _no_shape(name, argument, f"must be tuple of ints, but found element of type {bad} at pos 0")
    function = f"{name}(): " if name else ""
    return TypeError(
        f"{function}argument '{argument}' failed to unpack the object at pos {at + 1} with error "
        f'"type must be tuple of ints,but got {bad}"'
    )


def _is_index(value: Any) -> bool:
    try:
        value.__index__()
    except (TypeError, AttributeError):
        return False
    return True


def new_shape_from(args: Sequence[Any], name: str = "") -> tuple[int, ...]:
    """`shape_from` for a tensor to be made. Raises RuntimeError for a negative size."""
    shape = shape_from(args, name)
    if shape and min(shape) < 0:
        bad = next(n for n in shape if n < 0)
        raise RuntimeError(f"Trying to create tensor with negative dimension {bad}: {list(shape)}")
    return shape


def infer_size(shape: tuple[int, ...], numel: int) -> tuple[int, ...]:
    """`shape` with a -1 entry worked out for `numel` elements. Raises RuntimeError when it cannot fit."""
    known, unknown = 1, None
    for i, n in enumerate(shape):
        if n == -1:
            if unknown is not None:
                raise RuntimeError("only one dimension can be inferred")
            unknown = i
        elif n < 0:
            raise RuntimeError(f"invalid shape dimension {n} at index {i} of shape {list(shape)}")
        else:
            known *= n
    if unknown is None:
        if known != numel:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
        return shape
    if known == 0:
        if numel:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 "
            "can be any value and is ambiguous"
        )
    if numel % known:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    return (*shape[:unknown], numel // known, *shape[unknown + 1 :])


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that all of `shapes` broadcast to. Raises RuntimeError with torch's message when there is none."""
    out: tuple[int, ...] = ()
    for shape in shapes:
        out = _broadcast_two(out, tuple(shape))
    return out


def _broadcast_two(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    n = max(len(a), len(b))
    a, b = (1,) * (n - len(a)) + a, (1,) * (n - len(b)) + b
    for i in reversed(range(n)):  # torch names the last that does not fit
        p, q = a[i], b[i]
        if p != q and p != 1 and q != 1:
            raise RuntimeError(
                f"The size of tensor a ({p}) must match the size of tensor b ({q}) at non-singleton dimension {i}"
            )
    return tuple(q if p == 1 else p for p, q in zip(a, b, strict=True))


def sum_to_axes(shape: tuple[int, ...], target: tuple[int, ...]) -> tuple[int, ...]:
    """The axes over which a value of `shape` is summed to undo a broadcast from `target`."""
    lead = len(shape) - len(target)
    return tuple(range(lead)) + tuple(lead + i for i, n in enumerate(target) if n == 1 and shape[lead + i] != 1)
