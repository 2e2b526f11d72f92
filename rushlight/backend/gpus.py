"""Whether there are NVIDIA GPUs to use, the library that runs on them, and its errors: what `torch.cuda` asks at no cost."""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec
from typing import Any


@cache
def count() -> int:
    """How many GPUs this process can use: 0 where RUSHLIGHT_CUDA=1 is not set, or CuPy, the driver or a GPU is missing."""
    if os.environ.get("RUSHLIGHT_CUDA") != "1" or find_spec("cupy") is None:
        return 0
    try:
        return int(cupy().cuda.runtime.getDeviceCount())
    except Exception:  # CuPy without a driver raises errors of several kinds
        return 0


@cache
def cupy() -> Any:
    """CuPy."""
    import cupy  # pyright: ignore[reportMissingImports]

    return cupy


class OutOfMemoryError(RuntimeError):
    """A device's memory is full."""

    __module__ = "torch"
