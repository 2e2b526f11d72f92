"""A loop over whole arrays of any number of elements, shared by the threads of the pool in pieces.

    flat = emitted(nest)                          # of one axis of `LENGTH` elements, every window from its first on
    flat.run(count, addresses)                    # addresses: of the arrays in the order of `nest.values_of(nest)`
    flat.strided().run(rows, words, addresses)    # over arrays with gaps, or broadcast ones (`strided.py`)

The nest's code looks up how many elements there are, so that one function serves arrays of every size.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....core.foreign import ctypes
from ...ir.graph import Nest
from ..llvm import engine, nest, parallel
from ..llvm.program import structure
from . import sharing
from .strided import Strided

__all__ = ["LENGTH", "Flat", "emitted"]

LENGTH = 1 << 30  # elements that the nest pretends to have: a multiple of every block


class Flat:
    """The code of a nest, with an estimate of its work."""

    __slots__ = ("block", "unit_ns", "_address", "_code", "_kernel", "_strided", "_arguments", "__weakref__")

    def __init__(self, kernel: nest.Kernel, code: engine.Code):
        self._code, self._kernel = code, kernel
        self._strided: Strided | None = None
        self.block = LENGTH // kernel.units
        self.unit_ns = kernel.work_ns / kernel.units
        self._address = code.address(kernel.name)
        self._arguments = ctypes.c_int64 * (_HEADER + len(kernel.values))

    def run(self, count: int, addresses: Sequence[int]) -> None:
        """Run it over `count` elements of the arrays at these addresses, on the threads that OpenMP would use."""
        units = -(-count // self.block)
        count_of_pieces = sharing.pieces(units, units * self.unit_ns)
        sharing.run(self._address, self._arguments(0, count, *addresses), units, count_of_pieces)

    def strided(self) -> Strided:
        """The same loop over rows, made when it is first asked for."""
        made = self._strided
        if made is None:
            made = self._strided = Strided(self._kernel, self.block, self.unit_ns)
        return made


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
