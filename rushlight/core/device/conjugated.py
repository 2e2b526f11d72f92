"""What a tensor's `_array` holds when its elements are those of another array, conjugated or negated: `x.conj()`.

As in torch, `conj()` copies nothing: a write to `x` shows in it, and a write to it changes `x`. The array is that of `x`,
the `outline`; the elements are worked out when something reads them. Entry points notice it, as every `Placeholder`, by its
type; the slow path applies views to the outline and gives all other operators the elements. NumPy's functions outside of
kernels get the elements, and write through.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..tensor.placeholder import Placeholder


class Conjugated(np.lib.mixins.NDArrayOperatorsMixin, Placeholder):
    """The elements of `outline`, conjugated (conj) and negated (neg)."""

    __slots__ = ("conj", "neg", "outline")
    __hash__ = object.__hash__  # type: ignore[assignment]

    def __init__(self, outline: np.ndarray, conj: bool, neg: bool):
        super().__init__(outline.shape, outline.dtype)
        self.outline, self.conj, self.neg = outline, conj, neg
        if not exist:
            exist.append(True)

    strides = property(lambda self: self.outline.strides)
    flags = property(lambda self: self.outline.flags)
    nbytes = property(lambda self: self.outline.nbytes)
    base = property(lambda self: self.outline)

    def apply(self, a: Any) -> Any:
        """What is done to the outline's elements, and, being its own inverse, to those that are written."""
        if self.conj:
            a = np.conjugate(a)
        return np.negative(a) if self.neg else a

    def elements(self) -> np.ndarray:
        """A new array with the elements."""
        return np.asarray(self.apply(self.outline))  # NumPy's functions make a number of what has no dimensions

    def like(self, outline: np.ndarray) -> Any:
        """Another array seen in the same way."""
        return seen(outline, self.conj, self.neg)

    def write(self, where: Any, value: Any, casting: Any = "unsafe") -> None:
        """Write elements through to the outline."""
        part = self.outline[where]
        np.copyto(part, self.apply(np.asarray(value).astype(self.outline.dtype, casting=casting)), casting)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.elements() if dtype is None else self.elements().astype(dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if ufunc in _ORDERS and self.dtype.kind == "c":  # NumPy compares complex numbers; the careful path refuses
            raise TypeError("an order of complex numbers")
        out = kwargs.pop("out", (None,))
        plain = [elements_of(x) for x in inputs]
        if type(out[0]) is not Conjugated:
            return getattr(ufunc, method)(*plain, **kwargs, **({} if out[0] is None else {"out": out}))
        out[0].write(..., getattr(ufunc, method)(*plain, **kwargs))
        return out[0]

    def __array_function__(self, function: Any, types: Any, args: tuple, kwargs: dict) -> Any:
        if function is np.copyto:
            return _copy(*args, **kwargs)
        return function(
            *(_elements_within(a) for a in args), **{name: _elements_within(a) for name, a in kwargs.items()}
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.elements(), name)

    def __getitem__(self, index: Any) -> Any:
        return elements_of(self)[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.outline[index] = self.apply(elements_of(value))

    def fill(self, value: Any) -> None:
        """Write one value everywhere."""
        self.write(..., value)

    def __len__(self) -> int:
        return len(self.outline)

    def __iter__(self) -> Any:
        return iter(self.elements())

    def __bool__(self) -> bool:
        return bool(self.elements())

    def __int__(self) -> int:
        return int(self.elements())

    def __float__(self) -> float:
        return float(self.elements())

    def __complex__(self) -> complex:
        return complex(self.elements())

    __index__ = __int__


_ORDERS = frozenset((np.less, np.less_equal, np.greater, np.greater_equal))
exist: list[bool] = []  # not empty once there has been one: until then nothing looks for them


def _copy(to: Any, a: Any, casting: Any = "same_kind", where: Any = True) -> None:
    a = elements_of(a)
    if type(to) is not Conjugated:
        np.copyto(to, a, casting, where=where)
    elif where is True:
        to.write(..., np.broadcast_to(a, to.shape), casting)
    else:
        to.write(..., np.where(where, a, to.elements()), casting)


def seen(outline: np.ndarray, conj: bool, neg: bool) -> Any:
    """An array with its elements conjugated and negated as these say; itself if neither."""
    return Conjugated(outline, conj, neg) if conj or neg else outline


def elements_of(a: Any) -> Any:
    """The elements of an array that is seen conjugated; anything else itself."""
    return a.elements() if type(a) is Conjugated else a


def seen_as(a: Any, other: Any) -> Any:
    """Another array in the place of `a`: its memory, seen conjugated or negated where `a` is."""
    outline = other.outline if type(other) is Conjugated else other
    return a.like(outline) if type(a) is Conjugated else outline


def _elements_within(a: Any) -> Any:
    return type(a)(map(elements_of, a)) if type(a) in (list, tuple) else elements_of(a)


def is_conjugated(t: Any) -> bool:
    """Whether a tensor's elements are worked out when they are read."""
    return type(getattr(t, "_array", None)) is Conjugated


# ---------------------------------------------------------------------------------------------- views


def view_of(name: str, several: bool, a: Conjugated, view: Callable[[np.ndarray], Any]) -> Any:
    """The array (or several) of the view operator `name`, whose kernel is `view`, on an array that is seen conjugated.

    What a kernel returns after its one result is for backward, and stays as it is.
    """
    special = _VIEWS.get(name)
    if special is not None:
        return special(a, view)
    r = view(a.outline)
    if several:
        return type(r)(map(a.like, r))
    return (a.like(r[0]), *r[1:]) if isinstance(r, tuple) else a.like(r)


def _as_pairs(a: Conjugated, view: Callable) -> Any:
    if a.conj:
        raise RuntimeError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can view it "
            "as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the original."
        )
    return a.like(view(a.outline))


def _as_type(a: Conjugated, view: Callable) -> Any:
    word = "conjugate" if a.conj else "negative"
    raise RuntimeError(
        f"torch.Tensor.view is not supported for {word} view tensors when converting to a different dtype."
    )


_VIEWS: dict[str, Callable[[Conjugated, Callable], Any]] = {
    "real": lambda a, view: seen(view(a.outline), False, a.neg),
    "imag": lambda a, view: seen(view(a.outline), False, a.neg != a.conj),
    "conj_view": lambda a, view: seen(a.outline, not a.conj, a.neg),
    "neg_view": lambda a, view: seen(a.outline, a.conj, not a.neg),
    "view_as_real": _as_pairs,
    "view.dtype": _as_type,
}
