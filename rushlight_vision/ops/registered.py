"""The operators that torchvision registers, as `torch.ops.torchvision`: in graphs and programs each is one step."""

from collections.abc import Callable

import rushlight as torch

__all__ = ["refuse_in_traces", "registered"]

_LIBRARY = torch.library.Library("torchvision", "FRAGMENT")


def registered(schema: str) -> Callable:
    """Decorator: the function as the operator of a schema, "name(parameters) -> results"; it is called by that."""

    def register(function: Callable) -> Callable:
        name = _LIBRARY.define(schema)
        _LIBRARY.impl(name, function, "CompositeImplicitAutograd")
        operator = torch.library.registered("torchvision", name)
        assert operator is not None
        return operator

    return register


def is_recorded() -> bool:
    """Whether a trace or an export records what runs: what Python computes with the boxes would be a constant in it."""
    return torch.jit.is_tracing() or torch.compiler.is_exporting()


def refuse_in_traces(name: str) -> None:
    """Raise NotImplementedError in a trace or an export (`is_recorded`)."""
    if is_recorded():
        raise NotImplementedError(f"torch.jit.trace: {name}() cannot be recorded")
