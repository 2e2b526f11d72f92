"""Functions of whole matrices: exponential, Vandermonde, inverses of tensors; torch.linalg's names of older operators."""

from __future__ import annotations

from math import prod

import numpy as np

from ...core.dispatch.errors import argument_type
from ...core.dispatch.op import composite, primitive
from ...core.tensor.tensor import Tensor, type_word
from ..pointwise.building_blocks import conjugate
from ..pointwise.checks import word
from ..product import products
from ..product.matmul import matmul as _matmul
from ..shape.concatenate import cat
from .matrices import check_floating, check_same_type, check_square
from .solvers import _invert, solve

# ---------------------------------------------------------------------------------------------- exponential

_PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0, 10559470521600.0,
    670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
_LARGEST = 5.371920351148152  # the 1-norm up to which the approximant of degree 13 is exact in double precision


def _exponential(a):
    """exp of matrices in double precision: Pade approximant of degree 13, scaling and squaring (Higham, 2005)."""
    size = np.abs(a).sum(-2).max(-1, initial=0)
    finite = np.isfinite(size)
    ratio = np.where(finite & (size > _LARGEST), size / _LARGEST, 1)
    halvings = np.ceil(np.log2(ratio)).astype(int)
    x = a / np.exp2(halvings)[..., None, None]
    one = np.eye(a.shape[-1], dtype=a.dtype)
    b = _PADE
    x2 = x @ x
    x4 = x2 @ x2
    x6 = x4 @ x2
    odd = x @ (x6 @ (b[13] * x6 + b[11] * x4 + b[9] * x2) + b[7] * x6 + b[5] * x4 + b[3] * x2 + b[1] * one)
    even = x6 @ (b[12] * x6 + b[10] * x4 + b[8] * x2) + b[6] * x6 + b[4] * x4 + b[2] * x2 + b[0] * one
    r = np.linalg.solve(even - odd, even + odd)
    for i in range(int(halvings.max(initial=0))):
        r = np.where((halvings > i)[..., None, None], r @ r, r)
    return r


@primitive(name="linalg_matrix_exp", public=False)
def _matrix_exp(A, /):
    check_floating(A, "linalg.matrix_exp", low=True)
    check_square(A, "linalg.matrix_exp")
    if not A.size:
        return A.copy()
    wide = np.complex128 if A.dtype.kind == "c" else np.float64
    return _exponential(A.astype(wide)).astype(A.dtype)


@_matrix_exp.vjp
def _(g, A):
    """The upper right block of exp([[A^H, g], [0, A^H]])."""
    n = A.shape[-1]
    a = A.mH
    both = cat([cat([a, g], -1), cat([a * 0, a], -1)], -2)
    return _matrix_exp(both).narrow(-2, 0, n).narrow(-1, n, n)


@composite(name="matrix_exp", method=True, out=True)
def matrix_exp(input):
    """1 + A + A^2 / 2 + A^3 / 6 + ... of square matrices.

    Shape: (*, n, n) -> (*, n, n)
    Raises:
        RuntimeError: the matrices are not square, as in `matrix_exp(ones(2, 3))`.

    >>> matrix_exp(zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return _matrix_exp(input)


# ---------------------------------------------------------------------------------------------- products and powers


@composite(name="linalg_matmul", function=False, out=True)
def matmul(input, other):
    """The matrix product: `torch.matmul`.

    Args:
        out: the tensor to write the result to.
    Shape: (n), (n) -> (); (n, k), (k, m) -> (n, m); (*, n, k), (*, k, m) -> (*, n, m)
    Raises:
        RuntimeError: the inner sizes differ, as in `matmul(ones(2, 3), ones(2, 3))`.

    >>> matmul(tensor([[1, 2]]), tensor([[1], [10]]))
    tensor([[21]])
    """
    return _matmul(input, other)


@composite(name="linalg_matrix_power", function=False, out=True)
def matrix_power(input, n):
    """Square matrices multiplied with themselves n times; a negative n powers the inverse.

    Args:
        out: the tensor to write the result to.
    Shape: (*, m, m) -> (*, m, m)
    Raises:
        RuntimeError: the matrices are not square, as in `matrix_power(ones(2, 3), 2)`.

    >>> matrix_power(tensor([[1.0, 1.0], [0.0, 1.0]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
    """
    return products.matrix_power(input, n)


@composite(name="linalg_multi_dot", function=False, out=True)
def multi_dot(tensors):
    """The product of two or more matrices in the cheapest order; the first and the last may be vectors.

    Args:
        out: the tensor to write the result to.
    Shape: (n, k), (k, l), ..., (l, m) -> (n, m)
    Raises:
        RuntimeError: there is one tensor, as in `multi_dot([ones(2, 2)])`.
        RuntimeError: the sizes do not fit, as in `multi_dot([ones(2, 3), ones(2, 3)])`.

    >>> multi_dot([ones(2, 3), ones(3, 4), ones(4, 1)])
    tensor([[12.],
            [12.]])
    """
    if isinstance(tensors, Tensor):
        raise argument_type("linalg_multi_dot", "tensors", 1, tensors, "tuple of Tensors")
    tensors = list(tensors)
    for i, t in enumerate(tensors[1:], 1):
        if t.dtype is not tensors[0].dtype:
            raise RuntimeError(
                "multi_dot(): all tensors must have be the same dtype but tensor 0 is "
                f"{type_word(tensors[0].dtype).lower()} and tensor {i} {type_word(t.dtype).lower()}"
            )
    return products.multi_dot(tensors)


@composite(name="linalg_cross", function=False, out=True)
def cross(input, other, *, dim=-1):
    """The cross product along a dimension of size 3.

    Args:
        other: a tensor, broadcast against `input`.
        out: the tensor to write the result to.
    Shape: (*, 3), (*, 3) -> (*, 3)
    Raises:
        RuntimeError: the dimension has another size, as in `cross(ones(2), ones(2))`.

    >>> cross(tensor([1, 0, 0]), tensor([0, 1, 0]))
    tensor([0, 0, 1])
    """
    return products.cross_along(input, other, dim)


@composite(name="linalg_vecdot", function=False, out=True)
def vecdot(x, y, *, dim=-1):
    """sum(conj(x) y) along one dimension.

    Args:
        y: a tensor, broadcast against `x`.
        out: the tensor to write the result to.
    Shape: (*, n), (*, n) -> (*)
    Raises:
        RuntimeError: the types differ, as in `vecdot(ones(2), tensor([1, 2]))`.

    >>> vecdot(tensor([1.0, 2.0]), tensor([3.0, 4.0]))
    tensor(11.)
    """
    check_floating(x._array, "linalg.vecdot", low=True)
    check_same_type(x._array, y._array, "linalg.vecdot", "x", "y")
    if x._array.ndim == 1 and y._array.ndim == 1:
        return x.vdot(y)
    return (conjugate(x) * y).sum(dim)


# ---------------------------------------------------------------------------------------------- diagonals, Vandermonde


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """The diagonals of matrices, as a view.

    Args:
        offset: above the main diagonal (below it if negative).
    Shape: (*, n, m) -> (*, min(n, m)) for offset 0
    Raises:
        IndexError: there is one dimension, as in `diagonal(ones(2))`.

    >>> diagonal(tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return A.diagonal(offset, dim1, dim2)


@composite(name="linalg_vander", function=False)
def vander(x, *, N=None):
    """The powers 0 to N - 1 of each element.

    Args:
        N: how many; n by default.
    Shape: (*, n) -> (*, n, N)

    >>> vander(tensor([2, 3]), N=3)
    tensor([[1, 2, 4],
            [1, 3, 9]])
    """
    a = x._array
    if a.dtype.kind == "b":
        raise RuntimeError(f"linalg.vander supports floating point, complex, and integer tensors, but got {word(a)}")
    n = N if N is not None else a.shape[-1] if a.ndim else 1
    if n < 1 or (N is None and n <= 1):
        raise RuntimeError("N must be greater than 1.")
    x = x.reshape(1) if not a.ndim else x
    x = x.unsqueeze(-1)
    ones = x.new_ones(x.shape)
    if n == 1:
        return ones
    powers = x.expand(*x.shape[:-1], n - 1).cumprod(-1)
    return cat([ones.to(powers.dtype), powers], -1)


# ---------------------------------------------------------------------------------------------- tensors as matrices


@composite(name="linalg_tensorinv", function=False, out=True)
def tensorinv(input, ind=2):
    """The inverse for `tensordot` over the first `ind` dimensions.

    Args:
        out: the tensor to write the result to.
    Shape: (*a, *b) -> (*b, *a), prod(a) = prod(b), a of `ind` dimensions
    Raises:
        RuntimeError: the products differ, as in `tensorinv(ones(2, 3), 1)`.

    >>> tensorinv(eye(4).reshape(4, 2, 2), 1).shape
    torch.Size([2, 2, 4])
    """
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    front, back = input.shape[:ind], input.shape[ind:]
    if prod(front) != prod(back):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{prod(back)} != {prod(front)}"
        )
    return _invert(input.reshape(prod(front), prod(back)), True, "inv")[0].reshape(*back, *front)


@composite(name="linalg_tensorsolve", function=False, out=True)
def tensorsolve(A, B, dims=None):
    """X with tensordot(A, X, X.ndim) = B.

    Args:
        dims: dimensions of A that are moved to its end first.
        out: the tensor to write the result to.
    Shape: A (*b, *x), B (*b) -> (*x), prod(b) = prod(x)
    Raises:
        RuntimeError: the products differ, as in `tensorsolve(ones(2, 3), ones(2))`.

    >>> tensorsolve(eye(4).reshape(4, 2, 2), ones(4))
    tensor([[1., 1.],
            [1., 1.]])
    """
    if dims is not None:
        n = A._array.ndim
        dims = (dims,) if isinstance(dims, int) else tuple(dims)
        A = A.movedim(dims, tuple(range(n - len(dims), n)))
    back = A.shape[B._array.ndim :]
    if prod(back) != prod(A.shape[: B._array.ndim]):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
            f"but got {prod(back)} != {prod(A.shape[: B._array.ndim])}"
        )
    if prod(back) != B._array.size:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
            f"but got {prod(back)} != {B._array.size}"
        )
    return solve(A.reshape(-1, prod(back)), B.flatten()).reshape(back)
