"""Layers of quantized tensors without weights of levels: stubs, activations and normalization of `torch.ao.nn.quantized`.

`scale` and `zero_point` are those of the result; layers without them keep those of the input.
"""

from __future__ import annotations

from typing import Any

from .... import ops
from ....core.tensor import dtype as dtypes
from ....ops.quantized import functions
from ....ops.quantized.tensor import quantize_per_tensor
from ... import modules as nn
from ...modules.batchnorm import _BatchNorm
from ...modules.module import Module
from .. import intrinsic as nni

__all__ = [
    "ELU",
    "BNReLU2d",
    "BNReLU3d",
    "BatchNorm2d",
    "BatchNorm3d",
    "DeQuantize",
    "Dropout",
    "GroupNorm",
    "Hardswish",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LayerNorm",
    "LeakyReLU",
    "PReLU",
    "Quantize",
    "ReLU6",
    "Sigmoid",
    "Softmax",
]  # fmt: skip


def _numbers_of(mod: Any) -> tuple[float, int]:
    scale, zero_point = mod.activation_post_process.calculate_qparams()
    return float(scale), int(zero_point)


def _with_numbers(module: Any, scale: Any, zero_point: Any) -> None:
    """The buffers `scale` and `zero_point`."""
    module.register_buffer("scale", ops.tensor(scale))
    module.register_buffer("zero_point", ops.tensor(zero_point))


class Quantize(Module):
    """float32 values as levels.

    Shape: (*) -> (*)

    >>> Quantize(1.0, 2, qint8)(tensor([1.0, -1.0])).int_repr()
    tensor([3, 1], dtype=torch.int8)
    """

    scale: Any
    zero_point: Any

    def __init__(self, scale: float, zero_point: int, dtype: Any, factory_kwargs: dict[str, Any] | None = None) -> None:
        super().__init__()
        self.register_buffer("scale", ops.tensor([scale], **(factory_kwargs or {})))
        self.register_buffer("zero_point", ops.tensor([zero_point], dtype=dtypes.int64))
        self.dtype = dtype

    def forward(self, X: Any) -> Any:
        return quantize_per_tensor(X, float(self.scale), int(self.zero_point), self.dtype)

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Quantize:
        """The layer for a `QuantStub` that has observed its input."""
        if not hasattr(mod, "activation_post_process"):
            raise AssertionError(f"Module {type(mod).__name__} must have activation_post_process attribute")
        return Quantize(*_numbers_of(mod), mod.activation_post_process.dtype)

    def extra_repr(self) -> str:
        return f"scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}"


class DeQuantize(Module):
    """Levels as float32 values.

    Shape: (*) -> (*)
    """

    def forward(self, Xq: Any) -> Any:
        return Xq.dequantize()

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> DeQuantize:
        """The layer for a `DeQuantStub`."""
        return DeQuantize()


class _Named:
    """Layers whose printed form says that they are quantized."""

    def _get_name(self) -> str:
        return "Quantized" + type(self).__name__


class ReLU6(_Named, nn.ReLU):
    """min(max(x, 0), 6) of levels."""

    def forward(self, input: Any) -> Any:
        return functions.relu6(input, self.inplace)

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> ReLU6:
        """The layer for an `nn.ReLU6`."""
        return ReLU6(mod.inplace)


class Dropout(_Named, nn.Dropout):
    """Its input."""

    def forward(self, input: Any) -> Any:
        return input

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Dropout:
        """The layer for an `nn.Dropout`."""
        return cls(mod.p, mod.inplace)


class Hardswish(_Named, nn.Hardswish):
    """`nn.Hardswish` of levels."""

    def __init__(self, scale: float, zero_point: int, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        _with_numbers(self, scale, zero_point)

    def forward(self, input: Any) -> Any:
        return functions.hardswish(input, self.scale, self.zero_point)

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Hardswish:
        """The layer for an `nn.Hardswish` that has observed its results."""
        return Hardswish(*_numbers_of(mod))


class ELU(_Named, nn.ELU):
    """`nn.ELU` of levels."""

    def __init__(self, scale: float, zero_point: int, alpha: float = 1.0) -> None:
        super().__init__(alpha)
        self.scale, self.zero_point = scale, zero_point

    def forward(self, input: Any) -> Any:
        return functions.elu(input, self.scale, self.zero_point, self.alpha)

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> ELU:
        """The layer for an `nn.ELU` that has observed its results."""
        return ELU(*_numbers_of(mod), mod.alpha)


class LeakyReLU(_Named, nn.LeakyReLU):
    """`nn.LeakyReLU` of levels."""

    def __init__(
        self, scale: float, zero_point: int, negative_slope: float = 1e-2, inplace: bool = False, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(negative_slope, inplace)
        _with_numbers(self, scale, zero_point)

    def forward(self, input: Any) -> Any:
        return functions.leaky_relu(input, self.negative_slope, self.inplace, self.scale, self.zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> LeakyReLU:
        """The layer for an `nn.LeakyReLU` that has observed its results."""
        return cls(*_numbers_of(mod), mod.negative_slope, mod.inplace)


class Sigmoid(nn.Sigmoid):
    """`nn.Sigmoid` of levels."""

    def __init__(self, output_scale: float, output_zero_point: int) -> None:
        super().__init__()
        self.output_scale, self.output_zero_point = output_scale, output_zero_point

    def forward(self, input: Any) -> Any:
        return functions.sigmoid(input, self.output_scale, self.output_zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Sigmoid:
        """The layer for an `nn.Sigmoid` that has observed its results."""
        return cls(*_numbers_of(mod))


class Softmax(_Named, nn.Softmax):
    """`nn.Softmax` of levels."""

    def __init__(self, dim: int | None = None, scale: float = 1.0, zero_point: int = 0) -> None:
        super().__init__()
        self.dim, self.scale, self.zero_point = dim, scale, zero_point

    def forward(self, input: Any) -> Any:
        dim = (0 if input.dim() in (0, 1, 3) else 1) if self.dim is None else self.dim
        return functions.softmax(input, dim, self.scale, self.zero_point)

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Softmax:
        """The layer for an `nn.Softmax` that has observed its results."""
        return Softmax(mod.dim, *_numbers_of(mod))


class PReLU(_Named, Module):
    """`nn.PReLU` of levels, whose weight is quantized."""

    def __init__(self, output_scale: float, output_zero_point: int, num_parameters: int = 1) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.scale, self.zero_point = output_scale, output_zero_point
        self.set_weight(quantize_per_tensor(ops.ones(num_parameters), 1.0, 0, dtypes.quint8))

    def set_weight(self, w: Any) -> None:
        """Take another weight."""
        self.weight = w

    def forward(self, input: Any) -> Any:
        return functions.prelu(input, self.weight, self.scale, self.zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> PReLU:
        """The layer for an `nn.PReLU` that has observed its results."""
        made = cls(*_numbers_of(mod), mod.num_parameters)
        observer = mod.qconfig.weight()
        weight = mod.weight.detach().float()
        observer(weight)
        scale, zero_point = observer.calculate_qparams()
        made.set_weight(quantize_per_tensor(weight, float(scale), int(zero_point), observer.dtype))
        return made


# ---------------------------------------------------------------------------------------------- normalization


class _QuantizedNorm(_BatchNorm):
    _NNI_BN_RELU_MODULE: Any
    _LETTERS = "(N, C, H, W)"
    _cuts = False
    scale: Any
    zero_point: Any

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(num_features, eps, momentum, True, True, device, dtype)
        _with_numbers(self, 1.0, 0)

    def forward(self, input: Any) -> Any:
        if input.dim() != (5 if isinstance(self, BatchNorm3d) else 4):
            raise ValueError(f"Input shape must be `{self._LETTERS}`!")
        run = functions.batch_norm_relu if self._cuts else functions.batch_norm
        return run(
            input, self.weight, self.bias, self.running_mean, self.running_var, self.eps, self.scale, self.zero_point
        )

    def _get_name(self) -> str:
        return "Quantized" + type(self).__name__

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for a batch norm, or one with ReLU, that has observed its results."""
        scale, zero_point = mod.activation_post_process.calculate_qparams()
        if type(mod) is cls._NNI_BN_RELU_MODULE:
            mod = mod[0]
        made = cls(mod.num_features, mod.eps)
        for name in ("weight", "bias", "running_mean", "running_var"):
            setattr(made, name, getattr(mod, name))
        made.scale, made.zero_point = scale, zero_point
        return made


class BatchNorm2d(_QuantizedNorm):
    """`nn.BatchNorm2d` in evaluation mode, of levels.

    Shape: (N, C, H, W) -> (N, C, H, W)
    """

    _NNI_BN_RELU_MODULE = nni.BNReLU2d


class BatchNorm3d(_QuantizedNorm):
    """`nn.BatchNorm3d` in evaluation mode, of levels.

    Shape: (N, C, D, H, W) -> (N, C, D, H, W)
    """

    _NNI_BN_RELU_MODULE = nni.BNReLU3d


class BNReLU2d(BatchNorm2d):
    """`BatchNorm2d`, then ReLU, in one."""

    _cuts = True


class BNReLU3d(BatchNorm3d):
    """`BatchNorm3d`, then ReLU, in one."""

    _cuts = True
    _LETTERS = "(N, C, D, H, W)"


class LayerNorm(_Named, nn.LayerNorm):
    """`nn.LayerNorm` of levels."""

    def __init__(
        self, normalized_shape: Any, weight: Any, bias: Any, scale: float, zero_point: int, eps: float = 1e-5,
        elementwise_affine: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(normalized_shape, eps, elementwise_affine, device=device, dtype=dtype)
        self.weight, self.bias = weight, bias
        _with_numbers(self, scale, zero_point)

    def forward(self, input: Any) -> Any:
        return functions.layer_norm(
            input, self.normalized_shape, self.weight, self.bias, self.eps, self.scale, self.zero_point
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> LayerNorm:
        """The layer for an `nn.LayerNorm` that has observed its results."""
        return cls(mod.normalized_shape, mod.weight, mod.bias, *_numbers_of(mod), mod.eps, mod.elementwise_affine)


class GroupNorm(_Named, nn.GroupNorm):
    """`nn.GroupNorm` of levels."""

    def __init__(
        self, num_groups: int, num_channels: int, weight: Any, bias: Any, scale: float, zero_point: int, eps: float = 1e-5,
        affine: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(num_groups, num_channels, eps, affine, device, dtype)
        self.weight, self.bias = weight, bias
        _with_numbers(self, scale, zero_point)

    def forward(self, input: Any) -> Any:
        return functions.group_norm(
            input, self.num_groups, self.weight, self.bias, self.eps, self.scale, self.zero_point
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> GroupNorm:
        """The layer for an `nn.GroupNorm` that has observed its results."""
        return cls(mod.num_groups, mod.num_channels, mod.weight, mod.bias, *_numbers_of(mod), mod.eps, mod.affine)


class _QuantizedInstanceNorm(_Named):
    _BASE: Any

    def __init__(
        self, num_features: int, weight: Any, bias: Any, scale: float, zero_point: int, eps: float = 1e-5,
        momentum: float = 0.1, affine: bool = False, track_running_stats: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        self._BASE.__init__(self, num_features, eps, momentum, affine, track_running_stats, device, dtype)
        self.weight, self.bias = weight, bias
        _with_numbers(self, scale, zero_point)

    def forward(self, input: Any) -> Any:
        own: Any = self
        return functions.instance_norm(input, own.weight, own.bias, own.eps, own.scale, own.zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for an instance norm that has observed its results."""
        return cls(mod.num_features, mod.weight, mod.bias, *_numbers_of(mod), mod.eps, affine=mod.affine)


class InstanceNorm1d(_QuantizedInstanceNorm, nn.InstanceNorm1d):
    """`nn.InstanceNorm1d` of levels."""

    _BASE = nn.InstanceNorm1d


class InstanceNorm2d(_QuantizedInstanceNorm, nn.InstanceNorm2d):
    """`nn.InstanceNorm2d` of levels."""

    _BASE = nn.InstanceNorm2d


class InstanceNorm3d(_QuantizedInstanceNorm, nn.InstanceNorm3d):
    """`nn.InstanceNorm3d` of levels."""

    _BASE = nn.InstanceNorm3d
