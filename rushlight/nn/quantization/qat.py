"""Layers that round their weights as quantized ones would, for training: `torch.ao.nn.qat`."""

from __future__ import annotations

from typing import Any

from ...core.tensor.tensor import Tensor
from .. import functional as F
from .. import modules as nn
from ..utils.parametrize import type_before_parametrizations

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Linear"]


class _Rounded:
    """What these layers have in common."""

    _FLOAT_MODULE: Any
    weight_fake_quant: Any
    qconfig: Any

    def _rounds(self, qconfig: Any) -> None:
        if not qconfig:
            raise AssertionError("qconfig must be provided for QAT module")
        self.qconfig = qconfig
        self.weight_fake_quant = qconfig.weight()

    @classmethod
    def _checked(cls, mod: Any) -> Any:
        """The `qconfig` of a module that is to be one of these."""
        kind = type_before_parametrizations(mod)
        if not issubclass(kind, cls._FLOAT_MODULE):
            raise AssertionError(
                f"qat.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE.__name__}, got {kind.__name__}"
            )
        if not getattr(mod, "qconfig", None):
            raise AssertionError("Input float module must have a valid qconfig")
        if kind is not type(mod):
            raise NotImplementedError(f"qat.{cls.__name__}.from_float of a module with parametrizations")
        return mod.qconfig


class Linear(_Rounded, nn.Linear):
    """`nn.Linear` with a rounded weight: y = x q(W)^T + b, where q is `weight_fake_quant`.

    Shape: (*, in_features) -> (*, out_features)
    """

    _FLOAT_MODULE = nn.Linear

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, qconfig: Any = None, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        nn.Linear.__init__(self, in_features, out_features, bias, device, dtype)
        self._rounds(qconfig)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight_fake_quant(self.weight), self.bias)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Linear:
        """A layer with the parameters and the `qconfig` of an `nn.Linear`."""
        made = cls(mod.in_features, mod.out_features, mod.bias is not None, cls._checked(mod))
        made.weight, made.bias = mod.weight, mod.bias
        return made

    def to_float(self) -> nn.Linear:
        """An `nn.Linear` with these parameters."""
        made = nn.Linear(self.in_features, self.out_features, self.bias is not None)
        return _with_parameters(made, self)


class _Conv(_Rounded):
    def __init__(self, *args: Any, qconfig: Any = None, **kwargs: Any) -> None:
        self._FLOAT_MODULE.__init__(self, *args, **kwargs)
        self._rounds(qconfig)

    def forward(self, input: Any) -> Any:
        return self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias)  # type: ignore[attr-defined]

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """A layer with the parameters and the `qconfig` of a convolution."""
        made = cls(*_sizes(mod), **_options(mod), qconfig=cls._checked(mod))
        return _with_parameters(made, mod)

    def to_float(self) -> Any:
        """A convolution with these parameters."""
        return _with_parameters(self._FLOAT_MODULE(*_sizes(self), **_options(self)), self)


def _sizes(conv: Any) -> tuple:
    return conv.in_channels, conv.out_channels, conv.kernel_size


def _options(conv: Any) -> dict[str, Any]:
    names = ("stride", "padding", "dilation", "groups", "padding_mode")
    return {"bias": conv.bias is not None, **{name: getattr(conv, name) for name in names}}


def _with_parameters(made: Any, mod: Any) -> Any:
    made.weight, made.bias = mod.weight, mod.bias
    made.train(mod.training)
    return made


class Conv1d(_Conv, nn.Conv1d):  # type: ignore[misc]
    """`nn.Conv1d` with a weight rounded by `weight_fake_quant`.

    Shape: (N, C, L) -> (N, K, L')
    """

    _FLOAT_MODULE = nn.Conv1d


class Conv2d(_Conv, nn.Conv2d):  # type: ignore[misc]
    """`nn.Conv2d` with a weight rounded by `weight_fake_quant`.

    Shape: (N, C, H, W) -> (N, K, H', W')
    """

    _FLOAT_MODULE = nn.Conv2d


class Conv3d(_Conv, nn.Conv3d):  # type: ignore[misc]
    """`nn.Conv3d` with a weight rounded by `weight_fake_quant`.

    Shape: (N, C, D, H, W) -> (N, K, D', H', W')
    """

    _FLOAT_MODULE = nn.Conv3d
