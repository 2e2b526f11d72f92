"""Weight normalization (Salimans & Kingma, 2016): a weight as its length times its direction, both trained."""

from __future__ import annotations

import warnings
from typing import Any

from rushlight.core.tensor.tensor import Tensor
from rushlight.nn.modules.module import Module
from rushlight.nn.parameter import Parameter
from rushlight.ops.nn.normalize import weight_norm_interface

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


class WeightNorm:
    """The pre-hook that computes ``name`` = g * v / ||v|| from the parameters ``name_g`` and ``name_v``."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Tensor:
        """The weight, with its history."""
        length, direction = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return normalised(direction, length, self.dim)

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        weight = self.compute_weight(module).detach()
        delattr(module, self.name)
        del module._parameters[self.name + "_g"]
        del module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight))


def normalised(direction: Tensor, length: Tensor, dim: int) -> Tensor:
    """`direction` scaled to the norms `length` over all dimensions but `dim`; for the first and the last torch fuses it."""
    if dim in (0, direction.dim() - 1):
        return weight_norm_interface(direction, length, dim)
    return direction * (length / norm_except_dim(direction, 2, dim))


def _norm_except(weight: Tensor, dim: int) -> Tensor:
    """The Euclidean norm over all dimensions but this one, which keep extent 1; -1: over all, shape ()."""
    squares = weight * weight
    if dim == -1:
        return squares.sum().sqrt()
    others = [d for d in range(weight.dim()) if d != dim]
    return squares.sum(others, keepdim=True).sqrt() if others else weight.abs()


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """`torch.norm_except_dim`: the norm over all dimensions but `dim`, which keep extent 1; over all (-1).

    Raises:
        TypeError: `pow` is no whole number, as in `norm_except_dim(ones(2), 0.5)`.
    """
    if not isinstance(pow, int) or isinstance(pow, bool):
        raise TypeError(f"norm_except_dim(): argument 'pow' (position 2) must be int, not {type(pow).__name__}")
    if dim == -1:
        return v.norm(pow)
    last = v.dim() - 1
    if dim not in (0, last):
        return norm_except_dim(v.transpose(0, dim), pow, 0).transpose(0, dim)
    if dim == 0:
        return v.contiguous().view(v.size(0), -1).norm(pow, 1).view(-1, *[1] * last)
    return v.contiguous().view(-1, v.size(last)).norm(pow, 0).view(*[1] * last, -1)


def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """g v / |v|, the norm being that of `norm_except_dim`."""
    return normalised(v.contiguous(), g.contiguous(), dim)


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Replace a parameter by `name_g`, its norms along `dim`, and `name_v`: before each forward the weight is g v / |v|. Deprecated in torch.

    Source: Salimans and Kingma, Weight Normalization, 2016.

    Args:
        dim: the dimension that keeps a norm for each entry; None for one norm of the whole.
    Shape: weight (out, *) -> g (out, 1, ...), v (out, *)
    """
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    if any(isinstance(hook, WeightNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
        raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    hook = WeightNorm(name, dim)
    weight = getattr(module, name)
    del module._parameters[name]
    module.register_parameter(name + "_g", Parameter(_norm_except(weight, hook.dim).detach()))
    module.register_parameter(name + "_v", Parameter(weight.data))
    setattr(module, name, hook.compute_weight(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Undo `weight_norm`: the weight is one parameter again.

    Shape: weight (out, *) -> (out, *)
    Raises:
        ValueError: there is nothing to undo, as in `remove_weight_norm(nn.Linear(2, 2))`.
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
