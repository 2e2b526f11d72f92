"""Comparing elements, kinds of numbers, and logic on the results: eq ... isclose, isnan ... isreal, logical_*."""

from __future__ import annotations

import numpy as np

from ...core.dispatch.errors import type_error
from ...core.dispatch.mode import emit_event
from ...core.dispatch.op import binary, composite, primitive, unary
from ...core.tensor.casting import dense_like
from ...core.tensor.placeholder import Placeholder, no_kernel
from ...core.tensor.tensor import Tensor, constant, type_word
from .building_blocks import F64, in_order_of, of_arrays, zero_rule
from .checks import tensors_only

# ---------------------------------------------------------------------------------------------- comparisons


def _compared(name, kernel, doc, *aliases):
    return binary(
        name,
        kernel,
        zero_rule,
        zero_rule,
        doc,
        promote="bool",
        operator=name,
        aliases=aliases,
        differentiable=False,
        node=f"{name.title()}Backward1",
        number_nodes=(f"{name.title()}Backward0",),
    )


eq = _compared(
    "eq",
    np.equal,
    """Whether input == other, for each pair of elements.

    >>> eq(tensor([1, 2]), tensor([1, 3]))
    tensor([ True, False])
    """,
)
ne = _compared(
    "ne",
    np.not_equal,
    """Whether input != other, for each pair of elements.

    >>> ne(tensor([1, 2]), 2)
    tensor([ True, False])
    """,
    "not_equal",
)
lt = _compared(
    "lt",
    np.less,
    """Whether input < other, for each pair of elements.

    Raises:
        RuntimeError: the shapes do not broadcast, as in `lt(ones(2), ones(3))`.
        NotImplementedError: one is complex, as in `lt(tensor([1.0j]), 1)`.

    >>> lt(tensor([1, 2]), 2)
    tensor([ True, False])
    """,
    "less",
)
le = _compared(
    "le",
    np.less_equal,
    """Whether input <= other, for each pair of elements.

    Raises:
        RuntimeError: the shapes do not broadcast, as in `le(ones(2), ones(3))`.
        NotImplementedError: one is complex, as in `le(tensor([1.0j]), 1)`.

    >>> le(tensor([1, 2, 3]), 2)
    tensor([ True,  True, False])
    """,
    "less_equal",
)
gt = _compared(
    "gt",
    np.greater,
    """Whether input > other, for each pair of elements.

    Raises:
        RuntimeError: the shapes do not broadcast, as in `gt(ones(2), ones(3))`.
        NotImplementedError: one is complex, as in `gt(tensor([1.0j]), 1)`.

    >>> gt(tensor([1, 2, 3]), 2)
    tensor([False, False,  True])
    """,
    "greater",
)
ge = _compared(
    "ge",
    np.greater_equal,
    """Whether input >= other, for each pair of elements.

    Raises:
        RuntimeError: the shapes do not broadcast, as in `ge(ones(2), ones(3))`.
        NotImplementedError: one is complex, as in `ge(tensor([1.0j]), 1)`.

    >>> ge(tensor([1, 2, 3]), tensor([3, 2, 1]))
    tensor([False,  True,  True])
    """,
    "greater_equal",
)


def _equal_to_array(op):
    """`tensor == ndarray` compares with the array's values, as torch does; the other comparisons refuse."""
    scope = op.record.complete_scope()
    careful = scope["slow_operator"]

    def call(record, tensors, metadata, error):
        x, y = tensors
        if isinstance(y, np.ndarray) and y.dtype.kind in "biufc":
            return careful(record, (x, constant(y)), metadata, None)
        return careful(record, tensors, metadata, error)

    scope["slow_operator"] = call


for _op in (eq, ne, lt, le, gt, ge):
    tensors_only(_op, 0)
_equal_to_array(eq)


@composite(method=True)
def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether |input - other| <= atol + rtol * |other|, for each pair of elements; equal infinities are close.

    Args:
        input: a tensor, broadcast against `other`.
        other: a tensor of the same type.
        equal_nan: whether nan is close to nan.
    Shape: (*), (*) -> (*), broadcast; bools
    Raises:
        RuntimeError: the types differ, as in `isclose(ones(2), tensor([1, 1]))`.
        RuntimeError: `rtol` or `atol` is negative, as in `isclose(ones(2), ones(2), rtol=-1.0)`.

    >>> isclose(tensor([1.0, 2.0]), tensor([1.000001, 2.1]))
    tensor([ True, False])
    """
    if not isinstance(other, Tensor):
        raise type_error(f"isclose(): argument 'other' (position 2) must be Tensor, not {type(other).__name__}")
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{type_word(input.dtype)} did not match {type_word(other.dtype)}")
    if rtol < 0 or atol < 0:
        word, value = ("rtol", rtol) if rtol < 0 else ("atol", atol)
        raise RuntimeError(f"{word} must be greater than or equal to zero, but got {value:g}")
    return _isclose(input, other, rtol=rtol, atol=atol, equal_nan=equal_nan)


@primitive(public=False, name="isclose", differentiable=False)
def _isclose(input, other, /, rtol, atol, equal_nan):
    close = input == other
    if equal_nan and input.dtype.kind in "fVc":
        close = close | (np.isnan(input) & np.isnan(other))
    if not (rtol == 0 and atol == 0):
        x, y = (input, other) if input.dtype.kind in "fcV" else (input.astype(F64), other.astype(F64))
        allowed = atol + np.abs(rtol * y)
        error = np.abs(x - y)
        close = close | (np.isfinite(error) & (error <= allowed))
    return in_order_of(close, input, other)


@composite(method=True)
def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all elements of two tensors are close: `isclose` of each pair of elements.

    Args:
        input: a tensor, broadcast against `other`.
        other: a tensor of the same type.
        equal_nan: whether nan is close to nan.
    Shape: (*), (*) -> bool
    Raises:
        RuntimeError: the types differ, as in `allclose(ones(2), tensor([1, 1]))`.

    >>> allclose(tensor([1.0, 2.0]), tensor([1.000001, 2.0]))
    True
    """
    return bool(isclose(input, other, rtol, atol, equal_nan).all())  # not of the array: a recorder hears of it


@composite(method=True)
def equal(input, other):
    """Whether two tensors have the same shape and the same elements. A nan equals nothing.

    Args:
        other: a tensor of any shape.
    Shape: (*), (*) -> bool
    Raises:
        TypeError: `other` is a number, as in `equal(ones(2), 1.0)`.

    >>> equal(tensor([1, 2]), tensor([1, 2]))
    True
    """
    if not isinstance(other, Tensor):
        raise type_error(f"equal(): argument 'other' (position 2) must be Tensor, not {type(other).__name__}")
    if input.is_quantized:
        return type(input).equal(input, other)
    for t in (input, other):
        if isinstance(t._array, Placeholder) and (t.is_sparse or t.is_sparse_csr):
            raise no_kernel("equal")
    if input._array.shape != other._array.shape:
        return False
    emit_event("read", input, "equal()")
    emit_event("read", other, "equal()")
    return bool(np.array_equal(input._array, other._array))


# ---------------------------------------------------------------------------------------------- kinds of numbers


def _all_alike(x, value):
    """The bool for each element, in the memory order of `x`."""
    r = dense_like(x, np.bool_)
    r[...] = value
    return r


def _float_test(test, otherwise):
    """A test that only floating-point numbers can fail or pass; all others give `otherwise`."""

    def kernel(x):
        if x.dtype.kind in "fcV":
            return test(x)
        return _all_alike(x, otherwise)

    return kernel


def _test(name, kernel, doc, out=False):
    return unary(name, kernel, None, doc, promote="same", differentiable=False, inplace=False, out=out)


def _is(infinity, name):
    def test(x):
        if x.dtype.kind == "c":
            raise RuntimeError(f"{name} does not support complex inputs.")
        return x == infinity

    return test


isnan = _test(
    "isnan",
    _float_test(np.isnan, False),
    """Whether each element is nan.

    Args:
        input: a tensor. The result is of bools.

    >>> isnan(tensor([1.0, float("nan")]))
    tensor([False,  True])
    """,
)
isinf = _test(
    "isinf",
    _float_test(np.isinf, False),
    """Whether each element is an infinity of either sign.

    Args:
        input: a tensor. The result is of bools.

    >>> isinf(tensor([1.0, -float("inf")]))
    tensor([False,  True])
    """,
)
isfinite = _test(
    "isfinite",
    _float_test(np.isfinite, True),
    """Whether each element is neither nan nor infinite.

    Args:
        input: a tensor. The result is of bools.

    >>> isfinite(tensor([1.0, float("inf"), float("nan")]))
    tensor([ True, False, False])
    """,
)
isposinf = _test(
    "isposinf",
    _float_test(_is(np.inf, "isposinf"), False),
    """Whether each element is +inf.

    Args:
        input: a tensor. The result is of bools.
        out: the tensor to write the result to.
    Raises:
        RuntimeError: `input` is complex, as in `isposinf(tensor([1.0j]))`.

    >>> isposinf(tensor([float("inf"), -float("inf")]))
    tensor([ True, False])
    """,
    out=True,
)
isneginf = _test(
    "isneginf",
    _float_test(_is(-np.inf, "isneginf"), False),
    """Whether each element is -inf.

    Args:
        input: a tensor. The result is of bools.
        out: the tensor to write the result to.
    Raises:
        RuntimeError: `input` is complex, as in `isneginf(tensor([1.0j]))`.

    >>> isneginf(tensor([float("inf"), -float("inf")]))
    tensor([False,  True])
    """,
    out=True,
)
isreal = _test(
    "isreal",
    lambda x: x.imag == 0 if x.dtype.kind == "c" else _all_alike(x, True),
    """Whether each element is real: complex ones whose imaginary part is 0, and all others.

    Args:
        input: a tensor. The result is of bools.

    >>> isreal(tensor([1.0 + 0.0j, 1.0j]))
    tensor([ True, False])
    """,
)


# ---------------------------------------------------------------------------------------------- logic

_LOGIC = {"promote": "bool", "differentiable": False}
logical_not = unary(
    "logical_not",
    np.logical_not,
    None,
    """Whether each element is zero.

    >>> logical_not(tensor([0.0, 2.0]))
    tensor([ True, False])
    """,
    **_LOGIC,
)
logical_and = binary(
    "logical_and",
    of_arrays(np.logical_and),
    None,
    None,
    """Whether both elements are nonzero.

    >>> logical_and(tensor([0, 1, 2]), tensor([1, 0, 3]))
    tensor([False, False,  True])
    """,
    **_LOGIC,
)
logical_or = binary(
    "logical_or",
    of_arrays(np.logical_or),
    None,
    None,
    """Whether at least one of two elements is nonzero.

    >>> logical_or(tensor([0, 1, 2]), tensor([0, 0, 3]))
    tensor([False,  True,  True])
    """,
    **_LOGIC,
)
logical_xor = binary(
    "logical_xor",
    of_arrays(np.logical_xor),
    None,
    None,
    """Whether exactly one of two elements is nonzero.

    >>> logical_xor(tensor([0, 1, 2]), tensor([0, 0, 3]))
    tensor([False,  True, False])
    """,
    **_LOGIC,
)

for _op in (logical_and, logical_or, logical_xor):
    tensors_only(_op, 0, 1)
