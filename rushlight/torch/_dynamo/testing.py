"""`torch._dynamo.testing`: backends that count and keep the graphs that they are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...testing import assert_close
from .backends.registry import lookup_backend

__all__ = ["CompileCounter", "CompileCounterWithBackend", "EagerAndRecordGraphs", "same"]


class CompileCounter:
    """A backend that runs graphs as they are. frame_count: how many it was given; op_count: the calls in them."""

    def __init__(self) -> None:
        self.clear()

    def __call__(self, gm: Any, example_inputs: list) -> Callable:
        self.frame_count += 1
        self.op_count += sum("call" in node.op for node in gm.graph.nodes)
        return gm.forward

    def clear(self) -> None:
        """Count from zero."""
        self.frame_count = self.op_count = 0


class CompileCounterWithBackend(CompileCounter):
    """The same for the backend of a name. graphs: the graph modules."""

    def __init__(self, backend: str) -> None:
        self.backend = backend
        super().__init__()

    def __call__(self, gm: Any, example_inputs: list) -> Callable:
        super().__call__(gm, example_inputs)
        self.graphs.append(gm)
        return lookup_backend(self.backend)(gm, example_inputs)

    def clear(self) -> None:
        """Count from zero, and forget the graphs."""
        super().clear()
        self.graphs: list[Any] = []


class EagerAndRecordGraphs:
    """A backend that runs graphs as they are and keeps them in `graphs`."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []

    def __call__(self, gm: Any, example_inputs: list) -> Callable:
        self.graphs.append(gm)
        return gm.forward


def same(a: Any, b: Any, **options: Any) -> bool:
    """Whether nested tensors are equal up to rounding."""
    try:
        assert_close(a, b, **options)
    except AssertionError:
        return False
    return True
