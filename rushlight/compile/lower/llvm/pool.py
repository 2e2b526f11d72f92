"""The pool of threads that generated code and oneDNN share: our own, in the place of libgomp's.

libgomp ends and makes threads whenever the size of the team changes, and oneDNN asks for another one at each primitive: with
16 threads a step of a small network made 11 new ones. It also waits for every thread of the team, though the system may
run another process on its core. Here idle workers stay, a part that no worker has begun is done by whoever waits for it
(`pool_code.py`), and loops are dealt out in pieces (`pool_loops.py`; docs/decisions/0044).

`install()` makes the pool known to generated code and, once, lets oneDNN's calls of OpenMP lead to it (`imports.py`). How
many threads a team has by default stays OpenMP's to say, by `omp_get_max_threads`. RUSHLIGHT_POOL=0 leaves everything to
libgomp.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from ....backend.onednn import imports, library
from ....core.foreign import ctypes
from ....core.locks import made_once
from . import engine, pool_code, pool_loops

__all__ = ["address", "install", "is_ours"]

_SPIN_NS = 300_000  # an idle worker looks for work for so long: longer than Python takes between steps
_OPENMP = ("GOMP_", "omp_")
_OTHERS = (  # libgomp's, called where the thread is in no team of the pool
    "GOMP_parallel_end", "GOMP_barrier", "GOMP_loop_static_start", "GOMP_loop_static_next", "GOMP_loop_end_nowait",
    "omp_get_thread_num", "omp_get_num_threads", "omp_in_parallel",
)  # fmt: skip
_FUNCTIONS = (*_OTHERS, "GOMP_parallel", "GOMP_parallel_start", "pool_share", "pool_setup", "pool_forget")
_NUMBERS = ("omp_get_max_threads", "omp_set_num_threads", "omp_get_num_procs", "omp_get_wtime")  # of no team
_kept: list[Any] = []  # threads run this code until the process ends; at its exit llvmlite gives nothing back


@made_once
def install() -> bool:
    """Start using the pool. False where it cannot be: libgomp's, or one thread, then serves."""
    if os.environ.get("RUSHLIGHT_POOL", "1") == "0" or not sys.platform.startswith("linux") or not library.available():
        return False
    loaded = library.load()
    for name in ("omp_get_max_threads", *_OTHERS):
        place = ctypes.cast(getattr(loaded, name), ctypes.c_void_p).value or 0
        engine.register(name if name == "omp_get_max_threads" else f"libgomp_{name}", place)
    code = engine.build(pool_code.CODE + pool_loops.CODE + engine.attributes())
    addresses = {name: code.address(name) for name in _FUNCTIONS}
    setup = ctypes.CFUNCTYPE(None, ctypes.c_int64)(addresses["pool_setup"])
    setup(0 if os.environ.get("OMP_WAIT_POLICY", "").lower() == "passive" else _SPIN_NS)
    openmp = {name: addresses[name] for name in _FUNCTIONS if name.startswith(_OPENMP)}
    if not imports.redirect(loaded, openmp, _OPENMP, _NUMBERS):
        return False
    forget = ctypes.PYFUNCTYPE(None)(addresses["pool_forget"])
    os.register_at_fork(after_in_child=forget)
    _kept.extend((code, forget))
    _addresses.update(addresses)
    return True


_addresses: dict[str, int] = {}


def is_ours() -> bool:
    """Whether the pool serves, and not libgomp's."""
    return bool(_addresses)


def address(name: str) -> int:
    """Where a function of the pool, or of libgomp where that serves, is."""
    if name in _addresses:
        return _addresses[name]
    return ctypes.cast(getattr(library.load(), name), ctypes.c_void_p).value or 0
