"""Sparse tensors by their places, and the gradient of those that are leaves: of all elements, or of the stored ones.

What was computed has the history of its values (`_held`) and, where that has one, of what it does not store (`_left`). Behind a leaf
that requires grad is a tensor of its whole size, zeros that take no memory. Values and rest come from it by one operator each,
whenever they are asked for, so its gradient is the leaf's: dense where an operator's gradient reaches all elements, as that of `mm`
does, else sparse, at the leaf's places.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.dispatch.mode import thread
from ..core.dispatch.op import primitive
from ..core.tensor.tensor import Tensor, alias, wrap
from .entries import unstored
from .without_array import WithoutArray


@primitive(name="sparse_stored", public=False, view=True, node="SparseStoredBackward0")
def stored(values, whole, /, pattern):
    """The values of the leaf `pattern`, with the history of `whole`: its gradient has the leaf's places and layout."""
    return values[...]


@stored.vjp("whole")
def _(g, pattern):
    return pattern._gradient(g)._coalesced_(False)  # as torch's is, although its places are sorted where the leaf's are


class Sparse(WithoutArray):
    """What the sparse layouts have in common: values at places, and a leaf's tensor of the whole size."""

    __slots__ = ()
    _held: Tensor
    _left: Tensor | None = None
    _whole: Tensor | None = None

    @property
    def _entries(self) -> Tensor:
        if self._whole is None or not thread.state.grad:
            return self._held
        return stored(self._held, self._whole, self.detach())

    @_entries.setter
    def _entries(self, values: Tensor) -> None:
        self._held = values

    @property
    def _rest(self) -> Tensor | None:
        if self._whole is None or not thread.state.grad or self.dense_dim():  # type: ignore[attr-defined]
            return self._left
        return unstored(self._whole, wrap(self._flat()))

    @_rest.setter
    def _rest(self, rest: Tensor | None) -> None:
        self._left = rest

    def _flat(self) -> np.ndarray:
        """The places of the entries in the sparse dimensions taken together."""
        raise NotImplementedError

    @property
    def _edge(self) -> Any:
        return (self._held if self._whole is None else self._whole)._edge

    @_edge.setter
    def _edge(self, edge: Any) -> None:
        if self._whole is None:
            self._held._edge = edge
        elif edge is None:
            self._whole = None
        else:
            self._whole._edge = edge

    @property
    def _grad(self) -> Any:
        if self._whole is not None:
            return self._whole._grad
        g = self._held._grad
        return None if g is None else self._gradient(g)

    @_grad.setter
    def _grad(self, value: Any) -> None:
        if value is not None and value._array.shape != self._array.shape:
            raise RuntimeError(f"expected a gradient of size {list(self.shape)}, got {list(value.shape)}")
        if self._whole is not None:
            self._whole._grad = value
        else:
            self._held._grad = None if value is None else self._values_like_mine(value)

    def _as_gradient(self, g: Any) -> Any:
        """What the engine found for this tensor's `_edge`, as the gradient of the tensor."""
        return g if self._whole is not None else self._gradient(g)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Say in place whether operations on this leaf are recorded. Returns the tensor."""
        if requires_grad and self._edge is None:
            self._check_can_require_grad()
            self._held = alias(self._held, Tensor)
            self._whole = wrap(
                np.broadcast_to(np.zeros((), self._held._array.dtype), self._array.shape)
            ).requires_grad_()
        elif self._whole is None:
            self._held.requires_grad_(requires_grad)
        elif not requires_grad:
            self._whole = None
        return self

    def detach(self) -> Any:
        """The tensor without history; it shares its values' memory."""
        return self._like(self._held.detach())

    def detach_(self) -> Any:
        """Cut the tensor from its history in place."""
        self._held, self._left, self._whole = self._held.detach(), None, None
        return self

    @property
    def data(self) -> Any:
        return self._like(self._held.data)

    def retain_grad(self) -> None:
        """Keep `.grad` of this tensor in backward. Does nothing for a leaf."""
        if self._whole is None:
            self._held.retain_grad()

    @property
    def retains_grad(self) -> bool:
        return self._whole is None and self._held.retains_grad

    def register_hook(self, hook: Any) -> Any:
        """Call `hook(grad)` with the gradient of this tensor; it may return another one."""
        return super().register_hook(hook) if self._whole is None else self._whole.register_hook(hook)

    def backward(self, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False, inputs: Any = None):
        """Accumulate the gradients of this tensor into the leaves it depends on."""
        if self._whole is None:
            super().backward(gradient, retain_graph, create_graph, inputs)
        else:
            self._whole.backward(gradient, retain_graph, create_graph, inputs=inputs)  # type: ignore[attr-defined]


__all__ = ["Sparse"]
