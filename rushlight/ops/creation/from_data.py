"""Tensors made from data: numbers, nested sequences, arrays, buffers, other tensors."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from ...core.device import devices
from ...core.device.buffer import Buffer
from ...core.dispatch.errors import type_error
from ...core.dispatch.op import composite
from ...core.dispatch.scalars import filling, scalar_of
from ...core.tensor import dtype as dtypes
from ...core.tensor.casting import cast_like
from ...core.tensor.storage import expose, storage_of
from ...core.tensor.tensor import Tensor, type_word
from ...core.warn import warn, warn_once
from .arguments import backend_for, check_options, fresh, numpy_type, requiring_grad


@composite()
def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A new tensor that holds a copy of `data`.

    Args:
        data: a number, nested sequences of numbers, an ndarray or a tensor.
        dtype: by default bool, int64, the default float type or complex, as the numbers need; an ndarray's own.
        requires_grad: whether operations on it are recorded.
    Shape: nested sequences of shape (*) -> (*)
    Raises:
        ValueError: the sequences have different lengths, as in `tensor([[1, 2], [3]])`.
        RuntimeError: integers are to require grad, as in `tensor([1], requires_grad=True)`.

    >>> tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    >>> tensor(0.5)
    tensor(0.5000)
    """
    where = backend_for(device) if device is not None or devices.redirected else None
    if pin_memory is not False:
        check_options(None, pin_memory)
    if isinstance(data, Tensor):
        warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
        )
        if isinstance(data._array, Buffer):
            copied = data.detach().to(data.device if device is None else device, dtype, copy=True)  # type: ignore[attr-defined]
            return copied if requires_grad is False else requiring_grad(copied, requires_grad)
    return fresh(array_from(data, dtype), requires_grad, where)


_NUMBERS = (float, int, bool)


def _flat_numbers(data: list, dtype: Any) -> np.ndarray | None:
    """An array of a list of Python numbers of one type; None where a closer look is needed."""
    kind = type(data[0])
    for v in data:
        if type(v) is not kind:
            return None
    if dtype is not None:
        return None
    if kind is float:
        with np.errstate(over="ignore"):
            return np.array(data, dtypes.get_default_dtype().numpy)
    try:
        return np.array(data, np.int64 if kind is int else np.bool_)
    except OverflowError:
        return None


_MODEST = 60_000  # numbers below it are finite in each type of floats


def _one_number(value: Any) -> np.ndarray | None:
    """The array of a number of Python's; None where a closer look is needed."""
    kind = type(value)
    if kind is float:
        return np.array(value, dtypes.get_default_dtype().numpy) if -_MODEST < value < _MODEST else None
    if kind is int:
        return np.array(value, np.int64) if -_MODEST < value < _MODEST else None
    return np.array(value) if kind is bool else None


def array_from(data: Any, dtype: Any = None) -> np.ndarray:
    """A fresh array of the values in `data`, of `dtype` or the type that torch infers."""
    if type(data) is list and data and type(data[0]) in _NUMBERS:
        quick = _flat_numbers(data, dtype)
        if quick is not None:
            return quick
    elif dtype is None:
        quick = _one_number(data)
        if quick is not None:
            return quick
    if isinstance(data, Tensor):
        return _copied(data._array, numpy_type(dtype, data.dtype))
    if isinstance(data, np.ndarray):
        values_read = getattr(data, "values_read", None)  # of an argument of what is captured
        data = data if values_read is None else values_read()
        _refuse_foreign_memory(data)
        return _copied(data, numpy_type(dtype, dtypes.from_numpy(data.dtype)))
    if isinstance(data, np.generic):
        target = numpy_type(dtype, dtypes.from_numpy(data.dtype))
        _check_integers({data.dtype}, target)
        return np.array(data, target)
    if isinstance(data, (bool, int, float, complex)):
        return _from_numbers(data, dtype, {type(data)})
    if isinstance(data, str):
        raise type_error(f"new(): invalid data type '{type(data).__name__}'")
    if hasattr(data, "__array_interface__") or (hasattr(data, "__array__") and not isinstance(data, (list, tuple))):
        return array_from(np.asarray(data), dtype)
    if not hasattr(data, "__len__") or not hasattr(data, "__getitem__") or isinstance(data, dict):
        raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    kinds: set[Any] = set()
    return _from_numbers(_plain(data, kinds), dtype, kinds)


def _check_integers(kinds: set[Any], target: np.dtype) -> None:
    """Raise Python's error for numbers of NumPy's that are no integers where an integer or a bool is to be made of them.

    float64 is a class of Python's floats, which torch truncates.
    """
    if target.kind not in "iub":
        return
    for kind in kinds:
        if isinstance(kind, np.dtype) and kind.kind in "fcb" and kind != np.float64 and kind != target:
            raise type_error(
                f"'{kind.type.__module__}.{kind.type.__name__.rstrip('_')}' object cannot be interpreted as an integer"
            )


def _copied(a: Any, kind: np.dtype) -> np.ndarray:
    """A copy of an array's elements in a type, its dimensions in the same order in memory."""
    return cast_like(a, kind) if type(a) is np.ndarray else np.array(a, kind, order="C")


def _refuse_foreign_memory(a: np.ndarray) -> None:
    """Raise torch's error for an array whose strides or bytes run the other way."""
    if any(s < 0 for s in a.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently "
            "supported. (You can probably work around this by making a copy of your array  with array.copy().) "
        )
    if not a.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion between byte orders is "
            "currently not supported."
        )


def _no_number(values: Any, word: str) -> Exception:
    """torch's error for a text: the first element says how deep lists are, and a text counts as one more list."""
    while isinstance(values, (list, tuple)) and values:
        values = values[0]
    if isinstance(values, (str, bytes)):
        return ValueError(f"too many dimensions '{word}'")
    return TypeError(f"new(): invalid data type '{word}'")


def _from_numbers(values: Any, dtype: Any, kinds: set[Any]) -> np.ndarray:
    """An array of nested lists of numbers, which were of `kinds`: Python's types, NumPy's and Rushlight's dtypes."""
    _check_shape(values)
    if dtype is not None and kinds and kinds <= _PLAIN_REAL and numpy_type(dtype, dtype) == np.uint64:
        return _whole_numbers(values, kinds)
    try:
        a = np.array(values)
    except (ValueError, OverflowError):
        a = np.array(values, dtype=object)
    if a.dtype == object or a.dtype == np.uint64:
        _check_elements(values)
        if dtype is None or numpy_type(dtype, dtypes.float32).kind in "iu":
            raise ValueError("Overflow when unpacking long long")
    if a.dtype.kind in "US":
        raise _no_number(values, "str" if a.dtype.kind == "U" else "bytes")
    target = numpy_type(dtype, _inferred(kinds) if dtype is None else dtype)
    _check_integers(kinds, target)
    if target.kind in "iu" and a.size and a.dtype.kind in "iuf":
        _check_fits(a, target)
    if a.dtype.kind == "c" and target.kind not in "cb":
        word = (
            "'complex' object cannot be interpreted as an integer"
            if target.kind in "iu"
            else "must be real number, not complex"
        )
        raise type_error(word)
    with np.errstate(all="ignore"):
        return a.astype(target) if a.dtype != target else a


_PLAIN_REAL = {int, bool, float}


def _whole_numbers(values: Any, kinds: set[Any]) -> np.ndarray:
    """Python's integers as uint64, digit for digit: NumPy takes a mixture of large and small ones for floats."""
    if float in kinds:
        raise type_error("an integer is required")
    exactly = np.array(values, object)
    if exactly.size and exactly.min() < 0:
        raise OverflowError("can't convert negative int to unsigned")
    if exactly.size and exactly.max() >= 1 << 64:
        raise OverflowError("int too big to convert")
    return exactly.astype(np.uint64)


def _check_fits(a: np.ndarray, target: np.dtype) -> None:
    """Raise where an integer type cannot hold a number. Negative integers wrap around in unsigned types, as in torch."""
    info = np.iinfo(target)
    low = -info.max if target.kind == "u" and a.dtype.kind == "i" else info.min
    if not (a.min() >= low and a.max() <= info.max):  # nan compares false
        raise RuntimeError(f"value cannot be converted to type {target.name} without overflow")


def _inferred(kinds: set[Any]) -> dtypes.dtype:
    """The type that holds numbers of all `kinds`, by torch's table; the default type where there are none."""
    types = [dtypes.of_number(_ONES[k]) if k in _ONES else dtypes.from_numpy(k) if isinstance(k, np.dtype) else k
             for k in kinds]  # fmt: skip
    return reduce(dtypes.promote_types, types) if types else dtypes.get_default_dtype()


_ONES = {bool: True, int: 1, float: 1.0, complex: 1j}


def _plain(data: Any, kinds: set[Any]) -> Any:
    """Nested lists with tensors and arrays replaced by numbers and lists; what the numbers were goes into `kinds`.

    Raises as torch does on ragged data.
    """
    out = []
    for v in data:
        kind = type(v)
        if kind in _ONES:
            kinds.add(kind)
        elif isinstance(v, Tensor):
            if v._array.size != 1:
                raise ValueError("only one element tensors can be converted to Python scalars")
            kinds.add(v.dtype)
            v = v.item()
        elif isinstance(v, np.ndarray):
            kinds.add(dtypes.from_numpy(v.dtype))
            if v.ndim:
                warn_once(_LIST_OF_ARRAYS)
            v = v.tolist() if v.dtype.kind in "biufc" else _plain(v, set())
        elif isinstance(v, np.generic):
            kinds.add(v.dtype)
        elif not isinstance(v, (bool, int, float, complex, str, bytes)):
            if v is None or isinstance(v, dict) or not hasattr(v, "__len__"):
                raise RuntimeError(f"Could not infer dtype of {type(v).__name__}")
            v = _plain(v, kinds)
        else:
            kinds.update(k for k in _ONES if isinstance(v, k))
        out.append(v)
    return out


_LIST_OF_ARRAYS = (
    "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to a single "
    "numpy.ndarray with numpy.array() before converting to a tensor."
)


def _check_elements(values: Any) -> None:
    for v in values if isinstance(values, (list, tuple)) else ():
        if isinstance(v, (list, tuple)):
            _check_elements(v)


def _check_shape(values: Any, dim: int = 0) -> None:
    """Raise ValueError where nested sequences do not form a block."""
    if not isinstance(values, list) or not values or not any(isinstance(v, list) for v in values):
        return
    n = len(values[0]) if isinstance(values[0], list) else None
    for v in values:
        if not isinstance(v, list):
            raise type_error(
                f"expected a sequence at dim {dim + 1} (got {type(v).__name__})" if n is not None else "not a sequence"
            )
        if n is None:
            raise ValueError(f"only one element tensors can be converted to Python scalars: dim {dim + 1} is ragged")
        if len(v) != n:
            raise ValueError(f"expected sequence of length {n} at dim {dim + 1} (got {len(v)})")
        _check_shape(v, dim + 1)


@composite()
def from_numpy(ndarray):
    """A tensor on the memory of an ndarray: writes to one show in the other.

    Shape: ndarray (*) -> (*)
    Raises:
        TypeError: torch has no such type, as in `from_numpy("text")`.

    >>> import numpy as np
    >>> from_numpy(np.array([1.0, 2.0]))
    tensor([1., 2.], dtype=torch.float64)
    """
    if not isinstance(ndarray, np.ndarray):
        raise type_error(f"expected np.ndarray (got {type(ndarray).__name__})")
    t = _on_memory(ndarray)
    _warn_of_constant(ndarray)
    return t


def _on_memory(ndarray: np.ndarray) -> Tensor:
    """A tensor on the memory of an ndarray, whether that may be written to or not."""
    dtypes.from_numpy(ndarray.dtype)
    _refuse_foreign_memory(ndarray)
    t = fresh(ndarray.view(np.ndarray))  # an object of its own: the user may change the shape or the flags of theirs
    expose(t)
    storage_of(t).resizable = False
    return t


def _warn_of_constant(ndarray: np.ndarray) -> None:
    if not ndarray.flags.writeable:
        warn_once(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing "
            "to this tensor will result in undefined behavior. You may want to copy the array to protect its data or make "
            "it writable before converting it to a tensor. This type of warning will be suppressed for the rest of this "
            "program."
        )


@composite()
def as_tensor(data, dtype=None, device=None):
    """`data` as a tensor, sharing memory with a tensor or ndarray of the right type, else a copy.

    Args:
        dtype: by default the type of `data`.
    Shape: data of shape (*) -> (*)
    Raises:
        ValueError: the sequences have different lengths, as in `as_tensor([[1, 2], [3]])`.

    >>> x = tensor([1.0, 2.0])
    >>> as_tensor(x) is x
    True
    """
    if isinstance(data, Tensor):
        return data.to(device, dtype)  # type: ignore[attr-defined]
    where = backend_for(device)
    data = getattr(data, "_flat", data)  # a storage means its memory
    if isinstance(data, np.ndarray):
        if where is None and dtype in (None, dtypes.from_numpy(data.dtype)):
            return from_numpy(data)
        _warn_of_constant(data)
    return fresh(array_from(data, dtype), False, where)


_REQUIRES_GRAD = (
    "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. Pass "
    "requires_grad=False explicitly to get the old behavior and silence this warning."
)


@composite()
def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=None):
    """`obj` as a tensor.

    Args:
        requires_grad: False detaches a result of operators, and changes a leaf; by default as `obj`.
        copy: True never shares memory with `obj`, False always does; by default where possible.
    Shape: obj of shape (*) -> (*)
    Raises:
        ValueError: copy=False and the memory cannot be shared, as in `asarray([1, 2], copy=False)`.

    >>> asarray([1, 2])
    tensor([1, 2])
    """
    if copy is False:
        if not isinstance(obj, (Tensor, np.ndarray)):
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        kind = obj.dtype if isinstance(obj, Tensor) else dtypes.from_numpy(obj.dtype)
        if dtype not in (None, kind):
            words = f"'{type_word(kind)}' into dtype '{type_word(dtype)}'"
            raise ValueError(f"can't alias tensor with dtype {words}.")
    if copy and isinstance(obj, np.ndarray) and not obj.flags.writeable:  # a copy may be written to
        obj = _on_memory(obj)
    t = as_tensor(obj, dtype, device)
    if copy and t is obj:
        t = t.clone()
    elif copy and t.numel():
        source = obj._array if isinstance(obj, Tensor) else obj
        t = t.clone() if isinstance(source, np.ndarray) and np.shares_memory(t._array, source) else t
    if requires_grad is None:
        if t.requires_grad:
            warn_once(_REQUIRES_GRAD)
        return t
    if t.requires_grad and not requires_grad and not t.is_leaf:
        return t.detach()
    return t if t.requires_grad == requires_grad else t.requires_grad_(requires_grad)


@composite(name="frombuffer")
def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """A 1-D tensor on the memory of an object with the buffer protocol: writes to one show in the other.

    Args:
        count: the number of elements; all by default.
        offset: where to begin, in bytes.
    Shape: bytes (*) -> (count)
    Raises:
        ValueError: the buffer is too short, as in `frombuffer(bytearray(2), dtype=int32)`.

    >>> frombuffer(bytearray([1, 2]), dtype=uint8)
    tensor([1, 2], dtype=torch.uint8)
    """
    return fresh(np.frombuffer(buffer, dtype.numpy, count, offset), requires_grad)


@composite()
def scalar_tensor(s, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """A 0-d tensor of the default float type (or `dtype`).

    Shape: number -> ()

    >>> scalar_tensor(3)
    tensor(3.)
    """
    kind = numpy_type(dtype, dtypes.get_default_dtype())
    value = np.array(filling(scalar_of(s, "scalar_tensor", "s", 1), kind, 1), kind)
    return fresh(value, requires_grad, backend_for(device))
