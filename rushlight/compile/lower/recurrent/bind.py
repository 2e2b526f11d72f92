"""A program's step that takes all steps of a recurrent layer.

lstm(weight) -> gates, h, c, hs, cs, ts, y                 weight: (k, 4 k)
lstm.backward(weight, gates, cs, ts, gy) -> dh, dc, slopes   weight: (4 k, k)
gru(weight, bias) -> gates, h, hs, ns, y                   weight: (k, 3 k)
gru.backward(weight, gates, ns, hs, gy) -> dh, k_in, k_rec   weight: (3 k, k)
rnn, rnn.relu(weight) -> y, h, hs                          weight: (k, k)
rnn.backward(weight, gy) -> slopes, dh                     weight: (k, k)
    Shape: what each step has rows of (rows of all steps, gates x k), the states (n, k), the GRU's bias (3 k,); gy may be absent
    onto: forward the gates (rnn: y) begin as the input's share, h and c as the first states; backward dh and dc as the gradients of
    the last states, the rnn's slopes as those of its function
    options: spans, the first and last row of each step in the order in which they are taken; saved, the numbers of the results
    that only a backward pass reads: without hs (the GRU: hs and ns; the LSTM: hs, cs and ts) none of them is written
"""

from __future__ import annotations

from ....backend.onednn.address import is_readable
from ...ir.graph import Extern, Ref
from ..llvm import engine
from ..onednn import blas
from ..onednn.binder import Probe
from . import cells

__all__ = ["CELLS", "bind"]

CELLS = tuple(cells.CELLS)


def bind(extern: Extern, binder: Probe) -> bool:
    """Emit the steps of a layer; False where they cannot be served."""
    weight, *operands = extern.operands
    arrays = [r for r in (*operands, *extern.results) if r is not None]
    if not engine.available() or not _fits(weight, arrays, extern):
        return False
    spans, found = extern.options["spans"], blas.products(weight.dtype) if is_readable() else None
    work = cells.Work(spans, weight.shape, weight.dtype, binder.threads)
    kind = cells.PACKED if work.is_packed else _kind(weight)
    if kind is None or (kind != cells.PACKED and found is None):
        return False
    for r, onto in zip(extern.results, extern.onto, strict=True):
        if onto is not None:
            binder.copy(binder.pointer(r), binder.pointer(onto.ref()), onto.nbytes)
    places = [("address", 0) if r is None else binder.pointer(r) for r in _arrays(extern, operands, work, binder)]
    room = binder.room(weight.size * weight.dtype.itemsize) if work.is_packed else 0
    code = cells.code(extern.kind, weight.dtype)
    binder.keep(code)
    binder.note("generated code")
    rows = binder.block(*(at for span in spans for at in span))
    block = binder.block(*work.block(kind, rows, found or (0, 0), weight.strides))
    binder.call(code.address("take"), block, binder.pointer(weight), room, *places)
    return True


def _fits(weight: Ref, arrays: list[Ref], extern: Extern) -> bool:
    if weight.dtype not in cells.TYPES or not weight.size or not extern.options["spans"]:
        return False
    if any(r.dtype != weight.dtype or not r.size or not r.is_row_major() for r in arrays):
        return False
    pairs = zip(extern.results, extern.onto, strict=True)
    return all(
        r is None or (r.covers() and (o is None or (o.size == r.size and o.ref().is_row_major()))) for r, o in pairs
    )


def _kind(weight: Ref) -> int | None:
    """Which of BLAS's matrices a weight is."""
    return next((i for i, r in enumerate((weight, weight.permute((1, 0)))) if r.is_row_major()), None)


def _arrays(extern: Extern, operands: list[Ref | None], work: cells.Work, binder: Probe) -> list[Ref | None]:
    """The arrays in the order in which the cell's function names them."""
    results = list(extern.results)
    if extern.kind in ("lstm.backward", "gru.backward"):
        return [*operands, *results]
    if extern.kind == "gru":
        gates, *others = results
        return [gates, operands[0], *others, binder.scratch((work.most, work.columns), work.dtype)]
    if extern.kind == "rnn.backward":
        slopes, dh = results
        return [slopes, operands[0], dh]
    return results
