"""Tensors filled with a number, or undefined: by shape, like another one, new ones of its type; and matrices of ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core import determinism
from ...core.device import devices
from ...core.device.backend import out_of_memory, run_on
from ...core.device.buffer import Buffer, outline_of
from ...core.dispatch.aten.torch_dispatch import ask_for
from ...core.dispatch.aten.wrapper import Wrapper
from ...core.dispatch.errors import argument_type, type_error
from ...core.dispatch.mode import emit_event, thread
from ...core.dispatch.op import composite
from ...core.dispatch.overlap import shares_places
from ...core.dispatch.scalars import filling, scalar_of
from ...core.dispatch.slow_path import is_computed
from ...core.tensor import dtype as dtypes
from ...core.tensor.casting import dense_like, keep_strides
from ...core.tensor.legacy_types import construct
from ...core.tensor.placeholder import NoArray
from ...core.tensor.size import shape_from, shape_keyword
from ...core.tensor.storage import storage_of
from ...core.tensor.tensor import Tensor, constant, wrap
from ...core.warn import warn
from .arguments import (
    arranged,
    backend_for,
    backend_like,
    check_options,
    format_name,
    fresh,
    made_like,
    numpy_type,
    requiring_grad,
)
from .from_data import array_from, tensor
from .into import kind_of, put, sized


def _shape(name: str, args: tuple, size: Any) -> tuple[int, ...]:
    if size is not None:
        shape = shape_keyword(size, name)
    elif args:
        shape = shape_from(args, name)
    else:
        raise type_error(f'{name}() missing 1 required positional arguments: "size"')
    for n in shape:
        if n < 0:
            wrong = f"Trying to create tensor with negative dimension {n}: {list(shape)}"
            raise RuntimeError(f"zeros: Dimension size must be non-negative. ({wrong})" if name == "zeros" else wrong)
    return shape


def _creator(name: str, make: Any, doc: str) -> Any:
    def f(*args, size=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
        where = backend_for(device) if device is not None or devices.redirected else None
        if layout is not None or pin_memory is not False:
            check_options(layout, pin_memory)
        shape = _shape(name, args, size)
        if out is not None:
            kind = kind_of(name, out, dtype)
            if make is determinism.empty:
                return sized(out, shape)
            t = constant(run_on(backend_like(out), make, shape, kind))
            return put(name, sized(out, shape), t, requires_grad, may_share=True)
        default = dtypes.get_default_dtype()
        kind = default.numpy if dtype is None else numpy_type(dtype, default)
        try:
            t = wrap(make(shape, kind) if where is None else where.apply(make, (shape, kind), {}))
        except MemoryError as error:
            raise out_of_memory(error) from None
        state = thread.state
        if state.level > 1:
            emit_event("created", t, make is not determinism.empty)
        if state.inference:
            storage_of(t).inference = True
        return t if requires_grad is False else requiring_grad(t, requires_grad)

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
    if is_computed(fill_value) and out is None and isinstance(size, (tuple, list)):
        filler = fill_value.detach() if dtype is None else fill_value.detach().to(dtype)
        return filler.expand(_shape("full", (size,), None)).clone()
    value = scalar_of(fill_value, "full", "fill_value", 2)
    if not isinstance(size, (tuple, list)):
        raise type_error(f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}")
    shape = _shape("full", (size,), None)
    kind = numpy_type(dtype, dtypes.of_number(value)) if out is None else kind_of("full", out, dtype)
    value = filling(value, kind, math.prod(shape))
    if out is not None:
        values = fresh(run_on(backend_like(out), np.full, shape, value, kind))
        return put("full", sized(out, shape), values, requires_grad, may_share=True)
    return fresh(run_on(where, np.full, shape, value, kind), requires_grad)


def _like(name: str, make: Any) -> Any:
    def f(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, pin_memory=False):
        check_options(layout, pin_memory)
        try:
            a = made_like(make, input._array, None if dtype is None else numpy_type(dtype, input.dtype), device)
        except NoArray:
            if type(input._array) is Wrapper:
                return by_class(name, input, dtype=dtype, requires_grad=requires_grad)
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


def by_class(name: str, t: Tensor, *args: Any, dtype: Any = None, requires_grad: bool = False) -> Any:
    """A new tensor in the terms of one that wraps others: what its class makes of torch's operator of that name."""
    made = ask_for(name, t, *args, **({} if dtype is None else {"dtype": dtype}), pin_memory=False)
    return made if requires_grad is False else requiring_grad(made, requires_grad)


def _dense_like(make: Any) -> Any:
    """NumPy's *_like in the order of `dense_like`, as torch's preserve_format."""

    def like(a, kind):
        return keep_strides(make(a, dtype=kind, subok=False), a)

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
    if type(input._array) is Wrapper:
        return by_class("full_like", input, fill_value, dtype=dtype, requires_grad=requires_grad)
    a = made_like(dense_like, input._array, numpy_type(dtype, input.dtype), device)
    if is_computed(fill_value):
        return fresh(arranged(a, memory_format), requires_grad).fill_(fill_value.detach())
    np.copyto(a, filling(scalar_of(fill_value, "full_like", "fill_value", 2), a.dtype, a.size), "unsafe")
    return fresh(arranged(a, memory_format), requires_grad)


def _new_creator(name: str, make: Any) -> None:
    def f(self, *args, size=None, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
        check_options(layout, pin_memory)
        if type(self._array) is Wrapper:
            return by_class(name, self, list(_shape(name, args, size)), dtype=dtype, requires_grad=requires_grad)
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
    if type(self._array) is Wrapper:
        return by_class("new_full", self, list(size), fill_value, dtype=dtype, requires_grad=requires_grad)
    fill_value = scalar_of(fill_value, "new_full", "fill_value", 2)
    device = self.device if device is None else device
    return full(size, fill_value, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad)


@composite(method=True, function=False)
def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """A tensor that holds a copy of `data`, of the type of this one."""
    check_options(layout, pin_memory)
    if isinstance(data, Tensor):
        warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than tensor.new_tensor(sourceTensor)."
        )
    if isinstance(data, Tensor) and isinstance(data._array, Buffer):
        return tensor(data, dtype=dtype or self.dtype, device=self.device if device is None else device)
    return fresh(array_from(data, dtype or self.dtype), requires_grad, backend_like(self, device))


@composite(method=True, function=False)
def new(self, *args, size=None, device=None):
    """An old constructor: a tensor of this one's type from sizes or data."""
    return construct(self.dtype, args, size=size, device=device)


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
        a = sized(out, t._array.shape)._array
        if not shares_places(outline_of(a)):
            return put("eye", out, t, requires_grad)
        put("eye", out, t.zero_(), requires_grad, may_share=True)  # type: ignore[attr-defined]
        k = np.arange(min(a.shape))
        a[k, k] = 1  # elements that share a place with one of the diagonal
        return out
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
