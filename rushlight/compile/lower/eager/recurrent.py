"""The steps of recurrent layers, for eager calls: one native call for a whole sequence.

NumPy takes 30 us for a step of 16 rows and 64 cells, most of it to start a dozen passes over them; this takes 6. One code for each
kind of cell serves every size. The rows of a batch do not depend on each other, so each thread takes all steps of some of them.
The functions are those of compiled steps: the results differ from those of `ops/recurrent/layers.py` by rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ....backend.onednn.address import address, is_readable
from ....backend.onednn.threads import get_num_threads, settled_threads
from ....core.foreign import ctypes
from ....core.locks import made_once
from ..llvm import engine
from ..onednn import blas
from ..recurrent import cells

__all__ = ["available", "run"]


@made_once
def available() -> bool:
    """Whether code can be made here that calls NumPy's BLAS."""
    return (
        engine.available()
        and engine.fuses()
        and is_readable()
        and all(blas.products(dtype) is not None for dtype in cells.TYPES)
    )


def run(cell: str, spans: Sequence[tuple[int, int]], weight: np.ndarray, *arrays: np.ndarray | None) -> bool:
    """Take the steps of one layer. False, and nothing is done, for what there is no code for.

    cell: a key of `cells.CELLS`, whose function names the arrays. spans: the first and last row of each step, in the order in
    which they are taken; no later one has more rows than there is state. weight: contiguous or the transpose of such a matrix.
    """
    dtype = weight.dtype
    if not spans or dtype not in cells.TYPES or not weight.size or not available():
        return False
    if any(a is not None and (a.dtype is not dtype or not a.flags.c_contiguous or not a.size) for a in arrays):
        return False
    work = cells.Work(spans, weight.shape, dtype, get_num_threads())
    is_turned = not weight.flags.c_contiguous
    if not work.is_packed and is_turned and not weight.flags.f_contiguous:
        return False
    if cell == "gru":  # the state's share of a step is no part of the input's: its last third is a factor's
        gates, bias, *others = arrays
        bias = np.zeros(work.columns, dtype) if bias is None else bias
        arrays = gates, bias, *others, np.empty((work.most, work.columns), dtype)
    places = [0 if a is None else address(a) for a in arrays]
    places += [0] * (cells.MOST_ARRAYS - len(places))
    rows = np.array(spans, np.int64)
    kind = cells.PACKED if work.is_packed else int(is_turned)
    strides = [s // dtype.itemsize for s in weight.strides]
    block = np.array(work.block(kind, address(rows), blas.products(dtype) or (0, 0), strides))
    room = np.empty(weight.size if work.is_packed else 0, dtype)
    if work.pieces > 1:
        settled_threads()
    _take(cell, dtype)(address(block), address(weight), address(room), *places)
    return True


@made_once
def _take(cell: str, dtype: np.dtype) -> Callable[..., None]:
    arguments = [ctypes.c_void_p] * (3 + cells.MOST_ARRAYS)
    return ctypes.CFUNCTYPE(None, *arguments)(cells.code(cell, dtype).address("take"))
