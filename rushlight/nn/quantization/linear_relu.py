"""`torch.ao.nn.intrinsic.quantized.dynamic.LinearReLU`: a dynamically quantized linear layer with a ReLU."""

from __future__ import annotations

from typing import Any

from ...core.tensor.tensor import Tensor
from . import intrinsic as nni
from .linear import Linear, float32_bias
from .observers import quantized_weight

__all__ = ["LinearReLU"]


class LinearReLU(Linear):
    """max(input W^T + bias, 0) with a weight of 8-bit levels; the input is rounded to levels in each call.

    Shape: (*, in_features) of two dimensions or more -> (*, out_features)
    """

    _FLOAT_MODULE = nni.LinearReLU

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).relu()  # type: ignore[attr-defined]

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The quantized layer of a float one, whose attribute `qconfig` says what observes the weight."""
        if type(mod) is not nni.LinearReLU:
            raise AssertionError(f"LinearReLU.from_float only works for LinearReLU, got {type(mod)}")
        linear = mod[0]
        made = cls(linear.in_features, linear.out_features)
        made.set_weight_bias(quantized_weight(linear.weight, mod.qconfig), float32_bias(linear.bias))
        return made

    def _get_name(self) -> str:
        return "DynamicQuantizedLinearReLU"
