"""Checks that a graph is well formed; run after capture and after every pass."""

from __future__ import annotations

from .expression import Expr
from .graph import Call, Extern, Graph, Loop, Nest, Node, Reduce, Ref, Value, Write


def verify(graph: Graph, after: str) -> Graph:
    """`graph` itself. Raises AssertionError naming the pass and the node where something does not fit."""
    known: set[Value] = {*graph.inputs, *graph.constants}
    for i, node in enumerate(graph.nodes):
        try:
            _check_node(node, known)
        except AssertionError as error:
            raise AssertionError(f"after {after}, node {i}: {error}\n  {node!r}") from None
        known.update(node.writes())
    for ref, target in graph.outputs:
        if ref.value not in known:
            raise AssertionError(f"after {after}: output {target!r} is {ref!r}, which nothing computes")
        _check_window(ref)
    return graph


def _check_node(node: Node, known: set[Value]) -> None:
    for ref in {id(ref): ref for ref in node.reads()}.values():  # a loop's stores share expressions
        if ref.value not in known:
            raise AssertionError(f"reads {ref!r} before it is computed")
        _check_window(ref)
    for value in node.writes():
        if value in known:
            raise AssertionError(f"writes {value!r} a second time")
    if isinstance(node, Loop):
        _check_loop(node)
    elif isinstance(node, Reduce):
        _check_loads(node.expr, node.space)
        kept = tuple(n for i, n in enumerate(node.space) if i not in node.axes)
        if node.result.shape != kept:
            raise AssertionError(f"result has shape {node.result.shape}, not {kept}")
    elif isinstance(node, Nest):
        _check_nest(node, known)
    elif isinstance(node, Write):
        _check_window(Ref(node.result, node.target.shape, node.target.strides, node.target.offset))
    elif isinstance(node, Call | Extern):
        for r in node.results:
            if r is not None:
                _check_window(r)


def _check_nest(node: Nest, known: set[Value]) -> None:
    inside = set(known)
    everywhere = node.outer + node.inner
    for stage in node.stages:
        if stage.space not in (node.outer, everywhere):
            raise AssertionError(f"has a stage over {stage.space}")
        if isinstance(stage, Reduce) and stage.axes != tuple(range(len(node.outer), len(everywhere))):
            raise AssertionError("reduces other than all inner axes")
        _check_node(stage, inside)
        inside.update(stage.writes())


def _check_loop(node: Loop) -> None:
    for s in node.stores:
        if s.ref.shape != node.space:
            raise AssertionError(f"stores a window {s.ref.shape}, not {node.space}")
        if s.expr.dtype != s.ref.dtype:
            raise AssertionError(f"stores {s.expr.dtype} into {s.ref.dtype}")
        if s.onto is None and not s.ref.covers():
            raise AssertionError(f"leaves parts of {s.ref.value!r} unwritten")
        _check_loads(s.expr, node.space)
        _check_window(s.ref)


def _check_loads(expr: Expr, space: tuple[int, ...]) -> None:
    for e in expr.walk():
        if e.op == "load" and e.data.shape != space:
            raise AssertionError(f"loads a window {e.data.shape} in the space {space}")
        if e.op == "gather" and len(e.args) != e.data.ndim:
            raise AssertionError(f"gathers with {len(e.args)} coordinates from {e.data.ndim} axes")


def _check_window(ref: Ref) -> None:
    low, high = ref.extent()
    if len(ref.shape) != len(ref.strides):
        raise AssertionError(f"{ref!r}: shape and strides differ in length")
    if (low < 0 or high >= ref.value.size) and ref.size:
        raise AssertionError(f"{ref!r} is outside its value {ref.value!r}")
