"""The functions of `nn.functional` and the methods of `nn` that scripts call, as scripts have them.

Those that are single operators in torch (`linear`, `gelu`, ...) are not here: `compiler.py` calls the operator. `Ints2` is a
list of two numbers, or one number for both.
"""

from __future__ import annotations

import ast
from functools import cache
from typing import Any

from ....core.tensor.tensor import Tensor
from .known import Operators, Source, default_scope
from .quantized_library import conv_method, is_quantized, quantized_method

__all__ = ["function_source", "method_source"]

_SIMPLE = "{name}(input: Tensor{more}, inplace: bool = False) -> Tensor"
_INPLACE = {
    "relu": "", "relu6": "", "selu": "", "silu": "", "mish": "", "hardswish": "", "hardsigmoid": "",
    "elu": "alpha: float = 1.0", "celu": "alpha: float = 1.0", "leaky_relu": "negative_slope: float = 0.01",
}  # fmt: skip
_FUNCTIONS = """
def softmax(input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[int] = None) -> Tensor:
    if dim is None:
        raise RuntimeError("softmax without dim")
    if dtype is None:
        ret = torch.softmax(input, dim)
    else:
        ret = torch.softmax(input, dim, dtype)
    return ret
def log_softmax(input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[int] = None) -> Tensor:
    if dim is None:
        raise RuntimeError("log_softmax without dim")
    if dtype is None:
        ret = torch.log_softmax(input, dim)
    else:
        ret = torch.log_softmax(input, dim, dtype)
    return ret
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return torch.dropout_(input, p, training) if inplace else torch.dropout(input, p, training)
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if inplace:
        result = torch.hardtanh_(input, min_val, max_val)
    else:
        result = torch.hardtanh(input, min_val, max_val)
    return result
def tanh(input: Tensor) -> Tensor:
    return torch.tanh(input)
def sigmoid(input: Tensor) -> Tensor:
    return torch.sigmoid(input)
def softsign(input: Tensor) -> Tensor:
    return input / (torch.abs(input) + 1)
def tanhshrink(input: Tensor) -> Tensor:
    return input - torch.tanh(input)
def glu(input: Tensor, dim: int = -1) -> Tensor:
    if torch.dim(input) == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return torch.glu(input, dim)
def layer_norm(input: Tensor, normalized_shape: List[int], weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, eps: float = 1e-05) -> Tensor:
    return torch.layer_norm(input, normalized_shape, weight, bias, eps)
def group_norm(input: Tensor, num_groups: int, weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, eps: float = 1e-05) -> Tensor:
    if torch.dim(input) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {torch.dim(input)}")
    return torch.group_norm(input, num_groups, weight, bias, eps)
def batch_norm(input: Tensor, running_mean: Optional[Tensor], running_var: Optional[Tensor], weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05) -> Tensor:
    return torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)
def embedding(input: Tensor, weight: Tensor, padding_idx: Optional[int] = None, max_norm: Optional[float] = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    if padding_idx is not None:
        place = padding_idx
    else:
        place = -1
    return torch.embedding(weight, input, place, scale_grad_by_freq, sparse)
def pad(input: Tensor, pad: List[int], mode: str = "constant", value: Optional[float] = None) -> Tensor:
    return torch.pad(input, pad, mode, value)
def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Optional[Tensor] = None) -> Tensor:
    if out is not None:
        raise RuntimeError("normalize with out")
    denom = torch.expand_as(torch.clamp_min(torch.norm(input, p, [dim], True), eps), input)
    return input / denom
def _max_pool2d(input: Tensor, kernel_size: Ints2, stride: Optional[Ints2] = None, padding: Ints2 = 0, dilation: Ints2 = 1, ceil_mode: bool = False, return_indices: bool = False) -> Tensor:
    if stride is None:
        return torch.max_pool2d(input, kernel_size, kernel_size, padding, dilation, ceil_mode)
    return torch.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode)
def _max_pool1d(input: Tensor, kernel_size: Ints1, stride: Optional[Ints1] = None, padding: Ints1 = 0, dilation: Ints1 = 1, ceil_mode: bool = False, return_indices: bool = False) -> Tensor:
    if stride is None:
        return torch.max_pool1d(input, kernel_size, kernel_size, padding, dilation, ceil_mode)
    return torch.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)
def adaptive_avg_pool2d(input: Tensor, output_size: Ints2) -> Tensor:
    return torch.adaptive_avg_pool2d(input, output_size)
def mse_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean", weight: Optional[Tensor] = None) -> Tensor:
    return torch.mse_loss(input, target, _reduction(reduction))
def l1_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean", weight: Optional[Tensor] = None) -> Tensor:
    return torch.l1_loss(input, target, _reduction(reduction))
def cross_entropy(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, ignore_index: int = -100, reduce: Optional[bool] = None, reduction: str = "mean", label_smoothing: float = 0.0) -> Tensor:
    return torch.cross_entropy_loss(input, target, weight, _reduction(reduction), ignore_index, label_smoothing)
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean", pos_weight: Optional[Tensor] = None) -> Tensor:
    return torch.binary_cross_entropy_with_logits(input, target, weight, pos_weight, _reduction(reduction))
def _reduction(reduction: str) -> int:
    if reduction == "none":
        code = 0
    elif reduction == "mean":
        code = 1
    elif reduction == "sum":
        code = 2
    else:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return code
"""
_METHODS = """
class Linear:
    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)
class _ConvNd:
    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)
class Conv1d:
    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Optional[Tensor]) -> Tensor:
        return F.conv1d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)
class Conv2d:
    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Optional[Tensor]) -> Tensor:
        return F.conv2d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)
class Conv3d:
    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Optional[Tensor]) -> Tensor:
        return F.conv3d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)
class BatchNorm1d:
    def _check_input_dim(self, input: Tensor):
        if input.dim() != 2 and input.dim() != 3:
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")
class BatchNorm2d:
    def _check_input_dim(self, input: Tensor):
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")
class BatchNorm3d:
    def _check_input_dim(self, input: Tensor):
        if input.dim() != 5:
            raise ValueError(f"expected 5D input (got {input.dim()}D input)")
class _BatchNorm:
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        if self.training:
            self.num_batches_tracked.add_(1)
        if self.training:
            bn_training = True
        else:
            bn_training = False
        return F.batch_norm(input, self.running_mean, self.running_var, self.weight, self.bias, bn_training, self.momentum, self.eps)
class Dropout:
    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)
class Identity:
    def forward(self, input: Tensor) -> Tensor:
        return input
class Sequential:
    def forward(self, input):
        for module in self:
            input = module(input)
        return input
class Flatten:
    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)
class Tanh:
    def forward(self, input: Tensor) -> Tensor:
        return torch.tanh(input)
class Sigmoid:
    def forward(self, input: Tensor) -> Tensor:
        return torch.sigmoid(input)
class GELU:
    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)
class Softplus:
    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)
class Softmax:
    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, 5)
class LogSoftmax:
    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, 5)
class LeakyReLU:
    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)
class ELU:
    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)
class Hardtanh:
    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)
class PReLU:
    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)
class MaxPool1d:
    def forward(self, input: Tensor) -> Tensor:
        return F.max_pool1d(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices)
class MaxPool2d:
    def forward(self, input: Tensor) -> Tensor:
        return F.max_pool2d(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices)
class AvgPool2d:
    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override)
class AdaptiveAvgPool2d:
    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)
class Embedding:
    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse)
class LayerNorm:
    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)
class GroupNorm:
    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)
class CrossEntropyLoss:
    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(input, target, self.weight, None, self.ignore_index, None, self.reduction, self.label_smoothing)
class GRUCell:
    def forward(self, input: Tensor, hx: Optional[Tensor] = None) -> Tensor:
        is_batched = input.dim() == 2
        if not is_batched:
            input = input.unsqueeze(0)
        if hx is None:
            hx = torch.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
        elif not is_batched:
            hx = hx.unsqueeze(0)
        ret = torch.gru_cell(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return ret if is_batched else ret.squeeze(0)
class LSTMCell:
    def forward(self, input: Tensor, hx: Optional[Tuple[Tensor, Tensor]] = None) -> Tuple[Tensor, Tensor]:
        is_batched = input.dim() == 2
        if not is_batched:
            input = input.unsqueeze(0)
        if hx is None:
            zeros = torch.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
            state = [zeros, zeros]
        elif is_batched:
            state = [hx[0], hx[1]]
        else:
            state = [hx[0].unsqueeze(0), hx[1].unsqueeze(0)]
        h, c = torch.lstm_cell(input, state, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return (h, c) if is_batched else (h.squeeze(0), c.squeeze(0))
class MSELoss:
    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, None, None, self.reduction)
"""
_FORWARDS = {"ReLU": "relu", "ReLU6": "", "SiLU": "silu", "Mish": "mish", "SELU": "selu", "Hardswish": "hardswish"}
_ALIASES = {"max_pool2d": "_max_pool2d", "max_pool1d": "_max_pool1d", "boolean_dispatch.<locals>.fn": ""}


@cache
def _trees() -> tuple[dict[str, ast.FunctionDef], dict[str, dict[str, ast.FunctionDef]]]:
    text = _FUNCTIONS
    for name, more in _INPLACE.items():
        extra = f", {more}" if more else ""
        value = f", {more.partition(':')[0]}" if more else ""
        text += f"def {name}(input: Tensor{extra}, inplace: bool = False) -> Tensor:\n"
        text += f"    if inplace:\n        result = torch.{name}_(input{value})\n"
        text += f"    else:\n        result = torch.{name}(input{value})\n    return result\n"
    functions = {s.name: s for s in ast.parse(text).body if isinstance(s, ast.FunctionDef)}
    methods = _METHODS
    for name, function in _FORWARDS.items():
        if function:
            methods += f"class {name}:\n    def forward(self, input: Tensor) -> Tensor:\n"
            methods += f"        return F.{function}(input, self.inplace)\n"
    classes: dict[str, dict[str, ast.FunctionDef]] = {}
    for c in ast.parse(methods).body:
        assert isinstance(c, ast.ClassDef)
        classes[c.name] = {s.name: s for s in c.body if isinstance(s, ast.FunctionDef)}
    return functions, classes


def _source(tree: ast.FunctionDef, functional: Any) -> Source:
    hints = {a.arg: ast.unparse(a.annotation) for a in tree.args.args if a.annotation is not None}
    if tree.returns is not None:
        hints["return"] = ast.unparse(tree.returns)
    given = tree.args.defaults
    names = [a.arg for a in tree.args.args]
    defaults = dict(zip(names[len(names) - len(given) :], map(ast.literal_eval, given), strict=True))
    scope = {
        "torch": Operators(),
        "quantized": Operators("quantized::"),
        "F": functional,
        "Tensor": Tensor,
        "_reduction": "_reduction",
    } | default_scope()
    return Source(tree, scope.__getitem__, hints, defaults, "nn", 0, 0)


def function_source(name: str, functional: Any) -> Source | None:
    """The source of a function of `nn.functional`, None where it is not here."""
    tree = _trees()[0].get(_ALIASES.get(name, name))
    return None if tree is None else _source(tree, functional)


def method_source(module: Any, name: str, functional: Any) -> Source | None:
    """The source of a method of one of the modules of `nn`, None where it is not here."""
    for kind in type(module).__mro__:
        if is_quantized(kind):
            if name not in vars(kind):
                continue
            tree = conv_method(module) if kind.__name__ == "_Conv" else quantized_method(kind, name)
            return None if tree is None else _source(tree, functional)
        tree = _trees()[1].get(kind.__name__, {}).get(name)
        if tree is not None and ".nn." in kind.__module__:
            return _source(tree, functional)
    return None
