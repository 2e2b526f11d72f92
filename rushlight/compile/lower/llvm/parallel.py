"""Starting a kernel: an entry that every step of a program has, `i32 entry(ptr data)`, and threads from the pool."""

from __future__ import annotations

from ....backend.onednn import library
from ....core.locks import made_once
from . import engine
from . import pool as threads
from .nest import Kernel
from .pool_loops import ALONE, OVER_OPENMP

THRESHOLD_NS = 10_000  # less work than this is done faster than a second thread can be woken for it


def pool() -> bool:
    """Whether there is a pool of threads, which comes with oneDNN. Its functions are then known to generated code."""
    provide()
    return library.available()


@made_once
def provide() -> None:
    """Make the pool's functions known to generated code; where there is no pool, such that run all in the caller."""
    if not library.available():
        alone = engine.build(_ALONE + engine.attributes())
        for name in _FUNCTIONS:
            engine.register(name, alone.address(f"alone_{name}"))
        _kept.append(alone)
    else:
        threads.install()
        for name in _FUNCTIONS:
            engine.register(name, threads.address(name))
    engine.register("pool_share", share_address())


@made_once
def share_address() -> int:
    """Where `pool_share` is (`pool_loops.py`)."""
    if library.available() and threads.install():
        return threads.address("pool_share")
    if library.available():
        engine.register("GOMP_parallel", threads.address("GOMP_parallel"))
    code = engine.build((OVER_OPENMP if library.available() else ALONE) + engine.attributes())
    _kept.append(code)
    return code.address("pool_share")


_kept: list[engine.Code] = []
_FUNCTIONS = (
    "GOMP_parallel",
    "omp_get_thread_num",
    "omp_get_num_threads",
    "omp_set_num_threads",
    "dnnl_primitive_execute",
)
_ALONE = """
define void @alone_GOMP_parallel(ptr %function, ptr %data, i32 %threads, i32 %flags) #0 {
  call void %function(ptr %data)
  ret void
}

define i32 @alone_omp_get_thread_num() #0 {
  ret i32 0
}

define i32 @alone_omp_get_num_threads() #0 {
  ret i32 1
}

define void @alone_omp_set_num_threads(i32 %threads) #0 {
  ret void
}

define i32 @alone_dnnl_primitive_execute(ptr %primitive, ptr %stream, i32 %number, ptr %arguments) #0 {
  ret i32 1
}
"""


def entry(kernel: Kernel, check: bool) -> str:
    """The entry of a kernel: `name`_entry."""
    name = kernel.name
    calls = _start(name, kernel.units, kernel.grain, kernel.work_ns)
    if kernel.finish_units:
        calls += _start(f"{name}_finish", kernel.finish_units, 1, kernel.scratch_bytes / 10)
    status = "  ret i32 0"
    if check:
        status = "  %place = load ptr, ptr %data\n  %status = load atomic i32, ptr %place monotonic, align 4\n  ret i32 %status"
    return f"define i32 @{name}_entry(ptr %data) #0 {{\n{calls}{status}\n}}\n"


def _start(name: str, units: int, grain: int, work_ns: float) -> str:
    """Instructions that run a kernel's units."""
    if work_ns < THRESHOLD_NS or units < 2 or not pool():
        return f"  call void @{name}(ptr %data, i64 0, i64 {units})\n"
    most = max(2, min(units, int(work_ns / (THRESHOLD_NS / 2))))
    return f"  call void @pool_share(ptr @{name}, ptr %data, i64 {units}, i64 {grain}, i32 {most})\n"


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


DECLARATIONS = """
declare i32 @omp_get_thread_num()
declare i32 @omp_get_num_threads()
declare void @GOMP_parallel(ptr, ptr, i32, i32)
declare void @pool_share(ptr, ptr, i64, i64, i32)
"""
