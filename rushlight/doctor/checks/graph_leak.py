"""Graphs pile up: something keeps each iteration's loss with its history."""

from __future__ import annotations

import ast
import gc
import sys
import weakref
from collections import deque
from itertools import pairwise
from typing import Any

from ...core.tensor.node import Node
from ...core.tensor.tensor import Tensor
from ..events import Backward, Step
from ..places import Place, is_of_program, parsed, place_at_line
from ..words import many
from . import Check

_ADDS = ("append", "extend", "add", "insert", "appendleft")


class _Graph:
    """A graph that was backwarded, by weak references: something may keep its root, or only a branch of it."""

    def __init__(self, root: Any, first: Any, place: Place) -> None:
        self.root, self.first, self.place = weakref.ref(root), weakref.ref(first), place

    def node(self) -> Any:
        """A node of it that is still alive, None once it is gone."""
        root = self.root()
        return self.first() if root is None else root


class GraphLeak(Check):
    """`total += loss`, `losses.append(loss)`: memory grows with each iteration."""

    name = "graph-leak"
    severity = "warning"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.graphs: list[_Graph] = []
        self.held = 0  # bytes that the graph of the latest backward held before it
        self.sizes: dict[int, int] = {}  # ... by a tape's signature
        self.counts: dict[int, list[int]] = {}  # by optimizer: graphs alive after its last steps
        self.found: Place | None = None

    def on_before_backward(self, event: Backward) -> None:
        if event.tape is None or not event.accumulates:
            return
        held = self.sizes.get(event.signature)
        if held is None:
            if len(self.sizes) > 512:
                self.sizes.clear()
            held = self.sizes[event.signature] = event.tape.bytes_held()
        self.held = held

    def on_backward(self, event: Backward) -> None:
        tape = event.tape
        if (
            event.accumulates
            and not event.retain
            and not event.create
            and tape is not None
            and tape.nodes
            and not event.in_step
        ):
            root = tape.roots[0] if isinstance(tape.roots[0], Node) else tape.nodes[0]
            self.graphs.append(_Graph(root, tape.nodes[-1], event.place))
        if len(self.graphs) > 512:
            self._drop_dead()

    def _drop_dead(self) -> None:
        self.graphs = [g for g in self.graphs if g.node() is not None]

    def on_stepped(self, event: Step) -> None:
        alive = {id(node) for g in self.graphs if (node := g.node()) is not None}
        self.doctor.history.note_graphs(event.number, len(alive), self.held)
        if len(self.graphs) > len(alive) + 4:
            self._drop_dead()
        if event.optimizer is None or not event.window or self.found is not None:
            return
        if len(alive) < 2:
            self.counts.pop(event.optimizer.number, None)
            return
        place = event.window[-1].place
        mine = list(
            {id(g.node()): g for g in reversed(self.graphs) if g.place is place and id(g.node()) in alive}.values()
        )[::-1]
        counts = self.counts[event.optimizer.number] = [*self.counts.get(event.optimizer.number, [])[-5:], len(mine)]
        if len(counts) >= 6 and all(a < b for a, b in pairwise(counts)):
            self._tell(mine)

    def _tell(self, graphs: list[_Graph]) -> None:
        node, place = graphs[0].node(), graphs[-1].place
        if node is None:
            return
        name = _holder(node, graphs)
        where = None if name is None else _statement(place, name)
        self.found = where or place
        held = f"`{name}` keeps" if name is not None else "something keeps"
        self.doctor.report(
            self,
            self.found,
            f"{held} the graphs of {many(len(graphs), 'loss')} that have been backwarded: one more with each iteration",
            "keep numbers: loss.item(), or loss.detach() for a tensor",
            [(place, "the backward of what is kept")],
            after=1,
        )


def _holder(node: Any, ignored: Any) -> str | None:
    """The name of a variable or attribute through which a node is kept alive."""
    namespaces = _namespaces()
    waiting: list[Any] = [node]
    seen = {id(node), id(ignored), id(waiting), id(namespaces)}
    for _ in range(400):
        if not waiting:
            return None
        target = waiting.pop(0)
        if not isinstance(target, Node):
            for table in namespaces:
                name = next((k for k, v in table.items() if v is target), None)
                if name is not None:
                    return name
        for referrer in gc.get_referrers(target):
            if id(referrer) in seen or any(referrer is table for table in namespaces):
                continue
            seen.add(id(referrer))
            if isinstance(referrer, (Node, Tensor, tuple, list, dict, set, deque)):
                waiting.append(referrer)
            elif (table := getattr(referrer, "__dict__", None)) is not None and not isinstance(referrer, type):
                name = next((k for k, v in list(table.items()) if v is target), None)
                if name is not None:
                    return name
    return None


def _namespaces() -> list[dict[str, Any]]:
    """The local and global variables of the running program, of its innermost function first."""
    found: list[dict[str, Any]] = []
    frame = sys._getframe(1)
    while frame is not None:
        if is_of_program(frame):
            found += [frame.f_locals, frame.f_globals]
        frame = frame.f_back
    return found


def _statement(place: Place, name: str) -> Place | None:
    """The statement that adds to a variable: `name += ...`, `name = name + ...`, `name.append(...)`, `name[...] = ...`."""
    tree = parsed(place.code.co_filename)
    found: list[int] = []
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.AugAssign) and _is_named(node.target, name):
            found.append(node.lineno)
        elif isinstance(node, ast.Assign) and any(_is_named(t, name) for t in node.targets):
            if any(_is_named(n, name) for n in ast.walk(node.value)) or isinstance(node.targets[0], ast.Subscript):
                found.append(node.lineno)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            call = node.value.func
            if isinstance(call, ast.Attribute) and call.attr in _ADDS and _is_named(call.value, name):
                found.append(node.lineno)
    near = [line for line in found if abs(line - place.line) < 60]
    return place_at_line(place, min(near or found, key=lambda line: abs(line - place.line))) if found else None


def _is_named(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Subscript):
        return _is_named(node.value, name)
    return (isinstance(node, ast.Name) and node.id == name) or (isinstance(node, ast.Attribute) and node.attr == name)
