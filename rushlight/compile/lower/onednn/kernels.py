"""Native functions that run next to the primitives: what a loop over a graph's values cannot say.

A step passes a block of 64-bit numbers (sizes, strides in elements, a float's bits) and up to seven addresses, so that one
function serves every shape, and gets a status, 0 for success. A function divides its rows between the threads of the
pool of threads; it is compiled when first asked for.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from ....core.foreign import ctypes
from ....core.locks import made_once
from ..llvm import engine, parallel
from ..llvm.ir import Builder, Val, number
from ..llvm.vector_math import function

__all__ = ["Function", "available", "bits", "fixed", "float_at", "lanes", "native", "share"]

Emit = Callable[[Builder, list[Val], Val, Val], None]


def available() -> bool:
    """Whether native functions can be made."""
    return engine.available()


def lanes() -> int:
    """How many floats a vector register holds."""
    return engine.vector_bytes() // 4


def bits(x: float) -> int:
    """A float32 as a number in a block."""
    return struct.unpack("<I", struct.pack("<f", x))[0]


class Function:
    """A native function, there as long as this object is."""

    __slots__ = ("__weakref__", "_code", "address")

    def __init__(self, code: engine.Code):
        self._code, self.address = code, code.address("all")


def native(emit: Emit, addresses: int, numbers: int) -> Function:
    """The native function i32 f(block, *addresses) whose body `emit(builder, parameters, low, high)` writes.

    The block holds the number of threads (0: all), the number of rows and `numbers` more; parameters are the addresses
    and these; the body handles the rows from low up to below high.
    """
    key = emit, addresses, numbers
    known = _functions.get(key)
    if known is None:
        parallel.provide()
        known = _functions.add(key, Function(engine.build(_module(*key))))
    return known


_functions = engine.Shared(recent=64)


def _module(emit: Emit, addresses: int, numbers: int) -> str:
    declarations = {
        "gomp": "declare void @GOMP_parallel(ptr, ptr, i32, i32)",
        "thread": "declare i32 @omp_get_thread_num()",
        "threads": "declare i32 @omp_get_num_threads()",
    }
    part = _part(emit, addresses, numbers, declarations)
    names = ["%block", *(f"%p{i}" for i in range(addresses))]
    stores = "".join(
        f"  %q{i} = getelementptr i64, ptr %frame, i64 {i}\n  store i64 {name}, ptr %q{i}\n"
        for i, name in enumerate(names)
    )
    whole = (
        f"define i32 @all({', '.join(f'i64 {name}' for name in names)}) #0 {{\n"
        f"  %frame = alloca i64, i64 {len(names)}, align 64\n{stores}"
        "  %b = inttoptr i64 %block to ptr\n  %limit = load i32, ptr %b\n"
        "  %alone = icmp eq i32 %limit, 1\n  br i1 %alone, label %here, label %team\n"
        "here:\n  call void @part(ptr %frame)\n  ret i32 0\n"
        "team:\n  call void @GOMP_parallel(ptr @part, ptr %frame, i32 %limit, i32 0)\n  ret i32 0\n}\n"
    )
    return "\n".join([*declarations.values(), part, whole, engine.attributes()])


def _part(emit: Emit, addresses: int, numbers: int, declarations: dict[str, str]) -> str:
    """What one thread does: its share of the rows."""
    b = Builder(declarations)

    def word(array: str, i: int) -> Val:
        place = b.emit(f"getelementptr i64, ptr {array}, i64 {i}", "ptr")
        return b.emit(f"load i64, ptr {place.text}", "i64")

    block = b.convert("inttoptr", word("%frame", 0), "ptr").text
    rows = word(block, 1)
    values = [*(word("%frame", 1 + i) for i in range(addresses)), *(word(block, 2 + i) for i in range(numbers))]
    thread, threads = (
        b.convert("sext", b.emit(f"call i32 @omp_get_{name}()", "i32"), "i64") for name in ("thread_num", "num_threads")
    )
    low = b.op("sdiv", b.op("mul", rows, thread), threads)
    high = b.op("sdiv", b.op("mul", rows, b.op("add", thread, 1)), threads)
    emit(b, values, low, high)
    b.line("ret void")
    return b.function("@part", "ptr %frame", linkage="internal ")


@made_once
def fixed(name: str) -> int:
    """The address of a function that is always the same.

    limited(primitive, stream, number, arguments, threads, all): a primitive on so many threads; then all are back.
    only_if(primitive, stream, number, arguments, flag, threads, all): nothing if the flag is 0; else the primitive on so
        many threads, or on all if that is 0.
    clear(flag): the flag becomes 0.
    gemm(block, x, y, out): a BLAS product; the block holds the function and its other arguments.
    gemv(block, matrix, vector, out): the same of a matrix and a vector.
    """
    return _fixed().address(name)


@made_once
def _fixed() -> engine.Code:
    parallel.provide()
    return engine.build(_FIXED + _blas("gemm", _GEMM) + _blas("gemv", _GEMV) + engine.attributes())


def entry(function: object) -> int:
    """The address of a foreign function."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


_FIXED = """
declare void @omp_set_num_threads(i32)
declare i32 @dnnl_primitive_execute(ptr, ptr, i32, ptr)

define i32 @limited(ptr %primitive, ptr %stream, i64 %number, ptr %arguments, i64 %threads, i64 %all) #0 {
  %n = trunc i64 %number to i32
  %few = trunc i64 %threads to i32
  %many = trunc i64 %all to i32
  call void @omp_set_num_threads(i32 %few)
  %status = call i32 @dnnl_primitive_execute(ptr %primitive, ptr %stream, i32 %n, ptr %arguments)
  call void @omp_set_num_threads(i32 %many)
  ret i32 %status
}

define i32 @only_if(ptr %primitive, ptr %stream, i64 %number, ptr %arguments, ptr %flag, i64 %threads, i64 %all) #0 {
  %set = load i64, ptr %flag
  %no = icmp eq i64 %set, 0
  br i1 %no, label %done, label %do
do:
  %everybody = icmp eq i64 %threads, 0
  br i1 %everybody, label %here, label %few
few:
  %status.few = call i32 @limited(ptr %primitive, ptr %stream, i64 %number, ptr %arguments, i64 %threads, i64 %all)
  ret i32 %status.few
here:
  %n = trunc i64 %number to i32
  %status = call i32 @dnnl_primitive_execute(ptr %primitive, ptr %stream, i32 %n, ptr %arguments)
  ret i32 %status
done:
  ret i32 0
}

define i32 @clear(ptr %flag) #0 {
  store i64 0, ptr %flag
  ret i32 0
}
"""
# The arguments of BLAS's products: numbers are places in the block, words the addresses.
_GEMM = (1, 2, 3, 4, 5, 6, "second", 7, "first", 8, 9, "out", 10, 11, 12)
_GEMV = (1, 2, 3, 4, "first", 5, "second", 6, 7, "out", 8, 9)


def _blas(name: str, arguments: tuple[int | str, ...]) -> str:
    words = sorted({0, *(a for a in arguments if isinstance(a, int))})
    loads = "".join(f"  %p{i} = getelementptr i64, ptr %block, i64 {i}\n  %a{i} = load i64, ptr %p{i}\n" for i in words)
    passed = ", ".join(f"i64 %a{a}" if isinstance(a, int) else f"i64 %{a}" for a in arguments)
    return f"""
define i32 @{name}(ptr %block, i64 %first, i64 %second, i64 %out) #0 {{
{loads}  %f = inttoptr i64 %a0 to ptr
  call void %f({passed})
  ret i32 0
}}
"""


# -- writing bodies ----------------------------------------------------------------------------------------------------
def share(b: Builder, units: Val, most: Val) -> tuple[Val, Val, Val]:
    """(number of this thread, its first unit, the one after its last), where there is room for `most` threads.

    The team that runs may be smaller than that, or larger: then the rest of it has nothing to do.
    """
    thread, team = (
        b.convert("sext", b.emit(f"call i32 @omp_get_{name}()", "i32"), "i64") for name in ("thread_num", "num_threads")
    )
    team = b.select(b.compare("icmp slt", team, most), team, most)
    low = b.op("sdiv", b.op("mul", units, thread), team)
    high = b.op("sdiv", b.op("mul", units, b.op("add", thread, 1)), team)
    return thread, low, b.select(b.compare("icmp slt", thread, team), high, low)


def element(b: Builder, start: Val, index: Val, elem: str = "float") -> str:
    """A pointer to an element at an offset from an address."""
    pointer = b.emit(f"inttoptr i64 {start.text} to ptr", "ptr")
    return b.emit(f"getelementptr {elem}, ptr {pointer.text}, i64 {index.text}", "ptr").text


def further(b: Builder, pointer: str, offset: Val) -> str:
    """A pointer to the float `offset` after another."""
    return b.emit(f"getelementptr float, ptr {pointer}, i64 {offset.text}", "ptr").text


def address(b: Builder, start: Val, offset: Val) -> Val:
    """The address of the float `offset` after an address."""
    return b.op("add", start, b.op("mul", offset, 4))


def float_at(b: Builder, parameter: Val) -> Val:
    """The float whose bits a parameter holds."""
    return b.convert("bitcast", b.convert("trunc", parameter, "i32"), "float")


def positions(b: Builder, start: Val, n: int) -> Val:
    """start, start + 1, ..."""
    steps = f"<{', '.join(f'i64 {i}' for i in range(n))}>"
    return b.op("add", b.splat(start, n), Val(steps, "i64", n, True))


def lanes_sum(b: Builder, x: Val) -> Val:
    """The sum of a vector's lanes."""
    name = f"@llvm.vector.reduce.fadd.v{x.lanes}f32"
    b.declare(name, f"declare float {name}(float, {x.type})")
    return b.emit(f"call reassoc float {name}(float 0.0, {x.type} {x.text})", "float")


def lanes_max(b: Builder, x: Val) -> Val:
    """The largest of a vector's lanes; nan is passed over."""
    name = f"@llvm.vector.reduce.fmax.v{x.lanes}f32"
    b.declare(name, f"declare float {name}({x.type})")
    return b.emit(f"call float {name}({x.type} {x.text})", "float")


def zero_rest(b: Builder, row: Val, start: Val, stop: Val, n: int) -> None:
    """Zeros into a row's vectors from the one at `start` on."""
    with b.loop(start, stop, n) as j:
        b.store(b.splat(number(0, "float"), n), element(b, row, j), 4)


def whole_vectors(b: Builder, count: Val, n: int) -> Val:
    """`count` rounded up to whole vectors."""
    return b.op("and", b.op("add", count, n - 1), -n)


def exponential(b: Builder, x: Val) -> Val:
    """exp of every lane."""
    return function(b, "exp", x)


def logarithm(b: Builder, x: Val) -> Val:
    """log of every lane."""
    return function(b, "log", x)
