"""beta * x + alpha * (y z): products added to something, for each kind of product."""

from __future__ import annotations

import functools

import numpy as np

from ...core.dispatch.op import OPS, primitive
from ...core.dispatch.scalars import exact
from ...core.dispatch.slow_path import by_others
from ...core.tensor.dtype import from_numpy, promote_types
from ...core.tensor.size import wrap_dim
from ...core.tensor.tensor import Tensor
from ..pointwise.building_blocks import F32, conjugate, in_order_of
from ..pointwise.checks import c_word_of
from ..pointwise.multiply_add import multiply_add
from .matmul import (
    bmm,
    check_batches,
    check_mv,
    first_gradient,
    matmul,
    mm,
    mv,
    outer,
    second_gradient,
    vector_matrix,
    word,
)
from .of_arrays import check_sum_types, folded, product, refuse_bool, refuse_expansion, refuse_shapes


def _blend(input, r, beta, alpha):
    """beta * input + alpha * r, in the memory of r; a zero beta leaves even nans out."""
    if input.dtype != r.dtype:
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {word(input)} and {word(r)}")
    refuse_expansion(r.shape, input)
    if r.dtype.kind in "iu":
        beta, alpha = exact(beta, r.dtype), exact(alpha, r.dtype)
    if alpha != 1:
        np.multiply(r, alpha, r)
    if beta == 0:
        return r
    return np.add(r, input if beta == 1 else input * r.dtype.type(beta), r)


def _sizes(*places):
    """The shape to which torch expands what is added, before it looks at the factors' dimensions.

    places: (array, dimension) of each size.
    """
    for a, dim in places:
        if not a.ndim:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return tuple([a.shape[wrap_dim(dim, a.ndim)] for a, dim in places])


def _of_matrices(x, y):
    """x @ y as `mm` has it: large products on all cores."""
    return mm.record.kernel(x, y) if type(x) is np.ndarray else folded(x, y)


def _of_batches(x, y):
    return bmm.record.kernel(x, y) if type(x) is np.ndarray else product(x, y)


def _sum_with(of, input, x, y, beta, alpha):
    """beta * input + alpha * of(x, y); 16-bit floats are rounded once, at the end."""
    if x.dtype.itemsize > 2 or x.dtype.kind in "biu" or input.dtype != x.dtype:
        return _blend(input, of(x, y), beta, alpha)
    return _blend(input.astype(F32), of(x.astype(F32), y.astype(F32)), beta, alpha).astype(x.dtype)


def _times(g, factor):
    """The gradient through a product with the number `factor`."""
    return g if factor == 1 else g * conjugate(factor)


def _with_factors(product_of, input, beta, alpha):
    """beta * input + alpha * product_of, for factors of which a program computes at least one."""
    of_input, of_product = (f.detach().to(input.dtype) if isinstance(f, Tensor) else f for f in (beta, alpha))
    first = input * of_input
    first = OPS["where"](of_input == 0, 0.0, first) if isinstance(beta, Tensor) else first  # nan does not count then
    return first + product_of * of_product


by_others("addmm")(lambda x, y, z, beta, alpha: _with_factors(mm(y, z), x, beta, alpha))
by_others("addmv")(lambda x, y, z, beta, alpha: _with_factors(mv(y, z), x, beta, alpha))
by_others("baddbmm")(lambda x, y, z, beta, alpha: _with_factors(bmm(y, z), x, beta, alpha))
by_others("addbmm")(lambda x, y, z, beta, alpha: _with_factors(bmm(y, z).sum(0), x, beta, alpha))
by_others("addr")(lambda x, y, z, beta, alpha: _with_factors(outer(y, z), x, beta, alpha))


@primitive(method=True, inplace=True, out=True, number_first=("beta", "alpha"))
def addmm(input, mat1, mat2, /, *, beta=1, alpha=1):
    """beta * input + alpha * (mat1 @ mat2).

    Args:
        beta, alpha: numbers; where beta is 0, nan in the input does not count.
        out: the tensor to write the result to.
    Shape: (n, m) or broadcast to it, (n, k), (k, m) -> (n, m)
    Raises:
        RuntimeError: the inner sizes differ, as in `addmm(ones(1), ones(2, 3), ones(2, 3))`.
        RuntimeError: `input` does not broadcast, as in `addmm(ones(3), ones(2, 1), ones(1, 2))`.

    >>> addmm(ones(2), tensor([[1.0, 2.0]]), ones(2, 2), alpha=10)
    tensor([[31., 31.]])
    """
    check_sum_types(input, mat1, mat2)
    for a, name in ((mat1, "mat1"), (mat2, "mat2")):
        if a.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {a.ndim}-D tensor")
    if mat1.shape[1] != mat2.shape[0]:
        refuse_shapes(mat1, mat2)
    refuse_bool(mat1, "addmm_impl_cpu_")
    return _sum_with(_of_matrices, input, mat1, mat2, beta, alpha)


@addmm.vjp("input")
def _(g, beta):
    return _times(g, beta)


@addmm.vjp("mat1")
def _(g, mat2, alpha, mat1_strides):
    return _times(first_gradient(g, conjugate(mat2), mat1_strides), alpha)


@addmm.vjp("mat2")
def _(g, mat1, alpha, mat2_strides):
    return _times(second_gradient(g, conjugate(mat1), mat2_strides), alpha)


@primitive(method=True, inplace=True, out=True, number_first=("beta", "alpha"))
def addmv(input, mat, vec, /, *, beta=1, alpha=1):
    """beta * input + alpha * (mat @ vec).

    Args:
        beta, alpha: numbers; where beta is 0, nan in the input does not count.
        out: the tensor to write the result to.
    Shape: (n) or broadcast to it, (n, k), (k) -> (n)
    Raises:
        RuntimeError: the sizes differ, as in `addmv(ones(2), ones(2, 3), ones(2))`.

    >>> addmv(ones(2), ones(2, 3), ones(3))
    tensor([4., 4.])
    """
    check_mv(mat, vec, input)
    return _sum_with(product, input, mat, vec, beta, alpha)


@addmv.vjp("input")
def _(g, beta):
    return _times(g, beta)


@addmv.vjp("mat")
def _(g, vec, alpha):
    return _times(outer(g, conjugate(vec)), alpha)


@addmv.vjp("vec")
def _(g, mat, alpha):
    return _times(vector_matrix(g, conjugate(mat)), alpha)


@primitive(method=True, inplace=True, out=True, number_first=("beta", "alpha"))
def baddbmm(input, batch1, batch2, /, *, beta=1, alpha=1):
    """beta * input + alpha * (batch1 @ batch2).

    Args:
        beta, alpha: numbers; where beta is 0, nan in the input does not count.
        out: the tensor to write the result to.
    Shape: (b, n, m) or broadcast to it, (b, n, k), (b, k, m) -> (b, n, m)
    Raises:
        RuntimeError: the sizes do not fit, as in `baddbmm(ones(1), ones(1, 2, 3), ones(1, 2, 3))`.

    >>> baddbmm(ones(1), ones(5, 2, 3), ones(5, 3, 4)).shape
    torch.Size([5, 2, 4])
    """
    refuse_expansion(_sizes((batch1, 0), (batch1, 1), (batch2, 2)), input)
    if input.dtype != batch1.dtype:
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {c_word_of(input)}, batch1: {c_word_of(batch1)}, batch2: "
            f"{c_word_of(batch2)}"
        )
    check_batches(batch1, batch2)
    return _sum_with(_of_batches, input, batch1, batch2, beta, alpha)


@baddbmm.vjp("input")
def _(g, beta):
    return _times(g, beta)


@baddbmm.vjp("batch1")
def _(g, batch2, alpha):
    return _times(bmm(g, conjugate(batch2).transpose(1, 2)), alpha)


@baddbmm.vjp("batch2")
def _(g, batch1, alpha):
    return _times(bmm(conjugate(batch1).transpose(1, 2), g), alpha)


@primitive(method=True, inplace=True, out=True, number_first=("beta", "alpha"))
def addbmm(input, batch1, batch2, /, *, beta=1, alpha=1):
    """beta * input + alpha * the sum over b of batch1[b] @ batch2[b].

    Args:
        beta, alpha: numbers; where beta is 0, nan in the input does not count.
        out: the tensor to write the result to.
    Shape: (n, m) or broadcast to it, (b, n, k), (b, k, m) -> (n, m)
    Raises:
        RuntimeError: the sizes do not fit, as in `addbmm(ones(1), ones(1, 2, 3), ones(1, 2, 3))`.

    >>> addbmm(zeros(1), ones(5, 2, 3), ones(5, 3, 2))
    tensor([[15., 15.],
            [15., 15.]])
    """
    refuse_expansion(_sizes((batch1, 1), (batch2, 2)), input)
    check_sum_types(input, batch1, batch2)
    check_batches(batch1, batch2)
    (_, n, _), m = batch1.shape, batch2.shape[2]
    columns = batch1.transpose(1, 0, 2).reshape(n, batch1.shape[0] * batch1.shape[2])
    return _sum_with(_of_matrices, input, columns, batch2.reshape(columns.shape[1], m), beta, alpha)


@addbmm.vjp("input")
def _(g, beta):
    return _times(g, beta)


@addbmm.vjp("batch1")
def _(g, batch2, alpha):
    return _times(matmul(g, conjugate(batch2).transpose(1, 2)), alpha)


@addbmm.vjp("batch2")
def _(g, batch1, alpha):
    return _times(matmul(conjugate(batch1).transpose(1, 2), g), alpha)


def _check_factors(beta, alpha):
    for name, factor in (("beta", beta), ("alpha", alpha)):
        if isinstance(factor, bool):
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
        if isinstance(factor, float):
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")


@primitive(method=True, inplace=True, out=True, number_first=("beta", "alpha"))
def addr(input, vec1, vec2, /, *, beta=1, alpha=1):
    """beta * input + alpha * the outer product of two vectors.

    Args:
        beta, alpha: numbers; where beta is 0, nan in the input does not count.
        out: the tensor to write the result to.
    Shape: (n, m) or broadcast to it, (n), (m) -> (n, m)
    Raises:
        RuntimeError: one is not 1-D, as in `addr(ones(1), ones(2, 2), ones(2))`.

    >>> addr(zeros(2, 2), tensor([1.0, 2.0]), tensor([3.0, 4.0]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    for a, name in ((vec1, "vec1"), (vec2, "vec2")):
        if a.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {a.ndim}-D")
    if vec1.dtype.kind == "b" and input.dtype.kind == "b":
        r = np.logical_and.outer(vec1, vec2) & bool(alpha)
        return r | input if beta else r
    d = functools.reduce(promote_types, [from_numpy(a.dtype) for a in (input, vec1, vec2)]).numpy
    input, vec1, vec2 = (a.astype(d, copy=False) for a in (input, vec1, vec2))
    if d.kind in "iu":
        _check_factors(beta, alpha)
    if d.kind not in "fV":
        r = _blend(input, np.multiply.outer(vec1, vec2), beta, alpha)
        return in_order_of(r, input, vec1[:, None], vec2)
    column = (vec1 if alpha == 1 else vec1 * d.type(alpha))[:, None]
    if beta == 0:
        return in_order_of(column * vec2, input, vec1[:, None], vec2)
    order, input = input, input if beta == 1 else input * d.type(beta)
    refuse_expansion((len(vec1), len(vec2)), input)
    r = multiply_add(column, vec2, input) if d.itemsize > 2 else column * vec2 + input
    return in_order_of(r, order, column, vec2)


@addr.vjp("input")
def _(g, beta):
    return _times(g, beta)


@addr.vjp("vec1")
def _(g, vec2, alpha):
    return _times(mv(g, conjugate(vec2)), alpha)


@addr.vjp("vec2")
def _(g, vec1, alpha):
    return _times(vector_matrix(conjugate(vec1), g), alpha)
