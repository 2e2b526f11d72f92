"""Shapes and types of a graph's values, found by running it."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...core.tensor.tensor import Tensor
from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What `node.meta['tensor_meta']` says of a tensor."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]

    @classmethod
    def of(cls, t: Tensor) -> TensorMetadata:
        """What there is to say of a tensor."""
        return cls(t.shape, t.dtype, t.requires_grad, t.stride(), None, False, {})


class ShapeProp(Interpreter):
    """Runs a graph and notes `tensor_meta` and `type` in each node's `meta`."""

    def run_node(self, n: Node) -> Any:
        """The node's value, noted."""
        result = super().run_node(n)
        found = []

        def note(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            found.append(value)
            return TensorMetadata.of(value)

        meta = map_aggregate(result, note)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph on the arguments."""
        return self.run(*args)
