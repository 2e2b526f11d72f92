"""How nested tensors are made: of lists, of tensors, of sequences in one tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ops
from ...core.dispatch.mode import no_grad
from ...core.tensor.layout import jagged, strided
from ...core.tensor.tensor import Tensor, wrap
from . import rules as rules  # what functions do
from .tensor import NestedTensor, of_parts, of_values

__all__ = ["copied", "from_jagged", "joined", "narrowed"]


def copied(items: Any, dtype: Any, layout: Any, device: Any, requires_grad: bool, pin_memory: bool) -> Any:
    """A leaf of copies."""
    if not isinstance(items, (list, tuple)):
        raise TypeError("Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in nested_tensor")
    if pin_memory:
        raise NotImplementedError("nested_tensor: pin_memory is not implemented")
    with no_grad():
        tensors = [t.detach() if isinstance(t, Tensor) else ops.tensor(t, dtype=dtype) for t in items]
        made = joined(tensors, dtype, device, layout)
        if len(tensors) == 1:
            made = made.clone()
    return made.requires_grad_() if requires_grad else made


def joined(items: Any, dtype: Any, device: Any, layout: Any) -> Any:
    """A nested tensor of tensors, with their history."""
    if layout not in (strided, jagged):
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}")
    if isinstance(items, NestedTensor):
        if items.layout is not layout:
            raise NotImplementedError("as_nested_tensor of a nested tensor of another layout")
        return items
    if not isinstance(items, (list, tuple, Tensor)):
        raise TypeError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors ")
    parts = list(items.unbind()) if isinstance(items, Tensor) else list(items)
    for i, t in enumerate(parts):
        if not isinstance(t, Tensor):
            raise TypeError("as_nested_tensor(): Expected list / tuple elements to be tensors")
        if t.dim() != parts[0].dim():
            raise RuntimeError(
                "All Tensors given to nested_tensor must have the same dimension. Found dimension "
                f"{t.dim()} for Tensor at index {i} and dimension {parts[0].dim()} for Tensor at index 0."
            )
    kind = dtype or (parts[0].dtype if parts else None)
    parts = [t if t.dtype is kind and device is None else t.to(dtype=kind, device=device) for t in parts]  # type: ignore[attr-defined]
    return of_parts(parts, layout)


def from_jagged(values: Tensor, offsets: Any, lengths: Any, ragged: int) -> Any:
    """A jagged tensor of sequences that follow one another."""
    if offsets is None:
        if lengths is None:
            raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
        offsets = wrap(np.concatenate([[0], np.cumsum(lengths._array)]).astype(np.int64))
    elif lengths is not None:
        parts = [
            values.narrow(ragged - 1, a, n)  # type: ignore[attr-defined]
            for a, n in zip(offsets.tolist(), lengths.tolist(), strict=False)
        ]
        return of_parts(parts, jagged, ragged)
    if ragged < 1 or ragged > values.dim():
        raise RuntimeError(f"jagged_dim must be between 1 and {values.dim()}, got {ragged}")
    return of_values(values, offsets, ragged)


def narrowed(tensor: Tensor, dim: int, start: Any, length: Any, layout: Any) -> Any:
    """Parts of the rows of a dense tensor."""
    if dim != 1:
        raise RuntimeError("narrow(): only dim=1 supported")
    n = tensor.shape[0]
    starts = start.tolist() if isinstance(start, Tensor) else [start] * n
    lengths = length.tolist() if isinstance(length, Tensor) else [length] * n
    parts = [tensor[i].narrow(0, a, k) for i, (a, k) in enumerate(zip(starts, lengths, strict=True))]  # type: ignore[attr-defined]
    return of_parts(parts, layout)
