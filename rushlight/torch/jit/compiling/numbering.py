"""Numbers and order of a script's values as torch's compiler leaves them, which printed graphs show.

torch numbers values as it makes them. Its first form of a graph reads each variable by a node of its own; then branches and
loops get results for the variables that they assign, and the condition of a `while` is copied before the loop; last, equal
constants become one at the graph's top, and results are sorted by where they are read. What is made and removed on that
way leaves gaps, and takes names (`ir/names.py`). `Numbering` counts what the compiler makes; `finish` does what follows. A
loop or function that is left early is rewritten there in ways that are not counted here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..ir.graph import NONE, Block, Graph, Node, Value

__all__ = ["Numbering", "pool_constants", "sort_results"]


class Numbering:
    """Counts a graph's values. later: what is numbered when all statements are compiled, in order."""

    def __init__(self, graph: Graph):
        self.graph, self.next, self.takes_names = graph, 0, True
        self.later: list[Callable[[], None]] = []

    def number(self, value: Value) -> None:
        """Give a value the next number."""
        self.graph.numbers[value] = self.next
        self.next += 1

    def gone(self, name: str = "") -> Value:
        """A value that torch makes and removes: it takes a number, and a variable's name."""
        value = Value(NONE)
        self.number(value)
        if name and self.takes_names:
            self.graph.names.take(value, name)
        return value

    @contextmanager
    def without_names(self) -> Iterator[None]:
        """Within the block what is gone takes no names."""
        self.takes_names = False
        try:
            yield
        finally:
            self.takes_names = True

    def branches(self, node: Node, outputs: dict[str, Value], stored: list[str], inside: list[list]) -> None:
        """Number a branch's results once all is compiled. stored: the variables that either branch assigns, sorted."""

        def number() -> None:
            for work in (w for part in inside for w in part):
                work()
            for name in stored:
                self.gone()
                self.gone()
                self._result(outputs.get(name), name)

        self.later.append(number)

    def loop(self, inputs: dict[str, Value], outputs: dict[str, Value], stored: list[str], inside: list) -> None:
        """Number what a loop carries on once all is compiled. stored: the variables that it assigns, sorted."""

        def number() -> None:
            for work in inside:
                work()
            for name in stored:
                self.gone()
                self._result(inputs.get(name), name)
                self.gone()
                self._result(outputs.get(name), name)

        self.later.append(number)

    def _result(self, value: Value | None, name: str) -> None:
        if value is None:
            self.gone("" if name.startswith("%") else name)
            return
        self.number(value)
        if not name.startswith("%"):
            self.graph.names.take(value, name)


def pool_constants(graph: Graph) -> None:
    """Equal constants as one, each moved to the graph's begin when it is met."""
    known: dict[Any, Value] = {}
    instead: dict[Value, Value] = {}
    first: list[Node] = []
    _pool(graph, graph, known, instead, first)
    graph.nodes[:0] = first[::-1]
    _replace(graph, instead)


def _pool(graph: Graph, block: Graph | Block, known: dict, instead: dict, first: list[Node]) -> None:
    kept = []
    for node in block.nodes:
        for inner in node.blocks:
            _pool(graph, inner, known, instead, first)
        if not node.is_constant:
            kept.append(node)
            continue
        value = node.attributes.get("name", node.value)
        key = type(value), repr(value), node.outputs[0].type
        if isinstance(value, (bool, int, float, complex, str, type(None))) and key in known:
            instead[node.outputs[0]] = known[key]
            continue
        known[key] = node.outputs[0]
        first.append(node)
    block.nodes[:] = kept


def _replace(block: Graph | Block, instead: dict[Value, Value]) -> None:
    for node in block.nodes:
        node.inputs = [instead.get(v, v) for v in node.inputs]
        for inner in node.blocks:
            _replace(inner, instead)
    block.outputs = [instead.get(v, v) for v in block.outputs]


def sort_results(graph: Graph) -> None:
    """The results of branches and loops in the order in which they are first read; those that nothing reads come last."""
    places: dict[Value, int] = {}
    for i, v in enumerate(_reads(graph)):
        places.setdefault(v, i)
    for node in graph.all_nodes():
        if node.kind not in ("prim::If", "prim::Loop") or len(node.outputs) < 2:
            continue
        order = sorted(range(len(node.outputs)), key=lambda i: places.get(node.outputs[i], len(places) << 8))
        node.outputs = [node.outputs[i] for i in order]
        for block in node.blocks:
            shift = len(block.outputs) - len(order)  # a loop gives first whether it goes on
            block.outputs = [*block.outputs[:shift], *(block.outputs[shift + i] for i in order)]
            if shift:
                block.inputs = [block.inputs[0], *(block.inputs[1 + i] for i in order)]
        if node.kind == "prim::Loop":
            node.inputs = [*node.inputs[:2], *(node.inputs[2 + i] for i in order)]


def _reads(block: Graph | Block) -> Iterator[Value]:
    for node in block.nodes:
        yield from node.inputs
        for inner in node.blocks:
            yield from _reads(inner)
    yield from block.outputs
