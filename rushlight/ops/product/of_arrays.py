"""Products of raw arrays, and what torch says of arrays that do not fit one another in a product."""

from __future__ import annotations

import numpy as np

from ...core.tensor.dtype import shown_type
from ..pointwise.building_blocks import F32, F64
from ..pointwise.checks import c_word_of, word


def refuse_shapes(x, y):
    """Raise torch's error for an (n x k) and an (l x m) matrix with k != l."""
    rows = x.size // x.shape[-1] if x.ndim and x.shape[-1] else int(np.prod(x.shape[:-1]))
    raise RuntimeError(
        f"mat1 and mat2 shapes cannot be multiplied ({rows}x{x.shape[-1]} and {y.shape[0]}x{y.shape[1]})"
    )


def check_types(x, y, name="addmm_impl_cpu_"):
    if x.dtype != y.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {c_word_of(x)} != {c_word_of(y)}")
    refuse_bool(x, name)


def check_sum_types(added, x, y):
    """Raise torch's error where the types of added + x @ y differ. It comes before those of the shapes."""
    if added.dtype != y.dtype:
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {word(added)} and {word(y)}")
    if x.dtype != y.dtype:
        raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {word(x)} and {word(y)}")


def refuse_bool(x, name):
    if x.dtype.kind == "b":
        raise NotImplementedError(f"\"{name}\" not implemented for 'Bool'")


def product(x, y):
    """x @ y by NumPy's rules for ranks; 16-bit floats are multiplied and summed in float32."""
    d = x.dtype
    if d is F32 or d is F64:
        if x.ndim < 3 and y.ndim < 3 and x.size > 1 < y.size:  # BLAS leaves out a factor 0 of a matrix of one number
            return x.dot(y)
        return np.matmul(x, y, order="C")
    if d.itemsize == 2 and d.kind not in "iu":
        return np.asarray(np.matmul(x.astype(F32), y.astype(F32))).astype(d)
    return np.asarray(np.matmul(x, y, order="C"))


def folded(x, y):
    """x (*, k) times the matrix y (k, n), all leading dimensions as rows of one matrix -> (*, n), memory of its own."""
    if x.ndim == 2 and (x.dtype is F32 or x.dtype is F64):
        return x.dot(y) if x.size > 1 < y.size else np.matmul(x, y)
    lead, k, n = x.shape[:-1], x.shape[-1], y.shape[1]
    if not x.size or not n or k == 1 or x.dtype.kind not in "fc" or x.dtype.itemsize == 2:
        return product(x, y)
    out = np.empty((*lead, n), x.dtype, like=x)
    x.reshape(-1, k).dot(y, out.reshape(-1, n))
    return out


def rows_of(x):
    """x (*, k) as one matrix (rows, k)."""
    if x.ndim == 2:
        return x
    k = x.shape[-1]
    return x.reshape(x.size // k if k else int(np.prod(x.shape[:-1])), k)


def in_columns(rows, strides, step):
    """Whether elements of `step` bytes are laid out column after column. rows: all sizes but the last, which count as one."""
    if len(rows) == 1:
        return strides[0] == step and strides[1] == step * rows[0]
    for n, stride in zip(rows[::-1], strides[-2::-1], strict=True):
        if n != 1 and stride != step:
            return False
        step *= n
    return strides[-1] == step


def is_in_rows(shape, strides, step):
    """Whether elements of `step` bytes of a matrix are laid out row after row."""
    return strides[1] == step and strides[0] == step * shape[1]


def refuse_expansion(shape, a):
    """Raise torch's error if `a` cannot be expanded to `shape`."""
    if a.ndim > len(shape):
        raise RuntimeError(
            f"expand({shown_type(a)}, size={list(shape)}): the number of sizes provided ({len(shape)}) must be "
            "greater or "
            f"equal to the number of dimensions in the tensor ({a.ndim})"
        )
    for i in range(1, a.ndim + 1):
        if a.shape[-i] not in (1, shape[-i]):
            raise RuntimeError(
                f"The expanded size of the tensor ({shape[-i]}) must match the existing size ({a.shape[-i]}) at "
                f"non-singleton dimension {len(shape) - i}.  Target sizes: {list(shape)}.  Tensor sizes: "
                f"{list(a.shape)}"
            )
