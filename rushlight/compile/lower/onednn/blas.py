"""Products by NumPy's own OpenBLAS: small ones, where oneDNN's start costs as much as the product, and float64.

The Fortran entry points take addresses only, so that a step can call them with places.
"""

from __future__ import annotations

import ctypes
from importlib import import_module

import numpy as np

from ....backend.onednn.address import address
from ....core.locks import made_once
from ...ir.graph import Ref
from ..llvm.ir import Builder, Val, number
from . import kernels
from .binder import Probe
from .kernels import entry

__all__ = ["function", "multiply", "repeat"]

_NAMES = {"float32": ("scipy_sgemm_64_", "sgemm_64_"), "float64": ("scipy_dgemm_64_", "dgemm_64_")}


@made_once
def function(dtype: np.dtype) -> int | None:
    """The address of the product for a type, or None where NumPy has another BLAS than OpenBLAS with 64-bit sizes."""
    library = ctypes.CDLL(import_module("numpy._core._multiarray_umath").__file__)
    for name in _NAMES.get(dtype.name, ()):
        if hasattr(library, name):
            return entry(getattr(library, name))
    return None


def multiply(binder: Probe, x: Ref, y: Ref, out: Ref, scale: float, keep: float, offsets: tuple[int, int, int]) -> bool:
    """Emit out = scale x y + keep out for one matrix of each ref, `offsets` elements after its first; False: refused.

    BLAS counts by columns, so what it computes is out^T = y^T x^T.
    """
    gemm, left, right, down = function(out.dtype), _side(y), _side(x), _side(out)
    if gemm is None or left is None or right is None or down is None or down[0] != b"N":
        return False
    (n, k), m = x.shape[-2:], y.shape[-1]
    sizes = np.array([m, n, k, left[1], right[1], down[1]], np.int64)
    numbers = np.array([scale, keep], out.dtype)
    letters = ctypes.create_string_buffer(left[0] + right[0])
    binder.keep(sizes, numbers, letters)
    m_at, n_at, k_at, y_step, x_step, out_step = (address(sizes) + 8 * i for i in range(6))
    letter, alpha = ctypes.addressof(letters), address(numbers)
    # After the sizes Fortran passes the lengths of the two letters.
    rest = (letter, letter + 1, m_at, n_at, k_at, alpha, y_step, x_step, alpha + numbers.itemsize, out_step, 1, 1)
    places = (binder.pointer(r, offset) for r, offset in zip((x, y, out), offsets, strict=True))
    binder.note("OpenBLAS")
    binder.call(kernels.fixed("gemm"), binder.block(gemm, *rest), *places)
    return True


def repeat(binder: Probe, row: Ref, out: Ref) -> None:
    """Emit out = row in every row, for a product to be added to."""
    width = out.shape[-1]
    function = kernels.native(_repeat_rows, 2, 1)
    binder.launch(function, out.size // width, (binder.pointer(row), binder.pointer(out)), width, threads=1)


def _repeat_rows(b: Builder, parameters: list[Val], low: Val, high: Val) -> None:
    row, out, width = parameters
    n = kernels.lanes()
    whole = b.op("and", width, -n)
    with b.loop(low, high) as r:
        start = b.op("mul", r, width)
        for begin, end, lanes in ((number(0, "i64"), whole, n), (whole, width, 0)):
            with b.loop(begin, end, lanes or 1) as j:
                x = b.load("float", lanes, kernels.element(b, row, j), 4)
                b.store(x, kernels.element(b, out, b.op("add", start, j)), 4)


def _side(ref: Ref) -> tuple[bytes, int] | None:
    """(N or T, leading dimension) of the transpose of a ref's matrices, or None where neither axis has stride 1."""
    (n, m), (row, column) = ref.shape[-2:], ref.strides[-2:]
    if (column == 1 or m == 1) and (row >= m or n == 1):
        return b"N", max(row if n > 1 else m, m, 1)
    if (row == 1 or n == 1) and (column >= n or m == 1):
        return b"T", max(column if m > 1 else n, n, 1)
    return None
