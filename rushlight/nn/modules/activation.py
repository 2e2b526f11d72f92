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
    """1 / (1 + exp(-x)) of each element.

    Shape: (*) -> the same

    >>> Sigmoid()(tensor([0.0, 2.0]))
    tensor([0.5000, 0.8808])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.sigmoid(input)


class Tanh(Module):
    """tanh(x) of each element.

    Shape: (*) -> the same

    >>> Tanh()(tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanh(input)


class LogSigmoid(Module):
    """log(1 / (1 + exp(-x))) of each element.

    Shape: (*) -> the same
    Raises:
        NotImplementedError: the input is of integers, as in `LogSigmoid()(tensor([1]))`.

    >>> LogSigmoid()(tensor([0.0]))
    tensor([-0.6931])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softsign(Module):
    """x / (1 + |x|) of each element.

    Shape: (*) -> the same

    >>> Softsign()(tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """x - tanh(x) of each element.

    Shape: (*) -> the same

    >>> Tanhshrink()(tensor([0.0, 1.0]))
    tensor([0.0000, 0.2384])
    """

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
    """max(x, 0) of each element.

    Args:
        inplace: whether to write the result into the input.
    Shape: (*) -> the same
    Raises:
        RuntimeError: the input is of bools, as in `ReLU()(tensor([True]))`.

    >>> ReLU()(tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


class SiLU(_Inplace):
    """x * sigmoid(x) of each element.

    Args:
        inplace: whether to write the result into the input.
    Shape: (*) -> the same
    Raises:
        NotImplementedError: the input is of integers, as in `SiLU()(tensor([1]))`.

    >>> SiLU()(tensor([-1.0, 1.0]))
    tensor([-0.2689,  0.7311])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


class Mish(_Inplace):
    """x * tanh(softplus(x)) of each element.

    Args:
        inplace: whether to write the result into the input.
    Shape: (*) -> the same
    Raises:
        NotImplementedError: the input is of integers, as in `Mish()(tensor([1]))`.

    >>> Mish()(tensor([-1.0, 1.0]))
    tensor([-0.3034,  0.8651])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


class SELU(_Inplace):
    """scale * (max(x, 0) + min(alpha * (exp(x) - 1), 0)) with constants that keep activations normal.

    Source: Klambauer et al., Self-Normalizing Neural Networks, 2017.

    Args:
        inplace: whether to write the result into the input.
    Shape: (*) -> the same
    Raises:
        NotImplementedError: the input is of integers, as in `SELU()(tensor([1]))`.

    >>> SELU()(tensor([-1.0, 1.0]))
    tensor([-1.1113,  1.0507])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class _SilentInplace(_Inplace):
    """The printed form does not tell whether it works in place, as torch's does not."""

    def extra_repr(self) -> str:
        return ""


class Hardsigmoid(_SilentInplace):
    """clamp(x / 6 + 1 / 2, 0, 1).

    Args:
        inplace: whether to write the result into the input.
    Shape: (*) -> the same
    Raises:
        NotImplementedError: the input is of integers, as in `Hardsigmoid()(tensor([1]))`.

    >>> Hardsigmoid()(tensor([-4.0, 0.0]))
    tensor([0.0000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)


class Hardswish(_SilentInplace):
    """x * hardsigmoid(x) of each element.

    Args:
        inplace: whether to write the result into the input.
    Shape: (*) -> the same
    Raises:
        NotImplementedError: the input is of integers, as in `Hardswish()(tensor([1]))`.

    >>> Hardswish()(tensor([-4.0, 4.0]))
    tensor([-0., 4.])
    """

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
    """x where it is above `threshold`, `value` elsewhere.

    Args:
        inplace: whether to write the result into the input.
    Shape: (*) -> the same

    >>> Threshold(1.0, 9.0)(tensor([0.5, 2.0]))
    tensor([9., 2.])
    """

    _shown = ("threshold", "value")

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.threshold = threshold
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)


class RReLU(_Parametrized):
    """x where positive, a * x elsewhere: a drawn from U(lower, upper) in training, their mean in evaluation.

    Args:
        inplace: whether to write the result into the input.
    Shape: (*) -> the same
    Raises:
        RuntimeError: lower > upper, as in `RReLU(0.5, 0.1)(ones(2))`.

    >>> RReLU(0.1, 0.3).eval()(tensor([-1.0, 2.0]))
    tensor([-0.2000,  2.0000])
    """

    _shown = ("lower", "upper")

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.lower = lower
        self.upper = upper

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class Hardtanh(_Parametrized):
    """clamp(x, min_val, max_val).

    Args:
        inplace: whether to write the result into the input.
        min_value, max_value: deprecated names of the limits.
    Shape: (*) -> the same
    Raises:
        AssertionError: the limits are not in order, as in `Hardtanh(1.0, 0.0)`.

    >>> Hardtanh()(tensor([-2.0, 0.5]))
    tensor([-1.0000,  0.5000])
    """

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
    """min(max(x, 0), 6) of each element.

    Args:
        inplace: whether to write the result into the input.
    Shape: (*) -> the same

    >>> ReLU6()(tensor([-1.0, 9.0]))
    tensor([0., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return _Inplace.extra_repr(self)


class ELU(_Parametrized):
    """x where positive, alpha * (exp(x) - 1) elsewhere.

    Args:
        inplace: whether to write the result into the input.
    Shape: (*) -> the same
    Raises:
        NotImplementedError: the input is of integers, as in `ELU()(tensor([1]))`.

    >>> ELU()(tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    _shown = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)


class CELU(_Parametrized):
    """max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0).

    Args:
        inplace: whether to write the result into the input.
    Shape: (*) -> the same
    Raises:
        RuntimeError: `alpha` is 0, as in `CELU(0)(ones(2))`.

    >>> CELU()(tensor([-1.0, 1.0]))
    tensor([-0.6321,  1.0000])
    """

    _shown = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)


class LeakyReLU(_Parametrized):
    """x where positive, negative_slope * x elsewhere.

    Args:
        inplace: whether to write the result into the input.
    Shape: (*) -> the same
    Raises:
        NotImplementedError: the input is of integers, as in `LeakyReLU()(tensor([1]))`.

    >>> LeakyReLU(0.1)(tensor([-1.0, 2.0]))
    tensor([-0.1000,  2.0000])
    """

    _shown = ("negative_slope",)

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class GELU(Module):
    """x * P(X < x) for X ~ N(0, 1).

    Source: Hendrycks and Gimpel, Gaussian Error Linear Units, 2016.

    Args:
        approximate: "none", or "tanh" for an approximation.
    Shape: (*) -> the same
    Raises:
        RuntimeError: `approximate` is another text, as in `GELU("x")(ones(2))`.

    >>> GELU()(tensor([-1.0, 1.0]))
    tensor([-0.1587,  0.8413])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Softplus(Module):
    """log(1 + exp(beta * x)) / beta, and x where beta * x is above `threshold`.

    Shape: (*) -> the same
    Raises:
        NotImplementedError: the input is of integers, as in `Softplus()(tensor([1]))`.

    >>> Softplus()(tensor([0.0, 30.0]))
    tensor([ 0.6931, 30.0000])
    """

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
    """x, but 0 where |x| <= lambd.

    Shape: (*) -> the same
    Raises:
        NotImplementedError: the input is of integers, as in `Hardshrink()(tensor([1]))`.

    >>> Hardshrink()(tensor([-1.0, 0.2]))
    tensor([-1.,  0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """x moved towards 0 by `lambd`, and 0 where it would cross.

    Shape: (*) -> the same
    Raises:
        RuntimeError: `lambd` is negative, as in `Softshrink(-1.0)(ones(2))`.

    >>> Softshrink()(tensor([-1.0, 0.2]))
    tensor([-0.5000,  0.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)


class PReLU(Module):
    """x where positive, weight * x elsewhere, with one learned slope, or one per channel.

    Source: He et al., Delving Deep into Rectifiers, 2015.

    Shape: (N, C, *) -> the same; weight (num_parameters)
    Raises:
        RuntimeError: the number of slopes differs from the channels, as in `PReLU(3)(ones(1, 2))`.

    >>> PReLU()(tensor([-1.0, 2.0])).detach()
    tensor([-0.2500,  2.0000])
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
    """a * sigmoid(b) for the halves a and b of the input along `dim`.

    Source: Dauphin et al., Language Modeling with Gated Convolutional Networks, 2016.

    Shape: (*, 2 n, *) -> (*, n, *)
    Raises:
        RuntimeError: the size is odd, as in `GLU()(ones(3))`.

    >>> GLU()(tensor([1.0, 0.0]))
    tensor([0.5000])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__(dim)

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)


class Softmax(_AlongDim):
    """exp(x) / sum of exp(x) along `dim`.

    Args:
        dim: without it one is chosen by the number of dimensions, with a warning.
    Shape: (*) -> the same
    Raises:
        IndexError: `dim` is out of range, as in `Softmax(1)(ones(2))`.

    >>> Softmax(dim=0)(tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)


class Softmin(_AlongDim):
    """softmax(-x) along `dim`.

    Args:
        dim: without it one is chosen by the number of dimensions, with a warning.
    Shape: (*) -> the same
    Raises:
        IndexError: `dim` is out of range, as in `Softmin(1)(ones(2))`.

    >>> Softmin(dim=0)(tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)


class LogSoftmax(_AlongDim):
    """log(softmax(x)) along `dim`.

    Args:
        dim: without it one is chosen by the number of dimensions, with a warning.
    Shape: (*) -> the same
    Raises:
        IndexError: `dim` is out of range, as in `LogSoftmax(1)(ones(2))`.

    >>> LogSoftmax(dim=0)(tensor([0.0, 0.0]))
    tensor([-0.6931, -0.6931])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """Softmax over the channels at every place.

    Shape: (N, C, H, W) or (C, H, W) -> the same
    Raises:
        ValueError: the input has other dimensions, as in `Softmax2d()(ones(2))`.

    >>> Softmax2d()(ones(2, 1, 1)).flatten()
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)
