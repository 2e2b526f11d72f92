"""One graph made part of another: a program that runs while a recorder listens is recorded as what it is made of."""

from __future__ import annotations

from typing import Any

from ..ir.graph import Call, Graph, Ref, Update, Value, Write
from .sources import CaptureError

__all__ = ["Splice", "copied"]


class Splice:
    """Copies nodes; `place` says what takes the place of the values that they only read."""

    def __init__(self) -> None:
        self.windows: dict[Value, Ref] = {}  # by the value of the original, all of it in the copy
        self.placed: set[Value] = set()

    def place(self, value: Value, window: Ref) -> None:
        """Let `window`, which shows memory of the same geometry, be what `value` is in the copy."""
        self.windows[value] = window
        self.placed.add(value)

    def value(self, value: Value) -> Value:
        """A new value for one that a node writes, or that no node reads any more."""
        new = Value(value.shape, value.dtype, value.strides, value.name)
        self.windows[value] = new.ref()
        return new

    def ref(self, ref: Ref) -> Ref:
        """The window that the copy has for one of the original's."""
        known = self.windows.get(ref.value)
        if known is None:
            known = self.value(ref.value).ref()
        return Ref(known.value, ref.shape, ref.strides, known.offset + ref.offset)

    def node(self, node: Any) -> Call | Write | Update:
        """The copy of a node, whose results are new values."""
        if isinstance(node, Call):
            operands = tuple(self._any(o) for o in node.operands)
            return Call(node.record, operands, node.metadata, node.cast, tuple(map(self._any, node.results)), node.line)
        if isinstance(node, Write):
            if node.target.value in self.placed and not self.windows[node.target.value].is_whole():
                raise CaptureError("a program that is part of another writes into a part of its memory")
            return Write(self.ref(node.target), self.ref(node.source), self.value(node.result), node.line)
        raise CaptureError(f"a program that is part of another contains a {type(node).__name__}")

    def _any(self, operand: Any) -> Any:
        return self.ref(operand) if isinstance(operand, Ref) else operand


def copied(graph: Graph) -> Graph:
    """A graph of values of its own, which passes over the original leave as they are."""
    copy, splice = Graph(), Splice()
    copy.inputs = {splice.value(v): source for v, source in graph.inputs.items()}
    copy.constants = {splice.value(v): array for v, array in graph.constants.items()}
    copy.nodes = [splice.node(n) for n in graph.nodes]
    copy.outputs = [(splice.ref(r), target) for r, target in graph.outputs]
    return copy
