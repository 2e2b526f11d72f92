"""What torch's graph shows for an affine map, which is one operator here: x w^T + b has a product and a transpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from ...core.tensor.node import function_of, inner

_graphs: WeakKeyDictionary[Any, tuple] = WeakKeyDictionary()


def affine_graph(rows: str, product: str, first: str) -> Callable[[Any], tuple]:
    """What torch's graph shows for an affine map's node: a product inside, of the input's rows and a transpose.

    rows: the node by which the input becomes a matrix, or "" for one; product: the node inside, or "" if it is the node.
    """

    def shown(node: Any) -> tuple:
        if node not in _graphs:
            x, weight, bias = node.edges
            x = x if x is None or not rows else inner(rows, x)
            edges = (x, weight if weight is None else inner("TBackward0", weight))
            edges = (bias, *edges) if first == "bias" else edges
            _graphs[node] = tuple(function_of(e) for e in ((inner(product, *edges),) if product else edges))
        return _graphs[node]

    return shown
