"""Nodes with other windows in place of those that they read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .expression import Expr, load
from .graph import Call, Extern, Loop, Nest, Node, Reduce, Ref, Store, Update, Value, Write


def renamed(node: Node, alias: dict[Value, Any]) -> Node:
    """The node with the values that it reads replaced."""
    if not any(r.value in alias for r in node.reads()):
        return node

    def window(r: Ref) -> Ref:
        return r._replace(value=alias.get(r.value, r.value))

    return with_refs(node, window)


def with_refs(node: Node, window: Callable[[Ref], Ref]) -> Node:
    """The node with every window that it reads changed."""

    def change(e: Expr) -> Expr | None:
        if e.op == "load":
            return load(window(e.data))
        return Expr("gather", e.args, e.dtype, window(e.data)) if e.op == "gather" else None

    def value(v: Value | None) -> Value | None:
        return None if v is None else window(v.ref()).value

    if isinstance(node, Loop):
        return Loop(node.space, [Store(s.ref, s.expr.rebuild(change), value(s.onto)) for s in node.stores])
    if isinstance(node, Reduce):
        return Reduce(node.space, node.axes, node.kind, node.expr.rebuild(change), node.result, node.strides)
    if isinstance(node, Extern):
        operands = tuple(o and window(o) for o in node.operands)
        return Extern(node.kind, operands, node.results, tuple(map(value, node.onto)), **node.options)
    if isinstance(node, Call):
        operands = tuple(window(o) if isinstance(o, Ref) else o for o in node.operands)
        return Call(node.record, operands, node.metadata, node.cast, node.results, node.line)
    if isinstance(node, Update):
        lists = [refs and [r and window(r) for r in refs] for refs in node.lists]
        options = {k: window(o) if isinstance(o, Ref) else o for k, o in node.options.items()}
        return Update(node.update, node.apply, lists, options, node.results, node.line, node.as_eager)
    if isinstance(node, Nest):
        return Nest(node.outer, node.inner, [with_refs(s, window) for s in node.stages], node.local)  # type: ignore
    if isinstance(node, Write):
        target = node.target._replace(value=window(node.target.value.ref()).value)
        return Write(target, window(node.source), node.result, node.line)
    raise TypeError(type(node).__name__)
