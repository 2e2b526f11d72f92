"""The thread pool of NumPy's own BLAS, which must not compete with the one that oneDNN uses.

Idle threads of OpenMP and of OpenBLAS spin before they sleep, and with few cores they keep the other pool from running.
A convolution (0.5 ms) and a 256 x 256 matrix product in turn on two cores: 8 to 40 ms with both pools, 0.73 ms with
OpenBLAS on one thread, 0.61 ms with both in oneDNN.
"""

from __future__ import annotations

import os
from importlib import import_module

from ...core.foreign import ctypes
from ...core.locks import made_once

__all__ = ["blas_threads", "leave_cores_to_openmp", "limit_blas_threads"]


def limit_blas_threads(n: int) -> int | None:
    """Let NumPy's OpenBLAS use n threads; returns the number before, or None where NumPy has another BLAS."""
    functions = _openblas()
    if functions is None:
        return None
    get_number, set_number = functions
    before = get_number()
    set_number(n)
    return before


def blas_threads() -> int | None:
    """How many threads NumPy's OpenBLAS uses; None where NumPy has another BLAS."""
    functions = _openblas()
    return None if functions is None else functions[0]()


@made_once
def leave_cores_to_openmp() -> None:
    """Once in a process: OpenBLAS to one thread, unless the user has set its number of threads in the environment."""
    if "OPENBLAS_NUM_THREADS" not in os.environ:
        limit_blas_threads(1)


@made_once
def _openblas():
    """OpenBLAS's (get, set) for its number of threads, found through the NumPy extension that is linked with it."""
    library = ctypes.CDLL(import_module("numpy._core._multiarray_umath").__file__)
    for pattern in ("scipy_openblas_{}_num_threads64_", "openblas_{}_num_threads64_", "openblas_{}_num_threads"):
        if hasattr(library, pattern.format("set")):
            return getattr(library, pattern.format("get")), getattr(library, pattern.format("set"))
    return None
