"""Running sums and products along a dimension: cumsum, cumprod, logcumsumexp, diff, trapezoid."""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from ...core.dispatch.errors import argument_type, type_error
from ...core.dispatch.inplace import write
from ...core.dispatch.mode import is_grad_enabled
from ...core.dispatch.op import composite, primitive
from ...core.tensor import dtype as dtypes
from ...core.tensor.casting import cast
from ...core.tensor.layout import finfo
from ...core.tensor.node import shown_as
from ...core.tensor.size import wrap_dim
from ..pointwise.building_blocks import F32, F64, SOME, conjugate, dense, widened
from ..pointwise.checks import not_implemented
from ..pointwise.elementary import log_add_exp
from ..shape.concatenate import cat
from .reduction import shifted, unless_zero

# ---------------------------------------------------------------------------------------------- sums and products


_ACCUMULATED_IN = {F32: F64, np.dtype(np.complex64): np.dtype(np.complex128)}  # 16-bit floats: in float32


def _accumulate(ufunc, a, dim, dtype):
    d, a = wrap_dim(dim, a.ndim), np.asarray(a, order="C", like=a)
    if dtype is not None:
        if dtype is dtypes.bool_:
            raise not_implemented(f"{'cumsum' if ufunc is np.add else 'cumprod'}_out_cpu", dtype.numpy)
        a = cast(a, dtype.numpy)
    elif a.dtype.kind in "biu":
        a = a.astype(np.int64, copy=False)
    if not a.ndim:
        return a.copy()
    if a.dtype.kind == "c" and ufunc is np.multiply:  # torch begins with a product with 1, which infinities show
        a = a.copy()
        first = a.swapaxes(d, 0)[:1]
        first *= a.dtype.type(1)
    wide = _ACCUMULATED_IN.get(a.dtype, F32 if a.dtype.itemsize == 2 and a.dtype.kind not in "iu" else a.dtype)
    return ufunc.accumulate(a, d, wide).astype(a.dtype, copy=False)


@primitive(method=True, out=True, jit_min_elements=SOME)
def cumsum(input, /, dim, *, dtype=None):
    """The sum of all elements up to each one along `dim`.

    Args:
        dtype: the type to sum in; by default the input's, int64 for integers and bools.
        out: the tensor to write the result to.
    Shape: (*) -> (*)
    Raises:
        IndexError: `dim` is out of range, as in `cumsum(ones(2), 1)`.

    >>> cumsum(tensor([1.0, 2.0, 3.0]), 0)
    tensor([1., 3., 6.])
    """
    return _accumulate(np.add, input, dim, dtype)


@cumsum.vjp
def _(g, input_dtype, dim):
    g = g.to(input_dtype)  # first: the sums are taken in the input's type
    if not g.ndim or g.shape[dim] <= 1:
        return g
    return g.flip(dim).cumsum(dim).flip(dim)


@primitive(method=True, out=True, jit_min_elements=SOME)
def cumprod(input, /, dim, *, dtype=None):
    """The product of all elements up to each one along `dim`.

    Args:
        dtype: the type to multiply in; by default the input's, int64 for integers and bools.
        out: the tensor to write the result to.
    Shape: (*) -> (*)
    Raises:
        IndexError: `dim` is out of range, as in `cumprod(ones(2), 1)`.

    >>> cumprod(tensor([1.0, 2.0, 3.0]), 0)
    tensor([1., 2., 6.])
    """
    return _accumulate(np.multiply, input, dim, dtype)


@cumprod.vjp
def _(g, input, out, dim):
    g = g.to(input.dtype)
    if not g.ndim or g.numel() <= 1:
        return g

    def otherwise():
        x = conjugate(input)
        if not is_grad_enabled():
            return _up_to_zeros(g, x, conjugate(out), dim)
        before = shifted(x, dim, 1, 1).cumprod(dim)
        after = _scan(g.flip(dim), shifted(x, dim, -1, 0).flip(dim), dim).flip(dim)
        return before * after

    return unless_zero(input, lambda x: (g * conjugate(out)).flip(dim).cumsum(dim).flip(dim) / conjugate(x), otherwise)


def _up_to_zeros(g, x, out, dim):
    """The gradient of running products as torch has it, which decides where infinities and nan behind a zero go.

    Before the first zero along `dim` it divides by x; at the first zero it sums over what follows up to the second; it is 0
    after.
    """
    zero = x == 0
    zeros = zero.cumsum(dim)
    none, first = zeros == 0, zero & (zeros == 1)
    before = (g * out).masked_fill(~none, 0).flip(dim).cumsum(dim).flip(dim) / x
    running = x.masked_fill(first | none, 1).masked_fill(zeros > 1, 0).cumprod(dim)
    product = shifted(out, dim, 1, 1).masked_fill(~first, 0).sum(dim, keepdim=True)  # of what is before the first zero
    there = (running * g).masked_fill(none, 0).sum(dim, keepdim=True) * product
    return there.where(first, before.masked_fill(~none, 0))


@primitive(public=False, name="scan")
def _scan(input, factor, /, dim):
    """y[k] = input[k] + factor[k] * y[k - 1] along `dim`."""
    r = np.empty(input.shape, input.dtype, like=input)
    to, source, by = (
        r.swapaxes(dim, 0),
        input.swapaxes(dim, 0),
        factor.swapaxes(dim, 0),
    )
    to[0] = source[0]
    for k in range(1, len(to)):
        to[k] = source[k] + by[k] * to[k - 1]
    return r


@_scan.vjp
def _(g, factor, out, dim, needs):
    factor = conjugate(factor)
    back = _scan(g.flip(dim), shifted(factor, dim, -1, 0).flip(dim), dim).flip(dim)
    return back, back * conjugate(shifted(out, dim, 1, 0)) if needs[1] else None


def _inplace(op):
    def method(self, dim, *, dtype=None):
        if self._array.dtype.kind == "b" and dtype is None:  # torch sums in the type of the result
            wrap_dim(dim, self._array.ndim)
            if self._array.ndim and self._array.size:
                raise not_implemented(f"{op.record.name}_out_cpu", self._array.dtype)
            return self
        if dtype is not None and dtype is not self.dtype:
            words = f"input tensor dtype {dtypes.c_word(self.dtype)} and output tensor dtype {dtypes.c_word(dtype)}"
            raise RuntimeError(f"Bad in-place call: {words} should match")
        return write(op.record, self, (), (dim, dtype))

    method.__name__, method.__doc__ = (
        op.record.name + "_",
        f"In-place form of `{op.record.name}`.",
    )
    return method


for _op in (cumsum, cumprod):
    composite(method=True, function=False)(_inplace(_op))


@primitive(method=True, out=True)
def logcumsumexp(input, /, dim):
    """log of the running sum of exp(input) along `dim`, without overflow.

    Args:
        out: the tensor to write the result to.
    Shape: (*) -> (*)
    Raises:
        IndexError: `dim` is out of range, as in `logcumsumexp(ones(2), 1)`.

    >>> logcumsumexp(tensor([0.0, 0.0]), 0)
    tensor([0.0000, 0.6931])
    """
    d = wrap_dim(dim, input.ndim)
    if input.dtype.kind in "biu":
        raise NotImplementedError(
            f"\"logcumsumexp_out_cpu\" not implemented for '{dtypes.type_word(dtypes.from_numpy(input.dtype))}'"
        )
    return _log_sums(input, d) if input.ndim and input.size else input.copy()


def _log_sums(a, dim):
    if a.dtype.kind == "c":
        rows = list(accumulate(np.moveaxis(a, dim, 0), lambda total, x: log_add_exp(x, total)))
        return np.ascontiguousarray(np.moveaxis(np.stack(rows), 0, dim))
    return dense(widened(np.logaddexp.accumulate)(a, dim))


@logcumsumexp.vjp
def _(g, input, out, dim):
    if not g.ndim or not g.numel():
        return g

    return _logcumsumexp_backward(g, input, out, dim)


@primitive(public=False, name="logcumsumexp_backward")
def _logcumsumexp_backward(slope, input, sums, /, dim):
    """S[k] = sum over j >= k of slope[j] exp(input[k] - sums[j]), in logarithms as torch has it: nan where infinities meet."""

    def shares(log_slope):
        total = _log_sums(np.flip(log_slope - sums, dim), wrap_dim(dim, slope.ndim))
        return np.exp(np.flip(total, dim) + input)

    if slope.dtype.kind == "c":
        return np.conjugate(shares(np.log(np.conjugate(slope))))
    size, lowest = np.log(np.abs(slope)), np.asarray(finfo(dtypes.from_numpy(slope.dtype)).min, slope.dtype)
    return shares(np.where(slope > 0, size, lowest)) - shares(np.where(slope < 0, size, lowest))


@_logcumsumexp_backward.vjp
def _(g, slope, input, sums, out, dim, needs):
    back = None
    if needs[0] or needs[2]:
        # A[j] = sum over k <= j of g[k] exp(input[k] - sums[j]); no factor is above 1
        step = shifted(sums, dim, 1, float("-inf")) - sums  # infinite at the start, where nothing comes before
        decay = step.masked_fill(step.isnan() | step.isinf(), float("-inf")).exp()
        share = input - sums
        back = _scan(g * share.masked_fill(share.isnan(), float("-inf")).exp(), decay, dim)
    return back, conjugate(g) * out if needs[1] else None, -slope * conjugate(back) if needs[2] else None


# ---------------------------------------------------------------------------------------------- differences and areas


@composite(method=True, out=True)
def diff(input, n=1, dim=-1, prepend=None, append=None):
    """The `n`-th difference of neighbours along `dim`.

    Args:
        n: how often the difference is taken.
        prepend: a tensor to put before the input along `dim`.
        append: a tensor to put after it.
        out: the tensor to write the result to.
    Shape: (*, m) -> (*, m - n)
    Raises:
        RuntimeError: `n` is negative, as in `diff(ones(2), -1)`.
        RuntimeError: `input` is 0-d, as in `diff(ones(()))`.

    >>> diff(tensor([1.0, 4.0, 9.0]))
    tensor([3., 5.])
    """
    for argument, position, value in (("n", 2, n), ("dim", 3, dim)):
        if isinstance(value, (float, bool)):
            raise argument_type("diff", argument, position, value, "int")
    if input.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    for extra in (prepend, append):
        if extra is not None and extra.ndim != input.ndim:
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    if n == 0:
        return input.clone()
    parts = [t for t in (prepend, input, append) if t is not None]
    if len(parts) > 1:
        input = cat(parts, dim)
    for _ in range(min(input.shape[dim], n)):
        m = input.shape[dim]
        after, before = input.narrow(dim, 1, m - 1), input.narrow(dim, 0, m - 1)
        input = after.logical_xor(before) if input.dtype is dtypes.bool_ else after - before
    return input


def _halves(y, x, dx, dim):
    """The areas of the trapezoids between neighbours."""
    if x is not None:
        return _pairs(y, x, dim) / 2.0
    n = y.shape[dim]
    return (y.narrow(dim, 0, n - 1) + y.narrow(dim, 1, n - 1) if n else y) * (dx / 2.0)


def _pairs(y, x, dim):
    """Twice the areas of the trapezoids between neighbours at the positions `x`."""
    n = y.shape[dim]
    pairs = y.narrow(dim, 0, n - 1) + y.narrow(dim, 1, n - 1) if n else y
    if x.ndim == 1 and y.ndim > 1:
        x = x.reshape([-1 if d == dim else 1 for d in range(y.ndim)])
    elif x.ndim < y.ndim:
        x = x.reshape([1] * (y.ndim - x.ndim) + list(x.shape))
    m = x.shape[dim]
    return pairs * (x.narrow(dim, 1, m - 1) - x.narrow(dim, 0, m - 1))


def _check_trapezoid(name, y, x, dx, dim):
    if y.dtype is dtypes.bool_ or (x is not None and x.dtype is dtypes.bool_):
        raise RuntimeError(
            f"{name}: received a bool input for `{'y' if y.dtype is dtypes.bool_ else 'x'}`, but bool is not supported"
        )
    if isinstance(dx, bool):
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")
    if x is not None and dx is not None:
        raise type_error(f"{name}() takes either `x` or `dx`, not both")
    if x is not None and x.ndim == 1 and x.shape[0] != y.shape[dim]:
        raise RuntimeError(f"{name}: There must be one `x` value for each sample point")


@composite(aliases=("trapz",))
def trapezoid(y, x=None, *, dx=None, dim=-1):
    """The area under samples `y` by the trapezoidal rule.

    Args:
        x: the places of the samples, of the shape of `y` or of its dimension `dim`.
        dx: their distance, where `x` is not given; 1 by default.
        dim: the dimension of the samples.
    Shape: (*) -> (*) without `dim`
    Raises:
        IndexError: `dim` is out of range, as in `trapezoid(ones(3), dim=1)`.

    >>> trapezoid(tensor([1.0, 2.0, 3.0]))
    tensor(4.)
    """
    dim = wrap_dim(dim, y.ndim)  # of y: where x has more dimensions, it is another one of x
    if y.shape[dim] == 0:
        return y.detach().sum(dim, dtype=y.dtype)  # without history and in the type of y, as torch's
    _check_trapezoid("trapezoid", y, x, dx, dim)
    if x is None:
        ends = y.select(dim, 0) + y.select(dim, -1)
        return shown_as((y.sum(dim) - ends * 0.5) * (1.0 if dx is None else dx), "MulBackward1")
    return shown_as(_pairs(y, x, dim).sum(dim) / 2.0, "DivBackward0")


@composite()
def cumulative_trapezoid(y, x=None, *, dx=None, dim=-1):
    """The areas under samples `y` up to each one but the first, by the trapezoidal rule.

    Args:
        x: the places of the samples, of the shape of `y` or of its dimension `dim`.
        dx: their distance, where `x` is not given; 1 by default.
        dim: the dimension of the samples.
    Shape: (*, n) -> (*, n - 1)
    Raises:
        IndexError: `dim` is out of range, as in `cumulative_trapezoid(ones(3), dim=1)`.

    >>> cumulative_trapezoid(tensor([1.0, 2.0, 3.0]))
    tensor([1.5000, 4.0000])
    """
    dim = wrap_dim(dim, y.ndim)
    _check_trapezoid("cumulative_trapezoid", y, x, dx, dim)
    return _halves(y, x, 1.0 if dx is None else dx, dim).cumsum(dim)
