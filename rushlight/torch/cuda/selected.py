"""The GPU that a call of `torch.cuda` is about: the first one, unless the call names another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ...backend import gpus
from ...core.device import devices
from ..unavailable import ROWS

if TYPE_CHECKING:
    from ...backend.cuda import Cuda


def gpu(where: Any, asked: str) -> Cuda:
    """The GPU that is meant by None, an index, a name or a device.

    Raises what `torch.<asked>` raises where there is none, ValueError for another kind of device, and RuntimeError for a GPU
    that is not there.
    """
    if not gpus.count():
        raise ROWS[asked].error()
    found = devices.device("cuda", where) if where is None or isinstance(where, int) else devices.device(where)
    if found.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {found}")
    return cast("Cuda", devices.backend(found))


def gpu_if_any(where: Any) -> Cuda | None:
    """The same, but None where there is no GPU."""
    return gpu(where, "cuda.current_device") if gpus.count() else None


def every_gpu() -> list[Cuda]:
    """All GPUs in the order of their indices."""
    return [gpu(i, "cuda.current_device") for i in range(gpus.count())]
