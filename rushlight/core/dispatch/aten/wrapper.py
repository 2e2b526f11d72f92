"""Tensors that wrap others: shape and type of their own, and a class whose `__torch_dispatch__` runs every operator.

`Tensor._make_wrapper_subclass` makes one. In place of an array it has a `Wrapper`, at which kernels stop; the slow path then
asks the class (`core/dispatch/aten/torch_dispatch.py`), and the result gets its history as any other: gradient rules are
made of operators, which ask again.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...device.by_item import NumberByItem
from ...device.devices import CPU
from ...device.devices import device as Device
from ...tensor import dtype as dtypes
from ...tensor.layout import strided
from ...tensor.placeholder import NoArray, Placeholder, operator_above
from ...tensor.size import shape_from
from ...tensor.tensor import Tensor, let_functions_ask
from ..extension_points import class_dispatch
from ..op import composite

if TYPE_CHECKING:
    from ..op import Op

__all__ = ["Wrapper", "make_wrapper_subclass", "own", "wrapped_by"]

_new = object.__new__


def _asking() -> ModuleType:
    assert class_dispatch.value is not None
    return class_dispatch.value


class Wrapper(NumberByItem, Placeholder):
    """The shape, the type and the strides of a wrapping tensor.

    kind: its class. held: its attributes, which every tensor with this placeholder shares: an alias, or a result that a
    gradient rule kept, is the same wrapper again.
    """

    __slots__ = ("device", "held", "kind", "offset", "strides")
    base = None
    hides_values = True
    no_numpy = ".numpy() is not supported for tensor subclasses."

    def __init__(
        self, shape: tuple[int, ...], dtype: np.dtype, kind: type, strides: tuple[int, ...], offset: int, device: Any
    ):
        super().__init__(shape, dtype)
        self.kind, self.strides, self.offset, self.device = kind, strides, offset, device
        self.held: dict[str, Any] = {}

    def adopted_by(self, t: Any) -> Wrapper:
        """The same with the attributes of `t`, whose `.data` it becomes."""
        array = Wrapper(self.shape, self.dtype, self.kind, self.strides, self.offset, self.device)
        array.held = t.__dict__
        return array

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def flags_of_strides(self) -> Any:
        """NumPy's flags of an array with such strides. Not by the name that an array has them: kernels of native code ask
        for those, and then for the address of the elements.
        """
        return np.lib.stride_tricks.as_strided(np.empty(0, self.dtype), self.shape, self.strides).flags

    def tolist(self) -> Any:
        """Raises RuntimeError: there are no elements here."""
        raise self._error()

    def __len__(self) -> int:
        return self.shape[0]

    def call_operator(self, record: Op, tensors: tuple, metadata: tuple) -> Any:
        """The result of an operator that met the placeholder: what the class says."""
        return _asking().call_operator(record, tensors, metadata)

    def write_operator(self, record: Op, target: Any, others: tuple, metadata: tuple) -> Any:
        """The same of an operator's form that writes into `target`."""
        return _asking().write_operator(record, target, others, metadata)

    def item(self, *args: Any) -> Any:
        """The one element as a Python number, by the class."""
        return _asking().ask_for("_local_scalar_dense", own(_bare(self)))

    def _error(self) -> NoArray:
        own_words = getattr(self.kind, "_no_elements", None)
        if own_words is not None:
            return own_words(operator_above())
        return NoArray(f"{self.kind.__name__} wraps other tensors: it has no elements of its own below the operators")


def _bare(array: Wrapper) -> Any:
    t = _new(Tensor)
    t._array = array  # type: ignore[assignment]
    t._edge = t._grad = t._storage = t._view = None
    return t


def wrapped_by(t: Any) -> type | None:
    """The class that answers for a tensor, or None where it has an array or another placeholder."""
    a = getattr(t, "_array", None)
    return a.kind if type(a) is Wrapper else None


def own(t: Any) -> Any:
    """A tensor with a `Wrapper` as an instance of the wrapper's class; any other value as it is."""
    a = getattr(t, "_array", None)
    if type(a) is Wrapper and type(t) is not a.kind:
        t.__class__ = a.kind
        t.__dict__ = a.held
    return t


def make_wrapper_subclass(
    cls: type,
    size: Any,
    *,
    strides: Any = None,
    storage_offset: int | None = None,
    memory_format: Any = None,
    dtype: dtypes.dtype | None = None,
    layout: Any = strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
    **internal: Any,
) -> Any:
    """A tensor of class `cls` without elements, whose operators are what `cls.__torch_dispatch__` makes of them.

    cls: a subclass of Tensor with a class method `__torch_dispatch__(func, types, args, kwargs)`. size: its shape. strides:
    in elements; those of a contiguous tensor without them. dispatch_sizes_strides_policy, dispatch_device, dispatch_layout:
    taken and without effect, since properties of the class may always say other things.

    Raises:
        RuntimeError: `cls` has no `__torch_dispatch__`.
        NotImplementedError: pinned memory.
    """
    if getattr(cls, "__torch_dispatch__", None) is None:
        raise RuntimeError(f"{cls.__name__} must define __torch_dispatch__")
    if internal:
        raise NotImplementedError(f"_make_wrapper_subclass: {', '.join(internal)} is not implemented in Rushlight")
    if pin_memory:
        raise NotImplementedError("_make_wrapper_subclass: pin_memory=True is not implemented: a wrapper has no memory")
    where = CPU if device is None else Device(device)
    let_functions_ask(cls)
    shape = tuple(shape_from((size,)))
    kind = (dtype or dtypes.get_default_dtype()).numpy
    if strides is None:
        steps, n = [], 1
        for k in reversed(shape):
            steps.append(n)
            n *= max(k, 1)
        strides = tuple(reversed(steps))
    array = Wrapper(shape, kind, cls, tuple([s * kind.itemsize for s in strides]), storage_offset or 0, where)
    t = _new(cls)
    t._array = array
    t._edge = t._grad = t._storage = t._view = None
    array.held = t.__dict__
    if requires_grad:
        t.requires_grad_(True)
    return t


composite(name="_make_wrapper_subclass", method=True, function=False)(staticmethod(make_wrapper_subclass))
