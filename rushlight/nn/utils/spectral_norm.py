"""Spectral normalization (Miyato et al., 2018): a weight divided by its largest singular value.

The value is estimated by power iteration, one or a few steps before each forward in training; the two vectors of the
iteration are buffers.
"""

from __future__ import annotations

from typing import Any

from rushlight.core.dispatch.mode import no_grad
from rushlight.core.tensor.tensor import Tensor
from rushlight.nn import functional as F
from rushlight.nn.modules.conv import _ConvTransposeNd
from rushlight.nn.modules.module import Module
from rushlight.nn.parameter import Parameter

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]


class SpectralNorm:
    """The pre-hook that computes ``name`` from the parameter ``name_orig`` and the buffers ``name_u``, ``name_v``."""

    _version = 1

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """``dim`` as rows, everything else as columns."""
        matrix = weight if self.dim == 0 else weight.movedim(self.dim, 0)
        return matrix.reshape(matrix.size(0), -1)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """The weight, with its history; the iteration writes the buffers and has no history."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(matrix.t().mv(u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(matrix.mv(v), dim=0, eps=self.eps))
                u, v = u.clone(), v.clone()  # the next forward writes the buffers before this one's backward may run
        return weight / u.dot(matrix.mv(v))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    def remove(self, module: Module) -> None:
        """Make the normalized weight the parameter."""
        weight = self.compute_weight(module, do_power_iteration=False).detach()
        for suffix in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight))

    def _mark_version(self, module: Module, state_dict: Any, prefix: str, local_metadata: dict[str, Any]) -> None:
        local_metadata.setdefault("spectral_norm", {})[self.name + ".version"] = self._version


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Replace a parameter by `name_orig` and the buffers `name_u` and `name_v`: before each forward the weight is divided by its largest singular value.

    Source: Miyato et al., Spectral Normalization for Generative Adversarial Networks, 2018.

    Args:
        n_power_iterations: how often the singular vectors are refined at each forward in training.
        dim: the outputs' dimension; by default 1 for transposed convolutions, else 0.
    Shape: weight (out, *) -> (out, *), u (out), v (the rest)
    Raises:
        RuntimeError: it is done already, as in `spectral_norm(spectral_norm(nn.Linear(2, 2)))`.

    >>> sorted(name for name, _ in spectral_norm(nn.Linear(2, 2)).named_parameters())
    ['bias', 'weight_orig']
    """
    if dim is None:
        dim = 1 if isinstance(module, _ConvTransposeNd) else 0
    if any(isinstance(hook, SpectralNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
        raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    hook = SpectralNorm(name, n_power_iterations, dim, eps)
    weight = module._parameters[name]
    if weight is None:
        raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
    with no_grad():
        rows, columns = hook.reshape_weight_to_matrix(weight).shape
        u, v = (F.normalize(weight.new_empty(n).normal_(0, 1), dim=0, eps=eps) for n in (rows, columns))
    delattr(module, name)
    module.register_parameter(name + "_orig", weight)
    setattr(module, name, weight.data)
    module.register_buffer(name + "_u", u)
    module.register_buffer(name + "_v", v)
    module.register_forward_pre_hook(hook)
    module._register_state_dict_hook(hook._mark_version)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Undo `spectral_norm`: the weight is one parameter again.

    Shape: weight (out, *) -> (out, *)
    Raises:
        ValueError: there is nothing to undo, as in `remove_spectral_norm(nn.Linear(2, 2))`.
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            _forget(module._state_dict_hooks, hook)
            return module
    raise ValueError(f"spectral_norm of '{name}' not found in {module}")


def _forget(hooks: Any, owner: SpectralNorm) -> None:
    for key, hook in list(hooks.items()):
        if getattr(hook, "__self__", None) is owner:
            del hooks[key]
