"""Compilers for `aot_function` that leave a graph as it is."""

from __future__ import annotations

from typing import Any

from ...fx import GraphModule

__all__ = ["nop", "print_compile"]


def nop(fx_g: GraphModule, _: Any) -> GraphModule:
    """The graph itself."""
    return fx_g


def print_compile(fx_g: GraphModule, _: Any) -> GraphModule:
    """The graph itself, after printing its code."""
    print(fx_g.code)
    return fx_g
