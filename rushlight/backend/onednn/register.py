"""Which operators use oneDNN's kernels."""

from collections.abc import Callable
from typing import Any

from .convolution import conv_backward_input, conv_backward_weight, conv_forward
from .matmul import WORTHWHILE_ELEMENTS, matmul
from .pooling import max_pool_backward, max_pool_forward

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
    from ...ops.conv import convolution, convolution_input, convolution_weight, convolution_weight_and_bias
    from ...ops.matmul import _linear, _linear_nd, _linear_nd_plain, gram, linear_plain, mm
    from ...ops.pool import max_pool_2d, max_pool_3d
    from ...ops.pool import max_pool_backward as max_pool_gradient

    prefer(convolution, conv_forward)
    prefer(convolution_input, _conv_input)
    prefer(convolution_weight, _conv_weight)
    prefer(convolution_weight_and_bias, _conv_weight_and_bias)
    for operator in (max_pool_2d, max_pool_3d):
        prefer(operator, _max_pool)
    prefer(max_pool_gradient, _max_pool_backward)
    _prefer_if_large(mm, matmul)
    _prefer_if_large(gram, _gram)
    for operator in (_linear, linear_plain, _linear_nd, _linear_nd_plain):
        _prefer_if_large(operator, _affine)


def _conv_input(g, weight, bias, shape, stride, padding, dilation, groups):
    if bias is not None and (bias.dtype != g.dtype or bias.shape != shape[1:2]):
        return NotImplemented
    x = conv_backward_input(g, weight, shape, stride, padding, dilation, groups)
    if x is not NotImplemented and bias is not None:
        x += bias.reshape(-1, *(1,) * len(stride))
    return x


def _conv_weight(g, x, shape, stride, padding, dilation, groups):
    return conv_backward_weight(g, x, shape, stride, padding, dilation, groups, False)


def _conv_weight_and_bias(g, x, shape, stride, padding, dilation, groups):
    return conv_backward_weight(g, x, shape, stride, padding, dilation, groups, True)


def _max_pool(x, window, stride, padding, dilation, ceil_mode):
    """(maxima, places). The maxima alone are left to NumPy: 15 us against 21 for 4 x 6 x 28 x 28."""
    if x.ndim != len(window) + 2:
        return NotImplemented
    return max_pool_forward(x, window, stride, padding, dilation, ceil_mode)


def _max_pool_backward(g, x, place, window, stride, padding, dilation, ceil_mode):
    if g.ndim != len(window) + 2:
        return NotImplemented
    return max_pool_backward(g, place, x.shape, window, stride, padding, dilation, ceil_mode)


def _gram(x, y):
    """x^T y, the leading axes of both as rows."""
    if x.shape[:-1] != y.shape[:-1] or not x.size or not y.size:
        return NotImplemented
    return matmul(x.reshape(-1, x.shape[-1]).T, y.reshape(-1, y.shape[-1]))


def _affine(x, weight, bias=None):
    """x w^T + b, the leading axes of x as rows."""
    if bias is not None and (bias.dtype != x.dtype or bias.shape != weight.shape[:1]) or not x.size:
        return NotImplemented
    out = matmul(x if x.ndim == 2 else x.reshape(-1, x.shape[-1]), weight.T)
    if out is NotImplemented:
        return out
    if bias is not None:
        out += bias
    return out if x.ndim == 2 else out.reshape(*x.shape[:-1], len(weight))
