"""Starting a kernel: an entry that every step of a program has, `i32 entry(ptr data)`, and threads from the OpenMP pool."""

from __future__ import annotations

import ctypes

from ....backend.onednn import library
from ....core.locks import made_once
from . import engine
from .nest import Kernel

THRESHOLD_NS = 10_000  # less work than this is done faster than a second thread can be woken for it


def pool() -> bool:
    """Whether there is an OpenMP pool, which comes with oneDNN. Its functions are then known to generated code."""
    provide()
    return library.available()


@made_once
def provide() -> None:
    """Make the pool's functions known to generated code; where there is no pool, such that run all in the caller."""
    loaded = library.load() if library.available() else None
    alone = engine.build(_ALONE + engine.attributes()) if loaded is None else None
    for name in _FUNCTIONS:
        place = alone.address(f"alone_{name}") if alone else ctypes.cast(getattr(loaded, name), ctypes.c_void_p).value
        engine.register(name, place or 0)
    _kept.append(alone)


_kept: list[engine.Code | None] = []
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
    name, text = kernel.name, ""
    calls, more = _start(name, kernel.units, kernel.grain, kernel.work_ns)
    text += more
    if kernel.finish_units:
        again, more = _start(f"{name}_finish", kernel.finish_units, 1, kernel.scratch_bytes / 10)
        calls, text = calls + again, text + more
    status = "  ret i32 0"
    if check:
        status = "  %place = load ptr, ptr %data\n  %status = load atomic i32, ptr %place monotonic, align 4\n  ret i32 %status"
    return text + f"define i32 @{name}_entry(ptr %data) #0 {{\n{calls}{status}\n}}\n"


def _start(name: str, units: int, grain: int, work_ns: float) -> tuple[str, str]:
    """(instructions that run a kernel's units, the outlined function they need)."""
    if work_ns < THRESHOLD_NS or units < 2 or not pool():
        return f"  call void @{name}(ptr %data, i64 0, i64 {units})\n", ""
    most = max(2, min(units, int(work_ns / (THRESHOLD_NS / 2))))
    outlined = f"""
define internal void @{name}_part(ptr %data) #0 {{
  %thread = call i32 @omp_get_thread_num()
  %all = call i32 @omp_get_num_threads()
  %few = call i32 @llvm.umin.i32(i32 %all, i32 {most})
  %t = zext i32 %thread to i64
  %n = zext i32 %few to i64
  %sum = add i64 %n, {ceil_div(units, grain) - 1}
  %each = udiv i64 %sum, %n
  %chunk = mul i64 %each, {grain}
  %from = mul i64 %t, %chunk
  %to = add i64 %from, %chunk
  %start = call i64 @llvm.umin.i64(i64 %from, i64 {units})
  %stop = call i64 @llvm.umin.i64(i64 %to, i64 {units})
  call void @{name}(ptr %data, i64 %start, i64 %stop)
  ret void
}}
"""
    return f"  call void @GOMP_parallel(ptr @{name}_part, ptr %data, i32 0, i32 0)\n", outlined


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


DECLARATIONS = """
declare i32 @omp_get_thread_num()
declare i32 @omp_get_num_threads()
declare void @GOMP_parallel(ptr, ptr, i32, i32)
declare i32 @llvm.umin.i32(i32, i32)
declare i64 @llvm.umin.i64(i64, i64)
"""
