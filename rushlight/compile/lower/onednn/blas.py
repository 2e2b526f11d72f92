"""Products by NumPy's own OpenBLAS: small ones, where oneDNN's start costs as much as the product, and float64.

The Fortran entry points take addresses only, so that a step can call them with places.
"""

from __future__ import annotations

from importlib import import_module

import numpy as np

from ....backend.onednn.address import address
from ....backend.onednn.blas import blas_threads, leave_cores_to_openmp
from ....backend.onednn.library import available
from ....core.foreign import ctypes
from ....core.locks import made_once
from ...ir.graph import Ref
from ..llvm.ir import Builder, Val, number
from . import kernels
from .binder import Probe
from .kernels import entry

__all__ = ["function", "is_shareable", "multiply", "multiply_shared", "products", "repeat"]

_LETTERS = {"float32": "s", "float64": "d"}


@made_once
def function(dtype: np.dtype, name: str = "gemm") -> int | None:
    """The address of a product for a type, or None where NumPy has another BLAS than OpenBLAS with 64-bit sizes.

    name: gemm, of two matrices, or gemv, of a matrix and a vector.
    """
    library = ctypes.CDLL(import_module("numpy._core._multiarray_umath").__file__)
    letter = _LETTERS.get(dtype.name)
    for symbol in (f"scipy_{letter}{name}_64_", f"{letter}{name}_64_") if letter else ():
        if hasattr(library, symbol):
            return entry(getattr(library, symbol))
    return None


def products(dtype: np.dtype) -> tuple[int, int] | None:
    """The addresses of both products for a type, or None."""
    gemm, gemv = function(dtype), function(dtype, "gemv")
    return None if gemm is None or gemv is None else (gemm, gemv)


def multiply(binder: Probe, x: Ref, y: Ref, out: Ref, scale: float, keep: float, offsets: tuple[int, int, int]) -> bool:
    """Emit out = scale x y + keep out for one matrix of each ref, `offsets` elements after its first; False: refused.

    BLAS counts by columns, so what it computes is out^T = y^T x^T.
    """
    places = [binder.pointer(r, offset) for r, offset in zip((x, y, out), offsets, strict=True)]
    binder.note("OpenBLAS")
    if 1 in out.shape[-2:]:
        matrix, vector = (0, 1) if out.shape[-1] == 1 else (1, 0)
        words = _vector_arguments(binder, x, y, out, scale, keep)
        if words is not None:
            binder.call(kernels.fixed("gemv"), binder.block(*words), places[matrix], places[vector], places[2])
            return True
    words = _arguments(binder, x, y, out, scale, keep)
    if words is None:
        return False
    binder.call(kernels.fixed("gemm"), binder.block(*words), *places)
    return True


def multiply_shared(binder: Probe, x: Ref, y: Ref, out: Ref, scale: float, keep: float) -> bool:
    """The same for one matrix, each thread of the pool a part of the rows or, where these are fewer, of the columns."""
    words = _arguments(binder, x, y, out, scale, keep)
    if words is None:
        return False
    rows, columns = out.shape
    by_rows = rows >= columns
    steps = (x.strides[0], 0, out.strides[0]) if by_rows else (0, y.strides[1], out.strides[1])
    total = max(rows, columns)
    places = (binder.pointer(x), binder.pointer(y), binder.pointer(out))
    numbers = (total, *(s * out.dtype.itemsize for s in steps), by_rows, *words[:-2])
    function = kernels.native(_part, 3, len(numbers))
    binder.note("OpenBLAS")
    binder.launch(function, -(-total // _UNIT), places, *numbers)
    return True


def is_shareable() -> bool:
    """Whether OpenBLAS's calls take one thread each, so that the pool's threads can make them at the same time."""
    if available():
        leave_cores_to_openmp()  # as for what is emitted then
    return blas_threads() == 1


_UNIT = 128  # rows or columns of a call, whatever the number of threads: the digits do not depend on it


def _part(b: Builder, parameters: list[Val], low: Val, high: Val) -> None:
    x, y, out, total, x_step, y_step, out_step, by_rows, gemm, letter_y, letter_x, m, n, *rest = parameters
    k, alpha, y_lead, x_lead, beta, out_lead = rest
    function = b.emit(f"inttoptr i64 {gemm.text} to ptr", "ptr").text
    own = b.alloca("i64")
    part, rows_are_split = b.emit(f"ptrtoint ptr {own} to i64", "i64"), b.compare("icmp ne", by_rows, 0)
    m, n = b.select(rows_are_split, m, part), b.select(rows_are_split, part, n)
    with b.loop(low, high) as unit:
        start = b.op("mul", unit, _UNIT)
        left = b.op("sub", total, start)
        b.put(own, b.select(b.compare("icmp slt", left, _UNIT), left, number(_UNIT, "i64")))
        here = (b.op("add", at, b.op("mul", start, s)) for at, s in ((x, x_step), (y, y_step), (out, out_step)))
        x_at, y_at, out_at = here
        arguments = (letter_y, letter_x, m, n, k, alpha, y_at, y_lead, x_at, x_lead, beta, out_at, out_lead)
        b.line(f"call void {function}({', '.join(f'i64 {a.text}' for a in arguments)}, i64 1, i64 1)")


def _arguments(binder: Probe, x: Ref, y: Ref, out: Ref, scale: float, keep: float) -> tuple[int, ...] | None:
    """The function and its arguments but for the three matrices; None where it does not take them."""
    gemm, left, right, down = function(out.dtype), _side(y), _side(x), _side(out)
    if gemm is None or left is None or right is None or down is None or down[0] != b"N":
        return None
    (n, k), m = x.shape[-2:], y.shape[-1]
    sizes = np.array([m, n, k, left[1], right[1], down[1]], np.int64)
    numbers = np.array([scale, keep], out.dtype)
    letters = ctypes.create_string_buffer(left[0] + right[0])
    binder.keep(sizes, numbers, letters)
    m_at, n_at, k_at, y_step, x_step, out_step = (address(sizes) + 8 * i for i in range(6))
    letter, alpha = ctypes.addressof(letters), address(numbers)
    # After the sizes Fortran passes the lengths of the two letters.
    return gemm, letter, letter + 1, m_at, n_at, k_at, alpha, y_step, x_step, alpha + numbers.itemsize, out_step, 1, 1


def _vector_arguments(binder: Probe, x: Ref, y: Ref, out: Ref, scale: float, keep: float) -> tuple[int, ...] | None:
    """The same of a product with one row or one column, as a matrix times a vector: (1, 784) by (784, 128) takes half as long.

    Without AVX-512 OpenBLAS packs the matrix for each product of matrices, whatever its shape.
    """
    if out.shape[-1] == 1:
        (rows, k), (down, across) = x.shape[-2:], x.strides[-2:]
        vector, result = y.strides[-2], out.strides[-2]
    else:
        (k, rows), (across, down) = y.shape[-2:], y.strides[-2:]
        vector, result = x.strides[-1], out.strides[-1]
    vector, result = (1 if n == 1 else step for n, step in ((k, vector), (rows, result)))
    gemv = function(out.dtype, "gemv")
    if gemv is None or vector <= 0 or result <= 0:
        return None
    if (across == 1 or k == 1) and (down >= k or rows == 1):
        letter, m, n, lead = b"T", k, rows, down if rows > 1 else k
    elif (down == 1 or rows == 1) and (across >= rows or k == 1):
        letter, m, n, lead = b"N", rows, k, across if k > 1 else rows
    else:
        return None
    sizes = np.array([m, n, max(lead, m, 1), vector, result], np.int64)
    numbers = np.array([scale, keep], out.dtype)
    letters = ctypes.create_string_buffer(letter)
    binder.keep(sizes, numbers, letters)
    m_at, n_at, lead_at, vector_at, result_at = (address(sizes) + 8 * i for i in range(5))
    alpha = address(numbers)
    return (
        gemv,
        ctypes.addressof(letters),
        m_at,
        n_at,
        alpha,
        lead_at,
        vector_at,
        alpha + numbers.itemsize,
        result_at,
        1,
    )


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
