"""Linear layers with a quantized weight: the names of `torch.ao.nn.quantized.dynamic` and what their state is made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.tensor import dtype as dtypes
from ...core.tensor.tensor import Tensor, wrap
from ...ops.quantized.tensor import QuantizedTensor, assemble
from .. import modules as nn
from ..modules.module import Module
from .observers import quantized_weight
from .products import PackedLinear, linear_dynamic

__all__ = ["Linear", "LinearPackedParams"]


def check_dtype(dtype: Any, error: str) -> None:
    """Raise where weights of this type cannot be."""
    if dtype is dtypes.float16:
        raise NotImplementedError("dynamic quantization to float16 is not implemented, only to qint8")
    if dtype is not dtypes.qint8:
        raise RuntimeError(error)


class LinearPackedParams(Module):
    """A weight and a bias in the form that products take. Its state is the pair (weight, bias), and the dtype."""

    _version = 3

    def __init__(self, dtype: Any = dtypes.qint8):
        super().__init__()
        check_dtype(dtype, "Unsupported dtype on dynamic quantized linear!")
        self.dtype = dtype
        self.set_weight_bias(empty_weight(1, 1), None)

    def set_weight_bias(self, weight: Any, bias: Tensor | None) -> None:
        """Take a weight of levels and a bias."""
        self._packed_params = PackedLinear(weight, bias)

    def _weight_bias(self) -> tuple[QuantizedTensor, Tensor | None]:
        return self._packed_params.unpack()

    def forward(self, x: Any) -> Any:
        return x

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"] = self.dtype
        destination[prefix + "_packed_params"] = self._weight_bias()

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, *messages):
        if local_metadata.get("version") != 3:
            raise NotImplementedError("states of quantized layers from before torch 1.6 are not implemented")
        dtype = state_dict.pop(prefix + "dtype")
        check_dtype(dtype, "Unsupported dtype on dynamic quantized linear!")
        self.dtype = dtype
        self.set_weight_bias(*state_dict.pop(prefix + "_packed_params"))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *messages)

    def __repr__(self) -> str:
        return repr(self._weight_bias())


def empty_weight(rows: int, columns: int) -> QuantizedTensor:
    """A weight of qint8 with scale 1. It is zero, where torch's has what was in memory."""
    return assemble(np.zeros((rows, columns), np.int8), dtypes.qint8, 1.0, 0)


class Linear(Module):
    """input W^T + bias with a weight of 8-bit levels; the input is rounded to levels in each call.

    Made from a `torch.nn.Linear` by `quantize_dynamic` or `from_float`. `weight()` is the quantized weight and `bias()` the
    float32 bias; neither is a parameter. `scale` and `zero_point` are in the state only because torch's layer has them.

    Args:
        bias_: whether there is a bias.
    Shape: (*, in_features) of two dimensions or more -> (*, out_features)
    Raises:
        RuntimeError: the dtype is not qint8, as in `Linear(2, 3, dtype=int8)`.
        RuntimeError: the input has one dimension, as in `Linear(2, 3)(ones(2))`.

    >>> Linear(20, 30)
    DynamicQuantizedLinear(in_features=20, out_features=30, dtype=torch.qint8, qscheme=torch.per_tensor_affine)
    >>> Linear(20, 30)(ones(128, 20)).shape
    torch.Size([128, 30])
    """

    _version = 4

    def __init__(self, in_features: int, out_features: int, bias_: bool = True, dtype: Any = dtypes.qint8) -> None:
        super().__init__()
        check_dtype(dtype, "Unsupported dtype specified for quantized Linear!")
        self.in_features = in_features
        self.out_features = out_features
        self._packed_params = LinearPackedParams(dtype)
        bias = wrap(np.zeros(out_features, np.float32)) if bias_ else None
        self.set_weight_bias(empty_weight(out_features, in_features), bias)
        self.scale = 1.0
        self.zero_point = 0
        self.version: int | None = 4

    def forward(self, x: Tensor) -> Tensor:
        return linear_dynamic(x, self._packed_params._packed_params)

    def weight(self) -> QuantizedTensor:
        """The quantized weight (out_features, in_features)."""
        return self._packed_params._weight_bias()[0]

    def bias(self) -> Tensor | None:
        """The bias (out_features,), or None."""
        return self._packed_params._weight_bias()[1]

    def _weight_bias(self) -> tuple[QuantizedTensor, Tensor | None]:
        return self._packed_params._weight_bias()

    def set_weight_bias(self, w: Any, b: Tensor | None) -> None:
        """Take another weight of levels, and another bias or None."""
        self._packed_params.set_weight_bias(w, b)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Linear:
        """The quantized layer of a float one, whose attribute `qconfig` says what observes the weight."""
        if type(mod) not in (nn.Linear, nn.linear.NonDynamicallyQuantizableLinear):
            raise AssertionError(
                "nn.quantized.dynamic.Linear.from_float only works for one of"
                f"{['Linear', 'NonDynamicallyQuantizableLinear', 'LinearReLU', 'Linear']}, got {type(mod)}"
            )
        if not hasattr(mod, "qconfig"):
            raise AssertionError("Input float module must have qconfig defined")
        made = cls(mod.in_features, mod.out_features)
        made.set_weight_bias(quantized_weight(mod.weight, mod.qconfig), float32_bias(mod.bias))
        return made

    # ---------------------------------------------------------------- state and printed form

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"] = wrap(np.array(self.scale, np.float32))
        destination[prefix + "zero_point"] = wrap(np.array(self.zero_point))

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, *messages):
        self.scale = float(state_dict.pop(prefix + "scale"))
        self.zero_point = int(state_dict.pop(prefix + "zero_point"))
        self.version = local_metadata.get("version")
        if self.version != 4:
            raise NotImplementedError(
                "states of dynamically quantized layers from before torch 1.6, which round to 8 bits, and states without "
                "their `_metadata` are not implemented"
            )
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *messages)

    def _get_name(self) -> str:
        return "DynamicQuantizedLinear"

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, dtype={self._packed_params.dtype}, "
            f"qscheme={self.weight().qscheme()}"
        )

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"


def float32_bias(bias: Tensor | None) -> Tensor | None:
    """A bias as products take it. RuntimeError for another type than float32, as torch raises at the first call."""
    if bias is not None and bias.dtype is not dtypes.float32:
        raise RuntimeError(f"expected scalar type Float but found {dtypes.type_word(bias.dtype)}")
    return bias
