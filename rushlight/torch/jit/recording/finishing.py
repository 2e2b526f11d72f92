"""A recorded program as graphs: what nothing reads is left out, and calls return one value."""

from __future__ import annotations

from ..ir.graph import NONE, TENSOR, Block, Graph, Node, Type, Value, list_with, reads_of
from ..ir.names import Names
from .builder import Builder, Frame
from .numbering import number_values

__all__ = ["finish"]


def finish(build: Builder, result: Value) -> list[tuple[Frame, Graph]]:
    """The graph of each call, the outer ones first. result: what the traced function returns."""
    frames = list(build.frames())
    for frame in frames:
        frame.graph.nodes[:0] = frame.head
    build.root.graph.outputs = [result]
    while sum(map(_prune, frames)):  # in each round each frame
        pass
    kept = [frame for frame in frames if _is_called(frame)]
    names = Names()
    _name(build.root, names)
    for frame in kept:
        for value in frame.graph.all_values():
            value.hint = names.of.get(value, "")
    for frame in kept:
        for outer, argument in zip(frame.call.inputs if frame.call else (), frame.graph.inputs, strict=False):
            argument.hint = argument.hint or outer.hint
    for frame in kept:
        _return_one(frame)
    number_values(kept)
    return [(frame, frame.graph) for frame in kept]


def _name(frame: Frame, names: Names) -> None:
    """Give the values of a call, and of those inside, the names that they have in one graph of the whole trace."""
    called = {id(child.call): child for child in frame.children}
    for value in frame.graph.inputs[: None if frame.call is None else 1]:
        if value.hint:
            names.take(value, value.hint)
    for node in frame.graph.all_nodes():
        child = called.get(id(node))
        if child is not None:
            _name(child, names)
        for value in () if child is not None else node.outputs:
            if value.hint:
                names.take(value, value.hint)


def _is_called(frame: Frame) -> bool:
    while frame.parent is not None:
        if all(node is not frame.call for node in frame.parent.graph.all_nodes()):
            return False
        frame = frame.parent
    return True


def _prune(frame: Frame) -> bool:
    """Leave out nodes whose results are not read and that change nothing. Whether there were any."""
    called = {id(child.call): child for child in frame.children}
    used = set(frame.graph.outputs) | set(frame.exports)
    changed = _prune_nodes(frame.graph, used, called)
    return _drop_arguments(frame, used) or changed


def _prune_nodes(block: Graph | Block, used: set[Value], called: dict[int, Frame]) -> bool:
    """`_prune` for the nodes of a block. used: the values that are read after it, to which those that it reads are added."""
    kept: list[Node] = []
    changed = False
    for node in reversed(block.nodes):
        child = called.get(id(node))
        if child is not None:
            changed |= _drop_results(child, used)
        if _node_writes(node, called) or any(v in used for v in node.outputs):
            used.update(reads_of(node))
            for inner in node.blocks:
                changed |= _prune_nodes(inner, used, called)
            kept.append(node)
    changed |= len(kept) < len(block.nodes)
    block.nodes[:] = kept[::-1]
    return changed


def _drop_results(child: Frame, used: set[Value]) -> bool:
    dead = [inner for inner, outer in child.exports.items() if outer not in used]
    for inner in dead:
        assert child.call is not None
        child.call.outputs.remove(child.exports.pop(inner))
    return bool(dead)


def _drop_arguments(frame: Frame, used: set[Value]) -> bool:
    """Arguments of a call of a module, other than the module, that are no longer read."""
    if frame.call is None:
        return False
    dead = [i for i, value in enumerate(frame.graph.inputs) if i and value not in used]
    for i in reversed(dead):
        del frame.graph.inputs[i], frame.call.inputs[i]
    return bool(dead)


def _writes(frame: Frame) -> bool:
    called = {id(child.call): child for child in frame.children}
    return any(_node_writes(node, called) for node in frame.graph.nodes)


def _node_writes(node: Node, called: dict[int, Frame]) -> bool:
    if node.writes or (id(node) in called and _writes(called[id(node)])):
        return True
    return any(_node_writes(n, called) for block in node.blocks for n in block.nodes)


def _return_one(frame: Frame) -> None:
    """Let a call return one value: None, a tensor, or a tuple that the caller unpacks."""
    if frame.call is None or frame.parent is None:
        return
    inner, outer = list(frame.exports), frame.call.outputs
    if len(inner) == 1:
        frame.graph.outputs = inner
        if outer[0].type.kind == "Tensor":
            outer[0].type = TENSOR  # of what a call gives torch does not show more
    elif not inner:
        none = Value(NONE, "", frame)
        frame.graph.nodes.append(Node("prim::Constant", [], [none], {"value": None}))
        frame.graph.outputs, frame.call.outputs = [none], [Value(NONE, "", frame.parent)]
    else:
        kind = Type("Tuple", tuple(TENSOR if v.type.kind == "Tensor" else v.type for v in inner))
        both = Value(kind, "", frame)
        frame.graph.nodes.append(Node("prim::TupleConstruct", inner, [both]))
        frame.graph.outputs = [both]
        whole = Value(kind, "", frame.parent)
        nodes = list_with(frame.parent.graph, frame.call)
        nodes.insert(nodes.index(frame.call) + 1, Node("prim::TupleUnpack", [whole], outer))
        frame.call.outputs = [whole]
