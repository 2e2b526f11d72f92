"""Windows that start inside a value start at an address of their own: steps of a sequence then share one kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir.expression import Expr, load
from ..ir.graph import Loop, Nest, Reduce, Ref, Store, Value
from ..ir.locations import Place, shifted


def rebase(node: Nest, place_of: Callable[[Value], Place]) -> tuple[Nest, dict[Value, Place]]:
    """A nest that does the same on values of which it uses all from the first element on, and their places."""
    windows: dict[Value, list[Ref]] = {}
    for ref in _windows(node):
        windows.setdefault(ref.value, []).append(ref)
    fixed = {s.result for s in node.stages if isinstance(s, Reduce)} | node.local
    moved: dict[Value, tuple[Value, int]] = {}
    places: dict[Value, Place] = {}
    for value, refs in windows.items():
        extents = [r.extent() for r in refs]
        low, high = min(a for a, _ in extents), max(b for _, b in extents)
        if low > 0 and value not in fixed:
            moved[value] = Value((high - low + 1,), value.dtype, name=value.name), low
            places[moved[value][0]] = shifted(place_of(value), low * value.dtype.itemsize)
        elif value not in node.local:
            places[value] = place_of(value)
    places.update((v, place_of(v)) for v in fixed - node.local)
    return (_with(node, moved), places) if moved else (node, places)


def _windows(node: Nest) -> list[Ref]:
    out: list[Ref] = []
    for stage in node.stages:
        if isinstance(stage, Loop):
            out += [s.ref for s in stage.stores]
        exprs = [s.expr for s in stage.stores] if isinstance(stage, Loop) else [stage.expr]
        out += [r for e in exprs for r in e.loads()]
    return out


def _with(node: Nest, moved: dict[Value, tuple[Value, int]]) -> Nest:
    def window(ref: Ref) -> Ref:
        known = moved.get(ref.value)
        return ref if known is None else ref._replace(value=known[0], offset=ref.offset - known[1])

    def change(e: Expr) -> Expr | None:
        if e.op not in ("load", "gather") or e.data.value not in moved:
            return None
        return load(window(e.data)) if e.op == "load" else Expr("gather", e.args, e.dtype, window(e.data))

    def stage(s: Loop | Reduce) -> Any:
        if isinstance(s, Reduce):
            return Reduce(s.space, s.axes, s.kind, s.expr.rebuild(change), s.result, s.strides)
        return Loop(s.space, [Store(window(t.ref), t.expr.rebuild(change), t.onto) for t in s.stores])

    return Nest(node.outer, node.inner, [stage(s) for s in node.stages], node.local)
