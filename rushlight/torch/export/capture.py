"""One run of a module as a graph of torch's operators whose inputs and results are tensors: what exporting starts from.

The graph is that of `torch.jit.trace`, in which sizes are computed again for other inputs, with the graphs of the
submodules in their places. Arguments and results may be nested; what is no tensor is a constant of the graph.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from ...core.dispatch.mode import no_grad
from ...core.tensor.tensor import Tensor
from ...nn.modules.module import Module
from ...utils import _pytree as pytree
from ..jit.ir.graph import Graph
from ..jit.ir.inlining import inlined
from ..jit.recording.trace_check import TracerWarning
from ..jit.recording.tracing import trace

__all__ = ["Captured", "ReadsData", "bound", "buffers_kept", "capture", "flat_target"]


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


class ReadsData(RuntimeError):
    """Python reads elements that depend on the inputs."""


class Captured(NamedTuple):
    """A graph, and how the arguments and results of the module are nested.

    names: of the tensors among the arguments; parameters: of the arguments by place; arguments, results: (leaves,
    structure), in which tensors are the example's; traced: the program, a module whose attribute `model` is the program
    of the exported module; target: what was captured, None in a program from a file; python_reads: where Python read
    sizes, as "file:3".
    """

    graph: Graph
    traced: Any
    names: list[str]
    parameters: list[str]
    inputs: list[Tensor]
    arguments: tuple[list[Any], Any]
    results: tuple[list[Any], Any]
    target: Any = None
    python_reads: tuple[str, ...] = ()


def capture(target: Callable, args: tuple, kwargs: Mapping[str, Any], reads_data: bool = False) -> Captured:
    """Run `target` once and record it.

    reads_data: where Python reads what was computed from the inputs' elements, which the graph then has as it was for the
    example, there is a TracerWarning; else ReadsData. Buffers that the run changes are put back. Raises NotImplementedError, with its name, for what no graph
    has.
    """
    leaves, structure = pytree.tree_flatten((tuple(args), dict(kwargs)))
    inputs = [leaf.detach().clone() for leaf in leaves if isinstance(leaf, Tensor)]
    flat = _Flat(target, leaves, structure)
    flat.training = getattr(target, "training", False)
    with warnings.catch_warnings(record=True) as seen, no_grad(), buffers_kept(flat):
        warnings.simplefilter("always")
        traced = trace(flat, tuple(inputs), check_trace=False, strict=False)
    reads = _sift(seen, reads_data)
    usual = _parameters(target, len(args))
    graph = inlined(traced._forward, traced)  # type: ignore[arg-type]
    names = _names(usual, args, kwargs)
    return Captured(graph, traced, names, usual, inputs, (leaves, structure), flat.results, target, reads)


@contextmanager
def buffers_kept(module: Module) -> Iterator[None]:
    """Let a module's buffers be afterwards what they were: the tensors, and their elements."""
    kept = [(owner, dict(owner._buffers)) for owner in module.modules()]
    values = [(b, b.detach().clone()) for b in module.buffers()]
    try:
        yield
    finally:
        for owner, buffers in kept:
            owner._buffers.update(buffers)
        with no_grad():
            for buffer, value in values:
                buffer.copy_(value)


def _sift(seen: list[warnings.WarningMessage], reads_data: bool) -> tuple[str, ...]:
    """Where Python read sizes. Other warnings are given, or raised."""
    sizes = []
    for warning in seen:
        message, place = warning.message, f"{warning.filename}:{warning.lineno}"
        if isinstance(message, TracerWarning) and not message.of_data:
            sizes.append(place)
        elif isinstance(message, TracerWarning) and not reads_data:
            raise ReadsData(
                f"{place}: the program reads values that depend on the elements of its inputs, and what is exported would "
                f"repeat the example's (Could not guard on data-dependent expression): {message}"
            )
        else:
            warnings.warn_explicit(message, warning.category, warning.filename, warning.lineno)
    return tuple(dict.fromkeys(sizes))


def flat_target(captured: Captured) -> Callable[..., tuple]:
    """What was captured, for tensors alone, with tensors alone as its results."""
    return _Flat(captured.target, *captured.arguments)


def bound(target: Callable, args: tuple, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by the names of their parameters; those of `*args` in a tuple, those of `**kwargs` in a dict."""
    try:
        return inspect.signature(_called(target)).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return dict(zip(_parameters(target, len(args)), args, strict=True)) | dict(kwargs)


def _called(target: Callable) -> Callable:
    return target.forward if isinstance(target, Module) else target


def _parameters(target: Callable, count: int) -> list[str]:
    """The names of the parameters for `count` arguments by place."""
    try:
        parameters = list(inspect.signature(_called(target)).parameters.values())
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
