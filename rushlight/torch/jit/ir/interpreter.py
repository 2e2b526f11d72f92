"""Running a graph: each node's function, in order, on Rushlight's tensors.

Operators run as if Python had called them: under autograd, with in-place writes, in the thread's modes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .graph import Graph, Node, Value
from .literals import number_tensor
from .running import runner

__all__ = ["Interpreter"]


class Interpreter:
    """A graph prepared for calls. A value is let go of after its last use."""

    def __init__(self, graph: Graph):
        slots: dict[Value, int] = {}
        for value in [*graph.inputs, *(v for node in graph.nodes for v in node.outputs)]:
            slots.setdefault(value, len(slots))
        self._start: list[Any] = [None] * len(slots)
        self._arguments = [slots[v] for v in graph.inputs]
        self._result = slots[graph.outputs[0]]
        self._steps: list[tuple[Callable, list[int], list[int], bool, list[int]]] = []
        for node in graph.nodes:
            if node.is_constant:
                self._start[slots[node.outputs[0]]] = node.value
            else:
                self._add(node, slots)
        self._free_after_last_use({slots[n.outputs[0]] for n in graph.nodes if n.is_constant})

    def _add(self, node: Node, slots: dict[Value, int]) -> None:
        outputs = [slots[v] for v in node.outputs]
        unpacks = len(outputs) != 1 or node.kind.endswith("Unpack")
        self._steps.append((_function(node), [slots[v] for v in node.inputs], outputs, unpacks, []))

    def _free_after_last_use(self, kept: set[int]) -> None:
        seen = {self._result} | kept
        for _, inputs, outputs, _, dead in reversed(self._steps):
            for slot in {*inputs, *outputs} - seen:
                dead.append(slot)
                seen.add(slot)

    def run(self, arguments: Sequence[Any]) -> Any:
        """What the graph gives for a value for each of its inputs."""
        values = self._start.copy()
        for slot, value in zip(self._arguments, arguments, strict=True):
            values[slot] = value
        for function, inputs, outputs, unpacks, dead in self._steps:
            result = function(*[values[i] for i in inputs])
            if unpacks:
                if len(result) != len(outputs):
                    raise RuntimeError(f"Expected {len(outputs)} elements in a list but found {len(result)}")
                for slot, value in zip(outputs, result, strict=True):
                    values[slot] = value
            else:
                values[outputs[0]] = result
            for slot in dead:
                values[slot] = None
        return values[self._result]


def _function(node: Node) -> Callable:
    if node.schema is not None:
        return runner(node.schema)
    if node.kind.startswith("^"):
        return node.attributes["function"]
    name = node.attributes.get("name")
    if node.kind == "prim::GetAttr":
        return lambda module: getattr(module, name)  # type: ignore[arg-type]
    if node.kind == "prim::CallMethod":
        return lambda module, *args: module._run_method(name, args)
    return _CONTAINERS[node.kind]


def _unpacked(container: Any) -> Any:
    return container


def _item(container: Any, key: Any) -> Any:
    return container[key]


_CONTAINERS: dict[str, Callable] = {
    "prim::TupleConstruct": lambda *parts: parts,
    "prim::ListConstruct": lambda *parts: list(parts),
    "prim::DictConstruct": lambda *parts: dict(zip(parts[::2], parts[1::2], strict=True)),
    "prim::TupleIndex": _item,
    "aten::__getitem__": _item,
    "prim::TupleUnpack": _unpacked,
    "prim::ListUnpack": _unpacked,
    "prim::NumToTensor": number_tensor,
}
