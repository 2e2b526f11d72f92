"""Activations. ``inplace``: write the result into the input."""

from __future__ import annotations

import warnings
from typing import Any

from rushlight.core.tensor import Tensor

from .operators import ops

__all__ = [
    "celu",
    "celu_",
    "elu",
    "elu_",
    "gelu",
    "glu",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "leaky_relu",
    "leaky_relu_",
    "log_softmax",
    "logsigmoid",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "rrelu",
    "rrelu_",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
]

gelu = ops.gelu
glu = ops.glu
hardshrink = ops.hardshrink
logsigmoid = ops.logsigmoid
prelu = ops.prelu
sigmoid = ops.sigmoid
softplus = ops.softplus
softshrink = ops.softshrink
softsign = ops.softsign
tanh = ops.tanh
tanhshrink = ops.tanhshrink

celu_ = ops.celu_
elu_ = ops.elu_
hardtanh_ = ops.hardtanh_
leaky_relu_ = ops.leaky_relu_
relu_ = ops.relu_
rrelu_ = ops.rrelu_
selu_ = ops.selu_
threshold_ = ops.threshold_


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(x, 0)``."""
    return ops.relu_(input) if inplace else ops.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(x, 0), 6)``."""
    return ops.relu6_(input) if inplace else ops.relu6(input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * sigmoid(x)``."""
    return ops.silu_(input) if inplace else ops.silu(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * tanh(softplus(x))``."""
    return ops.mish_(input) if inplace else ops.mish(input)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """``scale * (max(x, 0) + min(alpha * (exp(x) - 1), 0))`` (Klambauer et al., 2017)."""
    return ops.selu_(input) if inplace else ops.selu(input)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``clamp(x / 6 + 1 / 2, 0, 1)``."""
    return ops.hardsigmoid_(input) if inplace else ops.hardsigmoid(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * hardsigmoid(x)``."""
    return ops.hardswish_(input) if inplace else ops.hardswish(input)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """``x`` where it is above ``threshold``, ``value`` elsewhere."""
    return (ops.threshold_ if inplace else ops.threshold)(input, threshold, value)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """``clamp(x, min_val, max_val)``."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return (ops.hardtanh_ if inplace else ops.hardtanh)(input, min_val, max_val)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``x`` where positive, ``alpha * (exp(x) - 1)`` elsewhere."""
    return (ops.elu_ if inplace else ops.elu)(input, alpha)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)``."""
    return (ops.celu_ if inplace else ops.celu)(input, alpha)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``x`` where positive, ``negative_slope * x`` elsewhere."""
    return (ops.leaky_relu_ if inplace else ops.leaky_relu)(input, negative_slope)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """``x`` where positive, ``a * x`` elsewhere: a drawn from U(lower, upper) in training, else their mean."""
    return (ops.rrelu_ if inplace else ops.rrelu)(input, lower, upper, training)


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """``exp(x) / sum of exp(x)`` along ``dim``, computed in ``dtype`` if given."""
    return ops.softmax(*_operand("softmax", input, dim, _stacklevel, dtype))


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """``log(softmax(x))`` along ``dim``, computed in ``dtype`` if given."""
    return ops.log_softmax(*_operand("log_softmax", input, dim, _stacklevel, dtype))


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """``softmax(-x)`` along ``dim``, computed in ``dtype`` if given."""
    input, dim = _operand("softmin", input, dim, _stacklevel, dtype)
    return ops.softmax(-input, dim)


def _operand(name: str, input: Tensor, dim: int | None, stacklevel: int, dtype: Any) -> tuple[Tensor, int]:
    """The input in the dtype, and the dimension, which was once implied."""
    if dim is None:
        warnings.warn(
            f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an "
            "argument.",
            stacklevel=stacklevel,
        )
        dim = 0 if input.dim() in (0, 1, 3) else 1
    return (input if dtype is None else input.to(dtype)), dim


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """``softmax((logits + noise) / tau)`` with Gumbel noise (Jang et al., 2017).

    ``hard``: one-hot samples with the soft ones' gradient. ``eps`` has no effect, as in torch.
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    noise = -ops.empty_like(logits).exponential_().log()
    soft = ops.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    return ops.zeros_like(logits).scatter_(dim, index, 1.0) - soft.detach() + soft
