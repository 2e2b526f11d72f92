"""The tape of one backward, read before the engine runs: its nodes, its leaves, and what they say of the loss.

A `Tape` lives as long as the event that it belongs to: nothing of it may be kept, since it holds the graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any

import numpy as np

from ..core.dispatch.inplace import CopySlices
from ..core.tensor.node import Freed, Leaf, Node, Output

__all__ = ["LOSSES", "MEANS", "VIEWS", "Tape", "constant_factor", "kind_of", "name_of", "saved"]

_by_seq, _shape_of = attrgetter("seq"), attrgetter("shape")

VIEWS = frozenset(
    [
        "view",
        "reshape",
        "squeeze",
        "unsqueeze",
        "flatten",
        "select",
        "slice",
        "permute",
        "transpose",
        "t",
        "expand",
        "contiguous",
        "clone",
        "movedim",
        "to",
        "_to_copy",
        "alias",
        "as_strided",
        "diagonal",
        "unflatten",
        "index",
        "part",
        "swapaxes",
        "copy",
    ]
)
"""Operators that move values and do not compute with them."""

LOSSES = frozenset(
    [
        "nll_loss",
        "nll_loss2d",
        "mse_loss",
        "l1_loss",
        "smooth_l1_loss",
        "huber_loss",
        "binary_cross_entropy",
        "binary_cross_entropy_with_logits",
        "kl_div",
        "poisson_nll_loss",
        "gaussian_nll_loss",
        "hinge_embedding_loss",
        "margin_ranking_loss",
        "soft_margin_loss",
        "multi_margin_loss",
        "multilabel_margin_loss",
        "cosine_embedding_loss",
        "triplet_margin_loss",
        "ctc_loss",
        "cross_entropy",
    ]
)
"""Operators that compare a model's output with a target."""

MEANS = frozenset(("mean", "nanmean"))


class Tape:
    """The nodes that some roots reach, latest first, and the leaves that they feed.

    roots: the edges of the tensors that the backward started from. signature: equal for tapes of the same operators and
    shapes, kinds: of the same operators. nodes, leaves: as the engine would visit them.
    """

    __slots__ = ("roots", "nodes", "leaves", "signature", "kinds", "_users")

    def __init__(self, roots: Iterable[Any]) -> None:
        self.roots = [edge for edge in roots if edge is not None]
        seen: set[Any] = set()
        leaves: dict[Leaf, None] = {}
        nodes: list[Node] = []
        stack: list[Any] = list(self.roots)
        while stack:
            edge = stack.pop()
            if type(edge) is Leaf:
                leaves[edge] = None
            elif edge is not None and edge not in seen:
                seen.add(edge)
                nodes.append(edge)
                stack += edge.edges
        nodes.sort(key=_by_seq, reverse=True)
        self.nodes, self.leaves = nodes, list(leaves)
        types = tuple(map(type, nodes))
        self.kinds = hash(types)
        self.signature = hash((types, tuple(map(_shape_of, nodes))))
        self._users: dict[Any, list[tuple[Node, int]]] | None = None

    def users(self, edge: Any) -> list[tuple[Node, int]]:
        """The nodes that an edge's value went into, each with the position among its inputs."""
        if self._users is None:
            self._users = {}
            for node in self.nodes:
                for i, e in enumerate(node.edges):
                    if e is not None:
                        self._users.setdefault(e, []).append((node, i))
        return self._users.get(edge, [])

    def bytes_held(self) -> int:
        """The memory that the nodes have saved, each array once; parameters are not counted, which live on their own."""
        own = {id(t._array) for leaf in self.leaves if (t := leaf.ref()) is not None}
        seen: dict[int, int] = {}
        for node in self.nodes:
            for value in node.saved if isinstance(node.saved, tuple) else ():
                array = getattr(value, "_array", value)
                if isinstance(array, np.ndarray) and id(array) not in own:
                    base = array if array.base is None else array.base
                    seen[id(base)] = max(seen.get(id(base), 0), array.nbytes)
        return sum(seen.values())

    def named(self, *names: str) -> Iterator[Node]:
        """The nodes of these operators, latest first."""
        return (node for node in self.nodes if name_of(node) in names)


def name_of(edge: Any) -> str:
    """The operator of a node; of a write into a view, the operator that wrote; '' for a leaf and for no history."""
    if type(edge) is CopySlices:
        edge = edge.inner
    op = getattr(edge, "op", None)
    return "" if op is None else op.name


def saved(node: Any, name: str) -> Any:
    """What a node keeps under a name of its operator's parameters, 'out' for its result; None where it keeps no such."""
    if type(node.saved) is Freed or name not in type(node).saved_names:
        return None
    return node.saved[type(node).saved_names.index(name)]


def _operator(edge: Any) -> str:
    """The name of an operator without that of its overload: `squeeze` of `squeeze.dim`."""
    return name_of(edge).partition(".")[0]


def behind(edge: Any, through: frozenset[str] = VIEWS) -> Any:
    """The first edge towards the leaves that is none of these operators, nor one of several results."""
    while edge is not None and type(edge) is not Leaf and (type(edge) is Output or _operator(edge) in through):
        edge = next((e for e in edge.edges if e is not None), None)
    return edge


def kind_of(edge: Any) -> str:
    """The operator of a node without its overload, 'softmax' or 'sigmoid' where the program has written one out: `x.exp() / x.exp().sum(1)`."""
    name = _operator(edge)
    if name == "exp" and name_of(behind(edge.edges[0])) == "log_softmax":
        return "softmax"
    if name not in ("div", "reciprocal"):
        return name
    first, last = behind(edge.edges[0]), behind(edge.edges[-1])
    if name == "div" and name_of(first) == "exp" and name_of(last).startswith("sum"):
        return "softmax" if name_of(behind(last.edges[0])) == "exp" else name
    if name_of(last) == "add" and (name == "reciprocal" or edge.edges[0] is None):
        inputs = [behind(e) for e in last.edges if e is not None]
        return "sigmoid" if len(inputs) == 1 and name_of(inputs[0]) == "exp" else name
    return name


def inputs_of(edge: Any) -> list[Any]:
    """The edges of a node's inputs, seen through operators that only move values."""
    return [behind(e) for e in edge.edges if e is not None]


def number_in(value: Any) -> float | None:
    """A Python number, or that in a tensor of one element."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    array = getattr(value, "_array", None)
    if array is not None and array.size == 1 and array.dtype.kind in "fiu":
        return float(array)
    return None


def constant_factor(root: Any) -> tuple[float, Any]:
    """(what the loss is multiplied by on its way to the root, the edge before that): `loss / 4` gives 0.25."""
    factor, edge = 1.0, behind(root)
    while name_of(edge) in ("mul", "div") and sum(e is not None for e in edge.edges) == 1:
        by = number_in(saved(edge, "y" if edge.edges[0] is not None else "x"))
        if not by or (name_of(edge) == "div" and edge.edges[0] is None):
            break
        factor = factor * by if name_of(edge) == "mul" else factor / by
        edge = behind(next(e for e in edge.edges if e is not None))
    return factor, edge


def divided_by_tensors(root: Any) -> float:
    """The product of the tensors of one element that a loss is divided by on its way to the root: numbers that were counted."""
    product, edge = 1.0, behind(root)
    while name_of(edge) in ("mul", "div") and sum(e is not None for e in edge.edges) == 1 and edge.edges[0] is not None:
        value = saved(edge, "y")
        if name_of(edge) == "div" and hasattr(value, "_array") and (by := number_in(value)):
            product *= by
        edge = behind(edge.edges[0])
    return product


def terms(edge: Any, limit: int = 16) -> list[tuple[float, Any]]:
    """The terms of a sum of losses, each with its constant factor: `a + 0.5 * b` gives (1.0, a), (0.5, b)."""
    found: list[tuple[float, Any]] = []
    waiting = [(1.0, edge)]
    while waiting and len(found) < limit:
        factor, edge = waiting.pop()
        by, edge = constant_factor(edge)
        factor *= by
        if name_of(edge) in ("add", "sub") or name_of(edge) in ("stack", "cat"):
            waiting += [(factor, e) for e in edge.edges if e is not None]
        else:
            found.append((factor, edge))
    return found


def is_mean(edge: Any) -> bool:
    """Whether a value is the mean over a batch: a loss with reduction='mean', or `mean()` over the first dimension."""
    name = name_of(edge)
    if name in MEANS:
        return True
    return name in LOSSES and saved(edge, "reduction") == "mean"
