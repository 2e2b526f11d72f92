"""Starting a kernel: an entry that every step of a program has, `i32 entry(ptr data)`, and threads from the pool."""

from __future__ import annotations

from ....backend.onednn import library
from ....core.locks import made_once
from . import engine
from . import pool as threads
from .nest import Kernel

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
        return
    ours = threads.install()
    for name in _FUNCTIONS:
        if name != "pool_share" or ours:
            engine.register(name, threads.address(name))
    if not ours:
        shared = engine.build(DECLARATIONS.replace(_SHARE, "") + _OVER_OPENMP + engine.attributes())
        engine.register("pool_share", shared.address("pool_share"))
        _kept.append(shared)


_kept: list[engine.Code] = []
_FUNCTIONS = (
    "GOMP_parallel",
    "omp_get_thread_num",
    "omp_get_num_threads",
    "omp_set_num_threads",
    "dnnl_primitive_execute",
    "pool_share",
)
_ALONE = """
define void @alone_GOMP_parallel(ptr %function, ptr %data, i32 %threads, i32 %flags) #0 {
  call void %function(ptr %data)
  ret void
}

define void @alone_pool_share(ptr %function, ptr %data, i64 %units, i64 %grain, i32 %most) #0 {
  call void %function(ptr %data, i64 0, i64 %units)
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


_SHARE = "declare void @pool_share(ptr, ptr, i64, i64, i32)\n"
DECLARATIONS = f"""
declare i32 @omp_get_thread_num()
declare i32 @omp_get_num_threads()
declare void @GOMP_parallel(ptr, ptr, i32, i32)
{_SHARE}"""
# `pool_share` of `pool_code.py` where libgomp's pool serves: the frame is function, data, units, the next grain, grain
_OVER_OPENMP = """
define internal void @grains(ptr %frame) #0 {
entry:
  %function = load ptr, ptr %frame
  %data.p = getelementptr i64, ptr %frame, i64 1
  %data = load ptr, ptr %data.p
  %units.p = getelementptr i64, ptr %frame, i64 2
  %units = load i64, ptr %units.p
  %next.p = getelementptr i64, ptr %frame, i64 3
  %grain.p = getelementptr i64, ptr %frame, i64 4
  %grain = load i64, ptr %grain.p
  br label %take
take:
  %start = atomicrmw add ptr %next.p, i64 %grain monotonic
  %some = icmp ult i64 %start, %units
  br i1 %some, label %run, label %done
run:
  %end = add i64 %start, %grain
  %less = icmp ult i64 %end, %units
  %stop = select i1 %less, i64 %end, i64 %units
  call void %function(ptr %data, i64 %start, i64 %stop)
  br label %take
done:
  ret void
}

define void @pool_share(ptr %function, ptr %data, i64 %units, i64 %grain, i32 %most) #0 {
  %frame = alloca [5 x i64], align 64
  store ptr %function, ptr %frame
  %data.p = getelementptr i64, ptr %frame, i64 1
  store ptr %data, ptr %data.p
  %units.p = getelementptr i64, ptr %frame, i64 2
  store i64 %units, ptr %units.p
  %next.p = getelementptr i64, ptr %frame, i64 3
  store i64 0, ptr %next.p
  %most.64 = zext i32 %most to i64
  %less = sub i64 %grain, 1
  %up = add i64 %units, %less
  %grains = udiv i64 %up, %grain
  %most.less = sub i64 %most.64, 1
  %g.up = add i64 %grains, %most.less
  %in.piece = udiv i64 %g.up, %most.64
  %piece = mul i64 %in.piece, %grain
  %grain.p = getelementptr i64, ptr %frame, i64 4
  store i64 %piece, ptr %grain.p
  call void @GOMP_parallel(ptr @grains, ptr %frame, i32 0, i32 0)
  ret void
}
"""
