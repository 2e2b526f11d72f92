"""One run of a module as a graph of torch's operators whose inputs and results are tensors: what exporting starts from.

The graph is that of `torch.jit.trace`, in which sizes are computed again for other inputs, with the graphs of the
submodules in their places. Arguments and results may be nested; what is no tensor is a constant of the graph.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ...core.dispatch.mode import no_grad
from ...core.tensor.tensor import Tensor
from ...nn.modules.module import Module
from ...utils import _pytree as pytree
from ..jit.ir.graph import Graph
from ..jit.ir.inlining import inlined
from ..jit.recording.trace_check import TracerWarning
from ..jit.recording.tracing import trace

__all__ = ["Captured", "capture"]


class _Flat(Module):
    """A module, or a function, whose arguments and results are flat: tensors alone."""

    def __init__(self, target: Callable, leaves: list[Any], structure: Any):
        super().__init__()
        self.model = target if isinstance(target, Module) else None
        object.__setattr__(self, "target", target)
        object.__setattr__(self, "leaves", leaves)
        object.__setattr__(self, "structure", structure)

    def forward(self, *tensors: Tensor) -> tuple:
        given = iter(tensors)
        leaves = [next(given) if isinstance(leaf, Tensor) else leaf for leaf in self.leaves]
        args, kwargs = pytree.tree_unflatten(leaves, self.structure)
        results, structure = pytree.tree_flatten(self.target(*args, **kwargs))
        object.__setattr__(self, "results", (results, structure))
        found = tuple(r for r in results if isinstance(r, Tensor))
        if not found:
            raise RuntimeError("the exported module returns no tensor")
        return found


class Captured(NamedTuple):
    """A graph, and how the arguments and results of the module are nested.

    names: of the tensors among the arguments; parameters: of the arguments by place; arguments, results: (leaves, structure), in which tensors are the
    example's; traced: the program, a module whose attribute `model` is the program of the exported module.
    """

    graph: Graph
    traced: Any
    names: list[str]
    parameters: list[str]
    inputs: list[Tensor]
    arguments: tuple[list[Any], Any]
    results: tuple[list[Any], Any]


def capture(target: Callable, args: tuple, kwargs: Mapping[str, Any]) -> Captured:
    """Run `target` once and record it. Raises NotImplementedError, with its name, for what no graph has."""
    leaves, structure = pytree.tree_flatten((tuple(args), dict(kwargs)))
    inputs = [leaf.detach().clone() for leaf in leaves if isinstance(leaf, Tensor)]
    flat = _Flat(target, leaves, structure)
    flat.training = getattr(target, "training", False)
    with warnings.catch_warnings(), no_grad():
        warnings.simplefilter("ignore", TracerWarning)
        traced = trace(flat, tuple(inputs), check_trace=False, strict=False)
    usual = _parameters(target, len(args))
    graph = inlined(traced._forward, traced)  # type: ignore[arg-type]
    return Captured(graph, traced, _names(usual, args, kwargs), usual, inputs, (leaves, structure), flat.results)


def _parameters(target: Callable, count: int) -> list[str]:
    """The names of the parameters for `count` arguments by place."""
    forward = target.forward if isinstance(target, Module) else target
    try:
        parameters = list(inspect.signature(forward).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    usual = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    return [usual[i] if i < len(usual) else f"{rest}_{i - len(usual)}" for i in range(count)]


def _names(usual: list[str], args: tuple, kwargs: Mapping[str, Any]) -> list[str]:
    """A name for each tensor among the arguments: the parameter's, with numbers for what is nested in it."""
    names: list[str] = []
    for name, value in [*zip(usual, args, strict=True), *kwargs.items()]:
        leaves = pytree.tree_leaves(value)
        alone = len(leaves) == 1 and leaves[0] is value
        names += [name if alone else f"{name}_{i}" for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    return names
