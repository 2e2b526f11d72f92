"""A loop over whole arrays of any number of elements, shared by the threads of the pool in pieces.

    flat = emitted(nest)                          # of one axis of `LENGTH` elements, every window from its first on
    flat.run(count, addresses)                    # addresses: of the arrays in the order of `nest.values_of(nest)`

The nest's code looks up how many elements there are, so that one function serves arrays of every size. A thread takes the
next piece when it is done with one: a core that something else keeps busy delays the others by no more than its piece.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....backend.onednn.threads import settled_threads
from ....core.foreign import ctypes
from ....core.locks import made_once
from ...ir.graph import Nest
from ..llvm import engine, nest, parallel
from ..llvm.program import structure

__all__ = ["LENGTH", "Flat", "emitted"]

LENGTH = 1 << 30  # elements that the nest pretends to have: a multiple of every block
_PARALLEL_NS, _PIECE_NS = 25_000, 5_000  # less work is not worth waking a thread for, and no piece is shorter


class Flat:
    """The code of a nest, with an estimate of its work."""

    __slots__ = ("block", "unit_ns", "_address", "_code", "_arguments", "__weakref__")

    def __init__(self, kernel: nest.Kernel, code: engine.Code):
        self._code = code
        self.block = LENGTH // kernel.units
        self.unit_ns = kernel.work_ns / kernel.units
        self._address = code.address(kernel.name)
        self._arguments = ctypes.c_int64 * (_HEADER + len(kernel.values))

    def run(self, count: int, addresses: Sequence[int]) -> None:
        """Run it over `count` elements of the arrays at these addresses, on the threads that OpenMP would use."""
        units = -(-count // self.block)
        work = units * self.unit_ns
        pieces = 1
        if work >= _PARALLEL_NS:
            settled_threads()
            pieces = min(units, int(work / _PIECE_NS))
        _share()(self._address, self._arguments(0, count, *addresses), units, 1, pieces)


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


_HEADER = 2  # words before the addresses, as in every kernel (`nest.HEADER`); the second one is the number of elements


@made_once
def _share() -> Callable[[int, Any, int, int, int], None]:
    """`pool_share` of `llvm/pool_loops.py`."""
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int)
    return kind(parallel.share_address())
