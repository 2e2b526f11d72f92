"""What varies along few axes of a loop is worked out before it, where the loop would do so again and again.

Generated code shares what does not vary along the innermost axis. Where that is the one along which it varies (the channels
of an image in channels-last order, the columns of a matrix), each point would repeat it: of `(x - mean) / sqrt(var + eps) *
weight` over channels, a root and a quotient for each element. The parts keep their own types, so that nothing is rounded
otherwise.
"""

from __future__ import annotations

from math import prod

from ..ir import scalar_ops
from ..ir.expression import Expr, Sharing, load
from ..ir.graph import Graph, Loop, Node, Reduce, Ref, Store, Value

_COST = 8  # what a part costs at least: a load takes its place
_REPEATED = 8  # times at least


def hoist(graph: Graph) -> Graph:
    """The graph with such parts of loops and reductions in loops of their own, in front of them."""
    nodes: list[Node] = []
    for node in graph.nodes:
        if isinstance(node, Loop | Reduce) and 0 not in node.space:
            parts = _Parts(node)
            node = parts.rewritten()
            nodes += parts.loops
        nodes.append(node)
    graph.nodes = nodes
    return graph


class _Parts:
    """The parts of one node that are worked out before it."""

    def __init__(self, node: Loop | Reduce):
        self.node, self.loops = node, list[Loop]()
        self.axes: dict[int, frozenset[int]] = {}
        self.costs: dict[int, int] = {}
        self.innermost = _innermost(node)

    def rewritten(self) -> Loop | Reduce:
        node = self.node
        if self.innermost is None:
            return node
        share = Sharing()
        exprs = [share(s.expr) for s in node.stores] if isinstance(node, Loop) else [share(node.expr)]
        wanted = {id(x): x for e in exprs for x in self._largest(e)}
        if not wanted:
            return node
        loads = {key: self._worked_out(x) for key, x in wanted.items()}
        exprs = [_replaced(e, loads) for e in exprs]
        if isinstance(node, Reduce):
            return Reduce(node.space, node.axes, node.kind, exprs[0], node.result, node.strides)
        return Loop(node.space, [s._replace(expr=e) for s, e in zip(node.stores, exprs, strict=True)])

    def _largest(self, e: Expr) -> list[Expr]:
        """The parts to work out before, none of them within another."""
        for x in e.walk():
            self._look(x)
        found, stack, seen = [], [e], set[int]()
        while stack:
            x = stack.pop()
            if id(x) in seen:
                continue
            seen.add(id(x))
            if self._pays(x):
                found.append(x)
            else:
                stack += x.args
        return found

    def _look(self, x: Expr) -> None:
        """Note along which axes an expression varies (those of a lookup: all), and what it costs."""
        if id(x) in self.axes:
            return
        if x.op == "load":
            axes = frozenset(i for i, s in enumerate(x.data.strides) if s and x.data.shape[i] > 1)
        elif x.op in ("index", "gather"):
            axes = frozenset(range(len(self.node.space)))
        else:
            axes = frozenset[int]().union(*(self.axes[id(a)] for a in x.args))
        self.axes[id(x)] = axes
        self.costs[id(x)] = scalar_ops.cost(x.op) + sum(self.costs[id(a)] for a in x.args)

    def _pays(self, x: Expr) -> bool:
        axes, space = self.axes[id(x)], self.node.space
        if not x.args or self.innermost not in axes or self.costs[id(x)] < _COST:
            return False
        return prod(space[i] for i in axes) * _REPEATED <= prod(space)

    def _worked_out(self, x: Expr) -> Expr:
        """The load that takes the place of an expression, of what a loop of its own stores."""
        space, axes = self.node.space, sorted(self.axes[id(x)])
        made = Value(tuple(space[i] for i in axes), x.dtype)

        def short(e: Expr) -> Expr | None:
            if e.op != "load":
                return None
            r = e.data
            return load(Ref(r.value, made.shape, tuple(r.strides[i] for i in axes), r.offset))

        self.loops.append(Loop(made.shape, [Store(made.ref(), x.rebuild(short))]))
        strides = [0] * len(space)
        for i, s in zip(axes, made.strides, strict=True):
            strides[i] = s
        return load(Ref(made, space, tuple(strides), 0))


def _innermost(node: Loop | Reduce) -> int | None:
    """The axis along which neighbours in memory are; None if it has none that is longer than 1."""
    refs = (
        [s.ref for s in node.stores]
        if isinstance(node, Loop)
        else [r for r in node.expr.loads() if r.shape == node.space]
    )
    for ref in refs:
        long = [i for i, (n, s) in enumerate(zip(ref.shape, ref.strides, strict=True)) if n > 1 and s]
        if len(ref.shape) == len(node.space) and long:
            return min(long, key=lambda i: ref.strides[i])
    return None


def _replaced(e: Expr, loads: dict[int, Expr]) -> Expr:
    """The expression with the parts replaced, which `rebuild` would have walked into."""
    new: dict[int, Expr] = {}
    for x in e.walk():
        args = tuple(new[id(a)] for a in x.args)
        same = x if args == x.args else Expr(x.op, args, x.dtype, x.data)
        new[id(x)] = loads.get(id(x), same)
    return new[id(e)]
