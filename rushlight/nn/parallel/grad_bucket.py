"""What a communication hook of DistributedDataParallel gets."""

from __future__ import annotations

from typing import Any

from rushlight.core.tensor.tensor import Tensor

__all__ = ["GradBucket"]


class GradBucket:
    """The gradients of some parameters, one after the other in a flat tensor, before they are combined.

    That of a parameter whose gradient is sparse is alone, in a sparse tensor of its shape.
    """

    def __init__(self, index: int, count: int, buffer: Tensor, parameters: list[Any]):
        self._index, self._count, self._buffer, self._parameters = index, count, buffer, parameters

    def index(self) -> int:
        """The bucket's number; bucket 0 is ready first."""
        return self._index

    def is_last(self) -> bool:
        """Whether no bucket comes after it in this backward pass."""
        return self._index == self._count - 1

    def buffer(self) -> Tensor:
        """All gradients, flat; the hook may write into it."""
        return self._buffer

    def set_buffer(self, buffer: Tensor) -> None:
        """Replace the flat tensor by another one of its size."""
        if buffer.numel() != self._buffer.numel():
            raise RuntimeError(f"the buffer has {self._buffer.numel()} elements, the new one {buffer.numel()}")
        self._buffer = buffer

    def parameters(self) -> list[Any]:
        """The parameters."""
        return list(self._parameters)

    def gradients(self) -> list[Tensor]:
        """The gradients in the flat tensor, each as a view of its parameter's shape."""
        if self._buffer.is_sparse:
            return [self._buffer]
        views, at = [], 0
        for p in self._parameters:
            views.append(self._buffer[at : at + p.numel()].view(p.shape))
            at += p.numel()
        return views


GradBucket.__module__ = "torch.distributed"
