"""Products of matrices and vectors, and the affine map made of them.

Three products of matrices are enough for every gradient: x y, x y^T (`linear` without bias) and x^T y (`gram`); the
gradients of each are two of the three, and none needs a transposed copy.

The gradient of a factor whose columns follow one another in memory is laid out as the factor is, as in torch: it is the transpose of
the transposed product.
"""

from __future__ import annotations

import numpy as np

from ...core.dispatch.autocast import LOWER, Off, brought
from ...core.dispatch.errors import argument_type
from ...core.dispatch.op import OPS, composite, primitive
from ...core.dispatch.slow_path import write_out
from ...core.interrupts import raise_if_interrupted
from ...core.tensor.size import broadcast_shapes
from ...core.tensor.tensor import Tensor
from ..pointwise.building_blocks import F32, F64, MANY, conjugate
from ..pointwise.checks import word
from ..reduce.reduction import total
from .affine_graph import affine_graph
from .of_arrays import (
    check_sum_types,
    check_types,
    folded,
    in_columns,
    is_in_rows,
    product,
    refuse_bool,
    refuse_expansion,
    refuse_shapes,
    rows_of,
)

# ---------------------------------------------------------------------------------------------- matrices


@primitive(method=True, out=True)
def mm(input, mat2, /):
    """The product of two matrices.

    Args:
        out: the tensor to write the result to.
    Shape: (n, k), (k, m) -> (n, m)
    Raises:
        RuntimeError: the inner sizes differ, as in `mm(ones(2, 3), ones(2, 3))`.
        RuntimeError: one is not a matrix, as in `mm(ones(2), ones(2, 3))`.

    >>> mm(tensor([[1, 2], [3, 4]]), tensor([[1], [10]]))
    tensor([[21],
            [43]])
    """
    d = input.dtype
    if (d is F32 or d is F64) and mat2.dtype is d and input.ndim == 2 and mat2.ndim == 2:
        try:
            return input.dot(mat2) if input.size > 1 < mat2.size else np.matmul(input, mat2)
        except ValueError as error:
            raise_if_interrupted(error)
            refuse_shapes(input, mat2)
    for a, name in ((input, "self"), (mat2, "mat2")):
        if a.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix")
    if input.shape[1] != mat2.shape[0]:
        refuse_shapes(input, mat2)
    check_types(input, mat2)
    return product(input, mat2)


@mm.vjp("input")
def _(g, mat2, input_strides):
    return first_gradient(g, conjugate(mat2), input_strides)


@mm.vjp("mat2")
def _(g, input, mat2_strides):
    return second_gradient(g, conjugate(input), mat2_strides)


def first_gradient(g, y, strides):
    """The gradient g y^T of x in x y, laid out as x with these strides."""
    if strides[0] <= strides[1] and in_columns(g._array.shape[:1], strides, g._array.itemsize):
        return linear_plain(y, g).t()
    return linear_plain(g, y)


def second_gradient(g, x, strides):
    """The gradient x^T g of y in x y, laid out as y with these strides."""
    if strides[0] <= strides[1] and in_columns(x._array.shape[1:], strides, g._array.itemsize):
        return gram(g, x).t()
    return gram(x, g)


@primitive(name="gram", public=False, node="MmBackward0")
def gram(x, y, /):
    """The sum over all leading positions of the outer products: x^T y. Shape: (*, n), (*, m) -> (n, m)"""
    x, y = rows_of(x), rows_of(y)
    if x.dtype is F32 or x.dtype is F64:
        return x.T * y if x.shape[0] == 1 else x.T.dot(y)  # BLAS leaves out a factor 0, be the other one nan
    return product(x.T, y)


@gram.vjp("x")
def _(g, y):
    return linear(conjugate(y), g)


@gram.vjp("y")
def _(g, x):
    return matmul(conjugate(x), g)


# ---------------------------------------------------------------------------------------------- vectors


def _check_vectors(x, y):
    if x.ndim != 1 or y.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {x.ndim}D and {y.ndim}D tensors")
    if x.dtype != y.dtype:
        raise RuntimeError(f"dot : expected both vectors to have same dtype, but found {word(x)} and {word(y)}")
    if x.shape != y.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{len(x)}] and src [{len(y)}] to have the same number of "
            "elements, "
            f"but got {len(x)} and {len(y)} elements respectively"
        )
    refuse_bool(x, "dot")


@primitive(method=True, out=True)
def dot(input, tensor, /):
    """The sum of the products of two vectors' elements.

    Args:
        out: the tensor to write the result to.
    Shape: (n), (n) -> ()
    Raises:
        RuntimeError: the sizes differ, as in `dot(ones(2), ones(3))`.
        RuntimeError: one is not 1-D, as in `dot(ones(2, 2), ones(2))`.

    >>> dot(tensor([1, 2]), tensor([3, 4]))
    tensor(11)
    """
    _check_vectors(input, tensor)
    return product(input, tensor)


@dot.vjp("input")
def _(g, tensor):
    return g * conjugate(tensor)


@dot.vjp("tensor")
def _(g, input):
    return g * conjugate(input)


@primitive(method=True, out=True)
def vdot(input, other, /):
    """As `dot`, with the conjugate of the first vector.

    Args:
        out: the tensor to write the result to.
    Shape: (n), (n) -> ()
    Raises:
        RuntimeError: the sizes differ, as in `vdot(ones(2), ones(3))`.

    >>> vdot(tensor([1.0j]), tensor([1.0j]))
    tensor(1.+0.j)
    """
    _check_vectors(input, other)
    return product(np.conjugate(input) if input.dtype.kind == "c" else input, other)


@vdot.vjp("input")
def _(g, other):
    return conjugate(g) * other


@vdot.vjp("other")
def _(g, input):
    return g * input


def check_mv(mat, vec, added=None):
    """Raise torch's error for added + mat @ vec; without `added` for the product alone."""
    if not mat.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    ndim = 1 if added is None else added.ndim
    if mat.ndim != 2 or vec.ndim != 1 or ndim > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {ndim}, {mat.ndim}, {vec.ndim}")
    n, k = mat.shape
    if k != len(vec) or not (added is None or added.size in (1, n)):
        if not ndim:
            raise IndexError("Dimension specified as 0 but tensor has no dimensions")
        raise RuntimeError(
            f"size mismatch, got input ({n if added is None else len(added)}), mat ({n}x{k}), vec ({len(vec)})"
        )
    first = vec if added is None else added
    if mat.dtype != vec.dtype or first.dtype != vec.dtype:
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {word(first)}, {word(mat)}, and {word(vec)}"
        )
    refuse_bool(mat, "addmv_impl_cpu")


@primitive(method=True, out=True)
def mv(input, vec, /):
    """A matrix times a vector.

    Args:
        out: the tensor to write the result to.
    Shape: (n, k), (k) -> (n)
    Raises:
        RuntimeError: the sizes differ, as in `mv(ones(2, 3), ones(2))`.

    >>> mv(tensor([[1, 2], [3, 4]]), tensor([1, 10]))
    tensor([21, 43])
    """
    check_mv(input, vec)
    return product(input, vec)


@mv.vjp("input")
def _(g, vec):
    return outer(g, conjugate(vec))


@mv.vjp("vec")
def _(g, input):
    return vector_matrix(g, conjugate(input))


@primitive(name="matmul.vector_matrix", public=False, node="SqueezeBackward4", keeps={"input": None})
def vector_matrix(input, other, /):
    """A vector times a matrix. Shape: (k,), (k, m) -> (m,)"""
    if len(input) != other.shape[0]:
        refuse_shapes(input[None], other)
    check_types(input, other)
    return product(input, other)


@vector_matrix.vjp("input")
def _(g, other):
    return mv(conjugate(other), g)


@vector_matrix.vjp("other")
def _(g, input, other_strides):
    x = conjugate(input)
    if in_columns(x._array.shape, other_strides, g._array.itemsize):
        return outer(g, x).t()
    return outer(x, g)


@primitive(
    name="outer", method=True, aliases=("ger",), out=True, promote="same", node="MulBackward0", keeps={"input": None}
)
def outer(input, vec2, /):
    """All products of an element of one vector and one of another.

    Args:
        out: the tensor to write the result to.
    Shape: (n), (m) -> (n, m)
    Raises:
        RuntimeError: one is not 1-D, as in `ger(ones(2, 2), ones(2))`.

    >>> ger(tensor([1, 2]), tensor([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
    for a, name in ((input, "self"), (vec2, "vec2")):
        if a.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {a.ndim}-D")
    if type(input) is np.ndarray and input.size * vec2.size >= MANY:
        column = input[:, None]
        return OPS["mul"].record.chosen(column, vec2)(column, vec2)
    return np.multiply.outer(input, vec2)


@outer.vjp("input")
def _(g, vec2):
    return mv(g, conjugate(vec2).to(g.dtype))


@outer.vjp("vec2")
def _(g, input):
    return vector_matrix(conjugate(input).to(g.dtype), g)


# ---------------------------------------------------------------------------------------------- batches


def check_batches(x, y, kernel=""):
    for a, name in ((x, "batch1"), (y, "batch2")):
        if a.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    if x.shape[0] != y.shape[0] or x.shape[2] != y.shape[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{x.shape[0]}, {x.shape[2]}] but got: "
            f"[{y.shape[0]}, {y.shape[1]}]."
        )
    if kernel:
        refuse_bool(x, kernel)
    if x.dtype != y.dtype:
        raise RuntimeError(f"expected scalar type {word(x)} but found {word(y)}")
    refuse_bool(x, "baddbmm")


@primitive(method=True, out=True)
def bmm(input, mat2, /):
    """The products of two batches of matrices.

    Args:
        out: the tensor to write the result to.
    Shape: (b, n, k), (b, k, m) -> (b, n, m)
    Raises:
        RuntimeError: the sizes do not fit, as in `bmm(ones(1, 2, 3), ones(1, 2, 3))`.
        RuntimeError: one has not three dimensions, as in `bmm(ones(2, 3), ones(3, 2))`.

    >>> bmm(ones(5, 2, 3), ones(5, 3, 4)).shape
    torch.Size([5, 2, 4])
    """
    check_batches(input, mat2, "bmm")
    return product(input, mat2)


@bmm.vjp("input")
def _(g, mat2):
    return bmm(g, conjugate(mat2).transpose(1, 2))


@bmm.vjp("mat2")
def _(g, input):
    return bmm(conjugate(input).transpose(1, 2), g)


def _is_batch(array):
    return array.ndim > 2


@primitive(name="matmul", public=False, node="UnsafeViewBackward0", keeps={"input": None, "other": _is_batch})
def _matmul(input, other, /):
    """x @ y where one of the two has at least three dimensions."""
    n, m = input.ndim, other.ndim
    if not n or not m:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {n}D and {m}D")
    if n > 2 and m > 2 and input.shape[:-2] != other.shape[:-2]:
        broadcast_shapes(input.shape[:-2], other.shape[:-2])  # which says where they differ
    if input.shape[-1] != other.shape[-2 if m > 1 else 0]:
        _refuse_batches(input, other)
    check_types(input, other, "baddbmm")
    return folded(input, other) if m == 2 else product(input, other)


def _refuse_batches(x, y):
    n, m = x.ndim, y.ndim
    if m == 1:
        rows = int(np.prod(x.shape[:-1]))
        raise RuntimeError(f"size mismatch, got input ({rows}), mat ({rows}x{x.shape[-1]}), vec ({len(y)})")
    if n == 1 and _is_folded(y):
        rows = int(np.prod(y.shape[:-2])) * y.shape[-1]
        raise RuntimeError(f"size mismatch, got input ({rows}), mat ({rows}x{y.shape[-2]}), vec ({len(x)})")
    if m == 2:
        refuse_shapes(x, y)
    if n == 2 and _is_folded(y):
        rows = int(np.prod(y.shape[:-2])) * y.shape[-1]
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{y.shape[-2]} and {x.shape[1]}x{x.shape[0]})"
        )
    batch = int(np.prod(np.broadcast_shapes(x.shape[:-2], y.shape[:-2])))
    raise RuntimeError(
        f"Expected size for first two dimensions of batch2 tensor to be: [{batch}, {x.shape[-1]}] but got: "
        f"[{batch}, {y.shape[-2]}]."
    )


def _is_folded(y):
    """Whether torch takes the transposed matrices of a batch as rows of one matrix, if they need no gradient."""
    sizes, strides = (*y.shape[:-2], y.shape[-1]), (*y.strides[:-2], y.strides[-1])
    return not y.size or all(s == t * k for s, t, k in zip(strides, strides[1:], sizes[1:], strict=False))


@_matmul.vjp("input")
def _(g, other, input_shape):
    y = conjugate(other)
    if y._array.ndim == 1:
        return g.contiguous().unsqueeze(-1) * y
    if len(input_shape) == 1:
        return matmul(y, g.unsqueeze(-1)).squeeze(-1)
    return linear(g, y) if y._array.ndim == 2 else matmul(g, y.transpose(-2, -1))


@_matmul.vjp("other")
def _(g, input, other_shape, other_strides):
    x = conjugate(input)
    if len(other_shape) == 1:
        return gram(g.unsqueeze(-1), x).squeeze(0)
    if x._array.ndim == 1:
        return x.unsqueeze(-1) * g.unsqueeze(-2)
    if len(other_shape) == 2:
        return gram(g, x).t() if in_columns(other_shape[:1], other_strides, g._array.itemsize) else gram(x, g)
    return matmul(x.transpose(-2, -1), g)


def matmul(input, other, *, out=None):
    """The product of vectors, matrices or batches of matrices; leading dimensions are broadcast.

    A vector counts as a row on the left and as a column on the right, and its dimension is left out of the result.

    Args:
        out: the tensor to write the result to.
    Shape: (n), (n) -> (); (n, k), (k, m) -> (n, m); (*, n, k), (*, k, m) -> (*, n, m)
    Raises:
        RuntimeError: the inner sizes differ, as in `matmul(ones(2, 3), ones(2, 3))`.
        RuntimeError: one is 0-d, as in `matmul(ones(()), ones(2))`.
        RuntimeError: the types differ, as in `matmul(ones(2), tensor([1, 2]))`.

    >>> matmul(ones(5, 1, 2, 3), ones(4, 3, 2)).shape
    torch.Size([5, 4, 2, 2])
    """
    if out is not None:
        with Off():
            result = matmul(input, other)
        return write_out("matmul", (input, other), result, out)
    if not isinstance(input, Tensor) or not isinstance(other, Tensor):
        first = not isinstance(input, Tensor)
        raise argument_type("matmul", *(("input", 1, input) if first else ("other", 2, other)))
    n, m = input._array.ndim, other._array.ndim
    if n == 2 and m == 2:
        return mm(input, other)
    if m == 1 and n in (1, 2):  # alone, dot and mv are no operators that autocast lowers
        input, other = brought(LOWER, input, other) or (input, other)
        return dot(input, other) if n == 1 else mv(input, other)
    if n == 1 and m == 2:
        return vector_matrix(input, other)
    if n != m or (n == 3 and input._array.shape[0] != other._array.shape[0]):
        folded = _of_one_matrix(input, other, n, m)
        if folded is not None:
            return folded
    return _matmul(input, other)


def _of_one_matrix(input, other, n, m):
    """The product where one factor is a matrix or vector for all of the batch, where torch puts all of the batch into one product.

    None where torch multiplies matrix by matrix, and where `_matmul` does the same.
    """
    if n == m:
        if n == 3 and input._array.shape[0] == 1 and input._edge is not None:
            return matmul(input.squeeze(0), other)
        return matmul(input, other.squeeze(0)) if other._array.shape[0] == 1 and other._edge is not None else None
    if not 0 < n < 3 <= m or input._edge is None or input._array.shape[-1] != other._array.shape[-2]:
        return None
    if n == 1:
        return _matmul(other.mT, input)
    return _matmul(other.mT, input.t()).mT.contiguous()


composite(method=True)(matmul)


@composite(name="__matmul__", method=True, function=False)
def _operator(self, other):
    if not isinstance(other, Tensor):
        return NotImplemented
    return mm(self, other) if self._array.ndim == 2 and other._array.ndim == 2 else matmul(self, other)


@composite(name="__rmatmul__", method=True, function=False)
def _reflected(self, other):
    return matmul(other, self) if isinstance(other, Tensor) else NotImplemented


@composite(method=True, out=True)
def inner(input, other):
    """The sums of products along the last dimensions of both.

    Args:
        out: the tensor to write the result to.
    Shape: (*, k), (+, k) -> (*, +)
    Raises:
        RuntimeError: the last sizes differ, as in `inner(ones(2), ones(3))`.

    >>> inner(tensor([1, 2]), tensor([[3, 4], [5, 6]]))
    tensor([11, 17])
    """
    x, y = input._array, other._array
    if not x.ndim or not y.ndim:
        return input * other
    if input.dtype is not other.dtype:
        raise RuntimeError("both inputs should have same dtype")
    if x.shape[-1] != y.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(x.shape)} and {list(y.shape)}"
        )
    k = x.shape[-1]
    rows, columns = (int(np.prod(a.shape[:-1])) for a in (x, y))
    return mm(input.reshape(rows, k), other.reshape(columns, k).t()).view(x.shape[:-1] + y.shape[:-1])


# ---------------------------------------------------------------------------------------------- the affine map


@primitive(name="column_sums", public=False, node="SumBackward1")
def column_sums(x, /):
    """The sum over all dimensions but the last. Shape: (*, n) -> (n,)"""
    return total(rows_of(x), 0, False)


@column_sums.vjp
def _(g, x_shape):
    return g.expand(x_shape)


def _affine(input, weight, bias=None, /):
    """x w^T + b: each output is a weighted sum of the inputs. Shape: (*, k), (n, k), (n,) -> (*, n)"""
    d = input.dtype
    if (d is not F32 and d is not F64) or weight.dtype is not d or (bias is not None and bias.dtype is not d):
        return _affine_general(input, weight, bias)
    try:
        r = input.dot(weight.T) if input.ndim < 3 and input.size > 1 < weight.size else folded(input, weight.T)
    except ValueError as error:
        raise_if_interrupted(error)
        refuse_shapes(input if input.ndim > 1 else input[None], weight.T)
    if bias is not None:
        try:
            np.add(r, bias, r)
        except ValueError as error:
            raise_if_interrupted(error)
            _refuse_bias(r.shape, bias)
    return r


def _affine_general(input, weight, bias):
    """As `_affine`, for the types that BLAS does not know, and for wrong ones."""
    if bias is not None:
        check_sum_types(bias, input, weight)
    if input.ndim and input.shape[-1] != weight.shape[1]:
        refuse_shapes(input if input.ndim > 1 else input[None], weight.T)
    if bias is None:
        check_types(input, weight)
    refuse_bool(input, "addmm_impl_cpu_")
    d = input.dtype
    if d.itemsize == 2 and d.kind not in "iu":
        return _affine(input.astype(F32), weight.astype(F32), None if bias is None else bias.astype(F32)).astype(d)
    r = folded(input, weight.T)
    if bias is not None:
        refuse_expansion(r.shape, bias)
        r += bias
    return r


def _refuse_bias(shape, bias):
    """The affine map adds its bias to the matrix of all rows, and torch's message speaks of that."""
    refuse_expansion((int(np.prod(shape[:-1])), shape[-1]), bias)
    raise RuntimeError(f"linear(): a bias of shape {list(bias.shape)} does not fit the result's shape {list(shape)}")


def _affine_operator(name: str, node: str, *graph: str, keeps: tuple[str, ...] = ("input", "weight")):
    """One of the affine map's records, which differ in the name of the node and the graph it shows."""
    operator = primitive(name=name, public=False, node=node, keeps=dict.fromkeys(keeps))(_affine)
    operator.record.node_class.shown = staticmethod(affine_graph(*graph))
    if graph[-1] == "bias":
        operator.record.node_class.turns = (2, 0, 1)  # torch transposes the weight's

    @operator.vjp("input")
    def _(g, weight, input_shape, input_strides):
        w = conjugate(weight)
        is_transposed = len(input_shape) > 1 and input_strides[-1] >= input_strides[-2]
        if is_transposed and in_columns(input_shape[:-1], input_strides, g._array.itemsize):
            rows = g.reshape(-1, g._array.shape[-1])
            return gram(w, rows.t()).t().view(input_shape)
        return matmul(g, w)

    @operator.vjp("weight")
    def _(g, input, weight_shape, weight_strides):
        x = conjugate(input)
        return gram(g, x) if is_in_rows(weight_shape, weight_strides, g._array.itemsize) else gram(x, g).t()

    @operator.vjp("bias")
    def _(g, bias_shape):
        return column_sums(g) if bias_shape == g._array.shape[-1:] else g

    return operator


_linear = _affine_operator("linear", "AddmmBackward0", "", "", "bias", keeps=("weight",))
linear_plain = _affine_operator("linear.plain", "MmBackward0", "", "", "", keeps=("weight",))
_linear_vector = _affine_operator("linear.vector", "SqueezeBackward4", "UnsqueezeBackward0", "MmBackward0", "")
_linear_nd = _affine_operator("linear.nd", "ViewBackward0", "ViewBackward0", "AddmmBackward0", "bias")
_linear_nd_plain = _affine_operator("linear.nd_plain", "UnsafeViewBackward0", "ViewBackward0", "MmBackward0", "")


@composite(functional=True)
def linear(input, weight, bias=None, *, out=None):
    """x w^T + b: each output is a weighted sum of the inputs.

    Args:
        bias: a tensor that is added, or None.
        out: the tensor to write the result to.
    Shape: input (*, in), weight (out, in), bias (out) -> (*, out); weight (in) -> (*)
    Raises:
        RuntimeError: the sizes do not fit, as in `linear(ones(2), ones(3, 4))`.

    >>> linear(tensor([1.0, 2.0]), tensor([[1.0, 1.0], [0.0, 2.0]]), tensor([0.5, 0.5]))
    tensor([3.5000, 4.5000])
    """
    if out is not None:
        with Off():
            result = linear(input, weight, bias)
        return write_out("linear", (input, weight), result, out)
    try:
        n, m = input._array.ndim, weight._array.ndim
    except AttributeError:
        return _linear(input, weight, bias)
    if m != 2 or not n:
        return _linear_odd(input, weight, bias)
    if bias is not None:
        if n > 2 and not input.is_contiguous():
            return _added(_linear_nd_plain(input, weight), bias)
        return _linear(input, weight, bias) if n == 2 else _linear_nd(input, weight, bias)
    if n == 2:
        return linear_plain(input, weight)
    return _linear_nd_plain(input, weight) if n > 2 else _linear_vector(input, weight)


def _added(product, bias):
    """The bias added to a rounded product, as torch does where the input has gaps or other strides."""
    (bias,) = brought(LOWER, bias) or (bias,)
    if type(product._array) is type(bias._array) is np.ndarray:
        return product.add_(bias)
    result = product + bias  # of a batch, or of what is being traced
    return result if result.dtype is product.dtype else result.to(product.dtype)


def _linear_odd(input, weight, bias):
    if not input._array.ndim or not weight._array.ndim:
        n, m = input._array.ndim, weight._array.ndim
        raise RuntimeError(f"both arguments to linear need to be at least 1D, but they are {n}D and {m}D")
    r = matmul(input, weight.t())
    return r if bias is None else r + bias
