"""A graph with the graphs of the methods that it calls in their places."""

from __future__ import annotations

from typing import Any, NamedTuple

from .class_names import is_script
from .graph import Block, Graph, Node, Value

__all__ = ["inlined"]


def inlined(graph: Graph, module: Any) -> Graph:
    """The graph of a method of `module` without calls of methods."""
    result = Graph(graph.name)
    result.inputs = [Value(v.type, v.hint) for v in graph.inputs]
    result.outputs = [_copy(graph, result.inputs, module, result)]
    return result


def _copy(graph: Graph, arguments: list[Value], module: Any, into: Graph | Block) -> Value:
    """Add the nodes of `graph` for these arguments; its result."""
    at = dict(zip(graph.inputs, arguments, strict=True))
    _copy_nodes(graph, into, _Known(at, {graph.inputs[0]: module}, {}))
    return at[graph.outputs[0]]


class _Known(NamedTuple):
    """at: the copies of values; modules: what values are modules; tuples: of what results the parts are known."""

    at: dict[Value, Value]
    modules: dict[Value, Any]
    tuples: dict[Value, list[Value]]


def _copy_nodes(block: Graph | Block, into: Graph | Block, known: _Known) -> None:
    at, modules, tuples = known
    for node in block.nodes:
        if node.kind == "prim::CallMethod" and not is_script(modules[node.inputs[0]]):
            callee = modules[node.inputs[0]]
            method = callee._methods[node.attributes["name"]].graph
            at[node.outputs[0]] = _copy(method, [at[v] for v in node.inputs], callee, into)
            maker = next((n for n in into.nodes if at[node.outputs[0]] in n.outputs), None)
            if maker is not None and maker.kind == "prim::TupleConstruct":
                tuples[node.outputs[0]] = maker.inputs
            continue
        if node.kind == "prim::TupleUnpack" and node.inputs[0] in tuples:
            at |= dict(zip(node.outputs, tuples[node.inputs[0]], strict=True))
            continue
        if node.kind == "prim::GetAttr" and node.inputs[0] in modules:
            found = getattr(modules[node.inputs[0]], node.attributes["name"])
            if hasattr(found, "_methods"):
                modules[node.outputs[0]] = found
        at |= {v: Value(v.type, v.hint) for v in node.outputs}
        inputs, outputs = [at[v] for v in node.inputs], [at[v] for v in node.outputs]
        copy = Node(node.kind, inputs, outputs, node.attributes, node.schema, node.place, node.scope)
        copy.program_place = node.program_place
        into.nodes.append(copy)
        copy.blocks = [_copied_block(inner, known) for inner in node.blocks]


def _copied_block(block: Block, known: _Known) -> Block:
    copy = Block()
    copy.inputs = [Value(v.type, v.hint) for v in block.inputs]
    known.at.update(zip(block.inputs, copy.inputs, strict=True))
    _copy_nodes(block, copy, known)
    copy.outputs = [known.at[v] for v in block.outputs]
    return copy
