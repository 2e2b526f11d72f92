"""Making tensors: from data, filled, counted, like another one, copied, or of another type."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from ...core import determinism
from ...core.device import device as devices
from ...core.device.backend import Backend, run_on
from ...core.device.buffer import Buffer, outline_of
from ...core.dispatch.errors import argument_type
from ...core.dispatch.mode import emit_event, thread
from ...core.dispatch.op import composite, primitive
from ...core.dispatch.scalars import exact, scalar_of
from ...core.dispatch.slow_path import write_out
from ...core.once import warn_once
from ...core.tensor import dtype as dtypes
from ...core.tensor.casting import dense_like
from ...core.tensor.channels_last import CHANNELS_LAST
from ...core.tensor.layout import memory_format as MemoryFormat
from ...core.tensor.layout import strided
from ...core.tensor.legacy_types import construct
from ...core.tensor.placeholder import NoArray
from ...core.tensor.size import shape_from, shape_keyword
from ...core.tensor.storage import expose, storage_of
from ...core.tensor.tensor import Tensor, constant, type_word, wrap
from .into import kind_of, put, sized

# ---------------------------------------------------------------------------------------------- from data


def fresh(array: Any, requires_grad: bool = False, where: Backend | None = None) -> Tensor:
    """A tensor on `array`, an inference tensor in inference mode; where: the device to copy it to first."""
    t = constant(array if where is None else where.from_host(array))
    if thread.state.inference:
        storage_of(t).inference = True
    return t.requires_grad_() if requires_grad else t


def backend_for(device: Any) -> Backend | None:
    """The backend of a `device` argument, or for None of the device of new tensors; None for the CPU."""
    return devices.backend(device) if device is not None or devices.redirected else None


def backend_like(t: Tensor, device: Any = None) -> Backend | None:
    """The backend of a `device` argument, or for None that of the tensor; None for the CPU."""
    if device is None:
        return t._array.backend if isinstance(t._array, Buffer) else None
    return devices.backend(device)


def numpy_type(dtype: Any, default: dtypes.dtype) -> np.dtype:
    """NumPy's type for a user's `dtype` argument, that of `default` for None. TypeError for anything else."""
    if dtype is None:
        return default.numpy
    if isinstance(dtype, dtypes.dtype):
        return dtype.numpy
    if dtype in (float, int, bool):
        return {float: dtypes.float64, int: dtypes.int64, bool: dtypes.bool_}[dtype].numpy
    raise TypeError(f"argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")


def check_options(layout: Any, pin_memory: Any) -> None:
    """Raise for what no tensor here can have: sparse storage and page-locked memory."""
    if layout is not None and layout is not strided:
        if type(layout) is not type(strided):
            raise TypeError(f"argument 'layout' must be torch.layout, not {type(layout).__name__}")
        raise NotImplementedError(f"layout={layout!r} is not implemented; use torch.strided")
    if pin_memory:
        raise RuntimeError(
            "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory is available"
        )


def format_name(memory_format: Any, default: str = "preserve_format") -> str:
    """The name of a user's `memory_format` argument, `default` for None. TypeError for anything else."""
    if memory_format is None:
        return default
    if not isinstance(memory_format, MemoryFormat):
        raise TypeError(f"argument 'memory_format' must be torch.memory_format, not {type(memory_format).__name__}")
    return memory_format.name


def check_rank(ndim: int, name: str) -> None:
    """Raise where a tensor with `ndim` dimensions cannot have the memory format `name`."""
    if name in CHANNELS_LAST and ndim != len(CHANNELS_LAST[name][0]):
        raise RuntimeError(f"required rank {len(CHANNELS_LAST[name][0])} tensor to use {name} format")


def arranged(a: np.ndarray, memory_format: Any) -> np.ndarray:
    """The elements of `a`, copied where they are not stored as `memory_format` says."""
    name = format_name(memory_format)
    if name == "preserve_format":
        return a
    if isinstance(a, Buffer):
        return a.backend.apply(arranged, (a, memory_format), {})
    check_rank(a.ndim, name)
    if name in CHANNELS_LAST:
        order, back = CHANNELS_LAST[name]
        return np.asarray(a.transpose(order), order="C").transpose(back)
    return np.asarray(a, order="C")


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
    if pin_memory:
        check_options(None, pin_memory)
    if isinstance(data, Tensor):
        import warnings

        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
            stacklevel=2,
        )
        if isinstance(data._array, Buffer):
            copied = data.detach().to(data.device if device is None else device, dtype, copy=True)  # type: ignore[attr-defined]
            return copied.requires_grad_() if requires_grad else copied
    return fresh(array_from(data, dtype), requires_grad, where)


_NUMBERS = (float, int, bool)


def _flat_numbers(data: list, dtype: Any) -> np.ndarray | None:
    """An array of a list of Python numbers of one type; None where a closer look is needed."""
    kind = type(data[0])
    for v in data:
        if type(v) is not kind:
            return None
    if dtype is None:
        try:
            return np.array(
                data, dtypes.get_default_dtype().numpy if kind is float else np.int64 if kind is int else np.bool_
            )
        except OverflowError:
            return None
    return None


def array_from(data: Any, dtype: Any = None) -> np.ndarray:
    """A fresh array of the values in `data`, of `dtype` or the type that torch infers."""
    if type(data) is list and data and type(data[0]) in _NUMBERS:
        quick = _flat_numbers(data, dtype)
        if quick is not None:
            return quick
    if isinstance(data, Tensor):
        a = data._array
        return np.array(a, numpy_type(dtype, data.dtype), order="C")
    if isinstance(data, np.ndarray):
        data = data.values_read() if hasattr(data, "values_read") else data  # an argument of what is captured
        return np.array(data, numpy_type(dtype, dtypes.from_numpy(data.dtype)), order="C")
    if isinstance(data, np.generic):
        return np.array(data, numpy_type(dtype, dtypes.from_numpy(data.dtype)))
    if isinstance(data, (bool, int, float, complex)):
        return _from_numbers(data, dtype, {type(data)})
    if isinstance(data, str):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if hasattr(data, "__array_interface__") or (hasattr(data, "__array__") and not isinstance(data, (list, tuple))):
        return array_from(np.asarray(data), dtype)
    if not hasattr(data, "__len__") or not hasattr(data, "__getitem__") or isinstance(data, dict):
        raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    kinds: set[Any] = set()
    return _from_numbers(_plain(data, kinds), dtype, kinds)


def _from_numbers(values: Any, dtype: Any, kinds: set[Any]) -> np.ndarray:
    """An array of nested lists of numbers, which were of `kinds`: Python's types, NumPy's and Rushlight's dtypes."""
    _check_shape(values)
    try:
        a = np.array(values)
    except (ValueError, OverflowError):
        a = np.array(values, dtype=object)
    if a.dtype == object or a.dtype == np.uint64:
        _check_elements(values)
        if dtype is None or numpy_type(dtype, dtypes.float32).kind in "iub":
            raise ValueError("Overflow when unpacking long long")
    if a.dtype.kind in "US":
        raise ValueError(f"too many dimensions '{'str' if a.dtype.kind == 'U' else 'bytes'}'")
    target = numpy_type(dtype, _inferred(kinds) if dtype is None else dtype)
    if target.kind in "iu" and a.size and a.dtype.kind in "iuf":
        _check_fits(a, target)
    if a.dtype.kind == "c" and target.kind not in "cb":
        word = (
            "'complex' object cannot be interpreted as an integer"
            if target.kind in "iu"
            else "must be real number, not complex"
        )
        raise TypeError(word)
    with np.errstate(all="ignore"):
        return a.astype(target) if a.dtype != target else a


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
            raise TypeError(
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
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    dtypes.from_numpy(ndarray.dtype)
    if any(s < 0 for s in ndarray.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently "
            "supported. (You can probably work around this by making a copy of your array  with array.copy().) "
        )
    if not ndarray.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion between byte orders is "
            "currently not supported."
        )
    if not ndarray.flags.writeable:
        warn_once(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing "
            "to this tensor will result in undefined behavior. You may want to copy the array to protect its data or make "
            "it writable before converting it to a tensor. This type of warning will be suppressed for the rest of this "
            "program."
        )
    t = fresh(ndarray if type(ndarray) is np.ndarray else ndarray.view(np.ndarray))
    expose(t)
    storage_of(t).resizable = False
    return t


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
    if isinstance(data, np.ndarray) and where is None and dtype in (None, dtypes.from_numpy(data.dtype)):
        return from_numpy(data)
    return fresh(array_from(data, dtype), False, where)


@composite()
def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False):
    """`obj` as a tensor.

    Args:
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
    t = as_tensor(obj, dtype, device)
    if copy and t is obj:
        t = t.clone()
    elif copy and t.numel():
        source = obj._array if isinstance(obj, Tensor) else obj
        t = t.clone() if isinstance(source, np.ndarray) and np.shares_memory(t._array, source) else t
    return t if not requires_grad or t.requires_grad else t.requires_grad_()


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
def scalar_tensor(s, *, dtype=None, device=None, requires_grad=False):
    """A 0-d tensor of the default float type (or `dtype`).

    Shape: a number -> ()

    >>> scalar_tensor(3)
    tensor(3.)
    """
    kind = numpy_type(dtype, dtypes.get_default_dtype())
    value = np.array(exact(scalar_of(s, "scalar_tensor", "s", 1), kind), kind)
    return fresh(value, requires_grad, backend_for(device))


# ---------------------------------------------------------------------------------------------- filled


def _shape(name: str, args: tuple, size: Any) -> tuple[int, ...]:
    if size is not None:
        shape = shape_keyword(size, name)
    elif args:
        shape = shape_from(args, name)
    else:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    for n in shape:
        if n < 0:
            raise RuntimeError(
                f"{name}: Dimension size must be non-negative. (Trying to create tensor with negative dimension {n}: {list(shape)})"
            )
    return shape


def _creator(name: str, make: Any, doc: str) -> Any:
    def f(*args, size=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
        where = backend_for(device) if device is not None or devices.redirected else None
        if layout is not None or pin_memory:
            check_options(layout, pin_memory)
        shape = _shape(name, args, size)
        if out is not None:
            kind = kind_of(name, out, dtype)
            if make is determinism.empty:
                return sized(out, shape)
            t = constant(run_on(backend_like(out), make, shape, kind))
            return put(name, sized(out, shape), t, requires_grad)
        default = dtypes.get_default_dtype()
        kind = default.numpy if dtype is None else numpy_type(dtype, default)
        t = wrap(make(shape, kind) if where is None else where.apply(make, (shape, kind), {}))
        state = thread.state
        if state.level > 1:
            emit_event("created", t, make is not determinism.empty)
        if state.inference:
            storage_of(t).inference = True
        return t.requires_grad_() if requires_grad else t

    f.__name__ = f.__qualname__ = name
    f.__doc__ = doc
    return f


zeros = composite()(
    _creator(
        "zeros",
        np.zeros,
        """A tensor of zeros of the given shape.

        Args:
            size: the shape, instead of numbers or one tuple as the first arguments.
            out: the tensor to write the result to.
            dtype: by default the default float type.
        Shape: -> (size)
        Raises:
            RuntimeError: a size is negative, as in `zeros(-1)`.

        >>> zeros(2, 3)
        tensor([[0., 0., 0.],
                [0., 0., 0.]])
        """,
    )
)
ones = composite()(
    _creator(
        "ones",
        np.ones,
        """A tensor of ones of the given shape.

        Args:
            size: the shape, instead of numbers or one tuple as the first arguments.
            out: the tensor to write the result to.
            dtype: by default the default float type.
        Shape: -> (size)
        Raises:
            RuntimeError: a size is negative, as in `ones(-1)`.

        >>> ones(2, 3, dtype=int64)
        tensor([[1, 1, 1],
                [1, 1, 1]])
        """,
    )
)
_empty = _creator("empty", determinism.empty, "A tensor of the given shape with undefined values.")


@composite()
def empty(*args, size=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
          memory_format=None):  # fmt: skip
    """A tensor of the given shape with undefined values.

    Args:
        size: the shape, instead of numbers or one tuple as the first arguments.
        out: the tensor to use.
        dtype: by default the default float type.
        memory_format: the order in memory; contiguous_format by default.
    Shape: -> (size)
    Raises:
        RuntimeError: a size is negative, as in `empty(-1)`.

    >>> empty(2, 3).shape
    torch.Size([2, 3])
    """
    if memory_format is None:
        return _empty(
            *args, size=size, out=out, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad,
            pin_memory=pin_memory,
        )  # fmt: skip
    if format_name(memory_format) == "preserve_format":
        raise RuntimeError("unsupported memory format Preserve")
    if out is not None:
        raise NotImplementedError("empty(memory_format=..., out=...) is not implemented; give one of the two")
    return fresh(
        arranged(
            _empty(*args, size=size, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)._array,
            memory_format,
        ),
        requires_grad,
    )


@composite()
def full(size, fill_value, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor of shape `size` filled with a number.

    Args:
        size: a tuple.
        out: the tensor to write the result to.
        dtype: by default bool, int64, the default float type or complex, as the number needs.
    Shape: -> (size)
    Raises:
        RuntimeError: a size is negative, as in `full((-1,), 0)`.
        TypeError: `size` is not a tuple, as in `full(2, 0)`.

    >>> full((2,), 7)
    tensor([7, 7])
    """
    where = backend_for(device)
    check_options(layout, pin_memory)
    value = scalar_of(fill_value, "full", "fill_value", 2)
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}")
    shape = _shape("full", (size,), None)
    kind = numpy_type(dtype, dtypes.of_number(value)) if out is None else kind_of("full", out, dtype)
    value = exact(value, kind)
    if out is not None:
        values = fresh(run_on(backend_like(out), np.full, shape, value, kind))
        return put("full", sized(out, shape), values, requires_grad)
    return fresh(run_on(where, np.full, shape, value, kind), requires_grad)


def _like(name: str, make: Any) -> Any:
    def f(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, pin_memory=False):
        check_options(layout, pin_memory)
        try:
            a = made_like(make, input._array, None if dtype is None else numpy_type(dtype, input.dtype), device)
        except NoArray:
            return input._filled_like(name, dtype, requires_grad)
        except AttributeError:
            if isinstance(input, Tensor):
                raise
            raise argument_type(name, "input", 1, input) from None
        return fresh(a if memory_format is None else arranged(a, memory_format), requires_grad)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"""`{name[:-5]}` in the shape, type and layout of `input`.

    Args:
        dtype: by default the type of `input`.
        memory_format: the order in memory; by default that of `input`.
    Shape: (*) -> (*)
    Raises:
        TypeError: `input` is not a tensor, as in `{name}([1, 2])`.

    >>> {name}(tensor([[1, 2]])).shape
    torch.Size([1, 2])
    """
    return composite()(f)


def made_like(make: Any, a: Any, kind: Any, device: Any) -> Any:
    """`make(a, kind)` on the device of `a`, or on the one that is asked for."""
    own = a.backend if isinstance(a, Buffer) else None
    where = own if device is None else devices.backend(device)
    if where is own:
        return make(a, kind) if own is None else own.apply(make, (a, kind), {})
    return run_on(where, make, outline_of(a), dtypes.from_numpy(a.dtype if kind is None else kind).numpy)


def _dense_like(make: Any) -> Any:
    """NumPy's *_like in the order of `dense_like`, as torch's preserve_format."""

    def like(a, kind):
        return make(a if 0 not in a.strides else dense_like(a), dtype=kind, subok=False)

    return like


def _empty_like(a, dtype, subok):
    return determinism.fill(np.empty_like(a, dtype=dtype, subok=subok))


zeros_like = _like("zeros_like", _dense_like(np.zeros_like))
ones_like = _like("ones_like", _dense_like(np.ones_like))
empty_like = _like("empty_like", _dense_like(_empty_like))


@composite()
def full_like(
    input,
    fill_value,
    *,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
    memory_format=None,
    pin_memory=False,
):
    """`full` in the shape and type of `input`.

    Args:
        dtype: by default the type of `input`.
    Shape: (*) -> (*)
    Raises:
        RuntimeError: the number does not fit the type, as in `full_like(tensor([1], dtype=uint8), 300)`.

    >>> full_like(ones(2), 7)
    tensor([7., 7.])
    """
    check_options(layout, pin_memory)
    a = made_like(dense_like, input._array, numpy_type(dtype, input.dtype), device)
    np.copyto(a, exact(scalar_of(fill_value, "full_like", "fill_value", 2), a.dtype), "unsafe")
    return fresh(arranged(a, memory_format), requires_grad)


def _new_creator(name: str, make: Any) -> None:
    def f(self, *args, size=None, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
        check_options(layout, pin_memory)
        where = backend_like(self, device)
        return fresh(run_on(where, make, _shape(name, args, size), numpy_type(dtype, self.dtype)), requires_grad)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"`{name[4:]}` of the type of this tensor."
    composite(method=True, function=False)(f)


_new_creator("new_zeros", np.zeros)
_new_creator("new_ones", np.ones)
_new_creator("new_empty", determinism.empty)


@composite(method=True, function=False)
def new_full(self, size, fill_value, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """`full` of the type of this tensor."""
    check_options(layout, pin_memory)
    fill_value = scalar_of(fill_value, "new_full", "fill_value", 2)
    device = self.device if device is None else device
    return full(size, fill_value, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad)


@composite(method=True, function=False)
def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """A tensor that holds a copy of `data`, of the type of this one."""
    check_options(layout, pin_memory)
    if isinstance(data, Tensor) and isinstance(data._array, Buffer):
        return tensor(data, dtype=dtype or self.dtype, device=self.device if device is None else device)
    return fresh(array_from(data, dtype or self.dtype), requires_grad, backend_like(self, device))


@composite(method=True, function=False)
def new(self, *args, device=None):
    """An old constructor: a tensor of this one's type from sizes or data."""
    return construct(self.dtype, args, device=device)


@composite()
def empty_strided(size, stride, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor of undefined values with the given shape and strides (in elements).

    Shape: -> (size)

    >>> empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    check_options(layout, pin_memory)
    kind = numpy_type(dtype, dtypes.get_default_dtype())
    return fresh(run_on(backend_for(device), _empty_strided, tuple(size), tuple(stride), kind), requires_grad)


def _empty_strided(size: tuple[int, ...], stride: tuple[int, ...], kind: np.dtype) -> np.ndarray:
    last = sum((n - 1) * s for n, s in zip(size, stride, strict=True)) + 1 if 0 not in size else 0
    flat = determinism.empty(last, kind)
    return np.lib.stride_tricks.as_strided(flat, size, [s * flat.itemsize for s in stride])


@composite()
def empty_permuted(
    size, physical_layout, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
):
    """A tensor of undefined values whose dimensions are in memory in the order `physical_layout`.

    Shape: -> (size)
    Raises:
        RuntimeError: the lengths differ, as in `empty_permuted((2, 3), (0,))`.

    >>> empty_permuted((2, 3), (1, 0)).stride()
    (1, 2)
    """
    check_options(layout, pin_memory)
    if len(size) != len(physical_layout):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
            f"{len(size)} is not equal to len(physical_layout) = {len(physical_layout)}"
        )
    if len(set(physical_layout)) != len(physical_layout):
        raise RuntimeError("Duplicate dim not allowed")
    if any(not 0 <= d < len(size) for d in physical_layout):
        raise RuntimeError(
            f"Dimension out of range (expected to be in range of [0, {len(size) - 1}], but got {list(physical_layout)})"
        )
    kind = numpy_type(dtype, dtypes.get_default_dtype())
    a = run_on(backend_for(device), determinism.empty, tuple([size[d] for d in physical_layout]), kind)
    return fresh(a.transpose(np.argsort(physical_layout)), requires_grad)


# ---------------------------------------------------------------------------------------------- matrices


@composite()
def eye(n, m=None, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A matrix with ones on the diagonal and zeros elsewhere.

    Args:
        m: the number of columns; n by default.
        out: the tensor to write the result to.
        dtype: by default the default float type.
    Shape: -> (n, m)
    Raises:
        RuntimeError: a size is negative, as in `eye(-1)`.

    >>> eye(2, 3)
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    check_options(layout, pin_memory)
    for k, v in (("n", n), ("m", n if m is None else m)):
        if v < 0:
            raise RuntimeError(f"{k} must be greater or equal to 0, got {v}")
    if out is not None:
        t = fresh(run_on(backend_like(out), np.eye, n, m, dtype=kind_of("eye", out, dtype)))
        return put("eye", sized(out, t._array.shape), t, requires_grad)
    kind = numpy_type(dtype, dtypes.get_default_dtype())
    return fresh(run_on(backend_for(device), np.eye, n, m, dtype=kind), requires_grad)


def _indices(name: str, make: Any) -> Any:
    def f(row, col, offset=0, *, dtype=None, device=None, layout=None):
        check_options(layout, False)
        return fresh(run_on(backend_for(device), places, row, offset, col, numpy_type(dtype, dtypes.int64)))

    def places(row: int, offset: int, col: int, kind: np.dtype) -> np.ndarray:
        return np.stack(make(row, offset, col)).astype(kind)

    part, shown = (
        ("lower", "[0, 1, 1],\n            [0, 0, 1]")
        if name[:4] == "tril"
        else ("upper", "[0, 0, 1],\n            [0, 1, 1]")
    )
    f.__name__, f.__doc__ = (
        name,
        f"""The row and column indices of the {part} triangle of a matrix with `row` rows and `col` columns.

    Args:
        offset: the diagonal where the triangle ends, above the main one (below it if negative).
        dtype: by default int64.
    Shape: -> (2, n)

    >>> {name}(2, 2)
    tensor([{shown}])
    """,
    )
    return composite()(f)


tril_indices = _indices("tril_indices", np.tril_indices)
triu_indices = _indices("triu_indices", np.triu_indices)


@primitive(public=False, name="complex_of_parts", node="ComplexBackward0")
def _complex(real, imag, /):
    out = np.empty(np.broadcast_shapes(real.shape, imag.shape), np.result_type(real.dtype, np.complex64))
    out.real, out.imag = real, imag  # a sum would make nan of an infinite part
    return out


@_complex.vjp("real")
def _(g):
    return g.real


@_complex.vjp("imag")
def _(g):
    return g.imag


@composite(name="complex")
def complex_(real, imag, *, out=None):
    """The complex numbers real + i imag.

    Args:
        real: the real parts: float16, float32 or float64.
        imag: the imaginary parts, of the same type, broadcast against `real`.
        out: the tensor to write the result to.
    Shape: (*), (*) -> (*), broadcast; complex
    Raises:
        RuntimeError: the types differ, as in `complex(ones(1), ones(1).double())`.

    >>> complex(tensor([1.0, 2.0]), tensor([3.0, 4.0]))
    tensor([1.+3.j, 2.+4.j])
    """
    for i, (name, t) in enumerate((("real", real), ("imag", imag))):
        if not isinstance(t, Tensor):
            raise argument_type("complex", name, i + 1, t)
    if real.dtype.category != 2 or imag.dtype.category != 2:
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {type_word(real.dtype)} and {type_word(imag.dtype)}"
        )
    if out is not None and out.dtype is not real.dtype.to_complex():
        raise RuntimeError(
            f"Expected object of scalar type {type_word(real.dtype.to_complex())} but got scalar type {type_word(out.dtype)} for argument 'out'"
        )
    if real.dtype is not imag.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {type_word(real.dtype)} but got scalar type {type_word(imag.dtype)} for second argument"
        )
    t = _complex(real, imag)
    return t if out is None else write_out("complex", (real, imag), t, out)
