"""Batch norms in evaluation mode folded into the layer before them."""

from __future__ import annotations

import copy
from typing import Any

from rushlight import ops
from rushlight.nn.parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A convolution that does what `conv` and then `bn` do, in evaluation.

    Args:
        transpose: whether `conv` is a transposed one.
    Shape: modules for (N, C, *) -> a module for (N, C, *)
    Raises:
        AssertionError: one of them is in training, as in `fuse_conv_bn_eval(nn.Conv1d(1, 1, 1), nn.BatchNorm1d(1))`.

    >>> fuse_conv_bn_eval(nn.Conv1d(1, 1, 1).eval(), nn.BatchNorm1d(1).eval())
    Conv1d(1, 1, kernel_size=(1,), stride=(1,))
    """
    _check_eval(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A linear layer that does what `linear` and then `bn` do, in evaluation.

    Shape: modules for (N, in) -> a module for (N, in)
    Raises:
        AssertionError: one of them is in training, as in `fuse_linear_bn_eval(nn.Linear(1, 1), nn.BatchNorm1d(1))`.

    >>> fuse_linear_bn_eval(nn.Linear(2, 1).eval(), nn.BatchNorm1d(1).eval())
    Linear(in_features=2, out_features=1, bias=True)
    """
    _check_eval(linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got linear.out_features="
            f"{linear.out_features} and bn.num_features={bn.num_features}"
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def _check_eval(layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")


def fuse_conv_bn_weights(
    conv_w: Any, conv_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any, transpose: bool = False
) -> tuple[Parameter, Parameter]:
    """(weight, bias) of the convolution that replaces a convolution and a batch norm.

    Args:
        conv_w, conv_b: of the convolution; the bias may be None.
        bn_rm, bn_rv, bn_eps, bn_w, bn_b: mean, variance, eps, weight and bias of the batch norm.
        transpose: whether the convolution is a transposed one.
    Shape: (K, C, *), (K), ... -> (K, C, *), (K)

    >>> fuse_conv_bn_weights(ones(1, 1, 1), None, zeros(1), ones(1), 0.0, tensor([2.0]), ones(1))[0].flatten()
    tensor([2.])
    """
    shape = [1, -1] if transpose else [-1, 1]
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape + [1] * (conv_w.dim() - 2))


def fuse_linear_bn_weights(
    linear_w: Any, linear_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any
) -> tuple[Parameter, Parameter]:
    """(weight, bias) of the linear layer that replaces a linear layer and a batch norm.

    Args:
        linear_w, linear_b: of the linear layer; the bias may be None.
        bn_rm, bn_rv, bn_eps, bn_w, bn_b: mean, variance, eps, weight and bias of the batch norm.
    Shape: (out, in), (out), ... -> (out, in), (out)

    >>> fuse_linear_bn_weights(ones(1, 2), zeros(1), zeros(1), ones(1), 0.0, tensor([2.0]), ones(1))[0]
    Parameter containing:
    tensor([[2., 2.]])
    """
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _fused(w: Any, b: Any, mean: Any, var: Any, eps: float, gamma: Any, beta: Any, shape: list[int]) -> tuple:
    kind = w.dtype if b is None else b.dtype
    b = ops.zeros_like(mean) if b is None else b
    gamma = ops.ones_like(mean) if gamma is None else gamma
    beta = ops.zeros_like(mean) if beta is None else beta
    scale = (var + eps).rsqrt()
    weight = (w * (gamma * scale).reshape(shape)).to(w.dtype)
    bias = ((b - mean) * scale * gamma + beta).to(kind)
    return Parameter(weight.detach(), w.requires_grad), Parameter(bias.detach(), b.requires_grad)
