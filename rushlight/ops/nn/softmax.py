"""Distributions from scores: softmax, log_softmax, softmin, gumbel_softmax; and vectors of length 1: normalize."""

from __future__ import annotations

import numpy as np

from ...core.dispatch.errors import argument_type, type_error
from ...core.dispatch.op import OPS, composite, primitive
from ...core.dispatch.scalars import check_parsed
from ...core.dispatch.slow_path import write_out
from ...core.tensor import dtype as dtypes
from ...core.tensor.casting import cast
from ...core.tensor.layout import contiguous_format
from ...core.tensor.size import missing
from ...core.warn import warn
from ..creation.filled import empty_like, zeros_like
from ..pointwise.building_blocks import F32, F64, MANY, add_reduce, by_rows, max_reduce, widened
from ..pointwise.checks import not_implemented
from ..reduce.norms import vector_norm

# ---------------------------------------------------------------------------------------------- softmax


def _check_softmax(x, dim, word):
    n = x.ndim or 1
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    if x.dtype.kind in "biuc" and x.size:
        raise not_implemented(word + ("_lastdim_kernel_impl" if dim in (-1, n - 1) else "_kernel_impl"), x.dtype)


@by_rows
def _softmax_of(x, dim):
    r = np.subtract(x, max_reduce(x, dim, None, None, True))
    np.exp(r, r)
    r /= add_reduce(r, dim, None, None, True)
    return r


def _softmax_of_narrow(x, dim):
    """Of 16-bit floats, rounded where torch rounds: it multiplies by 1 / sum along the last dimension, and divides in others.

    There one of its threads works on blocks of columns, and rounds the exponentials of the columns left over before it
    divides them. (Several threads of torch share the columns, so that each has some left over.)
    """
    d = x.dtype
    r = x.astype(F32)
    r = np.exp(np.subtract(r, max_reduce(r, dim, None, None, True)))
    total = add_reduce(r, dim, None, None, True)
    if dim in (-1, x.ndim - 1):
        return (r * (1 / total)).astype(d)
    columns = r.reshape(*r.shape[: dim % x.ndim + 1], -1)  # a view
    rest = columns.shape[-1] % _BLOCK
    if rest:
        columns[..., -rest:] = columns[..., -rest:].astype(d)
    return (r / total).astype(d)


_BLOCK = 16  # 16-bit floats in one of torch's vectors of 32 bytes


@primitive(public=False, name="softmax")
def _softmax(input, /, dim, dtype):
    if dtype is not None:
        input = cast(input, dtype.numpy)
    input = np.asarray(
        input, order="C", like=input if input.ndim else None
    )  # the result is contiguous whatever the input
    d = input.dtype
    if (d is F32 or d is F64) and -input.ndim <= dim < input.ndim and input.size:
        return _softmax_of(input, dim)
    _check_softmax(input, dim, "softmax")
    if d.itemsize == 2 and input.ndim and input.size:
        return _softmax_of_narrow(input, dim)
    if not input.ndim:
        return widened(_softmax_of)(input.reshape(1), 0).reshape(())
    return widened(_softmax_of)(input, dim) if input.size else input.copy()


@_softmax.vjp
def _(g, out, dim):
    return _softmax_backward(g, out, dim)


@primitive(public=False, name="softmax_backward", node="SoftmaxBackwardDataBackward0")
def _softmax_backward(grad, output, /, dim):
    if not grad.ndim:
        return _softmax_slope(grad.reshape(1), output.reshape(1), 0).reshape(())
    return _softmax_slope(grad, output, dim)


@widened
@by_rows
def _softmax_slope(g, y, dim):
    r = g * y
    np.subtract(g, add_reduce(r, dim, None, None, True), r)
    r *= y
    return r


@_softmax_backward.vjp
def _(g, grad, output, dim, needs):
    first = _softmax_backward(g, output, dim) if needs[0] else None
    if not needs[1]:
        return first, None
    inner = (g * output).sum(dim, keepdim=True)
    return first, g * (grad - (grad * output).sum(dim, keepdim=True)) - inner * grad


@by_rows
def _log_softmax_of(x, dim):
    r = np.subtract(x, max_reduce(x, dim, None, None, True))
    r -= np.log(add_reduce(np.exp(r), dim, None, None, True))
    return r


def _log_softmax_of_narrow_rows(x):
    """Of 16-bit floats along the last dimension: torch rounds the sum and its logarithm to their type."""
    d = x.dtype
    r = x.astype(F32)
    r = np.subtract(r, max_reduce(r, -1, None, None, True))
    total = add_reduce(np.exp(r), -1, None, None, True).astype(d)
    return (r - np.log(total.astype(F32)).astype(d).astype(F32)).astype(d)


@primitive(public=False, name="log_softmax", jit_min_elements=MANY)
def _log_softmax(input, /, dim, dtype):
    if dtype is not None:
        input = cast(input, dtype.numpy)
    input = np.asarray(
        input, order="C", like=input if input.ndim else None
    )  # the result is contiguous whatever the input
    d = input.dtype
    if (d is F32 or d is F64) and -input.ndim <= dim < input.ndim and input.size:
        return _log_softmax_of(input, dim)
    _check_softmax(input, dim, "log_softmax")
    if d.itemsize == 2 and input.size and dim in (-1, input.ndim - 1):
        return _log_softmax_of_narrow_rows(input)
    if not input.ndim:
        return widened(_log_softmax_of)(input.reshape(1), 0).reshape(())
    return widened(_log_softmax_of)(input, dim) if input.size else input.copy()


@_log_softmax.vjp
def _(g, out, dim):
    return _log_softmax_backward(g, out, dim)


@primitive(public=False, name="log_softmax_backward", node="LogSoftmaxBackwardDataBackward0")
def _log_softmax_backward(grad, output, /, dim):
    if not grad.ndim:
        return _log_softmax_slope(grad.reshape(1), output.reshape(1), 0).reshape(())
    return _log_softmax_slope(grad, output, dim)


@widened
@by_rows
def _log_softmax_slope(g, y, dim):
    r = np.exp(y)
    r *= add_reduce(g, dim, None, None, True)
    return np.subtract(g, r, r)


@_log_softmax_backward.vjp
def _(g, grad, output, dim, needs):
    first = g - (g * output.exp()).sum(dim, keepdim=True) if needs[0] else None
    second = -g * output.exp() * grad.sum(dim, keepdim=True) if needs[1] else None
    return first, second


def implicit_dim(name, ndim, stacklevel):
    """The dimension that `nn.functional` takes where none is given, with a warning."""
    import warnings

    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel + 1,
    )
    return 0 if ndim in (0, 1, 3) else 1


def check_dtype(name, dtype):
    """Raise torch's TypeError where the third argument is no type of elements."""
    if dtype is not None and not isinstance(dtype, dtypes.dtype):
        raise argument_type(name, "dtype", 3, dtype, "torch.dtype")


@composite()
def softmax(input, dim=None, dtype=None, *, out=None, axis=None):
    """exp(input) / sum(exp(input)) along `dim`, without overflow.

    Args:
        dim: an int.
        dtype: the type to compute in; by default the input's.
        out: the tensor to write the result to.
    Shape: (*) -> (*)
    Raises:
        IndexError: `dim` is out of range, as in `softmax(ones(2), 1)`.
        TypeError: `dim` is not given, as in `softmax(ones(2))`.
        NotImplementedError: `input` is of integers and `dtype` is not given, as in `softmax(tensor([1, 2]), 0)`.

    >>> softmax(tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    if axis is not None:
        dim = axis
    if dim is None:
        raise type_error(missing("softmax", "dim"))
    check_dtype("softmax", dtype)
    result = _softmax(input, dim, dtype)
    return result if out is None else write_out("softmax", (input,), result, out)


@composite()
def log_softmax(input, dim=None, dtype=None, *, out=None, axis=None):
    """The logarithm of `softmax`, without overflow.

    Args:
        dim: an int.
        dtype: the type to compute in; by default the input's.
        out: the tensor to write the result to.
    Shape: (*) -> (*)
    Raises:
        IndexError: `dim` is out of range, as in `log_softmax(ones(2), 1)`.
        TypeError: `dim` is not given, as in `log_softmax(ones(2))`.

    >>> log_softmax(tensor([0.0, 0.0]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    if axis is not None:
        dim = axis
    if dim is None:
        raise type_error(missing("log_softmax", "dim"))
    check_dtype("log_softmax", dtype)
    result = _log_softmax(input, dim, dtype)
    return result if out is None else write_out("log_softmax", (input,), result, out)


@composite(functional=True)
def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """`softmax` of -input.

    Args:
        dim: an int; without it one is chosen by the number of dimensions, with a warning.
        dtype: the type to compute in; by default the input's.
    Shape: (*) -> (*)
    Raises:
        IndexError: `dim` is out of range, as in `softmin(ones(2), 1)`.

    >>> softmin(tensor([0.0, 1.0]), dim=0)
    tensor([0.7311, 0.2689])
    """
    if dim is None:
        dim = implicit_dim("softmin", input.ndim, _stacklevel)
    return _softmax(-input, dim, dtype)


@composite(functional=True)
def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """A sample from the Gumbel-softmax distribution: softmax((logits + Gumbel noise) / tau).

    Source: Jang et al., Categorical Reparameterization with Gumbel-Softmax, 2017.

    Args:
        tau: the temperature; small ones come near to one-hot.
        hard: whether the result is one-hot; its gradient is that of the soft sample.
        eps: not used.
    Shape: (*, classes) -> (*, classes)

    >>> _ = manual_seed(0)
    >>> gumbel_softmax(zeros(3), hard=True).sum()
    tensor(1.)
    """
    if eps != 1e-10:
        warn("`eps` parameter is deprecated and has no effect.")
    gumbels = -empty_like(logits, memory_format=contiguous_format).exponential_().log()
    soft = softmax((logits + gumbels) / tau, dim)
    if not hard:
        return soft
    one_hot = zeros_like(logits, memory_format=contiguous_format).scatter_(dim, soft.argmax(dim, keepdim=True), 1.0)
    return one_hot - soft.detach() + soft


@composite(functional=True)
def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """input divided by its p-norm over `dim`, which counts as at least `eps`.

    Args:
        p: a number.
        dim: an int or a tuple.
        out: the tensor to write the result to.
    Shape: (*) -> (*)
    Raises:
        IndexError: `dim` is out of range, as in `normalize(ones(2))`.

    >>> normalize(tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    check_parsed(p)
    size = vector_norm(input, float(p), dim, True, None).clamp_min(eps)
    if out is None:
        return input / size.expand_as(input)
    return OPS["div"](input, size.expand_as(input), out=out)


@composite(name="softmax", method=True, function=False)
def _softmax_method(self, dim=None, dtype=None, *, axis=None):
    """exp(input) / sum(exp(input)) along `dim`."""
    if axis is not None:
        dim = axis
    return _softmax(self, _dimension(dim, "softmax"), dtype)


@composite(name="log_softmax", method=True, function=False)
def _log_softmax_method(self, dim=None, dtype=None, *, axis=None):
    """The logarithm of `softmax`, without overflow."""
    if axis is not None:
        dim = axis
    return _log_softmax(self, _dimension(dim, "log_softmax"), dtype)


@composite(name="special.softmax")
def special_softmax(input, dim, dtype=None):
    """`softmax` along `dim`, which has no default here.

    Raises:
        TypeError: `dim` is no int, as in `special.softmax(ones(2), None)`.
    """
    return softmax(input, _given("special_softmax", dim), dtype=dtype)


@composite(name="special.log_softmax")
def special_log_softmax(input, dim, dtype=None):
    """`log_softmax` along `dim`, which has no default here.

    Raises:
        TypeError: `dim` is no int, as in `special.log_softmax(ones(2), None)`.
    """
    return log_softmax(input, _given("special_log_softmax", dim), dtype=dtype)


def _dimension(dim: int | None, name: str) -> int:
    if dim is None:
        raise type_error(missing(name, "dim"))
    return dim


def _given(name: str, dim: int) -> int:
    if not hasattr(dim, "__index__"):
        raise type_error(f"{name}(): argument 'dim' (position 2) must be int, not {type(dim).__name__}")
    return dim
