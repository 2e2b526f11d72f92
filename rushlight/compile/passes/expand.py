"""Calls become loops: each operator's kernel, run over expressions, says what it does.

A call that cannot be expressed stays as it is and is run by its kernel between the native parts of the program.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...core.interrupts import raise_if_interrupted
from ..ir.exchange import is_exchange
from ..ir.expression import Expr, cast, load
from ..ir.graph import Call, Extern, Graph, Loop, Node, Reduce, Ref, Store, Update, Value, Write, same_strides
from ..ir.lazy import Builder, Lazy, Untraceable
from ..ir.rewrite import with_refs
from ..rules import RULES
from .replicated import is_rounded_alike, replicated


def expand(graph: Graph, serves: Callable[[Extern], bool]) -> Graph:
    """The graph with every call that can be expressed replaced by loops, and by library calls that the library serves."""
    return _Expansion(graph, serves).run()


class _Expansion:
    def __init__(self, graph: Graph, serves: Callable[[Extern], bool] = lambda _: True):
        self.old, self.serves = graph, serves
        self.new = Graph()
        self.new.inputs, self.new.constants = dict(graph.inputs), dict(graph.constants)
        self.alias: dict[Value, Ref] = {}  # value -> the window that shows the same elements, laid out the same
        self.kept = {ref.value for ref, _ in graph.outputs}  # must stay values of their own
        self.reasons = self.new.reasons
        self.replicated = replicated(graph)

    def run(self) -> Graph:
        for node in self.old.nodes:
            if isinstance(node, Call):
                if node.record.draws or is_exchange(
                    node
                ):  # its kernel must not run now: it would move the random stream
                    self.new.nodes.append(self._unchanged(node))
                else:
                    self._expand(node)
            elif isinstance(node, Write):
                self._write(node)
            else:
                self._keep(node)
        self.new.outputs = [(self.resolve(ref), target) for ref, target in self.old.outputs]
        return self.new

    def _keep(self, node: Node) -> None:
        new = with_refs(node, self.resolve)
        if isinstance(new, Update):
            new.as_eager = id(node) in self.replicated
            for i, results in enumerate(new.results):
                if results:
                    pairs = zip(new.lists[i], results, strict=True)
                    new.lists[i] = [ref if result is None else self._whole(ref) for ref, result in pairs]
        self.new.nodes.append(new)

    def _whole(self, ref: Ref) -> Ref:
        """A window that covers its value, where an update writes: a copy of one that is a part of a larger tensor."""
        if ref.covers():
            return ref
        copy = Value(ref.shape, ref.dtype)
        self.new.nodes.append(Loop(ref.shape, [Store(copy.ref(), load(ref))]))
        return copy.ref()

    def resolve(self, ref: Ref) -> Ref:
        """The window in terms of values that still exist."""
        known = self.alias.get(ref.value)
        return ref if known is None else Ref(known.value, ref.shape, ref.strides, ref.offset + known.offset)

    # ------------------------------------------------------------------------------------------- writes

    def _write(self, node: Write) -> None:
        source = self.resolve(node.source)
        ref = Ref(node.result, node.target.shape, node.target.strides, node.target.offset)
        expr = cast(load(source.broadcast(ref.shape)), node.result.dtype)
        onto = None if ref.covers() else self._same_memory(node.target.value, node.result)
        self.new.nodes.append(Loop(ref.shape, [Store(ref, expr, onto)]))

    def _same_memory(self, value: Value, like: Value) -> Value:
        """What a captured value is now, with exactly the memory layout of `like`: copied where it is a part of another."""
        shown = self.resolve(value.ref())
        if shown.value.size == like.size and shown.dtype == like.dtype:
            return shown.value
        copy = Value(like.shape, like.dtype, like.strides)
        self.new.nodes.append(Loop(shown.shape, [Store(copy.ref(), load(shown))]))
        return copy

    # -------------------------------------------------------------------------------------------- calls

    def _expand(self, call: Call) -> None:
        nodes: list[Node] = []
        checks: list = []
        builder = Builder(nodes, checks, self.old.as_eager)
        self.adopted: dict[Value, Value] = {}  # within this call: what a node wrote -> the captured value it writes now
        try:
            operands = [self._operand(builder, o, to) for o, to in zip(call.operands, call.types(), strict=True)]
            results = self._apply(builder, call, operands)
            nodes[:] = [served for node in nodes for served in self._served(node)]
            stores = [self._result(builder, r, x) for r, x in zip(call.results, results, strict=False) if r is not None]
            if id(call) in self.replicated and not is_rounded_alike(nodes):
                raise Untraceable("all processes compute it, to the bits of eager calls")
        except Exception as error:
            raise_if_interrupted(error)
            if not isinstance(error, Untraceable) and os.environ.get("RUSHLIGHT_LOG", "").find("trace") >= 0:
                raise
            self.reasons.setdefault(call.record.name, f"{type(error).__name__}: {error}")
            self.new.nodes.append(self._unchanged(call))
            return
        self.new.nodes += nodes
        self.new.checks += checks
        for finish in stores:
            finish()

    def _served(self, node: Node) -> list[Node]:
        """The node, or, where no library serves its 16-bit floats on this processor, the same in float32 between casts."""
        if not isinstance(node, Extern) or node.kind == "blank" or self.serves(node):
            return [node]
        wide = through_float32(node)
        if wide is None or not self.serves(next(n for n in wide if isinstance(n, Extern))):
            raise Untraceable(f"no library has an implementation of {node.kind} here")
        return wide

    def _unchanged(self, call: Call) -> Call:
        show = self._shape_of if getattr(call.record, "draws", "") == "shape" else self.resolve
        operands = tuple(show(o) if isinstance(o, Ref) else o for o in call.operands)
        return Call(call.record, operands, call.metadata, call.cast, call.results, call.line)

    def _shape_of(self, ref: Ref) -> Ref:
        """A window of the same geometry onto zeros, for a draw, which looks at no value and so can come first."""
        low, high = ref.extent()
        blank = Value((high - low + 1,), ref.dtype)
        self.new.constants[blank] = np.zeros(blank.shape, blank.dtype)
        return Ref(blank, ref.shape, ref.strides, ref.offset - low)

    def _operand(self, builder: Builder, operand: Any, to: Any) -> Any:
        if isinstance(operand, Ref):
            x = builder.lazy(self.resolve(operand))
            return x if to is None else x.astype(to.numpy)
        if operand is None or to is None:
            return operand
        return builder.constant(np.asarray(operand).astype(to.numpy), to.numpy)

    def _apply(self, builder: Builder, call: Call, operands: list) -> list:
        record = call.record
        rule = RULES.get(record.name)
        if rule is not None:
            out = record.invoke(partial(rule, builder), operands, call.metadata)
        else:
            if record.kind == "general" and any(_is_narrow(o) for o in operands):
                raise Untraceable("16-bit floats")
            out = record.invoke(record.reference, operands, call.metadata)
        results = list(out) if isinstance(out, tuple | list) else [out]
        if len(results) < len(call.results):
            raise Untraceable("fewer results than the kernel returned")
        return [_lifted(builder, x) for x in results]

    def _result(self, builder: Builder, ref: Ref, x: Lazy) -> Any:
        """A function that makes the captured value `ref.value` be `x`, called once all results could be expressed."""
        if x.expr.op == "load" and self._is_there(x.expr.data, ref):
            return lambda: None
        if x.shape != ref.shape or not ref.is_whole():
            raise Untraceable(f"a result of shape {x.shape}, not {ref.shape}")
        value = ref.value
        if self.adopted:
            x = Lazy(builder, x.shape, x.expr.rebuild(self._adopted))
        if x.expr.op == "load" and x.dtype == value.dtype:
            shown = x.expr.data
            same = same_strides(ref.shape, shown.strides, ref.strides)
            if same and value not in self.kept:
                return lambda: self.alias.__setitem__(value, Ref(shown.value, shown.shape, shown.strides, shown.offset))
            free = shown.value not in self.adopted.values()
            if same and free and shown.covers() and _adopt(builder.nodes, shown.value, value):
                self.adopted[shown.value] = value
                return lambda: None
        builder.nodes.append(Loop(ref.shape, [Store(ref, cast(x.expr, value.dtype))]))
        return lambda: None

    def _is_there(self, shown: Ref, ref: Ref) -> bool:
        """Whether a result is a part of an operand, as the statistics that batch norm gives back in evaluation are."""
        known = self.resolve(ref)
        return (
            shown.value is known.value
            and shown.offset == known.offset
            and shown.shape == known.shape
            and same_strides(shown.shape, shown.strides, known.strides)
        )

    def _adopted(self, e: Expr) -> Expr | None:
        new = self.adopted.get(e.data.value) if e.op in ("load", "gather") else None
        return None if new is None else Expr(e.op, e.args, e.dtype, e.data._replace(value=new))


def through_float32(node: Extern) -> list[Node] | None:
    """Loops that widen a call's 16-bit floats, the call in float32, loops that round its results; None without any.

    A product or convolution of such numbers is rounded once, from sums in float32, so this is what a library would
    compute; other calls say what they round.
    """
    if not node.kind.startswith(("matmul", "convolution")):
        return None
    refs = (*node.operands, *node.results)
    kinds = {r.dtype for r in refs if r is not None and is_short_float(r.dtype)}
    if not kinds or any(node.onto):
        return None
    before: list[Node] = []
    after: list[Node] = []

    def widened(ref: Ref | None) -> Ref | None:
        if ref is None or ref.dtype not in kinds:
            return ref
        shown = ref._replace(shape=tuple(1 if s == 0 else n for n, s in zip(ref.shape, ref.strides, strict=True)))
        copy = Value(shown.shape, np.float32, _dense_like(shown)).ref()
        before.append(Loop(shown.shape, [Store(copy, cast(load(shown), copy.dtype))]))
        return copy.broadcast(ref.shape)

    def rounded(ref: Ref | None) -> Ref | None:
        if ref is None or ref.dtype not in kinds:
            return ref
        wide = Value(ref.shape, np.float32, _dense_like(ref)).ref()
        after.append(Loop(ref.shape, [Store(ref, cast(load(wide), ref.dtype))]))
        return wide

    operands, results = tuple(map(widened, node.operands)), tuple(map(rounded, node.results))
    wide = Extern(node.kind, operands, results, **node.options, widened=min(kind.name for kind in kinds))
    return [*before, wide, *after]


def _dense_like(ref: Ref) -> tuple[int, ...]:
    """Strides without gaps, the axes in a window's order."""
    strides, step = [0] * ref.ndim, 1
    for axis in sorted(range(ref.ndim), key=lambda i: (ref.strides[i], -i)):
        strides[axis] = step
        step *= ref.shape[axis]
    return tuple(strides)


def is_short_float(dtype: np.dtype) -> bool:
    return dtype.itemsize == 2 and dtype.kind not in "iu"


def _is_narrow(operand: Any) -> bool:
    return isinstance(operand, Lazy) and is_short_float(operand.dtype)


def _lifted(builder: Builder, x: Any) -> Any:
    if isinstance(x, Lazy):
        return x
    if isinstance(x, np.ndarray | np.generic) and np.asarray(x).size == 1:
        a = np.asarray(x)
        return builder.constant(a.reshape(-1)[0], a.dtype, a.shape)
    raise Untraceable(f"a result of type {type(x).__name__}")


def _adopt(nodes: list[Node], old: Value, new: Value) -> bool:
    """Make the node among `nodes` that writes `old` write `new` instead; false where it cannot."""
    for i, node in enumerate(nodes):
        if old not in node.writes():
            continue
        if any(r.value is old for later in nodes[i + 1 :] for r in later.reads()):
            return False
        if isinstance(node, Extern) and node.kind != "blank":
            results = tuple(Ref(new, r.shape, r.strides, r.offset) if r.value is old else r for r in node.results)
            nodes[i] = Extern(node.kind, node.operands, results, node.onto, **node.options)
        elif isinstance(node, Reduce) and old.shape == new.shape and old.dtype == new.dtype:
            nodes[i] = Reduce(node.space, node.axes, node.kind, node.expr, new, node.strides)
        elif isinstance(node, Loop) and all(s.onto is None for s in node.stores):
            stores = [
                Store(Ref(new, s.ref.shape, s.ref.strides, s.ref.offset), s.expr) if s.ref.value is old else s
                for s in node.stores
            ]
            nodes[i] = Loop(node.space, stores)
        else:
            return False
        return True
    return False
