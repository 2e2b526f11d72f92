"""What linear algebra is built from: torch's checks of matrices, its error, and adjoints of raw arrays."""

from __future__ import annotations

import numpy as np

from ...core.tensor.dtype import from_numpy
from ...core.tensor.tensor import Tensor, type_word
from ..pointwise.checks import word


class _LinAlgError(RuntimeError):
    """A matrix that an algorithm cannot take: singular, not positive-definite, or without convergence."""


LinAlgError = _LinAlgError


def check_matrix(a, name: str, argument: str = "A"):
    if a.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")


def check_square(a, name: str, argument: str = "A"):
    check_matrix(a, name, argument)
    rows, columns = a.shape[-2:]
    if rows != columns:
        prefix = f"{name}: " if name else ""
        raise RuntimeError(
            f"{prefix}{argument} must be batches of square matrices, but they are {rows} by {columns} matrices"
        )


def is_low(a) -> bool:
    """Whether the type is one of the 16-bit floats, for which torch has no decompositions."""
    return a.dtype.itemsize == 2 and a.dtype.kind not in "iu"


def check_floating(a, name: str, low: bool = False):
    """Raise on integers, and, unless `low` says that they are welcome, on 16-bit floats."""
    if a.dtype.kind in "biu":
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {word(a)}")
    if not low and is_low(a):
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {word(a)}")


def check_kernel(a, kernel: str):
    """Raise as torch's dispatch to a LAPACK routine does for the types that it does not know."""
    if a.dtype.kind in "biu" or is_low(a):
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{word(a)}'")


def check_same_type(a, b, name: str, first: str = "A", second: str = "B"):
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"{name}: Expected {first} and {second} to have the same dtype, but found {first} of type {word(a)} and "
            f"{second} of type {word(b)} instead"
        )


def check_norm_type(t: Tensor, dtype, name: str):
    """Raise where `dtype` is no type to compute a norm of `t` in."""
    if dtype is None:
        return
    if dtype.category < 2:
        raise RuntimeError(f"{name}: dtype should be floating point or complex, but got {type_word(dtype)}")
    if t.is_complex() != dtype.is_complex:
        kind = "complex" if t.is_complex() else "real"
        raise RuntimeError(f"{name}: dtype should be {kind} for {kind} inputs, but got {type_word(dtype)}")
    mine = from_numpy(t._array.dtype)
    if mine.category >= 2 and mine.itemsize > dtype.itemsize:
        raise RuntimeError(
            f"{name}: the dtype of the input ({type_word(mine)}) should be convertible without narrowing to the "
            f"specified dtype ({type_word(dtype)})"
        )


def first_failure(info: np.ndarray) -> tuple[str, int]:
    """(torch's phrase for where, the code) of the first matrix of a batch with a code other than 0."""
    flat = info.reshape(-1)
    i = int(np.flatnonzero(flat)[0])
    return (f"(Batch element {i}): " if info.ndim else ""), int(flat[i])


def adjoint(a: np.ndarray) -> np.ndarray:
    """The conjugate transpose of raw matrices; a view where they are real."""
    t = a.swapaxes(-2, -1)
    return t.conj() if a.dtype.kind == "c" else t


def real_type(d: np.dtype) -> np.dtype:
    """The type of the real and the imaginary part."""
    return np.dtype(f"f{d.itemsize // 2}") if d.kind == "c" else d


def complex_type(d: np.dtype) -> np.dtype:
    return d if d.kind == "c" else np.dtype(f"c{2 * d.itemsize}")


def fresh(a: np.ndarray, like: np.dtype) -> np.ndarray:
    """`a` contiguous and of type `like`."""
    return np.ascontiguousarray(a, like)


def identity_times(t: Tensor, n: int) -> Tensor:
    """t[..., None, None] times the n x n identity, for a tensor of any shape."""
    return t.unsqueeze(-1).expand(*t._array.shape, n).diag_embed()


def halve_diagonal(t: Tensor) -> Tensor:
    """Matrices with half their diagonal."""
    return t - t.diagonal(0, -2, -1).diag_embed() * 0.5
