"""What a tensor's `_array` holds when its values are in another form: sparse tensors, and the batches of `vmap`.

Entry points, views and the engine ask an array for its shape and type, and get them here. Everything that would read or
write elements raises `NoArray`; `slow.call` then offers the call to the tensor (`_call_operator`), which has its own way
or refuses by the operator's name. Dense calls pay nothing: there is no check on their path.

The type is a NumPy dtype that equals the plain one without being it. Fast paths compare types by identity, so none of
them takes a placeholder for an array.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import own_code
from ..device.devices import CPU

if TYPE_CHECKING:
    from ..dispatch.op import Op


class NoArray(NotImplementedError):
    """Elements were asked of a tensor that has no array of them."""


# programs are shown the class that torch raises
NoArray.__name__ = NoArray.__qualname__ = "NotImplementedError"
NoArray.__module__ = "builtins"


def no_kernel(name: str) -> NoArray:
    """The error of operator `name`, which sparse tensors do not have, with torch's message."""
    return NoArray(
        f"Could not run 'aten::{name}' with arguments from the 'SparseCPU' backend: {name} is not implemented for sparse "
        "tensors; make them dense with to_dense()"
    )


def operator_above() -> str:
    """The name of the innermost public operator that is running."""
    from ..dispatch.op import OPS

    frame: Any = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if code.co_name in OPS and code.co_filename.startswith(own_code.FILES):
            return code.co_name
        frame = frame.f_back
    return "to_numpy"


def marked_type(plain: np.dtype) -> np.dtype:
    """A dtype equal to `plain` and to nothing identical, not even to another marked type."""
    return np.dtype(plain, metadata={"layout": "sparse"})  # type: ignore[call-overload]


class Placeholder:
    """The shape and the type of a tensor without an array."""

    __slots__ = ("dtype", "shape")
    device: Any = CPU
    call_operator: Any = None  # where the placeholder itself knows who runs operators, and not the tensor's class
    write_operator: Any = None
    flags_of_strides: Any = None  # of a placeholder that has strides
    adopted_by: Any = None  # (t): what `t.data = ...` takes in place of the placeholder

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype):
        self.shape = shape
        self.dtype = marked_type(dtype)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        n = 1
        for k in self.shape:
            n *= k
        return n

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise self._error()

    def _error(self) -> NoArray:
        return no_kernel(operator_above())

    __array__ = __array_ufunc__ = __array_function__ = _refuse
    __getitem__ = __setitem__ = __iter__ = __len__ = __bool__ = __index__ = __int__ = __float__ = _refuse
    __add__ = __sub__ = __mul__ = __truediv__ = __matmul__ = __pow__ = __neg__ = __abs__ = __invert__ = _refuse
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rmatmul__ = __rpow__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _refuse  # type: ignore[assignment]
    __hash__ = object.__hash__

    def __getattr__(self, name: str) -> Any:
        self._refuse()


def call_without_array(record: Op, tensors: tuple, metadata: tuple, error: Exception) -> Any:
    """The call of an operator that failed, by the first of its tensors that has no array; the error if all have one."""
    for t in tensors:
        array = getattr(t, "_array", None)
        if isinstance(array, Placeholder):
            if array.call_operator is not None:
                return array.call_operator(record, tensors, metadata)
            if hasattr(t, "_call_operator"):
                return t._call_operator(record, tensors, metadata)
    try:
        raise error
    finally:
        del error  # this frame is in its traceback: together they would keep the tensors until a collection


def write_without_array(record: Op, self: Any, others: tuple, metadata: tuple, error: Exception) -> Any:
    """The in-place call of an operator that failed, by the first tensor without an array."""
    for t in (self, *others):
        array = getattr(t, "_array", None)
        if isinstance(array, Placeholder):
            if array.write_operator is not None:
                return array.write_operator(record, self, others, metadata)
            if hasattr(t, "_write_operator"):
                return t._write_operator(record, self, others, metadata)
    try:
        raise error
    finally:
        del error


def has_places(array: Any) -> bool:
    """Whether elements of the array, or of a wrapper's, have places in memory that strides tell."""
    return not isinstance(array, Placeholder) or type(array).flags_of_strides is not None


def flags_of(array: Any) -> Any:
    """NumPy's flags of a tensor's array; of a wrapper those of its strides."""
    return array.flags_of_strides if isinstance(array, Placeholder) and has_places(array) else array.flags
