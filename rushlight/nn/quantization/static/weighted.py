"""Layers whose input and result are quantized tensors: the weighted ones of `torch.ao.nn.quantized` and `.intrinsic.quantized`.

`convert` makes them of layers that have observed their results; `scale` and `zero_point` are those of the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....core.tensor import dtype as dtypes
from ....core.tensor.tensor import wrap
from ....ops.quantized.tensor import assemble
from ... import functional as F
from ... import modules as nn
from ...modules.module import Module, _addindent
from ...utils.fusion import fuse_conv_bn_weights, fuse_linear_bn_weights
from ...utils.parametrize import type_before_parametrizations
from .. import intrinsic as nni
from .. import qat_fused as nniqat
from ..linear import LinearPackedParams, check_dtype, empty_weight
from ..observers import levels_of_weight
from .products import PackedConv, conv, linear

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "ConvTranspose1d", "ConvTranspose2d",
    "ConvTranspose3d", "Linear", "LinearReLU",
]  # fmt: skip


def _numbers_of(observer: Any) -> tuple[float, int]:
    scale, zero_point = observer.calculate_qparams()
    return float(scale), int(zero_point)


def _save_numbers(module: Any, destination: Any, prefix: str) -> None:
    destination[prefix + "scale"] = wrap(np.array(module.scale, np.float32))
    destination[prefix + "zero_point"] = wrap(np.array(module.zero_point))


def _load_numbers(module: Any, state_dict: Any, prefix: str) -> None:
    module.scale = float(state_dict.pop(prefix + "scale"))
    module.zero_point = int(state_dict.pop(prefix + "zero_point"))


class Linear(Module):
    """input W^T + bias for quantized tensors.

    `weight()` is the quantized weight and `bias()` the float32 bias; neither is a parameter.

    Args:
        bias_: whether there is a bias.
    Shape: (*, in_features) -> (*, out_features)
    Raises:
        RuntimeError: the dtype is not qint8, as in `Linear(2, 3, dtype=int8)`.

    >>> Linear(20, 30)(quantize_per_tensor(ones(128, 20), 1.0, 0, quint8)).shape
    torch.Size([128, 30])
    """

    _version = 3
    _FLOAT_MODULE: Any = (nn.Linear, nn.linear.NonDynamicallyQuantizableLinear)
    _cuts = False

    def __init__(self, in_features: int, out_features: int, bias_: bool = True, dtype: Any = dtypes.qint8) -> None:
        super().__init__()
        check_dtype(dtype, "Unsupported dtype specified for quantized Linear!")
        self.in_features = in_features
        self.out_features = out_features
        self._packed_params = LinearPackedParams(dtype)
        bias = wrap(np.zeros(out_features, np.float32)) if bias_ else None
        self._packed_params.set_weight_bias(empty_weight(out_features, in_features), bias)
        self.scale = 1.0
        self.zero_point = 0

    def forward(self, x: Any) -> Any:
        return linear(x, self._packed_params._packed_params, self.scale, self.zero_point, self._cuts)

    def weight(self) -> Any:
        """The quantized weight (out_features, in_features)."""
        return self._packed_params._weight_bias()[0]

    def bias(self) -> Any:
        """The bias (out_features,), or None."""
        return self._packed_params._weight_bias()[1]

    def _weight_bias(self) -> Any:
        return self._packed_params._weight_bias()

    def set_weight_bias(self, w: Any, b: Any) -> None:
        """Take another weight of levels, and another bias or None."""
        self._packed_params.set_weight_bias(w, b)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The quantized layer of one that has observed its results."""
        observer = mod.activation_post_process
        if hasattr(mod, "weight_fake_quant"):
            if type_before_parametrizations(mod) is nniqat.LinearBn1d:
                bn = mod.bn
                mod.weight, mod.bias = fuse_linear_bn_weights(
                    mod.weight, mod.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
                )
            of_weight = mod.weight_fake_quant
        else:
            kinds = cls._FLOAT_MODULE if isinstance(cls._FLOAT_MODULE, tuple) else (cls._FLOAT_MODULE,)
            if type_before_parametrizations(mod) not in kinds:
                names = ", ".join(k.__name__ for k in kinds)
                raise AssertionError(f"nnq.{cls.__name__}.from_float only works for {names}, but got: {type(mod)}")
            if not hasattr(mod, "qconfig"):
                raise AssertionError("Input float module must have qconfig defined")
            if isinstance(mod, nni._FusedModule):
                mod = mod[0]
            of_weight = mod.qconfig.weight()
        if not use_precomputed_fake_quant:
            of_weight(mod.weight)
        made = cls(mod.in_features, mod.out_features, dtype=of_weight.dtype)
        made.set_weight_bias(levels_of_weight(mod.weight, of_weight), mod.bias)
        made.scale, made.zero_point = _numbers_of(observer)
        return made

    # ---------------------------------------------------------------- state and printed form

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        _save_numbers(self, destination, prefix)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, *messages):
        _load_numbers(self, state_dict, prefix)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *messages)

    def _get_name(self) -> str:
        return "QuantizedLinear"

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, scale={self.scale}, "
            f"zero_point={self.zero_point}, qscheme={self.weight().qscheme()}"
        )

    def __repr__(self) -> str:
        return _without_packed(self)


def _without_packed(module: Any) -> str:
    """The printed form of a module without its packed weight."""
    lines = [module.extra_repr()]
    children = [
        f"({name}): {_addindent(repr(child), 2)}"
        for name, child in module._modules.items()
        if not isinstance(child, LinearPackedParams)
    ]
    if children:
        return f"{module._get_name()}(\n  " + "\n  ".join(lines + children) + "\n)"
    return f"{module._get_name()}({lines[0]})"


class LinearReLU(Linear):
    """`Linear`, then ReLU, in one."""

    _FLOAT_MODULE = nni.LinearReLU
    _cuts = True

    def _get_name(self) -> str:
        return "QuantizedLinearReLU"


_STATE = (
    "in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "transposed", "output_padding", "groups",
    "padding_mode",
)  # fmt: skip


class _Conv(Module):
    """A convolution of quantized tensors. The results are channels last in memory."""

    _FLOAT_MODULE: Any
    _NNIQAT_CONV_BN_MODULE: Any = None
    _DIMS = 2
    _cuts = False
    transposed = False
    in_channels: int
    out_channels: int
    kernel_size: tuple
    stride: tuple
    padding: tuple
    dilation: tuple
    output_padding: tuple
    groups: int
    padding_mode: str
    scale: float
    zero_point: int

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if padding_mode not in ("zeros", "reflect"):
            raise ValueError(f"'padding_mode' {padding_mode} is not supported by quantized convolution")
        self._set(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, padding_mode, 0)
        self._fill(bias)

    def _set(self, inputs, outputs, kernel, stride, padding, dilation, groups, padding_mode, output_padding) -> None:  # type: ignore[no-untyped-def]
        if outputs <= 0:
            raise ValueError(f"out_channels must be greater than 0, got {outputs}")
        for count, name in ((inputs, "in_channels"), (outputs, "out_channels")):
            if count % groups:
                raise ValueError(f"{name} must be divisible by groups")
        values = (inputs, outputs, *map(self._each, (kernel, stride, padding, dilation)), self.transposed)
        for name, value in zip(_STATE, (*values, self._each(output_padding), groups, padding_mode), strict=True):
            setattr(self, name, value)

    def _each(self, value: Any) -> Any:
        """A number for each dimension of space."""
        return (value,) * self._DIMS if isinstance(value, int) else value if isinstance(value, str) else tuple(value)

    def _fill(self, bias: bool) -> None:
        rows = (self.in_channels, self.out_channels) if self.transposed else (self.out_channels, self.in_channels)
        shape = (rows[0], rows[1] // self.groups, *self.kernel_size)
        weight = assemble(np.zeros(shape, np.int8), dtypes.qint8, 1.0, 0)
        self.set_weight_bias(weight, wrap(np.zeros(self.out_channels, np.float32)) if bias else None)
        self.scale = 1.0
        self.zero_point = 0

    def set_weight_bias(self, w: Any, b: Any) -> None:
        """Take another weight of levels, and another bias or None."""
        padding = self.padding if self.padding_mode == "zeros" else (0,) * self._DIMS
        output_padding = self.output_padding if self.transposed else None
        if isinstance(padding, str):
            raise NotImplementedError("quantized convolutions with padding 'same' or 'valid' are not implemented")
        self._packed_params = PackedConv(w, b, self.stride, padding, self.dilation, self.groups, output_padding)

    def _weight_bias(self) -> Any:
        return self._packed_params.unpack()

    def weight(self) -> Any:
        """The quantized weight (out_channels, in_channels / groups, *kernel_size)."""
        return self._packed_params.weight

    def bias(self) -> Any:
        """The bias (out_channels,), or None."""
        return self._packed_params.bias

    @property
    def _around(self) -> list[int]:
        """What `F.pad` takes for a border that is not zeros."""
        return [p for pad in reversed(self.padding) for p in (pad, pad)]

    def forward(self, input: Any) -> Any:
        if input.dim() != self._DIMS + 2:
            raise ValueError(f"Input shape must be `({', '.join('NCDHW'[:2] + _SPACE[self._DIMS])})`!")
        if self.padding_mode != "zeros":
            input = F.pad(input, self._around, mode=self.padding_mode)
        return conv(input, self._packed_params, self.scale, self.zero_point, self._cuts)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The quantized layer of one that has observed its results."""
        observer = getattr(mod, "activation_post_process", None)
        if hasattr(mod, "weight_fake_quant"):
            if isinstance(mod, nniqat._ConvNormed):
                bn = mod.bn
                mod.weight, mod.bias = fuse_conv_bn_weights(
                    mod.weight, mod.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
                )
            of_weight = mod.weight_fake_quant
            if observer is None:
                raise AssertionError("Input QAT module must have observer attached")
        else:
            if type(mod) is not cls._FLOAT_MODULE:
                raise AssertionError(
                    f"nnq.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE.__name__} but got: "
                    f"{type(mod).__name__}"
                )
            if not hasattr(mod, "qconfig"):
                raise AssertionError("Input float module must have qconfig defined.")
            if isinstance(mod, nni._FusedModule):
                mod = mod[0]
            of_weight = mod.qconfig.weight()
        of_weight(mod.weight)
        made = cls(*cls._arguments(mod))
        made.set_weight_bias(levels_of_weight(mod.weight, of_weight), mod.bias)
        if observer is not None and observer.dtype is not dtypes.float32:
            made.scale, made.zero_point = _numbers_of(observer)
        return made

    @classmethod
    def _arguments(cls, mod: Any) -> tuple:
        return (
            mod.in_channels, mod.out_channels, mod.kernel_size, mod.stride, mod.padding, mod.dilation, mod.groups,
            mod.bias is not None, mod.padding_mode,
        )  # fmt: skip

    # ---------------------------------------------------------------- state and printed form

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "weight"], destination[prefix + "bias"] = self._weight_bias()
        _save_numbers(self, destination, prefix)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, *messages):
        self.set_weight_bias(state_dict.pop(prefix + "weight"), state_dict.pop(prefix + "bias"))
        _load_numbers(self, state_dict, prefix)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *messages)

    def __getstate__(self) -> tuple:  # type: ignore[override]
        own = tuple(getattr(self, name) for name in _STATE)
        return (*own, *self._weight_bias(), self.scale, self.zero_point, self.training)

    def __setstate__(self, state: tuple) -> None:  # type: ignore[override]
        Module.__init__(self)
        for name, value in zip(_STATE, state[: len(_STATE)], strict=True):
            setattr(self, name, value)
        weight, bias, self.scale, self.zero_point, self.training = state[len(_STATE) :]
        self.set_weight_bias(weight, bias)

    def __deepcopy__(self, memo: Any) -> Any:
        made = type(self).__new__(type(self))
        made.__setstate__(self.__getstate__())
        for hooks in ("_forward_hooks", "_forward_pre_hooks"):
            getattr(made, hooks).update(getattr(self, hooks))
        return made

    def __copy__(self) -> Any:
        return self.__deepcopy__({})

    def _get_name(self) -> str:
        return "Quantized" + type(self).__name__

    def extra_repr(self) -> str:
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"scale={self.scale}, zero_point={self.zero_point}"
        )
        for name, usual in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
            if getattr(self, name) != (usual,) * self._DIMS:
                text += f", {name}={getattr(self, name)}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        return text + (", bias=False" if self.bias() is None else "")


_SPACE = {1: "L", 2: "HW", 3: "DHW"}


class Conv1d(_Conv):
    """`nn.Conv1d` for quantized tensors.

    Shape: (N, C, L) -> (N, K, L')
    """

    _FLOAT_MODULE, _DIMS = nn.Conv1d, 1


class Conv2d(_Conv):
    """`nn.Conv2d` for quantized tensors.

    Shape: (N, C, H, W) -> (N, K, H', W')

    >>> Conv2d(3, 4, 3, padding=1)
    QuantizedConv2d(3, 4, kernel_size=(3, 3), stride=(1, 1), scale=1.0, zero_point=0, padding=(1, 1))
    """

    _FLOAT_MODULE = nn.Conv2d


class Conv3d(_Conv):
    """`nn.Conv3d` for quantized tensors.

    Shape: (N, C, D, H, W) -> (N, K, D', H', W')
    """

    _FLOAT_MODULE, _DIMS = nn.Conv3d, 3


class ConvReLU1d(Conv1d):
    """`Conv1d`, then ReLU, in one."""

    _FLOAT_MODULE, _cuts = nni.ConvReLU1d, True


class ConvReLU2d(Conv2d):
    """`Conv2d`, then ReLU, in one."""

    _FLOAT_MODULE, _cuts = nni.ConvReLU2d, True


class ConvReLU3d(Conv3d):
    """`Conv3d`, then ReLU, in one."""

    _FLOAT_MODULE, _cuts = nni.ConvReLU3d, True


class _ConvTranspose(_Conv):
    transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros",
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        Module.__init__(self)
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        self._set(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, padding_mode, output_padding
        )
        self._fill(bias)

    @classmethod
    def _arguments(cls, mod: Any) -> tuple:
        return (
            mod.in_channels, mod.out_channels, mod.kernel_size, mod.stride, mod.padding, mod.output_padding, mod.groups,
            mod.bias is not None, mod.dilation, mod.padding_mode,
        )  # fmt: skip


class ConvTranspose1d(_ConvTranspose):
    """`nn.ConvTranspose1d` for quantized tensors.

    Shape: (N, C, L) -> (N, K, L')
    """

    _FLOAT_MODULE, _DIMS = nn.ConvTranspose1d, 1


class ConvTranspose2d(_ConvTranspose):
    """`nn.ConvTranspose2d` for quantized tensors.

    Shape: (N, C, H, W) -> (N, K, H', W')
    """

    _FLOAT_MODULE = nn.ConvTranspose2d


class ConvTranspose3d(_ConvTranspose):
    """`nn.ConvTranspose3d` for quantized tensors.

    Shape: (N, C, D, H, W) -> (N, K, D', H', W')
    """

    _FLOAT_MODULE, _DIMS = nn.ConvTranspose3d, 3
