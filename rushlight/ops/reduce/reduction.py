"""Sums and what is made of them: sum, mean, prod, any, all, logsumexp.

`dim` is None (all dimensions), an int or several. Norms are in `norms.py`, the largest and smallest elements are in `extremum.py`, running sums in
`cumulative.py`, variances in `variance.py`, order statistics in `ordering.py`, counts in `histogram.py`.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from ...core.device.buffer import Buffer
from ...core.dispatch.errors import type_error
from ...core.dispatch.mode import is_grad_enabled, may_branch_on_data, thread
from ...core.dispatch.op import composite, primitive
from ...core.dispatch.slow_path import write_out
from ...core.tensor import dtype as dtypes
from ...core.tensor.casting import cast, castable
from ...core.tensor.size import wrap_dim, wrap_dims
from ...core.tensor.tensor import Tensor, type_word
from ..pointwise.building_blocks import (
    F32,
    F64,
    MANY,
    add_reduce,
    conjugate,
    dense,
    max_reduce,
    multiply_reduce,
    widened,
)
from ..pointwise.checks import not_implemented
from .sums import sum_in_order

I64 = np.dtype(np.int64)

# ---------------------------------------------------------------------------------------------- which dimensions


def axes_of(dim, ndim):
    """`dim` as NumPy's axis: None for all, an int, or a tuple. Raises IndexError outside the range."""
    if dim is None:
        return None
    if type(dim) is int:
        if -ndim <= dim < ndim:
            return dim if dim >= 0 else dim + ndim
        wrap_dim(dim, ndim)
        return ()  # dimension 0 of a 0-d array
    if isinstance(dim, (tuple, list)):
        if not dim:
            return None
        dims = wrap_dims(dim, ndim)
        return dims if ndim else ()
    return axes_of(dim.__index__(), ndim)


def axis_tuple(dim, ndim) -> tuple[int, ...]:
    """`dim` as a tuple of axes."""
    axes = axes_of(dim, ndim)
    return tuple(range(ndim)) if axes is None else (axes,) if isinstance(axes, int) else axes


def count_of(shape, dim) -> int:
    """How many elements each result of a reduction over `dim` is made of."""
    if dim is None:
        return math.prod(shape)
    if type(dim) is int and -len(shape) <= dim < len(shape):
        return shape[dim]
    return math.prod([shape[d] for d in axis_tuple(dim, len(shape))])


def accept_numpy(dim, keepdim, axis, keepdims):
    """NumPy's argument names, which torch accepts too."""
    return (dim if axis is None else axis), (keepdim if keepdims is None else keepdims)


@primitive(public=False, name="spread", node="ExpandBackward0")
def spread(input, /, shape, dim, keepdim):
    """The gradient of a sum: `input`, whose dimensions `dim` were summed away, repeated to `shape`."""
    r = np.empty(shape, input.dtype, like=input)
    if dim is not None and not keepdim and input.ndim != len(shape):
        axes = axis_tuple(dim, len(shape))
        input = input.reshape([1 if d in axes else n for d, n in enumerate(shape)])
    r[...] = input
    return r


@spread.vjp
def _(g, input_shape, dim, keepdim):
    return g.sum(dim, keepdim=keepdim) if len(input_shape) or dim is not None else g.sum()


@primitive(public=False, name="spread_view", node="ExpandBackward0")
def _spread_view(input, /, shape, dim, keepdim):
    if dim is None:
        strides = (0,) * len(shape)
    else:
        axes = axis_tuple(dim, len(shape))
        if not keepdim and input.ndim != len(shape):
            input = input.reshape([1 if d in axes else n for d, n in enumerate(shape)])
        strides = tuple([0 if d in axes else s for d, s in enumerate(input.strides)])
    if type(input) is not np.ndarray:
        return np.broadcast_to(input, shape)
    if input.flags.c_contiguous and input.dtype.kind != "V" and 0 not in shape:
        return np.ndarray(shape, input.dtype, input, 0, strides)  # a sixth of the time of as_strided
    return np.lib.stride_tricks.as_strided(input, shape, strides)


@_spread_view.vjp
def _(g, input_shape, dim, keepdim):
    return g.sum(dim, keepdim=keepdim) if len(input_shape) or dim is not None else g.sum()


def sum_gradient(g, shape, dim, keepdim):
    """The gradient of a sum: repeated without a copy, as torch has it; for recorders by views, for batches by `spread`."""
    state = thread.state
    if state.level <= 1 and isinstance(g._array, (np.ndarray, Buffer)):
        return _spread_view(g, shape, dim, keepdim)
    if state.listener is None or type(g._array) is not np.ndarray:
        return spread(g, shape, dim, keepdim)
    return (g if dim is None else keep_dims(g, dim, len(shape))).expand(shape)


def keep_dims(t, dim, ndim):
    """A reduced tensor with its dimensions `dim` back, of size 1."""
    if t._array.ndim == ndim:
        return t
    for d in sorted(axis_tuple(dim, ndim)):
        t = t.unsqueeze(d)
    return t


# ---------------------------------------------------------------------------------------------- sums


# NumPy sums over the first axis one row after another: 4e-7 of relative error for 640 rows, 1e-5 for 70,000. A product
# with ones keeps 1e-7 and takes a third of the time, 5.4 us for 16 of 640 x 100.
_LONG, _BLOCK = 32, 512


def is_long(a, axis):
    """Whether `sum_of_rows` is for the sum over `axis`."""
    return (
        axis == 0
        and a.ndim > 1
        and len(a) >= _LONG
        and a.dtype in (F32, F64)
        and a.flags.c_contiguous
        and type(a) is np.ndarray
    )


def sum_of_rows(a, keepdims=False):
    """The sum over the first axis of contiguous float32 or float64, block by block."""
    rows = a.reshape(len(a), -1)
    sums = [ones(len(block), a.dtype).dot(block) for block in map(rows.__getitem__, _blocks(len(a)))]
    r = sums[0] if len(sums) == 1 else np.add.reduce(sums, 0)
    return r.reshape((1, *a.shape[1:]) if keepdims else a.shape[1:])


def ones(n, dtype):
    """n ones, read-only, since callers share them."""
    return full_of(n, 1, dtype)


@functools.lru_cache(64)
def full_of(shape, value, dtype):
    """An array of one number, read-only, since callers share it. NumPy takes one without axes 0.3 us sooner than a number."""
    a = np.full(shape, value, dtype)
    a.flags.writeable = False
    return a


@functools.lru_cache(64)
def _blocks(n):
    return [slice(start, start + _BLOCK) for start in range(0, n, _BLOCK)]


def total(a, axis, keepdims, dtype=None):
    """The sum of an array in torch's type: integers in int64, 16-bit floats accumulated in float32."""
    d = a.dtype
    if dtype is not None:
        a = cast(a, dtype.numpy)
        d = a.dtype
    if d is F32 or d is F64:
        r = sum_in_order(a, axis, keepdims)
        if r is not None:
            return r
    if d is F32 or d is F64 or d is I64:
        return sum_of_rows(a, keepdims) if is_long(a, axis) else dense(add_reduce(a, axis, None, None, keepdims))
    if d.kind in "biu":
        return dense(add_reduce(a, axis, d if dtype is not None and d.kind != "b" else I64, None, keepdims))
    if d.itemsize == 2:
        return dense(np.asanyarray(add_reduce(a, axis, F32, None, keepdims)).astype(d))
    return dense(add_reduce(a, axis, None, None, keepdims))


@primitive(public=False, name="sum", jit_min_elements=MANY)
def _sum_all(input, /):
    return total(input, None, False)


@_sum_all.vjp
def _(g, input_shape):
    return sum_gradient(g, input_shape, None, False)


@primitive(public=False, name="sum.dim", node="SumBackward1", jit_min_elements=MANY)
def _sum_dim(input, /, dim, keepdim, dtype):
    r = total(input, axes_of(dim, input.ndim), keepdim, dtype)
    return r if dtype is None or r.dtype == dtype.numpy else r.astype(dtype.numpy)


@_sum_dim.vjp
def _(g, input_shape, dim, keepdim):
    return sum_gradient(g, input_shape, dim, keepdim)


def _dtype_of_out(dtype, out):
    """The type to compute in: that of `out`. Raises RuntimeError where another was asked for."""
    if dtype not in (None, out.dtype):
        raise RuntimeError(
            f"Expected out tensor to have dtype {dtypes.c_word(dtype)}, but got {dtypes.c_word(out.dtype)} instead"
        )
    return out.dtype


@composite(method=True)
def sum(input, dim=None, keepdim=False, *, dtype=None, out=None, axis=None, keepdims=None):
    """The sum over `dim`, or of all elements.

    Args:
        dim: an int or a tuple; all dimensions by default.
        keepdim: whether reduced dimensions stay, with size 1.
        dtype: the type to sum in; by default the input's, int64 for integers and bools.
        out: the tensor to write the result to.
    Shape: (*) -> (*) without `dim`
    Raises:
        IndexError: `dim` is out of range, as in `sum(ones(2), 1)`.
        RuntimeError: a dimension is given twice, as in `sum(ones(2), (0, 0))`.

    >>> sum(tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0)
    tensor([4., 6.])
    """
    if isinstance(out, Tensor):
        dtype = _dtype_of_out(dtype, out)
    if axis is not None or keepdims is not None:
        dim, keepdim = accept_numpy(dim, keepdim, axis, keepdims)
    if dim is None and dtype is None and not keepdim:
        result = _sum_all(input)
    else:
        result = _sum_dim(input, dim, keepdim, dtype)
    if out is None:
        return result
    return write_out("sum", (input,), result, out, again=functools.partial(sum, input, dim, keepdim, dtype=dtype))


@primitive(public=False, name="nansum")
def _nansum(input, /, dim, keepdim, dtype):
    if input.dtype.kind in "fV":
        input = np.where(np.isnan(input), input.dtype.type(0), input)
    r = total(input, axes_of(dim, input.ndim), keepdim, dtype)
    return r if dtype is None or r.dtype == dtype.numpy else r.astype(dtype.numpy)


@_nansum.vjp
def _(g, input, dim, keepdim):
    g = g if keepdim or not input.ndim else keep_dims(g, dim, input.ndim)
    return g.expand(input.shape) * ~input.isnan()


@composite(method=True)
def nansum(input, dim=None, keepdim=False, *, dtype=None, out=None, axis=None, keepdims=None):
    """The sum over `dim` with every nan counted as 0.

    Args:
        dim: an int or a tuple; all dimensions by default.
        keepdim: whether reduced dimensions stay, with size 1.
        dtype: the type to sum in; by default the input's, int64 for integers and bools.
        out: the tensor to write the result to.
    Shape: (*) -> (*) without `dim`
    Raises:
        IndexError: `dim` is out of range, as in `nansum(ones(2), 1)`.

    >>> nansum(tensor([1.0, float("nan"), 2.0]))
    tensor(3.)
    """
    if isinstance(out, Tensor):
        dtype = _dtype_of_out(dtype, out)
        if dtype.category < 2 <= input.dtype.category:
            raise not_implemented("nansum_cpu", dtype.numpy)
    if axis is not None or keepdims is not None:
        dim, keepdim = accept_numpy(dim, keepdim, axis, keepdims)
    result = _nansum(input, dim, keepdim, dtype)
    if out is None:
        return result
    return write_out("nansum", (input,), result, out, again=functools.partial(nansum, input, dim, keepdim, dtype=dtype))


@primitive(name="hash_tensor", public=False, differentiable=False)
def _hash_tensor(input, /, dim, keepdim):
    """The bits of all elements, as float64 or int64, combined by exclusive or."""
    kind = input.dtype.kind
    if kind == "c":
        raise not_implemented("xor_sum_cpu", input.dtype)
    bits = input.astype(np.int64 if kind in "biu" else np.float64).view(np.uint64)
    axes = axes_of(dim, input.ndim)
    if not input.ndim:
        return bits
    return np.bitwise_xor.reduce(bits, tuple(range(bits.ndim)) if axes is None else axes, keepdims=keepdim)


@composite(method=True, out=True)
def hash_tensor(input, dim=(), *, keepdim=False, mode=0):
    """A number that equal tensors share: the exclusive or of all elements' bits, as uint64.

    Args:
        dim: an int or a tuple; all dimensions by default.
        keepdim: whether reduced dimensions stay, with size 1.
        mode: 0, the only one.
        out: the tensor to write the result to.
    Shape: (*) -> (*) without `dim`
    Raises:
        RuntimeError: `mode` is another number, as in `hash_tensor(ones(2), mode=1)`.

    >>> hash_tensor(tensor([3, 5]))
    tensor(6, dtype=torch.uint64)
    """
    if mode:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    if not input._array.size and dim in ((), None):
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
            "'dim' argument."
        )
    return _hash_tensor(input, dim, keepdim)


# ---------------------------------------------------------------------------------------------- means


def average(a, axis, keepdims, dtype, shape):
    d = a.dtype if dtype is None else dtype.numpy
    if d.kind in "biu":
        raise _no_mean_of(dtypes.from_numpy(d))
    if a.dtype.kind == "c" and d.kind != "c":
        a = castable(a, d)  # the real parts: NumPy would warn
    n = a.size if axis is None else math.prod([shape[d] for d in axis]) if type(axis) is tuple else shape[axis]
    if d.itemsize == 2:
        return dense((add_reduce(a, axis, F32, None, keepdims) / F32.type(n)).astype(d))
    s = sum_in_order(a, axis, keepdims) if d is a.dtype else None
    if s is None and d is a.dtype and is_long(a, axis):
        s = sum_of_rows(a, keepdims)
    elif s is None:
        s = add_reduce(a, axis, None if d is a.dtype else d, None, keepdims)
    if n and type(s) is np.ndarray and s.ndim:
        return dense(np.true_divide(s, full_of((), n, d)))
    return dense(s / n if n else s / d.type(0))


def _no_mean_of(d, which="Input"):
    return RuntimeError(
        f"mean(): could not infer output dtype. {which} dtype must be either a floating point or complex dtype. Got: "
        + type_word(d)
    )


@primitive(public=False, name="mean", jit_min_elements=MANY)
def _mean_all(input, /):
    d = input.dtype
    if (d is F32 or d is F64) and input.size:
        s = sum_in_order(input, None)
        return (np.add.reduce(input, None) if s is None else s) / input.size
    return average(input, None, False, None, input.shape)


@_mean_all.vjp
def _(g, input_shape):
    return spread(
        g / math.prod(input_shape) if math.prod(input_shape) else g,
        input_shape,
        None,
        False,
    )


@primitive(public=False, name="mean.dim", node="MeanBackward1", jit_min_elements=MANY)
def _mean_dim(input, /, dim, keepdim, dtype):
    return average(input, axes_of(dim, input.ndim), keepdim, dtype, input.shape)


@_mean_dim.vjp
def _(g, input_shape, dim, keepdim):
    n = count_of(input_shape, dim)
    if n and type(g._array) is np.ndarray and not g._array.flags.c_contiguous:  # the result has the order of g
        return sum_gradient(g, input_shape, dim, keepdim) / n
    return spread(g / n if n else g, input_shape, dim, keepdim)


@composite(method=True)
def mean(input, dim=None, keepdim=False, *, dtype=None, out=None, axis=None, keepdims=None):
    """The mean over `dim`, or of all elements; nan of none.

    Args:
        dim: an int or a tuple; all dimensions by default.
        keepdim: whether reduced dimensions stay, with size 1.
        dtype: the floating type to compute in; by default the input's.
        out: the tensor to write the result to.
    Shape: (*) -> (*) without `dim`
    Raises:
        RuntimeError: `input` is of integers and `dtype` is not given, as in `mean(tensor([1, 2]))`.
        IndexError: `dim` is out of range, as in `mean(ones(2), 1)`.

    >>> mean(tensor([[1.0, 2.0], [3.0, 5.0]]), dim=1)
    tensor([1.5000, 4.0000])
    """
    if isinstance(out, Tensor) and min(input.dtype.category, out.dtype.category) > 1:
        dtype = _dtype_of_out(dtype, out)
    if axis is not None or keepdims is not None:
        dim, keepdim = accept_numpy(dim, keepdim, axis, keepdims)
    if dim is None and dtype is None and not keepdim:
        result = _mean_all(input)
    else:
        of = input.dtype if dtype is None else dtypes.of_argument(dtype)
        if isinstance(of, dtypes.dtype) and of.category < 2:
            raise _no_mean_of(of, "Input" if dtype is None else "Optional")
        result = _mean_dim(input, dim, keepdim, dtype)
    if out is None:
        return result
    return write_out("mean", (input,), result, out, again=functools.partial(mean, input, dim, keepdim, dtype=dtype))


@composite(method=True, out=True)
def nanmean(input, dim=None, keepdim=False, *, dtype=None):
    """The mean over `dim` of the elements that are not nan; nan where there are none.

    Args:
        dim: an int or a tuple; all dimensions by default.
        keepdim: whether reduced dimensions stay, with size 1.
        dtype: the type to compute in; by default the input's.
        out: the tensor to write the result to.
    Shape: (*) -> (*) without `dim`
    Raises:
        RuntimeError: `input` is of integers, as in `nanmean(tensor([1, 2]))`.

    >>> nanmean(tensor([1.0, float("nan"), 2.0]))
    tensor(1.5000)
    """
    if input.dtype.category < 2:
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {type_word(input.dtype)}"
        )
    if dtype is not None and dtype.category < 2:
        raise RuntimeError(
            "nanmean(): could not infer output dtype. Optional dtype must be either a floating point or complex dtype. Got: "
            f"{type_word(dtype)}"
        )
    count = (~input.isnan().detach()).sum(dim, keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / count


# ---------------------------------------------------------------------------------------------- products


_LANES = (
    64  # products side by side, as torch has them: one alone is soon too small a number, which processors are slow with
)


def _in_lanes(a: np.ndarray) -> np.ndarray:
    """The same product of fewer floats."""
    whole = a.size - a.size % _LANES
    flat = a.reshape(-1)
    lanes = multiply_reduce(flat[:whole].reshape(-1, _LANES), 0)
    return np.concatenate((lanes, flat[whole:]))


def _product(a, axis, keepdims, dtype):
    is_large = axis is None and type(a) is np.ndarray and a.size > 16 * _LANES
    if is_large and a.dtype.kind == "f" and a.flags.c_contiguous and (dtype is None or dtype.numpy is a.dtype):
        a = _in_lanes(a)
        return dense(multiply_reduce(a, None, a.dtype, None, keepdims))
    d = a.dtype if dtype is None else dtype.numpy
    if a.dtype.kind == "c" and d.kind != "c":
        a = castable(a, d)  # the real parts: NumPy would warn
    if d.kind in "biu":
        a = cast(a, d)
        d = d if dtype is not None else I64
        return dense(multiply_reduce(a, axis, d, None, keepdims))
    if d.itemsize == 2:
        return dense(np.asanyarray(multiply_reduce(a, axis, F32, None, keepdims)).astype(d))
    return dense(multiply_reduce(a, axis, d, None, keepdims))


@primitive(public=False, name="prod", jit_min_elements=MANY)
def _prod_all(input, /, dtype):
    return _product(input, None, False, dtype)


@_prod_all.vjp
def _(g, input, out):
    input = input.to(g.dtype)  # torch works in the type of the result

    def otherwise():
        if input._array.size == 1:
            return g.expand(input.shape)
        others = _product_of_others(input.reshape(-1), 0).reshape(input.shape)
        found = g * conjugate(others)
        if is_grad_enabled():
            return found
        return found.masked_fill((input.detach() == 0).sum() > 1, 0)  # in torch nan elsewhere does not reach them

    return unless_zero(input, lambda x: g * conjugate(out / x), otherwise)


@primitive(public=False, name="prod.dim", node="ProdBackward1", jit_min_elements=MANY)
def _prod_dim(input, /, dim, keepdim, dtype):
    if not hasattr(dim, "__index__"):
        raise type_error(f"prod(): argument 'dim' must be int, not {type(dim).__name__}")
    return _product(input, axes_of(dim, input.ndim), keepdim, dtype)


@_prod_dim.vjp
def _(g, input, out, dim, keepdim):
    if not input._array.ndim:
        return g
    input = input.to(g.dtype)
    return unless_zero(
        input,
        lambda x: keep_dims(g, dim, x.ndim) * conjugate(keep_dims(out, dim, x.ndim) / x),
        lambda: (
            spread(g, input.shape, dim, keepdim) * conjugate(_product_of_others(input, dim))
            if input.shape[dim] != 1
            else spread(g, input.shape, dim, keepdim)
        ),
    )


def unless_zero(x, divided, otherwise):
    """A product's gradient: `divided(x)`, which divides by `x`, or `otherwise()` where any element is zero, as in torch.

    They differ as nan from a number where an element is infinite. A recorder, whose later calls have other
    values, gets both and the choice.
    """
    if may_branch_on_data(x):
        return otherwise() if (x._array == 0).any() else divided(x)
    zero = (x.detach() == 0).any()
    return otherwise().where(zero, divided(x.masked_fill(zero, 1)))


def _product_of_others(x, dim):
    """For each element the product of all others along `dim`."""
    before = shifted(x, dim, 1, 1).cumprod(dim)
    after = shifted(x, dim, -1, 1).flip(dim).cumprod(dim).flip(dim)
    return before * after


@primitive(public=False, name="shifted")
def shifted(input, /, dim, step, fill):
    """`input` moved by one place along `dim` (step 1 or -1), with `fill` in the place that is left."""
    r = np.empty_like(input, order="C")
    to, source = r.swapaxes(dim, 0), input.swapaxes(dim, 0)
    if step == 1:
        to[1:], to[:1] = source[:-1], fill
    else:
        to[:-1], to[-1:] = source[1:], fill
    return r


@shifted.vjp
def _(g, dim, step):
    return shifted(g, dim, -step, 0)


@composite(method=True)
def prod(input, dim=..., keepdim=False, *, dtype=None, out=None, axis=None, keepdims=None):
    """The product along `dim`, or of all elements.

    Args:
        dim: an int; all dimensions by default.
        keepdim: whether the reduced dimension stays, with size 1.
        dtype: the type to multiply in; by default the input's, int64 for integers and bools.
        out: the tensor to write the result to.
    Shape: (*) -> (*) without `dim`
    Raises:
        IndexError: `dim` is out of range, as in `prod(ones(2), 1)`.

    >>> prod(tensor([2.0, 3.0, 4.0]))
    tensor(24.)
    """
    if dtype is None and isinstance(out, Tensor):
        dtype = out.dtype
    if axis is not None or keepdims is not None:
        dim, keepdim = accept_numpy(dim, keepdim, axis, keepdims)
    if dim is None:
        raise type_error("prod() received an invalid combination of arguments - got (Tensor, NoneType)")
    result = _prod_all(input, dtype) if dim is ... else _prod_dim(input, dim, keepdim, dtype)
    if out is None:
        return result
    return write_out("prod", (input,), result, out, again=functools.partial(prod, input, dim, keepdim, dtype=dtype))


# ---------------------------------------------------------------------------------------------- any, all, counts


def _logical(ufunc, input, dim, keepdim):
    axes = () if isinstance(dim, (list, tuple)) and not dim else axes_of(dim, input.ndim)  # no dims: none is reduced
    r = np.asanyarray(ufunc.reduce(input if input.dtype.kind == "b" else input != 0, axes, None, None, keepdim))
    return dense(r.astype(np.uint8) if input.dtype == np.uint8 else r)


@primitive(name="any", method=True, out=True, differentiable=False)
def any(input, /, dim=None, keepdim=False):
    """Whether an element over `dim` is nonzero.

    Args:
        dim: an int or a tuple; all dimensions by default.
        keepdim: whether reduced dimensions stay, with size 1.
        out: the tensor to write the result to.
    Shape: (*) -> (*) without `dim`; bools (uint8 of uint8)
    Raises:
        IndexError: `dim` is out of range, as in `any(ones(2), 1)`.

    >>> any(tensor([0.0, 2.0]))
    tensor(True)
    """
    return _logical(np.logical_or, input, dim, keepdim)


@primitive(name="all", method=True, out=True, differentiable=False)
def all(input, /, dim=None, keepdim=False):
    """Whether all elements over `dim` are nonzero; true of none.

    Args:
        dim: an int or a tuple; all dimensions by default.
        keepdim: whether reduced dimensions stay, with size 1.
        out: the tensor to write the result to.
    Shape: (*) -> (*) without `dim`; bools (uint8 of uint8)
    Raises:
        IndexError: `dim` is out of range, as in `all(ones(2), 1)`.

    >>> all(tensor([0.0, 2.0]))
    tensor(False)
    """
    return _logical(np.logical_and, input, dim, keepdim)


@primitive(method=True, differentiable=False)
def count_nonzero(input, /, dim=None):
    """How many elements over `dim` are not zero.

    Args:
        dim: an int or a tuple; all dimensions by default.
    Shape: (*) -> (*) without `dim`; int64
    Raises:
        IndexError: `dim` is out of range, as in `count_nonzero(ones(2), 1)`.

    >>> count_nonzero(tensor([0.0, 1.0, 2.0]))
    tensor(2)
    """
    return dense(np.add.reduce(input != 0, axes_of(dim, input.ndim), I64))


# ---------------------------------------------------------------------------------------------- logsumexp


@widened
def log_sum_exp(a, axis, keepdims):
    """log(sum(exp(a))) over `axis`, with the largest element taken out first."""
    if not a.size:
        return dense(np.log(add_reduce(np.exp(a), axis, None, None, keepdims)))
    top = max_reduce(a, axis, None, None, True)
    finite = np.where(np.isfinite(top), top, a.dtype.type(0))
    r = np.log(add_reduce(np.exp(a - finite), axis, None, None, True))
    r = np.add(r, finite)
    return dense(r if keepdims else r.reshape([n for i, n in enumerate(a.shape) if i not in axis_tuple(axis, a.ndim)]))


@primitive(method=True, out=True, jit_min_elements=MANY)
def logsumexp(input, /, dim, keepdim=False):
    """log(sum(exp(input))) over `dim`, without overflow.

    Args:
        dim: an int or a tuple.
        keepdim: whether reduced dimensions stay, with size 1.
        out: the tensor to write the result to.
    Shape: (*) -> (*) without `dim`
    Raises:
        IndexError: `dim` is out of range, as in `logsumexp(ones(2), 1)`.
        TypeError: `dim` is not given, as in `logsumexp(ones(2))`.

    >>> logsumexp(tensor([1000.0, 1000.0]), dim=0)
    tensor(1000.6932)
    """
    if dim is None:
        raise type_error("logsumexp(): argument 'dim' (position 2) must be tuple of ints, not NoneType")
    if input.dtype.kind in "biu":
        input = input.astype(dtypes.get_default_dtype().numpy)
    return log_sum_exp(input, axes_of(dim, input.ndim), keepdim)


@logsumexp.vjp
def _(g, input, out, dim, keepdim):
    if not input.ndim:
        return g * conjugate((input - out).exp())
    g, out = keep_dims(g, dim, input.ndim), keep_dims(out, dim, input.ndim)
    return g * conjugate((input - out).exp())
