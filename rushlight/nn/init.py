"""Initial values of parameters. Every function writes in place, outside any history, and returns the tensor.

Numbers are drawn as torch draws them, in its order, so that a seed gives the same network. ``generator``: the source of
the random numbers instead of the global one.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec

from rushlight import ops
from rushlight.core.dispatch.docs import like
from rushlight.core.dispatch.mode import no_grad
from rushlight.core.dispatch.torch_function import publish, told_by_keyword
from rushlight.core.tensor.tensor import Tensor
from rushlight.ops.linalg.linalg import qr

__all__ = [
    "calculate_gain",
    "constant",
    "constant_",
    "dirac",
    "dirac_",
    "eye",
    "eye_",
    "kaiming_normal",
    "kaiming_normal_",
    "kaiming_uniform",
    "kaiming_uniform_",
    "normal",
    "normal_",
    "ones_",
    "orthogonal",
    "orthogonal_",
    "sparse",
    "sparse_",
    "trunc_normal_",
    "uniform",
    "uniform_",
    "xavier_normal",
    "xavier_normal_",
    "xavier_uniform",
    "xavier_uniform_",
    "zeros_",
]


def _no_grad_uniform_(tensor: Tensor, a: float, b: float, generator: Any = None) -> Tensor:
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)  # type: ignore[attr-defined]


def _no_grad_normal_(tensor: Tensor, mean: float, std: float, generator: Any = None) -> Tensor:
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)  # type: ignore[attr-defined]


# Plain distributions and patterns -------------------------------------------------------------------------------------


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Draw from U(a, b).

    Args:
        generator: the source of random numbers; the default one by default.
    Shape: (*) -> (*)
    Raises:
        RuntimeError: a > b, as in `uniform_(zeros(2), 1.0, 0.0)`.

    >>> _ = manual_seed(0)
    >>> uniform_(zeros(3))
    tensor([0.4963, 0.7682, 0.0885])
    """
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Draw from N(mean, std^2).

    Args:
        generator: the source of random numbers; the default one by default.
    Shape: (*) -> (*)
    Raises:
        RuntimeError: `std` is negative, as in `normal_(zeros(2), 0.0, -1.0)`.

    >>> _ = manual_seed(0)
    >>> normal_(zeros(3))
    tensor([ 1.5410, -0.2934, -2.1788])
    """
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with a number; no gradient is recorded.

    Shape: (*) -> (*)

    >>> constant_(zeros(2), 3.0)
    tensor([3., 3.])
    """
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones; no gradient is recorded.

    Shape: (*) -> (*)

    >>> ones_(zeros(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros; no gradient is recorded.

    Shape: (*) -> (*)

    >>> zeros_(tensor([1.0, 2.0]))
    tensor([0., 0.])
    """
    with no_grad():
        return tensor.zero_()


def eye_(tensor: Tensor) -> Tensor:
    """Ones on the diagonal, zeros elsewhere.

    Shape: (n, m) -> (n, m)
    Raises:
        ValueError: the tensor is not a matrix, as in `eye_(zeros(2))`.

    >>> eye_(zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    _require_matrix(tensor)
    with no_grad():
        return ops.eye(*tensor.shape, out=tensor)


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Make a convolution the identity, as far as the channels go.

    Args:
        groups: how many groups of output channels repeat it.
    Shape: (out, in, 1 to 3 sizes) -> the same shape: (out, in, *)
    Raises:
        ValueError: there are other dimensions, as in `dirac_(zeros(2, 2))`.
        ValueError: the output channels are no multiple of `groups`, as in `dirac_(zeros(3, 1, 1), 2)`.

    >>> dirac_(zeros(2, 2, 1)).flatten()
    tensor([1., 0., 0., 1.])
    """
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.size(0) % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = tensor.size(0) // groups
    middle = tuple(size // 2 for size in tensor.shape[2:])
    with no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(per_group, tensor.size(1))):
                tensor[(group * per_group + channel, channel, *middle)] = 1
    return tensor


# Scaled by the number of connections ----------------------------------------------------------------------------------

_GAINS: dict[str, float] = {
    **dict.fromkeys(("linear", "conv1d", "conv2d", "conv3d"), 1),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid"), 1),
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    "selu": 3.0 / 4,
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps the variance through this function. ``param``: the slope of 'leaky_relu', 0.01 if None.

    >>> calculate_gain("leaky_relu", 0.2)
    1.3867504905630728
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {slope} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs an output has, and outputs an input. Shape: (out, in, *), the rest being a receptive field."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    outputs, inputs, *field = tensor.shape
    return inputs * math.prod(field), outputs * math.prod(field)


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    modes = ["fan_in", "fan_out"]
    if mode not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode)]


def _xavier_std(tensor: Tensor, gain: float) -> float:
    return gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Draw from U(-a, a), a = gain * sqrt(6 / (fan_in + fan_out)).

    Source: Glorot and Bengio, Understanding the Difficulty of Training Deep Feedforward Neural Networks, 2010.

    Args:
        generator: the source of random numbers; the default one by default.
    Shape: (out, in, *) -> (out, in, *)
    Raises:
        ValueError: there are less than two dimensions, as in `xavier_uniform_(zeros(2))`.

    >>> _ = manual_seed(0)
    >>> xavier_uniform_(zeros(1, 2))
    tensor([[-0.0106,  0.7586]])
    """
    bound = math.sqrt(3.0) * _xavier_std(tensor, gain)
    return _no_grad_uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Draw from N(0, s^2), s = gain * sqrt(2 / (fan_in + fan_out)).

    Source: Glorot and Bengio, Understanding the Difficulty of Training Deep Feedforward Neural Networks, 2010.

    Args:
        generator: the source of random numbers; the default one by default.
    Shape: (out, in, *) -> (out, in, *)
    Raises:
        ValueError: there are less than two dimensions, as in `xavier_normal_(zeros(2))`.

    >>> _ = manual_seed(0)
    >>> xavier_normal_(zeros(1, 2))
    tensor([[ 1.2582, -0.2396]])
    """
    return _no_grad_normal_(tensor, 0.0, _xavier_std(tensor, gain), generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def _is_empty(tensor: Tensor) -> bool:
    if 0 not in tensor.shape:
        return False
    warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
    return True


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Draw from U(-b, b), b = gain * sqrt(3 / fan).

    Source: He et al., Delving Deep into Rectifiers, 2015.

    Args:
        a: the slope below 0, if `nonlinearity` is "leaky_relu".
        mode: "fan_in" or "fan_out".
        nonlinearity: what follows, for the gain, as in `calculate_gain`.
        generator: the source of random numbers; the default one by default.
    Shape: (out, in, *) -> (out, in, *)
    Raises:
        ValueError: there are less than two dimensions, as in `kaiming_uniform_(zeros(2))`.
        ValueError: `mode` is another text, as in `kaiming_uniform_(zeros(2, 2), mode="x")`.

    >>> _ = manual_seed(0)
    >>> kaiming_uniform_(zeros(1, 2), nonlinearity="relu")
    tensor([[-0.0130,  0.9291]])
    """
    if _is_empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return _no_grad_uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Draw from N(0, s^2), s = gain / sqrt(fan).

    Source: He et al., Delving Deep into Rectifiers, 2015.

    Args:
        a: the slope below 0, if `nonlinearity` is "leaky_relu".
        mode: "fan_in" or "fan_out".
        nonlinearity: what follows, for the gain, as in `calculate_gain`.
        generator: the source of random numbers; the default one by default.
    Shape: (out, in, *) -> (out, in, *)
    Raises:
        ValueError: there are less than two dimensions, as in `kaiming_normal_(zeros(2))`.

    >>> _ = manual_seed(0)
    >>> kaiming_normal_(zeros(1, 2), nonlinearity="relu")
    tensor([[ 1.5410, -0.2934]])
    """
    if _is_empty(tensor):
        return tensor
    return _no_grad_normal_(tensor, 0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


# By rejection, decomposition and selection ----------------------------------------------------------------------------


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Tensor:
    """Draw from N(mean, std^2) within [a, b]. The bounds are absolute, not in units of `std`.

    Args:
        generator: the source of random numbers; the default one by default.
    Shape: (*) -> (*)

    >>> _ = manual_seed(0)
    >>> trunc_normal_(zeros(100)).abs().max() <= 2
    tensor(True)
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=2,
        )
    if tensor.is_meta:  # it has no values to redraw
        return tensor
    # what torch does: redraw from the normal while the bounds hold much of it, from the uniform where they cut it off
    with no_grad():
        if _normal_cdf((b - mean) / std) - _normal_cdf((a - mean) / std) > 0.3:
            return _redraw_normal(tensor, mean, std, a, b, generator)
        return _redraw_uniform(tensor, mean, std, a, b, generator)


def _normal_cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _redraw_normal(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any) -> Tensor:
    low, high = tensor.new_tensor(a).item(), tensor.new_tensor(b).item()  # the bounds as the dtype rounds them
    drawn = tensor.normal_(mean, std, generator=generator)
    outside = (drawn < low) | (drawn > high)
    while outside.any():
        drawn = ops.where(outside, ops.empty_like(tensor).normal_(mean, std, generator=generator), drawn)
        outside = (drawn < low) | (drawn > high)
    return tensor if drawn is tensor else tensor.copy_(drawn)


def _redraw_uniform(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any) -> Tensor:
    """Accept a uniform draw x with probability density(x) / the largest density within the bounds."""
    log_peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2

    def rejected(candidates: Tensor) -> Tensor:
        log_density = candidates.sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(log_peak)
        return ops.empty_like(tensor).uniform_(generator=generator).log_().gt(log_density)

    drawn = tensor.uniform_(a, b, generator=generator)
    pending = rejected(drawn.clone())
    while pending.any():
        candidates = ops.empty_like(tensor).uniform_(a, b, generator=generator)
        drawn = ops.where(pending, candidates, drawn)
        pending = pending & rejected(candidates)
    return tensor if drawn is tensor else tensor.copy_(drawn)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """A random (semi-)orthogonal matrix times `gain`.

    Source: Saxe et al., Exact Solutions to the Nonlinear Dynamics of Learning in Deep Linear Neural Networks, 2013.

    Args:
        generator: the source of random numbers; the default one by default.
    Shape: (n, *), the rest flattened -> (n, *)
    Raises:
        ValueError: there are less than two dimensions, as in `orthogonal_(zeros(2))`.

    >>> w = orthogonal_(zeros(2, 3))
    >>> allclose(w @ w.T, eye(2), atol=1e-5)
    True
    """
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    with no_grad():
        drawn = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
        q, r = qr(drawn.t() if rows < columns else drawn)
        q = q * ops.diag(r).sign()  # makes the decomposition, and with it the distribution, unique
        tensor.copy_((q.t() if rows < columns else q).reshape(tensor.shape))
        return tensor.mul_(gain)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Draw from N(0, std^2), then zero the share `sparsity` of each column.

    The zeros' places come from the global generator, as in torch.

    Args:
        generator: the source of random numbers; the default one by default.
    Shape: (n, m) -> (n, m)
    Raises:
        ValueError: the tensor is not a matrix, as in `sparse_(zeros(2), 0.5)`.

    >>> (sparse_(zeros(4, 2), 0.25) == 0).sum(0)
    tensor([1, 1])
    """
    _require_matrix(tensor)
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[ops.randperm(rows)[:zeros], column] = 0
    return tensor


def _require_matrix(tensor: Tensor) -> None:
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")


# The names before in-place functions had their underscore ------------------------------------------------------------


_P = ParamSpec("_P")


def _deprecated(function: Callable[_P, Tensor]) -> Callable[_P, Tensor]:
    new = function.__name__
    old = new[:-1]

    @functools.wraps(function)
    def renamed(*args: _P.args, **kwargs: _P.kwargs) -> Tensor:
        warnings.warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    renamed.__name__ = renamed.__qualname__ = old
    renamed.__doc__ = like(function, old, f"`{new}` under its deprecated name.", without=(">>>",))
    return renamed


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)

_ASKING = (constant_, kaiming_uniform_, normal_, uniform_)  # of the functions here, those that ask in torch, too
publish({f.__name__: told_by_keyword(f, all_of_them=True) for f in _ASKING})
