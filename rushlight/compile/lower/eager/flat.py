"""A loop over whole arrays of any number of elements, shared by the threads of the OpenMP pool in pieces.

    flat = emitted(nest)                          # of one axis of `LENGTH` elements, every window from its first on
    flat.run(count, addresses, threads)           # addresses: of the arrays in the order of `nest.values_of(nest)`

The nest's code looks up how many elements there are, so that one function serves arrays of every size. A thread takes the
next piece when it is done with one: a core that something else keeps busy delays the others by no more than its piece.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from ....core.locks import made_once
from ...ir.graph import Nest
from ..llvm import engine, nest, parallel
from ..llvm.program import structure

__all__ = ["LENGTH", "Flat", "emitted"]

LENGTH = 1 << 30  # elements that the nest pretends to have: a multiple of every block
_PARALLEL_NS, _PIECE_NS = 25_000, 5_000  # less work is not worth waking a thread for, and no piece is shorter
_PIECES = 8  # of each thread


class Flat:
    """The code of a nest, with an estimate of its work."""

    __slots__ = ("block", "unit_ns", "_address", "_code", "_arguments", "__weakref__")

    def __init__(self, kernel: nest.Kernel, code: engine.Code):
        self._code = code
        self.block = LENGTH // kernel.units
        self.unit_ns = kernel.work_ns / kernel.units
        self._address = code.address(kernel.name)
        self._arguments = ctypes.c_int64 * (_HEADER + len(kernel.values))

    def run(self, count: int, addresses: Sequence[int], threads: int) -> None:
        """Run it over `count` elements of the arrays at these addresses, on at most so many threads."""
        units = -(-count // self.block)
        work = units * self.unit_ns
        threads = min(threads, int(work / (_PARALLEL_NS / 2)), units) if work >= _PARALLEL_NS else 1
        piece = max(1, units // (threads * _PIECES), int(_PIECE_NS / self.unit_ns))
        _launch()(self._arguments(self._address, units, piece, 0, 0, count, *addresses), threads)


_flats = engine.Shared(recent=256)


def emitted(node: Nest) -> Flat:
    """The code of a nest, made once in a process for each structure.

    Raises NotImplementedError where its units are no blocks of one axis.
    """
    key = "flat", structure(node), parallel.pool()
    known = _flats.get(key)
    if known is None:
        kernel = nest.emit(node, "flat", is_counted=True)
        known = _flats.add(key, Flat(kernel, engine.build(nest_assembly(kernel))))
    return known


def nest_assembly(kernel: nest.Kernel) -> str:
    """A module of one kernel without an entry."""
    return "\n".join([*kernel.declarations.values(), kernel.text, engine.attributes()])


_HEADER = 6  # words before the addresses: those below, and the two that every kernel has (`nest.HEADER`)


@made_once
def _launch() -> Callable[[Any, int], None]:
    """void launch(words, threads): words are the kernel, its units, those of a piece, the next one, and then its data."""
    if not parallel.pool():
        return engine.function(_ALONE, "launch", ctypes.c_void_p, ctypes.c_int)
    return engine.function(parallel.DECLARATIONS + _SHARED, "launch", ctypes.c_void_p, ctypes.c_int)


_PIECES_OF_A_THREAD = """
define internal void @share(ptr %words) #0 {
entry:
  %kernel = load ptr, ptr %words
  %units.p = getelementptr i64, ptr %words, i64 1
  %units = load i64, ptr %units.p
  %piece.p = getelementptr i64, ptr %words, i64 2
  %piece = load i64, ptr %piece.p
  %next.p = getelementptr i64, ptr %words, i64 3
  %data = getelementptr i64, ptr %words, i64 4
  br label %take
take:
  %start = atomicrmw add ptr %next.p, i64 %piece monotonic
  %some = icmp slt i64 %start, %units
  br i1 %some, label %go, label %done
go:
  %end = add i64 %start, %piece
  %less = icmp slt i64 %end, %units
  %stop = select i1 %less, i64 %end, i64 %units
  call void %kernel(ptr %data, i64 %start, i64 %stop)
  br label %take
done:
  ret void
}
"""
_ALONE = f"""{_PIECES_OF_A_THREAD}
define void @launch(ptr %words, i32 %threads) #0 {{
  call void @share(ptr %words)
  ret void
}}
attributes #0 = {{ nounwind }}
"""
_SHARED = f"""{_PIECES_OF_A_THREAD}
define void @launch(ptr %words, i32 %threads) #0 {{
entry:
  %several = icmp sgt i32 %threads, 1
  br i1 %several, label %all, label %one
all:
  call void @GOMP_parallel(ptr @share, ptr %words, i32 %threads, i32 0)
  ret void
one:
  call void @share(ptr %words)
  ret void
}}
attributes #0 = {{ nounwind }}
"""
