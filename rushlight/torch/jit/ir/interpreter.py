"""Running a graph: each node's function, in order, on Rushlight's tensors.

Operators run as if Python had called them: under autograd, with in-place writes, in the thread's modes.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

from .graph import Block, Graph, Node, Value, nodes_of, reads_of, values_of
from .literals import code_of, number_of, number_tensor
from .packed import is_packed_class
from .plain_operators import PlainOperator
from .running import runner

__all__ = ["Interpreter"]


class Interpreter:
    """A graph prepared for calls. A value is let go of after its last use."""

    def __init__(self, graph: Graph):
        slots: dict[Value, int] = {}
        for value in graph.all_values():
            slots.setdefault(value, len(slots))
        self._start: list[Any] = [None] * len(slots)
        self._arguments = [slots[v] for v in graph.inputs]
        self._result = slots[graph.outputs[0]]
        for node in graph.all_nodes():
            if node.is_constant:
                value = node.attributes.get("function", node.value)
                self._start[slots[node.outputs[0]]] = number_of(value) if node.attributes.get("is_number") else value
        self._steps = self._steps_of(graph, slots)
        self._free_after_last_use({slots[n.outputs[0]] for n in graph.all_nodes() if n.is_constant})

    def _steps_of(self, block: Graph | Block, slots: dict[Value, int]) -> list[_Step]:
        return [self._step(node, slots) for node in block.nodes if not node.is_constant]

    def _step(self, node: Node, slots: dict[Value, int]) -> _Step:
        inputs, outputs = [slots[v] for v in node.inputs], [slots[v] for v in node.outputs]
        if not node.blocks:
            return _function(node), inputs, outputs, len(outputs) != 1 or node.kind.endswith("Unpack"), []
        parts = [
            (self._steps_of(b, slots), [slots[v] for v in b.inputs], [slots[v] for v in b.outputs]) for b in node.blocks
        ]
        run = _branch(parts, inputs, outputs) if node.kind == "prim::If" else _loop(parts[0], inputs, outputs)
        read = [slots[v] for inner in node.blocks for n in nodes_of(inner) for v in reads_of(n)]
        read += [slots[v] for inner in node.blocks for v in values_of(inner)] + [s for _, _, out in parts for s in out]
        return run, [*inputs, *read], outputs, None, []

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
        _run(self._steps, values)
        return values[self._result]


_Step = tuple[
    Callable, list[int], list[int], Any, list[int]
]  # function, inputs, outputs, how it gives them, dead values


def _run(steps: list[_Step], values: list[Any]) -> None:
    for function, inputs, outputs, unpacks, dead in steps:
        if unpacks is None:  # it has blocks, which read and write the values themselves
            function(values)
        elif unpacks:
            result = function(*[values[i] for i in inputs])
            if not outputs:
                continue
            if len(result) != len(outputs):
                raise RuntimeError(f"Expected {len(outputs)} elements in a list but found {len(result)}")
            for slot, value in zip(outputs, result, strict=True):
                values[slot] = value
        else:
            values[outputs[0]] = function(*[values[i] for i in inputs])
        for slot in dead:
            values[slot] = None


def _move(values: list[Any], sources: list[int], places: list[int]) -> None:
    for place, value in zip(places, [values[i] for i in sources], strict=True):
        values[place] = value


def _branch(parts: list[tuple], inputs: list[int], outputs: list[int]) -> Callable[[list[Any]], None]:
    def run(values: list[Any]) -> None:
        steps, _, results = parts[0] if values[inputs[0]] else parts[1]
        _run(steps, values)
        _move(values, results, outputs)

    return run


def _loop(part: tuple, inputs: list[int], outputs: list[int]) -> Callable[[list[Any]], None]:
    steps, (count, *carried), (goes_on, *results) = part

    def run(values: list[Any]) -> None:
        trips, going, done = values[inputs[0]], values[inputs[1]], 0
        _move(values, inputs[2:], carried)
        while going and done < trips:
            values[count] = done
            _run(steps, values)
            going = values[goes_on]
            _move(values, results, carried)
            done += 1
        _move(values, carried, outputs)

    return run


def _function(node: Node) -> Callable:
    if isinstance(node.schema, PlainOperator):
        return node.schema.function
    if node.schema is not None:
        return runner(node.schema)
    if node.kind.startswith("^"):
        return node.attributes["function"]
    name = node.attributes.get("name")
    if node.kind == "prim::GetAttr":
        return lambda module: getattr(module, name)  # type: ignore[arg-type]
    if node.kind == "prim::SetAttr":
        return lambda module, value: module._set_attribute(name, value)  # type: ignore[arg-type]
    if node.kind == "prim::CallMethod" and is_packed_class(node.inputs[0].type.detail):
        return lambda packed, *args: getattr(packed, name)(*args)  # type: ignore[arg-type]
    if node.kind == "prim::CallMethod":
        return lambda module, *args: module._run_method(name, args)
    return _CONTAINERS[node.kind]


def _unpacked(container: Any) -> Any:
    return container


def _item(container: Any, key: Any) -> Any:
    return container[key]


def _raise(message: str, kind: str | None = None) -> None:
    error = getattr(builtins, (kind or "").rpartition(".")[2], None)
    raise (error if isinstance(error, type) and issubclass(error, Exception) else RuntimeError)(message)


_CONTAINERS: dict[str, Callable] = {
    "prim::TupleConstruct": lambda *parts: parts,
    "prim::ListConstruct": lambda *parts: list(parts),
    "prim::DictConstruct": lambda *parts: dict(zip(parts[::2], parts[1::2], strict=True)),
    "prim::TupleIndex": _item,
    "aten::__getitem__": _item,
    "prim::TupleUnpack": _unpacked,
    "prim::ListUnpack": _unpacked,
    "prim::NumToTensor": number_tensor,
    "prim::unchecked_cast": lambda value: value,
    "prim::Print": lambda *values: print(*values),
    "prim::RaiseException": _raise,
    "prim::CallFunction": lambda function, *arguments: function.run(arguments),
    "prim::dtype": lambda t: code_of(t.dtype),
    "prim::device": lambda t: t.device,
    "prim::min": min,
    "prim::max": max,
    "prim::abs": abs,
    "prim::is_quantized": lambda t: t.is_quantized,
    "prim::requires_grad": lambda t: t.requires_grad,
    "prim::data": lambda t: t.data,
    "prim::Uninitialized": lambda: None,
}
