"""`torch.nn.grad`: the gradients of convolutions by themselves, to the input and to the weight."""

from __future__ import annotations

from typing import Any

from ..autograd.backward import grad
from ..core.dispatch.mode import enable_grad, is_grad_enabled
from ..core.tensor.tensor import Tensor
from ..ops import conv1d, conv2d, conv3d, zeros

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]

_CONVOLUTIONS = {1: conv1d, 2: conv2d, 3: conv3d}


def _derive(n: int, wanted: str, size: Any, other: Tensor, grad_output: Tensor, *options: Any) -> Tensor:
    """The gradient to an input or weight of a size: the convolution is linear in it, its values do not matter."""
    keeps_graph = is_grad_enabled() and (other.requires_grad or grad_output.requires_grad)
    point = zeros(*size, dtype=other.dtype, device=other.device, requires_grad=True)
    with enable_grad():
        pair = (point, other) if wanted == "input" else (other, point)
        out = _CONVOLUTIONS[n](*pair, None, *options)
    return grad(out, point, grad_output, create_graph=keeps_graph)[0]


def conv1d_input(
    input_size: Any,
    weight: Tensor,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv1d` with respect to its input.

    Args:
        input_size: the shape (N, C, L) of the input.
        grad_output: the gradient of the result.
    Shape: (K, C/groups, R), (N, K, L') -> (N, C, L)
    Raises:
        RuntimeError: `grad_output` has another shape than the convolution's result.

    >>> conv1d_input((1, 1, 3), ones(1, 1, 2), ones(1, 1, 2))
    tensor([[[1., 2., 1.]]])
    """
    return _derive(1, "input", input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(
    input: Tensor,
    weight_size: Any,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv1d` with respect to its weight.

    Args:
        weight_size: the shape (K, C/groups, R) of the weight.
        grad_output: the gradient of the result.
    Shape: (N, C, L), (N, K, L') -> (K, C/groups, R)
    Raises:
        RuntimeError: `grad_output` has another shape than the convolution's result.

    >>> conv1d_weight(ones(1, 1, 3), (1, 1, 2), ones(1, 1, 2))
    tensor([[[2., 2.]]])
    """
    return _derive(1, "weight", weight_size, input, grad_output, stride, padding, dilation, groups)


def conv2d_input(
    input_size: Any,
    weight: Tensor,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv2d` with respect to its input.

    Args:
        input_size: the shape (N, C, H, W) of the input.
        grad_output: the gradient of the result.
    Shape: (K, C/groups, R, S), (N, K, H', W') -> (N, C, H, W)
    Raises:
        RuntimeError: `grad_output` has another shape than the convolution's result.

    >>> conv2d_input((1, 1, 2, 2), ones(1, 1, 2, 2), ones(1, 1, 1, 1))
    tensor([[[[1., 1.],
              [1., 1.]]]])
    """
    return _derive(2, "input", input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(
    input: Tensor,
    weight_size: Any,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv2d` with respect to its weight.

    Args:
        weight_size: the shape (K, C/groups, R, S) of the weight.
        grad_output: the gradient of the result.
    Shape: (N, C, H, W), (N, K, H', W') -> (K, C/groups, R, S)
    Raises:
        RuntimeError: `grad_output` has another shape than the convolution's result.

    >>> conv2d_weight(ones(1, 1, 2, 2), (1, 1, 1, 1), ones(1, 1, 2, 2))
    tensor([[[[4.]]]])
    """
    return _derive(2, "weight", weight_size, input, grad_output, stride, padding, dilation, groups)


def conv3d_input(
    input_size: Any,
    weight: Tensor,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv3d` with respect to its input.

    Args:
        input_size: the shape (N, C, D, H, W) of the input.
        grad_output: the gradient of the result.
    Shape: (K, C/groups, Q, R, S), (N, K, D', H', W') -> (N, C, D, H, W)
    Raises:
        RuntimeError: `grad_output` has another shape than the convolution's result.

    >>> conv3d_input((1, 1, 1, 1, 2), ones(1, 1, 1, 1, 1), ones(1, 1, 1, 1, 2)).shape
    torch.Size([1, 1, 1, 1, 2])
    """
    return _derive(3, "input", input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_weight(
    input: Tensor,
    weight_size: Any,
    grad_output: Tensor,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv3d` with respect to its weight.

    Args:
        weight_size: the shape (K, C/groups, Q, R, S) of the weight.
        grad_output: the gradient of the result.
    Shape: (N, C, D, H, W), (N, K, D', H', W') -> (K, C/groups, Q, R, S)
    Raises:
        RuntimeError: `grad_output` has another shape than the convolution's result.

    >>> conv3d_weight(ones(1, 1, 1, 2, 2), (1, 1, 1, 1, 1), ones(1, 1, 1, 2, 2)).shape
    torch.Size([1, 1, 1, 1, 1])
    """
    return _derive(3, "weight", weight_size, input, grad_output, stride, padding, dilation, groups)
