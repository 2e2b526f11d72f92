"""Gradients seen from outside a module: the two identity nodes of a full backward hook, and the legacy hook's warnings.

A full backward hook needs the gradients of all the module's inputs and outputs. So the tensors pass through an identity
node on their way in and another on their way out: when the outer node runs, the output gradients are known and the
pre-hooks may change them; when the inner one has run, the input gradients are known and the hooks may change those.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from rushlight.autograd import Function
from rushlight.core.dispatch.mode import is_grad_enabled
from rushlight.core.tensor.tensor import Tensor

__all__ = ["BackwardHook", "warn_about_legacy_hook"]


@functools.cache
def _identity() -> Any:
    """The identity as a function whose node the hooks watch. Made on first use: most programs never hook a gradient."""

    class BackwardHookFunction(Function):
        """Gives its tensors, and their gradients, on as they are."""

        @staticmethod
        def forward(ctx: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
            ctx.mark_non_differentiable(*[tensor for tensor in tensors if not tensor.requires_grad])
            return tensors

        @staticmethod
        def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
            return grads

    return BackwardHookFunction


class BackwardHook:
    """The full backward hooks and pre-hooks of one call of a module."""

    def __init__(self, module: Any, hooks: list[Callable], pre_hooks: list[Callable]) -> None:
        self.module = module
        self.hooks = hooks
        self.pre_hooks = pre_hooks
        self.grad_outputs: tuple | None = None
        self.n_inputs = self.n_outputs = -1
        self.input_places: list[int] | None = None
        self.output_places: list[int] | None = None

    def setup_input_hook(self, args: tuple) -> tuple:
        """The arguments, with their tensors passed through a node that reports the input gradients."""
        self.n_inputs = len(args)
        args, self.input_places = _watch(args, self._on_input_grads)
        return args

    def setup_output_hook(self, result: Any) -> Any:
        """The result, with its tensors passed through a node that reports the output gradients."""
        results = result if isinstance(result, tuple) else (result,)
        self.n_outputs = len(results)
        results, self.output_places = _watch(results, self._on_output_grads)
        return results if isinstance(result, tuple) else results[0]

    def _on_output_grads(self, _: Any, grads: Sequence[Tensor | None]) -> tuple:
        outputs = _spread(grads, self.output_places, self.n_outputs)
        for pre_hook in self.pre_hooks:
            replaced = pre_hook(self.module, outputs)
            if replaced is not None:
                _check_count(replaced, outputs, "Backward pre hook", "grad_output")
                outputs = replaced
        self.grad_outputs = outputs
        if self.input_places is None:
            self._run_without_input_grads()
        return tuple(outputs[place] for place in self.output_places or ())

    def _run_without_input_grads(self) -> None:
        """No input needs a gradient, so its node never runs: call the hooks now, with nothing to change."""
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs "
            "require gradients. See "
            "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
            "#torch.nn.Module.register_full_backward_hook for more details.",
            stacklevel=6,
        )
        for hook in self.hooks:
            replaced = hook(self.module, (None,) * self.n_inputs, self.grad_outputs)
            if replaced is not None and not (isinstance(replaced, tuple) and all(g is None for g in replaced)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None for "
                    "all gradients."
                )
        self.grad_outputs = None

    def _on_input_grads(self, grads: Sequence[Tensor | None], _: Any) -> tuple | None:
        if self.grad_outputs is None:
            return None  # the gradient came around the output node, as in a double backward
        grad_inputs = _spread(grads, self.input_places, self.n_inputs)
        for hook in self.hooks:
            replaced = hook(self.module, grad_inputs, self.grad_outputs)
            if replaced is not None:
                _check_count(replaced, grad_inputs, "Backward hook", "grad_input")
                grad_inputs = replaced
        self.grad_outputs = None
        return tuple(grad_inputs[place] for place in self.input_places or ())


def _watch(values: tuple, hook: Callable) -> tuple[tuple, list[int] | None]:
    """Send the tensors among the values through one identity node with this hook; also say where the tensors were.

    Without a gradient to watch the values come back as they are, with None for the places.
    """
    places = [place for place, value in enumerate(values) if isinstance(value, Tensor)]
    tensors = [values[place] for place in places]
    if not (is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)):
        return values, None
    watched = _identity().apply(*tensors)
    next(tensor.grad_fn for tensor in watched if tensor.grad_fn is not None).register_hook(hook)
    passed = list(values)
    for place, tensor in zip(places, watched, strict=True):
        passed[place] = tensor
    return (tuple(passed) if type(values) is tuple else type(values)(*passed)), places


def _spread(grads: Sequence[Tensor | None], places: list[int] | None, size: int) -> tuple:
    """The gradients at their tensors' places among ``size`` values, None elsewhere."""
    spread: list[Tensor | None] = [None] * size
    for place, grad in zip(places or (), grads, strict=True):
        spread[place] = grad
    return tuple(spread)


def _check_count(replaced: Any, expected: tuple, who: str, what: str) -> None:
    if len(replaced) != len(expected):
        raise RuntimeError(
            f"{who} returned an invalid number of {what}, got {len(replaced)}, but expected {len(expected)}"
        )


# Legacy hooks watch the last node of forward only; tell when that node does not represent the whole module. -----------

_FULL_INSTEAD = " Please use register_full_backward_hook to get the documented behavior."


def warn_about_legacy_hook(args: Any, result: Any, node: Any) -> None:
    """Warn when a legacy backward hook on ``node`` cannot see all gradients of the call ``args -> result``."""
    problem = _legacy_problem(args, result, node)
    if problem:
        warnings.warn(problem, FutureWarning, stacklevel=6)


def _legacy_problem(args: Any, result: Any, node: Any) -> str | None:
    results, inputs = _as_tensors(result), _as_tensors(args)
    if results is None:
        return (
            "Using non-full backward hooks on a Module that does not return a single Tensor or a tuple of Tensors is "
            "deprecated and will be removed in future versions. This hook will be missing some of the grad_output."
            + _FULL_INSTEAD
        )
    if inputs is None:
        return (
            "Using non-full backward hooks on a Module that does not take as input a single Tensor or a tuple of "
            "Tensors is deprecated and will be removed in future versions. This hook will be missing some of the "
            "grad_input." + _FULL_INSTEAD
        )
    nodes = {tensor.grad_fn for tensor in results if tensor.grad_fn is not None}
    if nodes == {node}:
        sources = {tensor.grad_fn for tensor in inputs if tensor.grad_fn is not None}
        if sources == {following for following, _ in node.next_functions}:
            return None
        return (
            "Using a non-full backward hook when the forward contains multiple autograd Nodes is deprecated and will "
            "be removed in future versions. This hook will be missing some grad_input." + _FULL_INSTEAD
        )
    if len(nodes) > 1:
        return (
            "Using a non-full backward hook when outputs are generated by different autograd Nodes is deprecated and "
            "will be removed in future versions. This hook will be missing some grad_output." + _FULL_INSTEAD
        )
    return (
        "Using a non-full backward hook when outputs are nested in python data structure is deprecated and will be "
        "removed in future versions. This hook will be missing some grad_output."
    )


def _as_tensors(value: Any) -> tuple[Tensor, ...] | None:
    values = value if isinstance(value, tuple) else (value,)
    return values if all(isinstance(each, Tensor) for each in values) else None
