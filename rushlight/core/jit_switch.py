"""`RUSHLIGHT_JIT=0` in the environment: what is called eagerly runs by its kernels, however often it is repeated."""

from __future__ import annotations

import os

__all__ = ["jit"]


class _Switch:
    """on: whether programs may replace eager passes, steps and kernels."""

    on = os.environ.get("RUSHLIGHT_JIT", "1") != "0"


jit = _Switch
