"""Which operators use oneDNN's kernels."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...ops.nn.normalize import (
    _batch_norm,
    _batch_norm_backward,
    _group_norm,
    _group_norm_backward,
    _layer_norm,
    _layer_norm_backward,
)
from ...ops.nn.rectifiers import _leaky_relu
from ...ops.nn.smooth import _gelu, _gelu_backward, _silu, _silu_backward
from ...ops.nn.softmax import _log_softmax_backward, _softmax, _softmax_backward
from ...ops.product.matmul import _linear, _linear_nd, _linear_nd_plain, _matmul, bmm, gram, linear_plain, mm
from ...ops.shape.copying import _to_copy
from ...ops.spatial import adaptive_pool, avg_pool
from ...ops.spatial.conv import convolution, convolution_input, convolution_weight, convolution_weight_and_bias
from ...ops.spatial.pool import are_pairs, max_pool_2d, max_pool_3d
from ...ops.spatial.pool import max_pool_backward as max_pool_gradient
from .. import isa
from . import elementwise as functions
from . import normalization
from .calls import BFLOAT16, FLOAT32
from .casting import lower, to_bfloat16
from .convolution import conv_backward_input, conv_backward_weight, conv_forward, within_reach
from .elementwise import elementwise, elementwise_backward
from .matmul import WORTHWHILE_ELEMENTS, batched_matmul, matmul
from .pooling import avg_pool_backward, avg_pool_forward, max_pool_backward, max_pool_forward
from .softmax import WORTHWHILE_ELEMENTS as SCORES
from .softmax import softmax, softmax_backward
from .threads import get_num_threads

__all__ = ["install", "prefer"]


def prefer(operator: Any, kernel: Callable) -> None:
    """Override an operator's kernel by `kernel`, which takes the same arguments as the reference kernel.

    Where `kernel` returns NotImplemented, the reference kernel computes.
    """
    reference = operator.record.reference

    def preferred(*arguments, **metadata):
        result = kernel(*arguments, **metadata)
        return reference(*arguments, **metadata) if result is NotImplemented else result

    operator.override(preferred)


def _prefer_also_in_bfloat16(operator: Any, kernel: Callable, rounded: bool = True, least: int = 0) -> None:
    """As `prefer`, for a kernel of float32 that serves bfloat16 by way of float32, as the reference kernel does.

    rounded: the first result, or the only one, is of the first argument's type; others are float32. NumPy's functions
    of bfloat16 take 1 to 3 ns an element, the casts 0.4 together. least: how many elements the kernel asks for; smaller
    arrays go to the reference kernel 0.1 us later than without.
    """
    reference = operator.record.reference

    def preferred(x, *rest):
        if x.size < least:
            return reference(x, *rest)
        result = kernel(x, *rest)
        if result is NotImplemented and x.dtype is BFLOAT16:
            result = kernel(*map(_widened, (x, *rest)))
            if rounded and result is not NotImplemented:
                result = (lower(result[0]), *result[1:]) if type(result) is tuple else lower(result)
        return reference(x, *rest) if result is NotImplemented else result

    operator.override(preferred)


def _widened(a: Any) -> Any:
    return a.astype(FLOAT32) if type(a) is np.ndarray and a.dtype is BFLOAT16 else a


def _prefer_if_large(operator: Any, kernel: Callable) -> None:
    """As `prefer`, for a product of two arrays: small ones go to the reference kernel 0.2 us later than without."""
    reference = operator.record.reference

    def preferred(x, y, *bias):
        if x.size + y.size >= WORTHWHILE_ELEMENTS:
            result = kernel(x, y, *bias)
            if result is not NotImplemented:
                return result
        return reference(x, y, *bias)

    operator.override(preferred)


def install() -> None:
    """Override the operators' kernels. This loads no library: the first call of a kernel does."""
    _install_products()
    _install_pools()
    _install_normalization()
    _install_functions()
    _install_casts()


def _install_products() -> None:
    prefer(convolution, conv_forward)
    prefer(convolution_input, _conv_input)
    prefer(convolution_weight, _conv_weight)
    prefer(convolution_weight_and_bias, _conv_weight_and_bias)
    _prefer_if_large(mm, matmul)
    _prefer_if_large(gram, _gram)
    _prefer_if_large(bmm, batched_matmul)
    _prefer_if_large(_matmul, _batches)
    for operator in (_linear, linear_plain, _linear_nd, _linear_nd_plain):
        _prefer_if_large(operator, _affine)


def _install_casts() -> None:
    reference = _to_copy.record.reference

    def cast(x, dtype):
        result = to_bfloat16(x) if dtype.numpy is BFLOAT16 else NotImplemented
        return reference(x, dtype) if result is NotImplemented else result

    _to_copy.override(cast)


def _install_pools() -> None:
    for operator in (max_pool_2d, max_pool_3d):
        prefer(operator, _max_pool)
    prefer(max_pool_gradient, _max_pool_backward)
    for operator in (avg_pool.avg_pool_2d, avg_pool.avg_pool_3d):
        prefer(operator, _avg_pool)
    prefer(avg_pool.avg_pool_backward, _avg_pool_backward)
    for operator in (adaptive_pool._adaptive_avg_2d, adaptive_pool._adaptive_avg_3d):
        prefer(operator, _adaptive)
    prefer(adaptive_pool.adaptive_avg_backward, _adaptive_backward)


def _install_normalization() -> None:
    _prefer_also_in_bfloat16(_batch_norm, normalization.batch_norm)
    _prefer_also_in_bfloat16(_batch_norm_backward, normalization.batch_norm_backward, rounded=False)
    _prefer_also_in_bfloat16(_group_norm, normalization.group_norm)
    _prefer_also_in_bfloat16(_group_norm_backward, normalization.group_norm_backward, rounded=False)
    _prefer_also_in_bfloat16(_layer_norm, normalization.layer_norm, least=normalization.WORTHWHILE_ELEMENTS)
    _prefer_also_in_bfloat16(_layer_norm_backward, normalization.layer_norm_backward, rounded=False)
    _prefer_also_in_bfloat16(_softmax, _scores, least=SCORES)
    _prefer_also_in_bfloat16(_softmax_backward, lambda g, out, dim: softmax_backward(g, out, dim, False))
    _prefer_also_in_bfloat16(_log_softmax_backward, lambda g, out, dim: softmax_backward(g, out, dim, True))


def _scores(x, dim, dtype):
    return softmax(x, dim) if dtype is None else NotImplemented


def _install_functions() -> None:
    few, more = functions.WORTHWHILE_ELEMENTS, functions.WORTHWHILE_ELEMENTS_IF_SIMPLE
    gelu = {"none": functions.GELU, "tanh": functions.GELU_TANH}
    _prefer_also_in_bfloat16(_gelu, lambda x, approximate: _gelu_of(gelu, x, approximate), least=few)
    _prefer_also_in_bfloat16(
        _gelu_backward, lambda g, x, approximate: elementwise_backward(gelu[approximate], g, x), least=few
    )
    _prefer_also_in_bfloat16(_silu, lambda x: elementwise(functions.SWISH, x, 1.0), least=more)
    _prefer_also_in_bfloat16(_silu_backward, lambda g, x: elementwise_backward(functions.SWISH, g, x, 1.0), least=few)
    # not its gradient of leaky_relu, which at nan is not torch's
    prefer(_leaky_relu, lambda x, slope: elementwise(functions.LEAKY_RELU, x, slope))


def _gelu_of(algorithms, x, approximate):
    return elementwise(algorithms[approximate], x) if approximate in algorithms else NotImplemented


def _conv_input(g, weight, bias, shape, stride, padding, dilation, groups):
    if bias is not None and (bias.dtype != g.dtype or bias.shape != shape[1:2]):
        return NotImplemented
    x = conv_backward_input(g, weight, shape, stride, padding, dilation, groups)
    if x is NotImplemented:
        x = _conv_input_within_reach(g, weight, shape, stride, padding, dilation, groups)
    if x is not NotImplemented and bias is not None:
        x += bias.reshape(-1, *(1,) * len(stride))
    return x


def _conv_input_within_reach(g, weight, shape, stride, padding, dilation, groups):
    part = within_reach(g.shape, weight.shape, shape, stride, padding, dilation)
    if part is None:
        return NotImplemented
    sizes, padding = part
    inner = conv_backward_input(g, weight, (*shape[:2], *sizes), stride, padding, dilation, groups)
    if inner is NotImplemented:
        return inner
    x = np.zeros(shape, inner.dtype)
    inner = inner[(..., *map(slice, shape[2:]))]  # more than that where padding is taken off a larger part
    x[(..., *map(slice, inner.shape[2:]))] = inner
    return x


def _conv_weight(g, x, shape, stride, padding, dilation, groups, with_bias=False):
    result = conv_backward_weight(g, x, shape, stride, padding, dilation, groups, with_bias)
    if result is NotImplemented:
        part = within_reach(g.shape, shape, x.shape, stride, padding, dilation)
        if part is not None:
            sizes, padding = part
            x = x[(..., *map(slice, sizes))]
            result = conv_backward_weight(g, x, shape, stride, padding, dilation, groups, with_bias)
    return result


def _conv_weight_and_bias(g, x, shape, stride, padding, dilation, groups):
    return _conv_weight(g, x, shape, stride, padding, dilation, groups, True)


# For each element of a window, NumPy takes 1.6 ns (disjoint windows) or 4 ns in one thread, oneDNN 14 ns or 10 ns by the
# number of threads: it has no fast kernel that notes places in plain memory. Small arrays are left to oneDNN.
_NUMPY_MAX_POOL = 16_384, 8, 2  # elements of windows from which on; threads up to which: disjoint windows, others
_NUMPY_MAX_POOL_BACKWARD = 50_000, 2, 0  # 2 ns and 5 ns against 4 ns and 1.7 ns


def _is_numpys(limits, size, window, stride, dilation):
    """Whether NumPy's max pooling of `size` results is faster than oneDNN's."""
    elements, disjoint_threads, threads = limits
    if size * math.prod(window) < elements:
        return False
    disjoint = all(s >= d * (k - 1) + 1 for k, s, d in zip(window, stride, dilation, strict=True))
    return get_num_threads() <= (disjoint_threads if disjoint else threads)


def _max_pool(x, window, stride, padding, dilation, ceil_mode):
    """(maxima, places). The maxima alone are left to NumPy: 15 us against 21 for 4 x 6 x 28 x 28. With AVX2 oneDNN's plain
    memory has no vectors: 2160 us for 64 x 6 x 28 x 28 in pairs, NumPy 460.
    """
    if x.ndim != len(window) + 2 or are_pairs(x.shape, window, stride, padding) and not isa.has_avx512():
        return NotImplemented
    if _is_numpys(_NUMPY_MAX_POOL, x.size // math.prod(stride), window, stride, dilation):
        return NotImplemented
    return max_pool_forward(x, window, stride, padding, dilation, ceil_mode)


def _max_pool_backward(g, x, place, window, stride, padding, dilation, ceil_mode):
    if g.ndim != len(window) + 2 or _is_numpys(_NUMPY_MAX_POOL_BACKWARD, g.size, window, stride, dilation):
        return NotImplemented
    return max_pool_backward(g, place, x.shape, window, stride, padding, dilation, ceil_mode)


def _avg_pool(x, window, stride, padding, ceil_mode, count_include_pad, divisor_override):
    """Sequences, which come as images of one row, are left to NumPy: 1.2 ms against 2.4 for 32 x 64 x 512."""
    if divisor_override is not None or x.ndim != len(window) + 2 or window[0] == 1:
        return NotImplemented
    return avg_pool_forward(x, window, stride, padding, ceil_mode, count_include_pad)


def _avg_pool_backward(g, x, window, stride, padding, ceil_mode, count_include_pad, divisor_override):
    if divisor_override is not None or g.ndim != len(window) + 2 or window[0] == 1:
        return NotImplemented
    return avg_pool_backward(g, x.shape, window, stride, padding, ceil_mode, count_include_pad)


def _adaptive(x, size):
    """The means of windows that are all alike."""
    window = _even_windows(x.shape, size)
    return avg_pool_forward(x, window, window, (0,) * len(size)) if window else NotImplemented


def _adaptive_backward(g, x, n):
    window = _even_windows(x.shape, g.shape[g.ndim - n :])
    return avg_pool_backward(g, x.shape, window, window, (0,) * n) if window else NotImplemented


def _even_windows(shape, size):
    """The one size of all windows, or None."""
    sizes = shape[len(shape) - len(size) :]
    if len(shape) != len(size) + 2 or not all(o and not s % o for s, o in zip(sizes, size, strict=True)):
        return None
    return tuple([s // o for s, o in zip(sizes, size, strict=True)])


def _batches(x, y):
    """x @ y with a matrix y, or with batches alike."""
    if y.ndim != 2 or x.ndim < 3:
        return batched_matmul(x, y)
    if x.shape[-1] != len(y):
        return NotImplemented
    out = matmul(x.reshape(-1, x.shape[-1]), y) if x.size else NotImplemented
    return out if out is NotImplemented else out.reshape(*x.shape[:-1], y.shape[1])


def _gram(x, y):
    """x^T y, the leading axes of both as rows."""
    if x.shape[:-1] != y.shape[:-1] or not x.size or not y.size:
        return NotImplemented
    return matmul(x.reshape(-1, x.shape[-1]).T, y.reshape(-1, y.shape[-1]))


def _affine(x, weight, bias=None):
    """x w^T + b, the leading axes of x as rows."""
    if bias is not None and (bias.dtype != x.dtype or bias.shape != weight.shape[:1]) or not x.size:
        return NotImplemented
    rows = x if x.ndim == 2 else x.reshape(-1, x.shape[-1])
    out = matmul(rows, weight.T, bias)
    if out is NotImplemented:
        return out
    return out if x.ndim == 2 else out.reshape(*x.shape[:-1], len(weight))
