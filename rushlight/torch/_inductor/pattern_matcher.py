"""`torch._inductor.pattern_matcher`: replacing what computes one function by another in graphs of operators.

A pass of `torch.compile` that a program adds (`config.post_grad_custom_post_pass`) applies a `PatternMatcherPass` to the graph.
A pattern is a function's graph; its arguments match anything. First its numbers match any, since sizes may be among them. Then
pattern and place are compared whole, with the pattern traced once more for tensors as the place has them.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...core.dispatch.mode import no_grad
from ...core.tensor.tensor import Tensor
from ...fx import Graph, GraphModule, Node
from ...fx.subgraph_rewriter import matches
from ...ops.creation.filled import zeros
from .._dynamo.utils import count
from .._functorch.proxy_tensor import make_fx

__all__ = ["Match", "PatternMatcherPass", "fwd_only", "register_replacement"]


def fwd_only(fn: Callable, args: Sequence[Any], *, run_functional_passes: bool = True) -> GraphModule:
    """The graph of `fn` for these arguments, without a backward. run_functional_passes: torch's own, of which there are none here."""
    with no_grad():
        return make_fx(fn)(*args)


class Match:
    """A place of a graph that computes a pattern.

    nodes: those that are replaced, in the pattern's order. kwargs: what each argument of the pattern is there.
    """

    def __init__(self, nodes: list[Node], kwargs: dict[str, Any]):
        self.nodes, self.kwargs = nodes, kwargs
        self.args: list[Any] = []

    @property
    def graph(self) -> Graph:
        """The graph that the place is in."""
        return self.nodes[-1].graph

    def output_node(self) -> Node:
        """The node of the result."""
        return self.nodes[-1]

    def erase_nodes(self) -> None:
        """Take out what nothing uses any more."""
        for node in reversed(self.nodes):
            if not node._erased and not node.users:
                self.graph.erase_node(node)


class _Replacement:
    """search, replace: the functions; trace: makes their graphs; check: whether a match is to be replaced."""

    def __init__(self, search: Callable, replace: Callable, trace: Callable, check: Callable, pattern: GraphModule):
        self.search, self.replace, self.trace, self.check = search, replace, trace, check
        self.pattern = pattern.graph
        self.names = list(inspect.signature(search).parameters)

    def apply(self, node: Node) -> bool:
        """Replace what ends at a node. Whether it did."""
        known: dict[Node, Any] = {}
        if not _ends_alike(self.pattern, node, known, is_exact=False):
            return False
        inputs = [known.get(p) for p in self.pattern.find_nodes(op="placeholder")]
        given = [_example(v) for v in inputs]
        try:
            exact = self.trace(self.search, given).graph
        except RuntimeError:  # the pattern, with its own numbers, does not take tensors of these sizes
            return False
        known = {}
        if not _ends_alike(exact, node, known, is_exact=True):
            return False
        inside = [known[n] for n in exact.nodes if n.op != "placeholder" and isinstance(known.get(n), Node)]
        if any(user not in inside for n in inside if n is not node for user in n.users):
            return False
        match = Match(inside, dict(zip(self.names, inputs, strict=True)))
        if not self.check(match):
            return False
        new = self.trace(self.replace, given)
        values = dict(zip(new.graph.find_nodes(op="placeholder"), inputs, strict=True))
        with match.graph.inserting_before(node):
            result = _copied(new, match.graph, values)
        node.replace_all_uses_with(result)
        match.erase_nodes()
        count("inductor", "pattern_matcher_count")
        count("inductor", "pattern_matcher_nodes", len(inside))
        return True


def _example(value: Any) -> Any:
    """A tensor of the size and type of a node's; what is no node as it is."""
    if not isinstance(value, Node):
        return value
    seen = value.meta["val"]
    return zeros(seen.shape, dtype=seen.dtype) if isinstance(seen, Tensor) else seen


def _ends_alike(pattern: Graph, node: Node, known: dict[Node, Any], is_exact: bool) -> bool:
    result = pattern.output_node().args[0]
    if isinstance(result, (tuple, list)) and len(result) == 1:
        result = result[0]
    return isinstance(result, Node) and matches(result, node, known, _function, operator.eq if is_exact else _alike)


def _alike(wanted: Any, given: Any) -> bool:
    return {type(wanted), type(given)} <= {int, float, bool} or wanted == given


def _function(node: Node) -> Any:
    """What a node calls; of a constant of the graph nothing is known, so that it equals itself only."""
    return node if node.op == "get_attr" else getattr(node.target, "func", node.target)


def _copied(module: GraphModule, graph: Graph, values: dict[Node, Any]) -> Any:
    """The nodes of a module's graph in another graph, with the constants that they read; the copy of its result."""
    owner = graph.owning_module
    for node in module.graph.nodes:
        if node.op == "get_attr":
            name = f"_replacement_constant{sum(k.startswith('_replacement_constant') for k in vars(owner))}"
            setattr(owner, name, getattr(module, node.target))
            values[node] = graph.get_attr(name)
            values[node].meta = dict(node.meta)
    result: Any = graph.graph_copy(module.graph, values)
    return result[0] if isinstance(result, (tuple, list)) else result


class PatternMatcherPass:
    """Patterns that are replaced where `apply` finds them. pass_name: for the reader; subsystem: for torch's logs."""

    def __init__(self, pass_name: str | None = None, subsystem: str | None = None):
        self.pass_name, self.subsystem = pass_name, subsystem
        self.patterns: list[_Replacement] = []

    def apply(self, gm: GraphModule | Graph) -> int:
        """Replace the patterns in a graph, from its end; each place by the first that fits. The number of places."""
        graph = gm.graph if isinstance(gm, GraphModule) else gm
        replaced = 0
        for node in reversed(list(graph.nodes)):
            if not node._erased and node.op == "call_function":
                replaced += any(p.apply(node) for p in self.patterns)
        return replaced


def register_replacement(
    search_fn: Callable,
    replace_fn: Callable,
    example_inputs: Iterable[Any],
    trace_fn: Callable,
    pass_dicts: PatternMatcherPass | Sequence[PatternMatcherPass],
    extra_check: Callable[[Match], bool] = lambda match: True,
    scalar_workaround: dict[str, float | int] | None = None,
    exclusive_arg_names: Sequence[str] = (),
    search_fn_pattern: Any = None,
    skip_duplicates: bool = False,
) -> bool:
    """Let passes replace what computes `search_fn` by `replace_fn`, which take the same tensors and give one.

    Args:
        trace_fn: makes their graphs: `fwd_only`.
        extra_check: gets each match before it is replaced; False leaves it.

    Raises:
        NotImplementedError: `scalar_workaround`, `exclusive_arg_names`, `search_fn_pattern`; a pattern of several results.
    """
    if scalar_workaround or exclusive_arg_names or search_fn_pattern is not None:
        raise NotImplementedError(
            "register_replacement: scalar_workaround, exclusive_arg_names and search_fn_pattern are not implemented"
        )
    pattern = trace_fn(search_fn, list(example_inputs))
    result = pattern.graph.output_node().args[0]
    if not isinstance(result, Node) and len(result) != 1:
        raise NotImplementedError("register_replacement: patterns of several results are not implemented")
    entry = _Replacement(search_fn, replace_fn, trace_fn, extra_check, pattern)
    for one in [pass_dicts] if isinstance(pass_dicts, PatternMatcherPass) else pass_dicts:
        if not (skip_duplicates and any(_is_same(entry.pattern, p.pattern) for p in one.patterns)):
            one.patterns.append(entry)
    return True


def _is_same(a: Graph, b: Graph) -> bool:
    known: dict[Node, Any] = {}
    found = _ends_alike(a, b.output_node().args[0], known, is_exact=True)
    return found and all(
        isinstance(v, Node) and v.op == "placeholder" for n, v in known.items() if n.op == "placeholder"
    )
