"""The package `functorch`, as torch still brings it: `torch.func` under its first name, and modules made functions.

Its functions say, as torch's do, that they are deprecated.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import deepcopy
from functools import wraps
from typing import Any

from rushlight.func import calls, derivatives, vectorize
from rushlight.func.calls import functional_call, stack_module_state
from rushlight.nn.modules.module import Module

from ...torch.version import __version__

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "__version__",
    "combine_state_for_ensemble",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "make_functional",
    "make_functional_with_buffers",
    "vjp",
    "vmap",
]


def _warn(name: str, instead: str) -> None:
    warnings.warn(
        "We've integrated functorch into PyTorch. As the final step of the integration, "
        f"`functorch.{name}` is deprecated as of PyTorch 2.0 and will be deleted in a future version of PyTorch >= 2.3. "
        f"Please use `{instead}` instead; see the PyTorch 2.0 release notes and/or the `torch.func` migration guide for "
        "more details https://pytorch.org/docs/main/func.migrating.html",
        FutureWarning,
        stacklevel=3,
    )


def _deprecated(function: Callable, instead: str = "") -> Callable:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        _warn(function.__name__, instead or f"torch.func.{function.__name__}")
        return function(*args, **kwargs)

    return call


grad, grad_and_value = _deprecated(derivatives.grad), _deprecated(derivatives.grad_and_value)
vjp, jvp = _deprecated(derivatives.vjp), _deprecated(derivatives.jvp)
jacrev, jacfwd, hessian = map(_deprecated, (derivatives.jacrev, derivatives.jacfwd, derivatives.hessian))
functionalize = _deprecated(calls.functionalize)
vmap = _deprecated(vectorize.vmap, "torch.vmap")


class FunctionalModule(Module):
    """A module without parameters of its own: called with a tuple of them, in the order of `named_parameters`."""

    def __init__(self, model: Any):
        super().__init__()
        self.stateless_model = model
        self.param_names = tuple(name for name, _ in model.named_parameters())
        self.buffer_names = tuple(name for name, _ in model.named_buffers())

    def forward(self, params: Any, *args: Any, **kwargs: Any) -> Any:
        """The model's result with these parameters."""
        return functional_call(self.stateless_model, dict(zip(self.param_names, params, strict=True)), args, kwargs)


class FunctionalModuleWithBuffers(FunctionalModule):
    """Likewise without buffers: called with parameters and buffers."""

    def forward(self, params: Any, buffers: Any, *args: Any, **kwargs: Any) -> Any:
        """The model's result with these parameters and buffers."""
        state = dict(zip((*self.param_names, *self.buffer_names), (*params, *buffers), strict=True))
        return functional_call(self.stateless_model, state, args, kwargs)


def _copied(model: Any, disable_autograd_tracking: bool) -> tuple[Any, tuple]:
    copy = deepcopy(model)
    params = tuple(copy.parameters())
    if disable_autograd_tracking:
        for p in params:
            p.requires_grad_(False)
    return copy, params


def make_functional(model: Any, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, tuple]:
    """(function, parameters) of a copy of the model; RuntimeError where it has buffers."""
    _warn("make_functional", "torch.func.functional_call")
    if len(list(model.buffers())):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    copy, params = _copied(model, disable_autograd_tracking)
    return FunctionalModule(copy), params


def make_functional_with_buffers(
    model: Any, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple, tuple]:
    """(function, parameters, buffers) of a copy of the model."""
    _warn("make_functional_with_buffers", "torch.func.functional_call")
    copy, params = _copied(model, disable_autograd_tracking)
    return FunctionalModuleWithBuffers(copy), params, tuple(copy.buffers())


def combine_state_for_ensemble(models: Any) -> tuple[FunctionalModuleWithBuffers, tuple, tuple]:
    """(function, parameters, buffers) of models of one class, each parameter and buffer stacked, for `vmap`."""
    _warn("combine_state_for_ensemble", "torch.func.stack_module_state")
    params, buffers = stack_module_state(models)
    return FunctionalModuleWithBuffers(deepcopy(models[0])), tuple(params.values()), tuple(buffers.values())
