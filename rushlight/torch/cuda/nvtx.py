"""`torch.cuda.nvtx`: marks for NVIDIA's profiler, which needs a CUDA device. Each raises RuntimeError, as in torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .._stand_ins import lookup, stand_in
from ..unavailable import exported

__all__ = ["range"]
__all__ += exported("cuda.nvtx")


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A range around a block. Raises RuntimeError: there is no CUDA device."""
    stand_in("cuda.nvtx.range_push")(msg.format(*args, **kwargs))
    yield


if not TYPE_CHECKING:  # else every name would be one of the module's
    __getattr__, __dir__ = lookup(__name__)
