"""Row numbers as places where rows begin, and back: what libraries on sparse matrices call on plain index tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.tensor.tensor import Tensor, wrap

__all__ = ["_convert_indices_from_coo_to_csr", "_convert_indices_from_csr_to_coo"]


def _rows(name: str, t: Any) -> np.ndarray:
    if not isinstance(t, Tensor) or t.dtype.is_floating_point or t.ndim != 1:
        found = f"{t.dtype} of {t.ndim} dimensions" if isinstance(t, Tensor) else type(t).__name__
        raise RuntimeError(f"{name}: expected an integer vector, got {found}")
    return t._array


def _convert_indices_from_coo_to_csr(input: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """Where each row's entries begin, of ascending row numbers.

    Shape: input (nnz,) of integers below size -> (size + 1,). Raises RuntimeError for a row that there is not, and for
    rows in disorder (torch reads and writes past the ends).

    >>> _convert_indices_from_coo_to_csr(tensor([0, 0, 2]), 4)
    tensor([0, 2, 2, 3, 3])
    """
    name = "_convert_indices_from_coo_to_csr"
    rows = _rows(name, input)
    if rows.size and (rows[0] < 0 or rows[-1] >= size or (rows[1:] < rows[:-1]).any()):
        raise RuntimeError(f"{name}: expected ascending row numbers from 0 to {size - 1}")
    starts = np.searchsorted(rows, np.arange(size + 1))
    return wrap(starts.astype(np.int32 if out_int32 else np.int64))


def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """The places (2, nnz) of the entries of a matrix by rows; columns first with transpose=True.

    Shape: crow_indices (rows + 1,), col_indices (nnz,). Raises RuntimeError where the two do not fit together.
    """
    name = "_convert_indices_from_csr_to_coo"
    starts, columns = _rows(name, crow_indices), _rows(name, col_indices)
    counts = np.diff(starts)
    if not starts.size or (counts < 0).any() or starts[0] or starts[-1] != columns.size:
        raise RuntimeError(f"{name}: crow_indices must rise from 0 to {columns.size}, the number of columns given")
    places = [np.repeat(np.arange(counts.size), counts), columns]
    return wrap(np.stack(places[::-1] if transpose else places).astype(np.int32 if out_int32 else np.int64))
