"""Matrix products of groups of different sizes, laid out one after the other."""

from __future__ import annotations

from typing import Any

from rushlight import ops
from rushlight.core.tensor.dtype import bfloat16, float16, float32, int32
from rushlight.core.tensor.tensor import Tensor


def grouped_mm(
    mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: Any = None
) -> Tensor:
    """A matrix product for each group, as the experts of a mixture need them.

    Args:
        offs: (G), int32: where the groups end.
    Shape: (M, K), (G, K, N) -> (M, N), the rows cut into groups (rows after the last are zero)
        (G, M, K), (K, N) -> (M, N), the columns of mat_b and of the result cut
        (M, K), (K, N) -> (G, M, N), the dimension K cut
        (G, M, K), (G, K, N) -> (G, M, N), without offs
    Raises:
        RuntimeError: there is a bias, as in `grouped_mm(ones(2, 2, 2), ones(2, 2, 2), bias=ones(2))`.
    """
    _check(mat_a, mat_b, offs, bias, out_dtype)
    if offs is None:
        return ops.bmm(mat_a, mat_b)
    ends = offs.tolist()
    groups = list(zip([0, *ends], ends, strict=False))
    if mat_a.ndim == 3:
        parts = [ops.mm(mat_a[i], mat_b[:, start:end]) for i, (start, end) in enumerate(groups)]
        return _filled(parts, 1, mat_b.shape[1])
    if mat_b.ndim == 2:
        return ops.stack([ops.mm(mat_a[:, start:end], mat_b[start:end]) for start, end in groups])
    parts = [ops.mm(mat_a[start:end], mat_b[i]) for i, (start, end) in enumerate(groups)]
    return _filled(parts, 0, mat_a.shape[0])


def _filled(parts: list[Tensor], dim: int, size: Any) -> Tensor:
    """The parts in one tensor, with zeros after them up to `size`."""
    sizes: list[Any] = [part.shape[dim] for part in parts]
    rest = size - sum(sizes)
    if rest > 0:
        shape = list(parts[0].shape)
        shape[dim] = rest
        parts = [*parts, ops.zeros(shape, dtype=parts[0].dtype)]
    return ops.cat(parts, dim)


def _check(mat_a: Tensor, mat_b: Tensor, offs: Tensor | None, bias: Tensor | None, out_dtype: Any) -> None:
    for name, matrix in (("mat_a", mat_a), ("mat_b", mat_b)):
        if matrix.dtype not in (float32, bfloat16, float16):
            raise RuntimeError(f"Expected {name} to be Float32, BFloat16 or Float16 matrix, got {matrix.dtype}")
        if matrix.ndim not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d")
    if mat_a.dtype is not mat_b.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {mat_a.dtype} != {mat_b.dtype}")
    if mat_a.shape[-1] != mat_b.shape[-2]:
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    both = mat_a.ndim == mat_b.ndim == 3
    if (offs is None) != both:
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if both and mat_a.shape[0] != mat_b.shape[0]:
        raise RuntimeError("batched dimension has to match")
    if offs is not None:
        _check_ends(mat_a, mat_b, offs)
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype not in (None, mat_a.dtype):
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")


def _check_ends(mat_a: Tensor, mat_b: Tensor, offs: Tensor) -> None:
    if offs.dtype is not int32:
        raise RuntimeError("Offsets have to be int32")
    groups = mat_a.shape[0] if mat_a.ndim == 3 else mat_b.shape[0] if mat_b.ndim == 3 else offs.shape[0]
    if offs.ndim != 1 or offs.shape[0] != groups:
        raise RuntimeError("matrix batch sizes have to match")
