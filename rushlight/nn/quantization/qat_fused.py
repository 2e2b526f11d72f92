"""Convolutions and linear layers with batch norm or ReLU that round their weights: `torch.ao.nn.intrinsic.qat`."""

from __future__ import annotations

import math
from typing import Any

from ... import ops
from ...core.tensor.tensor import Tensor
from .. import functional as F
from .. import init
from .. import modules as nn
from ..parameter import Parameter
from ..utils.fusion import fuse_conv_bn_weights, fuse_linear_bn_weights
from ..utils.parametrize import type_before_parametrizations
from . import intrinsic as nni
from . import qat

__all__ = [
    "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d", "ConvBnReLU3d", "ConvReLU2d", "ConvReLU3d",
    "LinearBn1d", "LinearReLU", "freeze_bn_stats", "update_bn_stats",
]  # fmt: skip


class _Normed(nni._FusedModule):
    """A layer with a batch norm `bn` whose scale is in the weight that is rounded.

    The weight is rounded as it will be in the fused layer, by the running statistics; the result is divided by the same
    scale again before the batch norm: bn(layer(x, q(W s)) / s + b) with s = bn.weight / sqrt(bn.running_var + eps).
    """

    _FLOAT_MODULE: Any
    bn: Any
    weight: Any
    bias: Any
    weight_fake_quant: Any
    freeze_bn: bool

    def _begin(self, norm: Any, bias: bool, count: int, freeze_bn: bool, qconfig: Any) -> None:
        if not qconfig:
            raise AssertionError("qconfig must be provided for QAT module")
        self.qconfig = qconfig
        self.freeze_bn = freeze_bn if self.training else True
        self.bn = norm
        self.weight_fake_quant = qconfig.weight()
        if bias:
            self.bias = Parameter(ops.empty(count))
        else:
            self.register_parameter("bias", None)
        self.reset_bn_parameters()
        if self.training and not freeze_bn:
            self.update_bn_stats()
        else:
            self.freeze_bn_stats()

    def reset_running_stats(self) -> None:
        """Set the running statistics to those of a new batch norm."""
        self.bn.reset_running_stats()

    def reset_bn_parameters(self) -> None:
        """Draw the batch norm's weight, and the bias."""
        self.bn.reset_running_stats()
        init.uniform_(self.bn.weight)
        init.zeros_(self.bn.bias)
        if self.bias is not None and not isinstance(self, nn.Linear):
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in)
            init.uniform_(self.bias, -bound, bound)

    def update_bn_stats(self) -> Any:
        """Normalize by the statistics of each batch, and average them."""
        self.freeze_bn = False
        self.bn.training = True
        return self

    def freeze_bn_stats(self) -> Any:
        """Normalize by the running statistics, which stay."""
        self.freeze_bn = True
        self.bn.training = False
        return self

    def _linear_part(self, input: Tensor, weight: Tensor, bias: Tensor) -> Any:
        raise NotImplementedError

    def forward(self, input: Any) -> Any:
        scale = self.bn.weight / ops.sqrt(self.bn.running_var + self.bn.eps)
        across = [1, -1] + [1] * (self.weight.dim() - 2)
        down = [-1] + [1] * (self.weight.dim() - 1)
        weight = self.weight_fake_quant(self.weight * scale.reshape(down))
        zero = (
            ops.zeros(len(scale), dtype=input.dtype)
            if self.bias is None
            else ops.zeros_like(self.bias, dtype=input.dtype)
        )
        out = self._linear_part(input, weight, zero) / scale.reshape(across)
        if self.bias is not None:
            out = out + self.bias.reshape(across)
        return self.bn(out)

    def train(self, mode: bool = True) -> Any:
        """Set the mode; a frozen batch norm stays in evaluation mode."""
        self.training = mode
        if not self.freeze_bn:
            for module in self.children():
                module.train(mode)
        return self

    @classmethod
    def _qconfig_of(cls, mod: Any) -> Any:
        if type(mod) is not cls._FLOAT_MODULE:
            raise AssertionError(f"qat.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE.__name__}")
        if not getattr(mod, "qconfig", None):
            raise AssertionError("Input float module must have a valid qconfig")
        return mod.qconfig

    def _share(self, layer: Any, bn: Any) -> Any:
        """Take the parameters of a layer and of a batch norm."""
        self.weight, self.bias = layer.weight, layer.bias
        for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
            setattr(self.bn, name, getattr(bn, name))
        return self


_NORMS = {nn.Conv1d: nn.BatchNorm1d, nn.Conv2d: nn.BatchNorm2d, nn.Conv3d: nn.BatchNorm3d}


class _ConvNormed(_Normed):
    _version = 2
    _FLOAT_CONV_MODULE: Any
    _FLOAT_RELU_MODULE: Any = None
    _FUSED_FLOAT_MODULE: Any = None
    _conv_forward: Any

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1, bias: Any = None, padding_mode: str = "zeros", eps: float = 1e-5, momentum: float = 0.1,
        freeze_bn: bool = False, qconfig: Any = None,
    ) -> None:  # fmt: skip
        kind = self._FLOAT_CONV_MODULE
        kind.__init__(
            self, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, False, padding_mode
        )
        self._begin(_NORMS[kind](out_channels, eps, momentum, True, True), bool(bias), out_channels, freeze_bn, qconfig)

    def _linear_part(self, input: Tensor, weight: Tensor, bias: Tensor) -> Any:
        return self._conv_forward(input, weight, bias)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """A module with the parameters and the `qconfig` of a fused one."""
        qconfig, conv, bn = cls._qconfig_of(mod), mod[0], mod[1]
        made = cls(
            *qat._sizes(conv), **qat._options(conv), eps=bn.eps, momentum=bn.momentum, freeze_bn=False, qconfig=qconfig
        )
        return made._share(conv, bn)

    def to_float(self) -> Any:
        """A convolution with the batch norm in it, with ReLU where there is one."""
        bn, conv = self.bn, self._FLOAT_CONV_MODULE(*qat._sizes(self), **qat._options(self))
        conv.weight, conv.bias = fuse_conv_bn_weights(
            self.weight.detach(), None if self.bias is None else self.bias.detach(), bn.running_mean, bn.running_var, bn.eps,
            bn.weight, bn.bias,
        )  # fmt: skip
        if self._FLOAT_RELU_MODULE is not None:
            conv = self._FUSED_FLOAT_MODULE(conv, self._FLOAT_RELU_MODULE())
        return conv.train(self.training)


class _ReLUAfter:
    """A ReLU after what `forward` gives."""

    def forward(self, input: Any) -> Any:
        return F.relu(super().forward(input))  # type: ignore[misc]


class ConvBn1d(_ConvNormed, nn.Conv1d):  # type: ignore[misc]
    """`nn.Conv1d` with `nn.BatchNorm1d`, whose weight is rounded.

    Shape: (N, C, L) -> (N, K, L')
    """

    _FLOAT_CONV_MODULE = nn.Conv1d
    _FLOAT_MODULE = nni.ConvBn1d


class ConvBn2d(_ConvNormed, nn.Conv2d):  # type: ignore[misc]
    """`nn.Conv2d` with `nn.BatchNorm2d`, whose weight is rounded.

    Shape: (N, C, H, W) -> (N, K, H', W')
    """

    _FLOAT_CONV_MODULE = nn.Conv2d
    _FLOAT_MODULE = nni.ConvBn2d


class ConvBn3d(_ConvNormed, nn.Conv3d):  # type: ignore[misc]
    """`nn.Conv3d` with `nn.BatchNorm3d`, whose weight is rounded.

    Shape: (N, C, D, H, W) -> (N, K, D', H', W')
    """

    _FLOAT_CONV_MODULE = nn.Conv3d
    _FLOAT_MODULE = nni.ConvBn3d


class ConvBnReLU1d(_ReLUAfter, ConvBn1d):
    """`ConvBn1d`, then ReLU."""

    _FLOAT_MODULE = nni.ConvBnReLU1d
    _FLOAT_RELU_MODULE, _FUSED_FLOAT_MODULE = nn.ReLU, nni.ConvReLU1d


class ConvBnReLU2d(_ReLUAfter, ConvBn2d):
    """`ConvBn2d`, then ReLU."""

    _FLOAT_MODULE = nni.ConvBnReLU2d
    _FLOAT_RELU_MODULE, _FUSED_FLOAT_MODULE = nn.ReLU, nni.ConvReLU2d


class ConvBnReLU3d(_ReLUAfter, ConvBn3d):
    """`ConvBn3d`, then ReLU."""

    _FLOAT_MODULE = nni.ConvBnReLU3d
    _FLOAT_RELU_MODULE, _FUSED_FLOAT_MODULE = nn.ReLU, nni.ConvReLU3d


class _LayerReLU(_ReLUAfter):
    """A layer with a rounded weight, then ReLU, of a fused module of the two."""

    _PARTS: Any
    qconfig: Any

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """A module with the parameters and the `qconfig` of a fused one."""
        kind = type_before_parametrizations(mod)
        if not issubclass(kind, cls._PARTS):
            raise AssertionError(
                f"qat.{cls.__name__}.from_float only works for {cls._PARTS.__name__}, got {kind.__name__}"
            )
        if not getattr(mod, "qconfig", None):
            raise AssertionError("Input float module must have a valid qconfig")
        layer = mod[0]
        layer.qconfig = mod.qconfig
        return super().from_float(layer)  # type: ignore[misc]

    def to_float(self) -> Any:
        """The two layers, with these parameters."""
        return self._PARTS(super().to_float(), nn.ReLU())  # type: ignore[misc]


class ConvReLU2d(_LayerReLU, qat.Conv2d, nni._FusedModule):  # type: ignore[misc]
    """`nn.Conv2d` with a rounded weight, then ReLU.

    Shape: (N, C, H, W) -> (N, K, H', W')
    """

    _PARTS = nni.ConvReLU2d


class ConvReLU3d(_LayerReLU, qat.Conv3d, nni._FusedModule):  # type: ignore[misc]
    """`nn.Conv3d` with a rounded weight, then ReLU.

    Shape: (N, C, D, H, W) -> (N, K, D', H', W')
    """

    _PARTS = nni.ConvReLU3d


class LinearReLU(_LayerReLU, qat.Linear, nni._FusedModule):  # type: ignore[misc]
    """`nn.Linear` with a rounded weight, then ReLU.

    Shape: (*, in_features) -> (*, out_features)
    """

    _PARTS = nni.LinearReLU


class LinearBn1d(_Normed, nn.Linear):  # type: ignore[misc]
    """`nn.Linear` with `nn.BatchNorm1d`, whose weight is rounded.

    Shape: (N, in_features) -> (N, out_features)
    """

    _FLOAT_MODULE = nni.LinearBn1d

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, eps: float = 1e-5, momentum: float = 0.1,
        freeze_bn: bool = False, qconfig: Any = None,
    ) -> None:  # fmt: skip
        nn.Linear.__init__(self, in_features, out_features, bias)
        self._begin(nn.BatchNorm1d(out_features, eps, momentum, True, True), bias, out_features, freeze_bn, qconfig)

    def _linear_part(self, input: Tensor, weight: Tensor, bias: Tensor) -> Any:
        return F.linear(input, weight, bias)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> LinearBn1d:
        """A module with the parameters and the `qconfig` of a fused one."""
        qconfig, linear, bn = cls._qconfig_of(mod), mod[0], mod[1]
        made = cls(
            linear.in_features, linear.out_features, linear.bias is not None, bn.eps, bn.momentum, False, qconfig
        )
        return made._share(linear, bn)

    def to_float(self) -> Any:
        """A linear layer with the batch norm in it."""
        bn, linear = self.bn, nn.Linear(self.in_features, self.out_features)
        linear.weight, linear.bias = fuse_linear_bn_weights(
            self.weight, self.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
        )
        return linear


def update_bn_stats(mod: Any) -> None:
    """For `Module.apply`: convolutions with batch norm use and average the statistics of batches."""
    if isinstance(mod, _ConvNormed):
        mod.update_bn_stats()


def freeze_bn_stats(mod: Any) -> None:
    """For `Module.apply`: convolutions with batch norm use their running statistics, which stay."""
    if isinstance(mod, _ConvNormed):
        mod.freeze_bn_stats()
