"""`RUSHLIGHT_JIT` in the environment.

`0`: what is called eagerly runs by its kernels, however often it is repeated. `always`: what comes again becomes a program
also where that is not expected to pay. Anything else: where it is.

And whether the program was written for torch.
"""

from __future__ import annotations

import os

from .locks import lock

__all__ = ["by_kernels", "jit", "run_for_torch"]


class _Switch:
    """on: whether programs may replace eager passes, steps and kernels. always: even if they may not pay.

    for_torch: the program imports Rushlight as `torch`: where torch compiles something with `fullgraph=True`, and
    Rushlight cannot, it runs eagerly, with a warning.
    """

    on = os.environ.get("RUSHLIGHT_JIT", "1") != "0"
    always = os.environ.get("RUSHLIGHT_JIT") == "always"
    for_torch = False


jit = _Switch


class _ByKernels:
    """Within the blocks of any thread kernels run, and no programs: the same call gives the same bits each time."""

    def __init__(self) -> None:
        self._lock, self._blocks, self._before = lock(), 0, False

    def __enter__(self) -> None:
        with self._lock:
            if not self._blocks:
                self._before, jit.on = jit.on, False
            self._blocks += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._blocks -= 1
            if not self._blocks:
                jit.on = self._before


by_kernels = _ByKernels()


def run_for_torch() -> None:
    """The program imports Rushlight as `torch`."""
    jit.for_torch = True
