"""How a joint graph, of a forward pass and its backward, becomes two: `partition_fn` of `aot_function`."""

from __future__ import annotations

from typing import Any

from ...fx import Graph, GraphModule, Node
from .proxy_tensor import BACKWARD, has_effect

__all__ = ["default_partition", "min_cut_rematerialization_partition"]


def _is_primal(node: Node) -> bool:
    """Whether a node of a joint graph is an input of the function: `primals_1`, ..."""
    return node.op == "placeholder" and not _is_tangent(node)


def _is_tangent(node: Node) -> bool:
    """Whether a node of a joint graph is the gradient of a result: `tangents_1`, ..."""
    return node.op == "placeholder" and node.name.startswith("tangents")


def default_partition(
    joint_module: GraphModule, _joint_inputs: Any, *, num_fwd_outputs: int, **options: Any
) -> tuple[GraphModule, GraphModule]:
    """(forward, backward): the forward pass also returns what the backward pass needs of it, which is given that first.

    joint_module: takes inputs and tangents (`tangents_1`, ...), and returns `num_fwd_outputs` results and the gradients.
    """
    nodes = list(joint_module.graph.nodes)
    results = list(nodes[-1].args[0])
    backward = _backward_nodes(nodes)
    later = [n for n in nodes[:-1] if n in backward]
    needed = {used for n in later for used in n.all_input_nodes}
    needed |= {r for r in results[num_fwd_outputs:] if isinstance(r, Node)}
    saved = [n for n in nodes if n in needed and n not in backward and n.op != "get_attr"]
    inputs = [n for n in nodes if n.op == "placeholder"]
    earlier = [n for n in nodes[:-1] if n not in backward and n.op != "placeholder"]
    primals = [n for n in inputs if n not in backward]
    tangents = [n for n in inputs if n in backward]
    constants = [n for n in nodes if n in needed and n.op == "get_attr"]
    forward = _graph(joint_module, primals, earlier, [*results[:num_fwd_outputs], *saved])
    after = _graph(joint_module, [*saved, *tangents], [*constants, *later], results[num_fwd_outputs:])
    return forward, after


def min_cut_rematerialization_partition(
    joint_module: GraphModule, _joint_inputs: Any, compiler: str = "inductor", *, num_fwd_outputs: int, **options: Any
) -> tuple[GraphModule, GraphModule]:
    """The same as `default_partition`: nothing is computed a second time to save memory."""
    return default_partition(joint_module, _joint_inputs, num_fwd_outputs=num_fwd_outputs)


def _backward_nodes(nodes: list[Node]) -> set[Node]:
    """The tangents, and the nodes that the backward pass added or that depend on them."""
    found: set[Node] = set()
    for n in nodes[:-1]:
        if _is_tangent(n) or n.meta.get("partitioner_tag") == BACKWARD or found.intersection(n.all_input_nodes):
            found.add(n)
    return found


def _graph(module: GraphModule, inputs: list[Node], body: list[Node], results: list) -> GraphModule:
    graph, copies = Graph(), {}
    for n in inputs:
        copies[n] = graph.placeholder(n.name)
        copies[n].meta = dict(n.meta)
    for n in body:
        if n.op != "placeholder":
            copies[n] = graph.node_copy(n, copies.__getitem__)
    graph.output(tuple(copies[r] if isinstance(r, Node) else r for r in results))
    graph.eliminate_dead_code(has_effect)
    return GraphModule(module, graph)
