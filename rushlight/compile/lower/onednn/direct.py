"""One Extern run on NumPy arrays, without a graph around it: for tests and measurements."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....backend.onednn.address import address
from ...ir.graph import Extern, Ref, Value
from ..llvm.program import Executable, Program
from .binder import Binder

__all__ = ["Run", "window"]


def window(array: np.ndarray) -> Ref:
    """A ref that shows what `array` shows, onto a flat value of the memory between its first and last byte."""
    size = array.dtype.itemsize
    low, high = np.lib.array_utils.byte_bounds(array)
    value = Value(((high - low) // size,), array.dtype)
    return Ref(value, array.shape, tuple(s // size for s in array.strides), (address(array) - low) // size)


class Run:
    """The steps of one Extern on arrays, made once; `served` says whether it could be bound.

    operands and results: arrays (operands may be None). onto: for each result, whether it continues what it holds.
    Every other array is reached through the pointer table, the rest by its address.
    """

    def __init__(self, kind: str, operands: tuple, results: tuple, onto: tuple[bool, ...] = (), **options: Any):
        from . import bind

        self.results = results
        self._arrays = [a for a in (*operands, *results) if a is not None]
        refs = {id(a): window(a) for a in self._arrays}
        slots = {refs[id(a)].value: i for i, a in enumerate(self._arrays)}
        self._program = Program()
        self._binder = Binder(self._program, lambda v: self._place(slots[v]))
        outs = tuple(_whole(refs[id(a)]) for a in results)
        slots.update({out.value: slots[refs[id(a)].value] for out, a in zip(outs, results, strict=True)})
        kept = tuple(o.value if keep else None for o, keep in zip(outs, onto or (False,) * len(outs), strict=True))
        self.extern = Extern(
            kind, tuple(None if a is None else refs[id(a)] for a in operands), outs, onto=kept, **options
        )
        self._executable: Executable | None = None
        self.served = bind(self.extern, self._binder)

    def _place(self, slot: int) -> tuple:
        if slot % 2:
            return ("table", slot)
        return ("address", np.lib.array_utils.byte_bounds(self._arrays[slot])[0])

    def __call__(self) -> None:
        """Make the steps."""
        table = np.array([np.lib.array_utils.byte_bounds(a)[0] for a in self._arrays], np.int64)
        self._binder.rebind(table)
        if self._executable is None:
            self._executable = self._program.finish()
        self._executable(address(table))


def _whole(ref: Ref) -> Ref:
    """A dense result's ref onto a value of its own shape."""
    if ref.size != ref.value.size:
        return ref
    return Value(ref.shape, ref.dtype, ref.strides).ref()
