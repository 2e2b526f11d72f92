"""Numbers, indices and differences along a dimension: vander, isin, unravel_index, gradient, renorm, polar."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.device.buffer import outline_of
from ...core.dispatch.errors import type_error
from ...core.dispatch.op import OPS, composite, primitive
from ...core.dispatch.overlap import is_expanded, out_of_order, shares_places
from ...core.dispatch.scalars import check_number, check_parsed
from ...core.tensor import dtype as dtypes
from ...core.tensor.size import wrap_dim
from ...core.tensor.tensor import Tensor, constant, type_word
from ..pointwise.building_blocks import conjugate, dense, shared_order
from ..reduce.norms import norm_gradient, vector_norm


@composite()
def vander(x, N=None, increasing=False):
    """The matrix of powers of the elements of a vector.

    Args:
        N: the number of powers; n by default.
        increasing: whether the powers rise from 0 rather than fall to it.
    Shape: (n) -> (n, N)
    Raises:
        RuntimeError: `x` is not 1-D, as in `vander(ones(2, 2))`.

    >>> vander(tensor([1, 2, 3]), increasing=True)
    tensor([[1, 1, 1],
            [1, 2, 4],
            [1, 3, 9]])
    """
    if x._array.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = x._array.shape[0] if N is None else N
    if n < 0:
        raise RuntimeError("N must be non-negative.")
    x = x.to(dtypes.promote_types(x.dtype, dtypes.int64)) if x.dtype.category < 2 else x
    columns = [OPS["ones_like"](x)]
    for _ in range(n - 1):
        columns.append(columns[-1] * x)
    result = OPS["stack"](columns[:n], 1) if n else x.new_empty(x._array.shape[0], 0)
    return result if increasing else result.flip(1)


@composite(out=True)
def isin(elements, test_elements, *, assume_unique=False, invert=False):
    """Whether each of `elements` is among `test_elements` (or, with `invert`, is not). One of the two may be a number.

    Args:
        assume_unique: whether neither has an element twice; nothing changes by it.
        invert: whether to tell the opposite.
        out: the tensor to write the result to.
    Shape: (*), (*) -> (*), as `elements`; bools
    Raises:
        TypeError: both are numbers, as in `isin(1, 2)`.

    >>> isin(tensor([1, 2, 3]), tensor([2, 5]))
    tensor([False,  True, False])
    """
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise type_error("isin(): expected a Tensor as elements or test_elements")
    for argument, value in (("element", elements), ("test_element", test_elements)):
        if not isinstance(value, Tensor):
            check_number("isin", argument, value)
    a = elements if isinstance(elements, Tensor) else constant(np.asarray(elements))
    b = test_elements if isinstance(test_elements, Tensor) else constant(np.asarray(test_elements))
    for t in (a, b):
        if t.dtype is dtypes.bool_ or t.dtype.is_complex:
            raise RuntimeError(f"Unsupported input type encountered for isin(): {type_word(t.dtype)}")
    if isinstance(elements, Tensor) and isinstance(test_elements, Tensor):
        kind = dtypes.promote_types(elements.dtype, test_elements.dtype)
        a, b = a.detach().to(kind), b.detach().to(kind)
    return _isin(a, b, assume_unique, invert)


@primitive(name="isin", public=False, differentiable=False)
def _isin(elements, test_elements, /, assume_unique, invert):
    return np.asarray(np.isin(elements, test_elements, assume_unique=assume_unique, invert=invert))


@composite()
def unravel_index(indices, shape):
    """Places in a flattened tensor of `shape` as a tuple of indices, one tensor for each dimension.

    Args:
        indices: integers.
    Shape: (*) -> (*), ...

    >>> unravel_index(tensor([4]), (2, 3))
    (tensor([1]), tensor([1]))
    """
    if indices.dtype.is_floating_point or indices.dtype.is_complex or indices.dtype is dtypes.bool_:
        raise type_error(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    sizes = (shape,) if isinstance(shape, int) else tuple(int(n) for n in shape)
    if any(n < 0 for n in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    strides = [int(np.prod(sizes[i + 1 :], dtype=np.int64)) for i in range(len(sizes))]
    if not sizes:
        return ()
    indices = indices.to(dtypes.int64)
    each = [indices.div(s, rounding_mode="floor") % n for s, n in zip(strides, sizes, strict=True)]
    return OPS["stack"](each, -1).unbind(-1)


# ---------------------------------------------------------------------------------------------- differences


@composite()
def gradient(input, *, spacing=None, dim=None, edge_order=1):
    """Estimates of the derivative along each of `dim` by central differences, as a tuple of tensors.

    Args:
        spacing: the distance of points, for each dimension a number, or a tensor of the points' coordinates.
        dim: an int or a tuple; all dimensions by default.
        edge_order: 1 or 2, the order of the estimates at both ends.
    Shape: (*) -> (*), ...
    Raises:
        RuntimeError: there are too few points, as in `gradient(ones(1))`.
        RuntimeError: `edge_order` is neither 1 nor 2, as in `gradient(ones(4), edge_order=3)`.

    >>> gradient(tensor([1.0, 2.0, 4.0, 7.0]))
    (tensor([1.0000, 1.5000, 2.5000, 3.0000]),)
    """
    if input.dtype is dtypes.bool_:
        input.sub(input)  # raises torch's error: bools have no differences
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    rank = input._array.ndim
    dims = list(range(rank)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    dims = [wrap_dim(d, rank) for d in dims]
    if len(set(dims)) != len(dims):
        raise RuntimeError("dim appears multiple times in the list of dims")
    steps = _steps(spacing, dims, dim)
    return tuple(_differences(input, d, step, edge_order) for d, step in zip(dims, steps, strict=True))


def _steps(spacing: Any, dims: list[int], dim: Any) -> list[Any]:
    if spacing is None:
        return [1.0] * len(dims)
    if isinstance(spacing, (int, float, complex)):
        return [spacing] * len(dims)
    steps = [spacing] if isinstance(spacing, Tensor) else list(spacing)
    if len(steps) != len(dims):
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar or a list of length equal to 'dim' ({len(dims)}), "
            f"but got {len(steps)}"
        )
    return steps


def _differences(x: Any, d: int, step: Any, order: int) -> Any:
    n = x._array.shape[d]
    if n <= order:
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    x = x if x.dtype.category >= 2 else x.to(dtypes.get_default_dtype())
    if isinstance(step, Tensor):
        shape = [1] * x._array.ndim
        shape[d] = -1
        h = step.diff().reshape(shape)  # type: ignore[attr-defined]
    else:
        shape = [1] * x._array.ndim
        shape[d] = n - 1
        h = x.new_full(shape, step)

    def at(t: Any, i: int, k: int = 1) -> Any:
        return t.narrow(d, i, k)

    left, right = at(h, 0, n - 2), at(h, 1, n - 2)
    inner = (
        -right / (left * (left + right)) * at(x, 0, n - 2)
        + (right - left) / (left * right) * at(x, 1, n - 2)
        + left / (right * (left + right)) * at(x, 2, n - 2)
        if isinstance(step, Tensor)
        else (at(x, 2, n - 2) - at(x, 0, n - 2)) / (2 * step)
    )
    if order == 1:
        first = (at(x, 1) - at(x, 0)) / at(h, 0)
        last = (at(x, n - 1) - at(x, n - 2)) / at(h, n - 2)
    else:
        first, last = _second_order_end(x, h, at, n, False), _second_order_end(x, h, at, n, True)
    return OPS["cat"]([first, inner, last], d)


def _second_order_end(x: Any, h: Any, at: Any, n: int, is_last: bool) -> Any:
    """The estimate at an end from three points."""
    near, far = (at(h, n - 2), at(h, n - 3)) if is_last else (at(h, 0), at(h, 1))
    points = [at(x, n - 1 - i) if is_last else at(x, i) for i in range(3)]
    sign = -1 if is_last else 1
    weights = (-(2 * near + far) / (near * (near + far)), (near + far) / (near * far), -near / (far * (near + far)))
    return sign * (weights[0] * points[0] + weights[1] * points[1] + weights[2] * points[2])


# ---------------------------------------------------------------------------------------------- norms


@composite(method=True, out=True)
def renorm(input, p, dim, maxnorm):
    """The input, whose slices along `dim` are scaled down to a p-norm of at most `maxnorm`.

    Args:
        out: the tensor to write the result to.
    Shape: (*) -> (*)
    Raises:
        RuntimeError: `input` has less than two dimensions, as in `renorm(ones(2), 2, 0, 1.0)`.
        RuntimeError: `p` is not positive, as in `renorm(ones(2, 2), 0, 0, 1.0)`.

    >>> renorm(tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1.0)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    check_parsed(p)
    check_parsed(maxnorm)
    if isinstance(p, complex):
        raise RuntimeError("renorm: p must be real-valued")
    if not p > 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if input._array.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input._array.ndim} dimensions")
    d = wrap_dim(dim, input._array.ndim)
    return _renorm(input, float(p), tuple(k for k in range(input._array.ndim) if k != d), maxnorm)


@primitive(name="renorm", public=False)
def _renorm(input, /, p, others, maxnorm):
    norms = vector_norm.record.reference(input, p, others, True, None)
    kind = norms.dtype.type
    return dense(np.where(norms > kind(maxnorm), input * (np.reciprocal(norms + kind(1e-7)) * kind(maxnorm)), input))


@_renorm.vjp
def _(g, input, p, others, maxnorm):
    norms = vector_norm(input, p, others, True, None)
    along = (conjugate(input) * g).sum(others, True)
    along = norm_gradient(along.real if along.is_complex() else along, input, norms, p, others, True)
    scale = (norms + 1e-7).reciprocal()
    return OPS["where"](norms > maxnorm, maxnorm * scale * (g - scale * along), g)


@composite(method=True, function=False)
def renorm_(self, p, dim, maxnorm):
    """In-place `renorm`."""
    result = renorm(self.clone(), p, dim, maxnorm)
    a = outline_of(self._array)
    if shares_places(a) and not is_expanded(a):
        raise out_of_order("renorm_")
    return self.copy_(result)


@primitive(name="polar", public=False, node="PolarBackward0")
def _polar(abs, angle, /):
    result = shared_order(abs, angle, np.result_type(abs.dtype, np.complex64))
    result.real, result.imag = abs * np.cos(angle), abs * np.sin(angle)
    return result


@_polar.vjp("abs")
def _(g, out):
    return (g.conj_physical() * out.sgn()).real  # nothing at 0, as torch has it


@_polar.vjp("angle")
def _(g, out):
    return (g.conj_physical() * (out * 1j)).real


@composite(out=True)
def polar(abs, angle):
    """The complex numbers abs * (cos(angle) + i sin(angle)).

    Args:
        abs: absolute values, float32 or float64.
        angle: in radians, of the same type, broadcast against `abs`.
        out: the tensor to write the result to.
    Shape: (*), (*) -> (*), broadcast; complex
    Raises:
        RuntimeError: the types differ, as in `polar(ones(1), ones(1).double())`.

    >>> polar(tensor([1.0, 2.0]), tensor([0.0, 3.14159265]))
    tensor([ 1.+0.0000e+00j, -2.-1.7485e-07j])
    """
    words = type_word(abs.dtype), type_word(angle.dtype)
    if not {"Half", "Float", "Double"}.issuperset(words):
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {words[0]} and {words[1]}"
        )
    if abs.dtype is not angle.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {words[0]} but got scalar type {words[1]} for second argument"
        )
    if abs.dtype is dtypes.float16:
        raise NotImplementedError("\"polar_cpu\" not implemented for 'Half'")
    return _polar(abs, angle)


@composite(method=True, function=False)
def is_nonzero(self):
    """Whether the only element is not zero. Raises RuntimeError for any other number of elements."""
    return bool(self)
