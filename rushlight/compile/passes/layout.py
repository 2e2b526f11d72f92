"""Activations are stored channels-last: what convolutions read and write, and what is computed from it point by point.

Windows onto such a value are rewritten for its new strides; loops do not care. A library call that needs the old order
(a matrix product of a flattened batch) gets a copy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir.expression import Expr, load
from ..ir.graph import Call, Extern, Graph, Loop, Node, Reduce, Ref, Store, Value, row_major
from ..ir.rewrite import with_refs
from ..ir.spaces import Change, changed, follow

_ACTIVATIONS = {
    "convolution_forward": ((0,), (0,)),
    "convolution_backward_data": ((0,), (0,)),
    "convolution_backward_weights": ((0, 1), ()),
}  # kind -> which operands and results are activations


def layout(graph: Graph, prefers: Callable[[Extern], Any], serves: Callable[[Extern], bool] = lambda _: True) -> Graph:
    """The graph with channels-last activations.

    prefers(extern): the order of axes that each operand and result likes; serves(extern): whether it can be run.
    """
    chosen = _chosen(graph, prefers)
    if chosen:
        _Rewriting(graph, chosen, serves).run()
    return graph


def channels_last(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of memory that holds (N, C, *) as (N, *, C)."""
    n, c, *space = shape
    inner = row_major((n, *space, c))
    return (inner[0], inner[-1], *inner[1:-1])


def _chosen(graph: Graph, prefers: Callable[[Extern], Any]) -> dict[Value, Value]:
    """The values to lay out again, with their successors."""
    fixed = {*graph.inputs, *graph.constants, *(ref.value for ref, _ in graph.outputs)}
    fixed |= {n.result for n in graph.nodes if isinstance(n, Reduce)}  # its strides are those of its own space
    votes: dict[Value, int] = {}
    for node in graph.nodes:
        if isinstance(node, Extern) and node.kind in _ACTIVATIONS:
            choice = prefers(node)
            operands, results = _ACTIVATIONS[node.kind]
            pairs = [(node.operands[i], choice.operands[i]) for i in operands]
            pairs += [(node.results[i], choice.results[i]) for i in results]
            for ref, order in pairs:
                last = order is not None and order != "same" and order[-1] == 1
                votes[ref.value] = votes.get(ref.value, 0) + (1 if last else -1)
    chosen = {v for v, n in votes.items() if n > 0 and _eligible(v, fixed)}
    _spread(graph, chosen, {v for v, n in votes.items() if n <= 0} | fixed)
    chosen -= _written_across(graph, chosen)
    _keep_together(graph, chosen)
    return {v: Value(v.shape, v.dtype, channels_last(v.shape), v.name) for v in chosen}


def _eligible(v: Value, fixed: set[Value]) -> bool:
    return v not in fixed and len(v.shape) in (4, 5) and v.strides == row_major(v.shape) and v.shape[1] > 1


def _spread(graph: Graph, chosen: set[Value], fixed: set[Value]) -> None:
    """Add what loops compute from chosen values, and what they compute chosen values from."""
    if not chosen:
        return
    loops = [n for n in graph.nodes if isinstance(n, Loop)]
    grown = True
    while grown:
        grown = False
        for node in loops:
            values = {s.ref.value for s in node.stores} | {r.value for r in node.reads()}
            if not values & chosen:
                continue
            for v in values - chosen:
                if _eligible(v, fixed) and not any(
                    isinstance(n, Extern) and n.kind == "matmul" and v in n.writes() for n in graph.nodes
                ):
                    chosen.add(v)
                    grown = True


def _written_across(graph: Graph, chosen: set[Value]) -> set[Value]:
    """The chosen values that something writes through a window that does not follow their axes, such as a flat view."""
    found = set()
    for node in graph.nodes:
        if isinstance(node, Loop):
            written = [(s.ref, node.space) for s in node.stores]
        else:
            written = [(r, r.shape) for r in node.results if r is not None] if isinstance(node, Call) else []
        for ref, space in written:
            place = follow(ref, space, _whole(ref.value)) if ref.value in chosen else None
            if ref.value in chosen and (place is None or (isinstance(node, Call) and place[0].space != space)):
                found.add(ref.value)
    return found


def _whole(v: Value) -> Ref:
    return Ref(v, v.shape, v.strides, 0)


def _keep_together(graph: Graph, chosen: set[Value]) -> None:
    """Take back what continues a value that stays as it is, and what such a value continues."""
    pairs = [(s.ref.value, s.onto) for n in graph.nodes if isinstance(n, Loop) for s in n.stores if s.onto is not None]
    while any((new in chosen) != (old in chosen) for new, old in pairs):
        for new, old in pairs:
            if (new in chosen) != (old in chosen):
                chosen -= {new, old}


class _Rewriting:
    def __init__(self, graph: Graph, chosen: dict[Value, Value], serves: Callable[[Extern], bool]):
        self.graph, self.chosen, self.serves = graph, chosen, serves
        self.plain: dict[Value, Value] = {}

    def run(self) -> None:
        nodes: list[Node] = []
        for node in self.graph.nodes:
            nodes += self._rewritten(node)
        self.graph.nodes = nodes

    def _place(self, ref: Ref, space: tuple[int, ...]) -> tuple[Change, Ref] | None:
        """(how the space has to be split, the window onto the new value)."""
        new = self.chosen[ref.value]
        found = follow(ref, space, _whole(ref.value))
        if found is None:
            return None
        split, place = found
        return split, place.ref(Ref(new, new.shape, new.strides, 0))

    def _rewritten(self, node: Node) -> list[Node]:
        if isinstance(node, Loop | Reduce):
            return self._loop(node)
        if isinstance(node, Extern):
            return self._extern(node)
        before: list[Node] = []

        def window(ref: Ref) -> Ref:
            if ref.value not in self.chosen:
                return ref
            found = self._place(ref, ref.shape)
            if found is not None and found[0].space == ref.shape:
                return found[1]
            return ref._replace(value=self._plain(ref.value, before))

        node = with_refs(node, window)
        if isinstance(node, Call):
            results = tuple(r and self._result(r) for r in node.results)
            node = Call(node.record, node.operands, node.metadata, node.cast, results, node.line)
        return [*before, node]

    def _extern(self, node: Extern) -> list[Node]:
        """The library call on the new memory where it can be run there, else on copies in the old order."""
        places = [self._moved(r) for r in (*node.operands, *node.results)]
        n = len(node.operands)
        onto = tuple(v if v is None else self.chosen.get(v, v) for v in node.onto)
        if None not in (p for p, r in zip(places, (*node.operands, *node.results), strict=True) if r is not None):
            moved = Extern(node.kind, tuple(places[:n]), tuple(places[n:]), onto, **node.options)
            if node.kind == "blank" or self.serves(moved):
                return [moved]
        before: list[Node] = []
        plain = with_refs(
            node, lambda r: r._replace(value=self._plain(r.value, before)) if r.value in self.chosen else r
        )
        after: list[Node] = []
        for v in node.writes():
            if v in self.chosen:
                after.append(Loop(v.shape, [Store(self.chosen[v].ref(), load(v.ref()))]))
                self.plain[v] = v
        return [*before, plain, *after]

    def _moved(self, ref: Ref | None) -> Ref | None:
        """The window onto the new memory; None where its axes would have to be split."""
        if ref is None or ref.value not in self.chosen:
            return ref
        found = self._place(ref, ref.shape)
        return found[1] if found is not None and found[0].space == ref.shape else None

    def _result(self, ref: Ref) -> Ref:
        if ref.value not in self.chosen:
            return ref
        found = self._place(ref, ref.shape)
        if found is None or found[0].space != ref.shape:
            raise ValueError(f"{ref!r} is written in a way that does not follow its axes")
        return found[1]

    def _plain(self, value: Value, before: list[Node]) -> Value:
        """A copy of a chosen value in its old order."""
        if value not in self.plain:
            copy = Value(value.shape, value.dtype, value.strides)
            new = self.chosen[value]
            before.append(Loop(value.shape, [Store(copy.ref(), load(new.ref()))]))
            self.plain[value] = copy
        return self.plain[value]

    def _loop(self, node: Loop | Reduce) -> list[Node]:
        before: list[Node] = []
        node = self._split(node)
        exprs = [s.expr for s in node.stores] if isinstance(node, Loop) else [node.expr]
        windows = {e.data for x in exprs for e in x.walk() if e.op == "load"}
        lookups = {e.data for x in exprs for e in x.walk() if e.op == "gather"}
        new: dict[Ref, Ref] = {}
        for ref in windows | lookups:
            if ref.value in self.chosen:
                found = self._place(ref, ref.shape)
                if found is not None and found[0].space == ref.shape:
                    new[ref] = found[1]
                else:
                    new[ref] = ref._replace(value=self._plain(ref.value, before))

        def change(e: Expr) -> Expr | None:
            if e.op == "load" and e.data in new:
                return load(new[e.data])
            return Expr("gather", e.args, e.dtype, new[e.data]) if e.op == "gather" and e.data in new else None

        if isinstance(node, Reduce):
            node = Reduce(node.space, node.axes, node.kind, node.expr.rebuild(change), node.result, node.strides)
            node.settle()
            return [*before, node]
        stores = []
        for s in node.stores:
            ref = self._result(s.ref)
            onto = s.onto if s.onto is None else self.chosen.get(s.onto, s.onto)
            stores.append(Store(ref, s.expr.rebuild(change), onto))
        return [*before, Loop(node.space, stores)]

    def _split(self, node: Loop | Reduce) -> Loop | Reduce:
        """The node with its axes split as far as its windows onto chosen values need."""
        for _ in range(16):
            refs = [s.ref for s in node.stores] if isinstance(node, Loop) else []
            exprs = [s.expr for s in node.stores] if isinstance(node, Loop) else [node.expr]
            refs += [e.data for x in exprs for e in x.walk() if e.op == "load"]
            for ref in refs:
                found = self._place(ref, node.space) if ref.value in self.chosen else None
                if found is not None and found[0].space != node.space:
                    node = changed(node, found[0])
                    break
            else:
                return node
        return node


__all__ = ["channels_last", "layout"]
