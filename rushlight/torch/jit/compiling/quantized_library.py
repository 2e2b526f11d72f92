"""Sources of quantized modules' methods, and names of the operators of quantized tensors, for scripts."""

from __future__ import annotations

import ast
from functools import cache
from typing import Any

from ....core.dispatch.extension_points import operators_of_levels
from ... import _lazy

__all__ = ["conv_method", "is_quantized", "operator_of_levels", "quantized_method"]

_HOME = "nn.quantization."
_PUBLIC = "torch.ao."  # what classes say that pickles name
_STATIC = """
class Quantize:
    def forward(self, X: Tensor) -> Tensor:
        return torch.quantize_per_tensor(X, float(self.scale), int(self.zero_point), self.dtype)
class DeQuantize:
    def forward(self, Xq: Tensor) -> Tensor:
        return Xq.dequantize()
class Linear:
    def forward(self, x: Tensor) -> Tensor:
        if self._cuts:
            return quantized.linear_relu(x, self._packed_params._packed_params, self.scale, self.zero_point)
        return quantized.linear(x, self._packed_params._packed_params, self.scale, self.zero_point)
class ReLU6:
    def forward(self, input: Tensor) -> Tensor:
        return quantized.relu6(input, self.inplace)
class Dropout:
    def forward(self, input: Tensor) -> Tensor:
        return input
class Hardswish:
    def forward(self, input: Tensor) -> Tensor:
        return quantized.hardswish(input, self.scale, self.zero_point)
class ELU:
    def forward(self, input: Tensor) -> Tensor:
        return quantized.elu(input, self.scale, self.zero_point, self.alpha)
class LeakyReLU:
    def forward(self, input: Tensor) -> Tensor:
        return quantized.leaky_relu(input, self.negative_slope, self.inplace, self.scale, self.zero_point)
class Sigmoid:
    def forward(self, input: Tensor) -> Tensor:
        return quantized.sigmoid(input, self.output_scale, self.output_zero_point)
class PReLU:
    def forward(self, input: Tensor) -> Tensor:
        return quantized.prelu(input, self.weight, self.scale, self.zero_point)
class LayerNorm:
    def forward(self, input: Tensor) -> Tensor:
        return quantized.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps, self.scale, self.zero_point)
class GroupNorm:
    def forward(self, input: Tensor) -> Tensor:
        return quantized.group_norm(input, self.num_groups, self.weight, self.bias, self.eps, self.scale, self.zero_point)
class FXFloatFunctional:
    def forward(self, x: Tensor) -> Tensor:
        raise RuntimeError("FloatFunctional is not intended to use the 'forward'. Please use the underlying operation")
        return x
class QFunctional:
    def forward(self, x: Tensor) -> Tensor:
        raise RuntimeError("Functional is not intended to use the 'forward'. Please use the underlying operation")
        return x
    def add(self, x: Tensor, y: Tensor) -> Tensor:
        return quantized.add(x, y, self.scale, self.zero_point)
    def add_scalar(self, x: Tensor, y: float) -> Tensor:
        return quantized.add_scalar(x, y)
    def mul(self, x: Tensor, y: Tensor) -> Tensor:
        return quantized.mul(x, y, self.scale, self.zero_point)
    def mul_scalar(self, x: Tensor, y: float) -> Tensor:
        return quantized.mul_scalar(x, y)
    def cat(self, x: List[Tensor], dim: int = 0) -> Tensor:
        return quantized.cat(x, dim, self.scale, self.zero_point)
    def add_relu(self, x: Tensor, y: Tensor) -> Tensor:
        return quantized.add_relu(x, y, self.scale, self.zero_point)
    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        return quantized.matmul(x, y, self.scale, self.zero_point)
"""
_DYNAMIC = """
class Linear:
    def forward(self, x: Tensor) -> Tensor:
        return quantized.linear_dynamic(x, self._packed_params._packed_params, True)
class LinearReLU:
    def forward(self, x: Tensor) -> Tensor:
        return quantized.linear_relu_dynamic(x, self._packed_params._packed_params, True)
class LinearPackedParams:
    def forward(self, x: Tensor) -> Tensor:
        return x
class QuantStub:
    def forward(self, x: Tensor) -> Tensor:
        return x
class QuantWrapper:
    def forward(self, X: Tensor) -> Tensor:
        return self.dequant(self.module(self.quant(X)))
"""
_CONV = """
class _Conv:
    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != self._DIMS + 2:
            raise ValueError("Input shape must be `{shape}`!")
        if self.padding_mode != "zeros":
            input = F.pad(input, self._around, self.padding_mode)
        return quantized.conv{kind}{n}d{relu}(input, self._packed_params, self.scale, self.zero_point)
"""


def is_quantized(kind: type) -> bool:
    """Whether a class is one of the quantized modules."""
    return _HOME in kind.__module__ or kind.__module__.startswith(_PUBLIC)


def quantized_method(kind: type, name: str) -> ast.FunctionDef | None:
    """The source of a method that the class `kind` has itself, None where it is not here."""
    home = kind.__module__
    is_static = ".static." in home or home.startswith(_PUBLIC + "nn.") and ".dynamic" not in home
    return _trees(_STATIC if is_static else _DYNAMIC).get(kind.__name__, {}).get(name)


def conv_method(module: Any) -> ast.FunctionDef:
    """The source of the forward of a quantized convolution: each operator has its number of dimensions in its name."""
    n = module._DIMS
    shape = {1: "(N, C, L)", 2: "(N, C, H, W)", 3: "(N, C, D, H, W)"}[n]
    kind, relu = "_transpose" if module.transposed else "", "_relu" if module._cuts else ""
    return _trees(_CONV.format(shape=shape, kind=kind, n=n, relu=relu))["_Conv"]["forward"]


@cache
def _trees(text: str) -> dict[str, dict[str, ast.FunctionDef]]:
    classes = [c for c in ast.parse(text).body if isinstance(c, ast.ClassDef)]
    return {c.name: {s.name: s for s in c.body if isinstance(s, ast.FunctionDef)} for c in classes}


def operator_of_levels(f: Any) -> str | None:
    """The name of an operator of quantized tensors in programs: quantized::add, quantize_per_tensor."""
    name = getattr(f, "__name__", "")
    if _lazy.NAMES.get(name, "").startswith("ops.quantized.") and _lazy.function(name) is f:
        return name
    if not callable(f):
        return None
    return next((f"quantized::{n}" for n, own in (operators_of_levels.value or {}).items() if own is f), None)
