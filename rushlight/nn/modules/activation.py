"""Activations: functions of one element, and of a slice along one dimension. Shapes are kept unless noted."""

from __future__ import annotations

import warnings
from typing import Any

from rushlight import ops
from rushlight.core.tensor.tensor import Tensor
from rushlight.nn import functional as F
from rushlight.nn import init as initialization
from rushlight.nn.parameter import Parameter

from .module import Module

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]

# Without options -----------------------------------------------------------------------------------------------------


class Sigmoid(Module):
    """``1 / (1 + exp(-x))``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.sigmoid(input)


class Tanh(Module):
    """``tanh(x)``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.tanh(input)


class LogSigmoid(Module):
    """``log(1 / (1 + exp(-x)))``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softsign(Module):
    """``x / (1 + |x|)``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """``x - tanh(x)``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


# With the option to work in place ------------------------------------------------------------------------------------


class _Inplace(Module):
    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class ReLU(_Inplace):
    """``max(x, 0)``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


class SiLU(_Inplace):
    """``x * sigmoid(x)``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


class Mish(_Inplace):
    """``x * tanh(softplus(x))``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


class SELU(_Inplace):
    """``scale * (max(x, 0) + min(alpha * (exp(x) - 1), 0))`` with the constants of Klambauer et al., 2017."""

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class _SilentInplace(_Inplace):
    """The printed form does not tell whether it works in place, as torch's does not."""

    def extra_repr(self) -> str:
        return ""


class Hardsigmoid(_SilentInplace):
    """``clamp(x / 6 + 1 / 2, 0, 1)``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)


class Hardswish(_SilentInplace):
    """``x * hardsigmoid(x)``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)


# With parameters of their own ----------------------------------------------------------------------------------------


class _Parametrized(_Inplace):
    """Prints the options that `_shown` names, then whether it works in place."""

    _shown: tuple[str, ...]

    def extra_repr(self) -> str:
        parts = [f"{name}={getattr(self, name)}" for name in self._shown]
        return ", ".join([*parts, "inplace=True"] if self.inplace else parts)


class Threshold(_Parametrized):
    """``x`` where it is above ``threshold``, ``value`` elsewhere."""

    _shown = ("threshold", "value")

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.threshold = threshold
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)


class RReLU(_Parametrized):
    """``x`` where positive, ``a * x`` elsewhere: a drawn from U(lower, upper) in training, their mean in evaluation."""

    _shown = ("lower", "upper")

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.lower = lower
        self.upper = upper

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class Hardtanh(_Parametrized):
    """``clamp(x, min_val, max_val)``."""

    _shown = ("min_val", "max_val")

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__(inplace)
        self.min_val = _renamed("min", min_val, min_value)
        self.max_val = _renamed("max", max_val, max_value)
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


def _renamed(bound: str, value: float, old_value: float | None) -> float:
    if old_value is None:
        return value
    warnings.warn(
        f"keyword argument `{bound}_value` is deprecated and renamed to `{bound}_val`", FutureWarning, stacklevel=3
    )
    return old_value


class ReLU6(Hardtanh):
    """``min(max(x, 0), 6)``."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return _Inplace.extra_repr(self)


class ELU(_Parametrized):
    """``x`` where positive, ``alpha * (exp(x) - 1)`` elsewhere."""

    _shown = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)


class CELU(_Parametrized):
    """``max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)``."""

    _shown = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)


class LeakyReLU(_Parametrized):
    """``x`` where positive, ``negative_slope * x`` elsewhere."""

    _shown = ("negative_slope",)

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class GELU(Module):
    """``x * P(X < x)`` for X ~ N(0, 1); ``approximate='tanh'`` approximates the probability."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Softplus(Module):
    """``log(1 + exp(beta * x)) / beta``, and ``x`` where ``beta * x`` is above ``threshold``."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class _Shrink(Module):
    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class Hardshrink(_Shrink):
    """``x``, but 0 where ``|x| <= lambd``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """``x`` moved towards 0 by ``lambd``, and 0 where it would cross."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)


class PReLU(Module):
    """``x`` where positive, ``weight * x`` elsewhere, with one learned slope, or one per channel.

    Shape: (N, C, *) -> the same; weight (num_parameters,)
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(ops.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set every slope to the initial one."""
        initialization.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


# Along a dimension ---------------------------------------------------------------------------------------------------


class _AlongDim(Module):
    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class GLU(_AlongDim):
    """``a * sigmoid(b)`` for the halves a and b of the input along ``dim``. Shape: (*, 2 n, *) -> (*, n, *)."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__(dim)

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)


class Softmax(_AlongDim):
    """``exp(x) / sum of exp(x)`` along ``dim``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)


class Softmin(_AlongDim):
    """``softmax(-x)`` along ``dim``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)


class LogSoftmax(_AlongDim):
    """``log(softmax(x))`` along ``dim``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """Softmax over the channels at every place. Shape: (N, C, H, W) or (C, H, W) -> the same."""

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)
