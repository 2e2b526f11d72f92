"""The numbers that `.graph` of a traced module shows for values without a name.

torch records one graph of the whole call, in which each attribute and each operator's result has a number, and then cuts
it into methods: calls and what they need are numbered last. That graph begins with the module, its arguments, two values
of the recording itself, and for each module inside three values and its tensors.

So for modules of one argument that call each module inside once. Where there are more arguments or calls, some numbers differ
from torch's; they are only shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from ..ir.graph import Node, Value
from .builder import Frame

__all__ = ["number_values"]

_BEFORE, _OF_MODULE = 2, 3


def number_values(frames: list[Frame]) -> None:
    """Number the values of the graphs of a module's call: `frames` are those of the call and of the calls inside."""
    root = frames[0]
    if root.module is None:
        return
    modules = list(root.module.modules())[1:]
    free = len(root.graph.inputs) + _BEFORE + _tensors(root.module) + sum(_OF_MODULE + _tensors(m) for m in modules)
    numbers = root.graph.numbers
    calls = {id(f.call): f for f in frames[1:]}
    for node in _steps(root):
        child = calls.get(id(node))
        if child is None:
            for value in node.outputs:
                numbers[value] = free
                free += 1
        else:
            free += _results(child, calls)
    free += _read(root) + sum(_OF_MODULE + _read(f) for f in frames[1:])
    _number_calls(root, calls, free)
    for frame in frames[1:]:
        _number_method(frame, calls)


def _number_method(frame: Frame, calls: dict[int, Frame]) -> None:
    """The numbers of a method of a module inside: its arguments come last where it is called by the outermost."""
    numbers, given, inner = frame.graph.numbers, frame.graph.inputs[1:], frame.depth > 1
    heads = [v for n in frame.graph.nodes if _is_attribute(n) for v in n.outputs]
    steps = [v for n in _steps(frame) for v in (n.outputs or [None])]
    order = [frame.graph.inputs[0], *given * inner, *heads, *steps, *given * (not inner)]
    for number, value in enumerate(order):
        if value is not None:
            numbers[value] = number
    _number_calls(frame, calls, len(order))


def _number_calls(frame: Frame, calls: dict[int, Frame], first: int) -> None:
    numbers = count(first)
    for node in _steps(frame):
        if id(node) in calls:
            for value in node.outputs:
                frame.graph.numbers[value] = next(numbers)


def _steps(frame: Frame) -> Iterator[Node]:
    """The nodes of a graph but for those that read attributes."""
    return (node for node in frame.graph.nodes if not _is_attribute(node))


def _is_attribute(node: Node) -> bool:
    return node.kind == "prim::GetAttr"


def _results(frame: Frame, calls: dict[int, Frame]) -> int:
    """How many results the operators of a call and of the calls inside have."""
    return sum(_results(calls[id(n)], calls) if id(n) in calls else len(n.outputs) for n in _steps(frame))


def _read(frame: Frame) -> int:
    """How many tensors of its module a call reads."""
    read: list[Value] = [v for n in frame.graph.nodes if _is_attribute(n) for v in n.outputs]
    return sum(v.type.kind != "Class" for v in read)


def _tensors(module: Any) -> int:
    """How many parameters and buffers a module has itself."""
    return sum(t is not None for t in (*module._parameters.values(), *module._buffers.values()))
