"""NumPy arrays among the arguments of a function that is captured.

Where such an array becomes a tensor on its memory, the tensor is an input of the program. Where Python looks at its values,
they decide something that the program would not decide again, so that they become a condition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_GEOMETRY = frozenset(
    """
    shape dtype ndim size strides itemsize nbytes flags base view values_read note __class__ __array_finalize__ ctypes data
    __array_interface__ __array_struct__ __array_priority__ __len__ __dict__ __array_ufunc__ __array_function__ __getitem__
    """.split()  # noqa: SIM905
)


class WatchedArray(np.ndarray):
    """An argument's array while the function is captured. `note` is called when its values are read."""

    note: Any = None

    def __array_finalize__(self, obj: Any) -> None:
        if obj is not None:
            self.note = vars(obj).get("note") if isinstance(obj, WatchedArray) else None

    def values_read(self) -> np.ndarray:
        """The plain array, whose values are about to be read."""
        if self.note is not None:
            self.note()
        return self.view(np.ndarray)

    def __getattribute__(self, name: str) -> Any:
        if name not in _GEOMETRY:
            return getattr(object.__getattribute__(self, "values_read")(), name)
        return object.__getattribute__(self, name)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        if out is not None:
            options["out"] = tuple(map(_plain, out))
        return getattr(ufunc, method)(*map(_plain, inputs), **options)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function(*_plain(args), **{k: _plain(v) for k, v in kwargs.items()})


def _plain(value: Any) -> Any:
    if isinstance(value, WatchedArray):
        return value.values_read()
    if isinstance(value, (tuple, list)):
        return type(value)(map(_plain, value))
    return value


def _reading(name: str) -> Callable:
    def method(self: WatchedArray, *args: Any) -> Any:
        return getattr(self.values_read(), name)(*args)

    return method


for _name in (
    "__getitem__", "__setitem__", "__iter__", "__contains__", "__bool__", "__int__", "__float__", "__complex__", "__index__",
    "__repr__", "__str__", "__format__", "__copy__", "__deepcopy__", "__reduce__", "__reduce_ex__",
):  # fmt: skip
    setattr(WatchedArray, _name, _reading(_name))


def watched(array: np.ndarray, note: Callable) -> WatchedArray:
    """The same memory, which tells when its values are read."""
    view = array.view(WatchedArray)
    view.note = note
    return view
