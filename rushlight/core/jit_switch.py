"""`RUSHLIGHT_JIT` in the environment.

`0`: what is called eagerly runs by its kernels, however often it is repeated. `always`: what comes again becomes a program
also where that is not expected to pay. Anything else: where it is.
"""

from __future__ import annotations

import os

__all__ = ["jit"]


class _Switch:
    """on: whether programs may replace eager passes, steps and kernels. always: even if they may not pay."""

    on = os.environ.get("RUSHLIGHT_JIT", "1") != "0"
    always = os.environ.get("RUSHLIGHT_JIT") == "always"


jit = _Switch
