"""Comparing elements, logic on the outcome, and choosing between values by it: eq ... isclose, logical_*, where, maximum,
clamp, nan_to_num."""

from __future__ import annotations

import numpy as np

from ...core.dispatch.inplace import accept_inplace, write
from ...core.dispatch.mode import emit_event, may_branch_on_data
from ...core.dispatch.op import binary, composite, primitive, publish, unary
from ...core.dispatch.scalars import exact, number_as
from ...core.dispatch.slow_path import number_in, write_out
from ...core.tensor import dtype as dtypes
from ...core.tensor.tensor import Tensor, constant, type_word
from .helpers import F32, F64, MANY, bits_of, guard, in_order_of, of_arrays, tensors_only, zero_where

# ---------------------------------------------------------------------------------------------- comparisons


def _compared(name, kernel, doc, *aliases):
    return binary(
        name,
        kernel,
        None,
        None,
        doc,
        promote="bool",
        operator=name,
        aliases=aliases,
        differentiable=False,
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


def _order_is_real(op):
    """Raise torch's error for complex numbers, which have no order; and bring an int that the type cannot hold to int64."""
    word = op.record.name + "_cpu"

    def check(tensors):
        for t in tensors:
            if isinstance(t, complex) or (isinstance(t, Tensor) and t._array.dtype.kind == "c"):
                raise NotImplementedError(f"\"{word}\" not implemented for 'ComplexFloat'")

    guard(op, check)


def _compare_exactly(op):
    """Compare a tensor of narrow integers with an int beyond their range as int64, where others would wrap it around."""

    def guarded(careful):
        def call(record, tensors, metadata, error):
            x, y = tensors
            if type(y) is int and isinstance(x, Tensor) and x._array.dtype.kind in "iu":
                if not -(1 << 63) <= y < 1 << 63:
                    raise OverflowError("int too big to convert")
                if x._array.dtype.itemsize < 8:
                    return careful(record, (x.to(dtypes.int64), y), metadata, error)
            return careful(record, tensors, metadata, error)

        return call

    for name in ("slow_call", "slow_operator"):
        op.record.scope[name] = guarded(op.record.scope[name])


def _equal_to_array(op):
    """`tensor == ndarray` compares with the array's values, as torch does; the other comparisons refuse."""
    careful = op.record.scope["slow_operator"]

    def call(record, tensors, metadata, error):
        x, y = tensors
        if isinstance(y, np.ndarray) and y.dtype.kind in "biufc":
            return careful(record, (x, constant(y)), metadata, None)
        return careful(record, tensors, metadata, error)

    op.record.scope["slow_operator"] = call


for _op in (lt, le, gt, ge):
    _order_is_real(_op)
for _op in (eq, ne, lt, le, gt, ge):
    _compare_exactly(_op)
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
        raise TypeError(f"isclose(): argument 'other' (position 2) must be Tensor, not {type(other).__name__}")
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
    return close


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
        raise TypeError(f"equal(): argument 'other' (position 2) must be Tensor, not {type(other).__name__}")
    if input._array.shape != other._array.shape:
        return False
    emit_event("read", input, "equal()")
    emit_event("read", other, "equal()")
    return bool(np.array_equal(input._array, other._array))


# ---------------------------------------------------------------------------------------------- kinds of numbers


def _float_test(test, otherwise):
    """A test that only floating-point numbers can fail or pass; all others give `otherwise`."""

    def kernel(x):
        if x.dtype.kind in "fcV":
            return test(x)
        return np.full(x.shape, otherwise)

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
    lambda x: x.imag == 0 if x.dtype.kind == "c" else np.ones(x.shape, bool),
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

# ---------------------------------------------------------------------------------------------- choosing


@primitive(public=False, name="where")
def _where(condition, input, other, /):
    return in_order_of(select(condition, input, other), condition, input)


def select(mask, x, y):
    """x where `mask` is true and y elsewhere; large arrays by arithmetic on bits, which is ten times faster."""
    bits = bits_of(x.dtype)
    if mask.size < 1024 or bits is None or not mask.shape == x.shape == y.shape:
        return np.where(mask, x, y)
    keep = mask.astype(bits)
    np.negative(keep, keep)
    y = y.view(bits)
    keep &= np.bitwise_xor(x.view(bits), y)
    keep ^= y
    return keep.view(x.dtype)


@_where.vjp
def _(g, condition, needs):
    return (
        None,
        zero_where(g, ~condition) if needs[1] else None,
        zero_where(g, condition) if needs[2] else None,
    )


def where(condition, input=None, other=None, *, out=None):
    """`input` where `condition` is true, `other` elsewhere; with a condition alone the indices of its nonzero elements.

    Args:
        condition: a tensor of bools.
        input: a tensor or a number; all three are broadcast against each other.
        other: a tensor or a number. The result has the common type of both.
        out: the tensor to write the result to.
    Shape: (*), (*), (*) -> (*), broadcast; condition (*) alone -> a tuple of an int64 tensor (n) for each dimension
    Raises:
        RuntimeError: the shapes do not broadcast, as in `where(tensor([True, False]), ones(3), 0.0)`.
        RuntimeError: `condition` is of floating-point numbers, as in `where(ones(2), ones(2), 0.0)`.

    >>> where(tensor([True, False]), tensor([1.0, 2.0]), 0.0)
    tensor([1., 0.])
    >>> where(tensor([False, True]))
    (tensor([1]),)
    """
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if condition._array.dtype.kind != "b":
        if condition.dtype is not dtypes.uint8:
            raise RuntimeError(
                "where expected condition to be a boolean tensor, but got a tensor with dtype "
                f"{type_word(condition.dtype)}"
            )
        condition = condition.to(dtypes.bool_)
    if not (isinstance(input, Tensor) and isinstance(other, Tensor) and input.dtype is other.dtype):
        input, other = _of_one_type(input, other)
    result = _where(condition, input, other)
    return result if out is None else write_out("where", (condition, input, other), result, out)


def _of_one_type(*values):
    """Tensors and numbers as tensors of their common type."""
    p = dtypes.Promotion()
    for v in values:
        if isinstance(v, Tensor):
            p.add_array(v.dtype, v._array.ndim)
        else:
            p.add_number(v)
    d = p.result()
    return [(v if v.dtype is d else v.to(d)) if isinstance(v, Tensor) else constant(number_as(v, d)) for v in values]


publish("where", where, False, False, ())
Tensor.where = lambda self, condition, other: where(condition, self, other)


def _share_of(chosen, tie):
    """The rule of a choice between two inputs: all of the gradient where chosen, half of it at a tie."""

    def rule(g, x, y):
        return (
            zero_where(g, chosen(x, y))
            if not _any_tie(x, y)
            else zero_where(g / (1 + tie(x, y).to(g.dtype)), chosen(x, y))
        )

    return rule


def _any_tie(x, y) -> bool:
    """Whether two elements may be equal: always, where a recorder listens, whose later calls have other values."""
    known = isinstance(x, Tensor) and isinstance(y, Tensor) and may_branch_on_data(x)
    return bool((x._array == y._array).any()) if known else True


def _extremum(name, ufunc, drop_x, drop_y, doc):
    """maximum, minimum: at a tie each input gets half of the gradient."""

    def kernel(x, y):
        if not isinstance(y, np.ndarray) or x.dtype.kind == "c":
            raise RuntimeError(f"{name} not implemented for complex tensors.")
        return ufunc(x, y)

    return binary(
        name,
        kernel,
        _share_of(drop_x, eq),
        _share_of(drop_y, eq),
        doc,
        inplace=False,
        export=name in ("maximum", "minimum"),
    )


maximum = _extremum(
    "maximum",
    np.maximum,
    lt,
    gt,
    """The larger of two elements; nan where one is nan. Equal ones share the gradient.

    Raises:
        RuntimeError: the shapes do not broadcast, as in `maximum(ones(2), ones(3))`.
        TypeError: `other` is a number, as in `maximum(ones(2), 0.5)`.

    >>> maximum(tensor([1.0, 4.0]), tensor([3.0, 2.0]))
    tensor([3., 4.])
    """,
)
minimum = _extremum(
    "minimum",
    np.minimum,
    gt,
    lt,
    """The smaller of two elements; nan where one is nan. Equal ones share the gradient.

    Raises:
        RuntimeError: the shapes do not broadcast, as in `minimum(ones(2), ones(3))`.
        TypeError: `other` is a number, as in `minimum(ones(2), 0.5)`.

    >>> minimum(tensor([1.0, 4.0]), tensor([3.0, 2.0]))
    tensor([1., 2.])
    """,
)
fmax = binary(
    "fmax", of_arrays(np.fmax), lambda g, x, y: zero_where(g, ~((x >= y) | y.isnan())),
    lambda g, x, y: zero_where(g, (x >= y) | y.isnan()), """The larger of two elements; nan only where both are.

    >>> fmax(tensor([1.0, float("nan")]), tensor([3.0, 2.0]))
    tensor([3., 2.])
    """,
    inplace=False,
)  # fmt: skip
fmin = binary(
    "fmin", of_arrays(np.fmin), lambda g, x, y: zero_where(g, ~((x <= y) | y.isnan())),
    lambda g, x, y: zero_where(g, (x <= y) | y.isnan()), """The smaller of two elements; nan only where both are.

    >>> fmin(tensor([1.0, float("nan")]), tensor([3.0, 2.0]))
    tensor([1., 2.])
    """,
    inplace=False,
)  # fmt: skip

for _op in (maximum, minimum, fmax, fmin):
    tensors_only(_op, 0, 1)

# ---------------------------------------------------------------------------------------------- limits


def _limited(x, low, high):
    """Of two zeros NumPy takes the second, but of float16 the first; torch takes that of x."""
    if x.dtype.kind == "f" and x.dtype.itemsize == 2:
        r = x if low is None else np.maximum(x, low)
        return r if high is None else np.minimum(r, high)
    r = x if low is None else np.maximum(low, x)
    return r if high is None else np.minimum(high, r)


def _cast_for(x, low, high):
    """`x` in its common type with the limits, which are Python numbers."""
    p = dtypes.Promotion()
    d = dtypes.from_numpy(x.dtype)
    p.add_array(d, 1)
    for v in (low, high):
        if v is not None:
            p.add_number(v)
    result = p.result()
    if result.category == 3:
        raise NotImplementedError("clamp is not supported for complex types")
    return (x if result is d else x.astype(result.numpy)), result


@primitive(public=False, name="clamp", node="ClampBackward1", inplace=False, jit_min_elements=MANY)
def _clamp_scalar(input, /, min, max):
    d = input.dtype
    if d is not F32 and d is not F64:
        input, common = _cast_for(input, min, max)
        min = None if min is None else np.asarray(exact(min, common.numpy), common.numpy)
        max = None if max is None else np.asarray(exact(max, common.numpy), common.numpy)
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    return _limited(input, min, max)


def _outside(x, low, high):
    """Where x is not between the limits: nan is nowhere."""
    if low is None:
        return ~(x <= high)
    return ~(x >= low) if high is None else ~((x >= low) & (x <= high))


@_clamp_scalar.vjp
def _(g, input, min, max):
    return zero_where(g, _outside(input, min, max))


@primitive(public=False, name="clamp.tensor", node="ClampBackward0")
def _clamp_tensor(input, min=None, max=None, /):
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    return _limited(input, min, max)


@_clamp_tensor.vjp
def _(g, input, min, max, needs):
    gx = zero_where(g, _outside(input, min, max)) if needs[0] else None
    low = high = None
    if needs[1]:  # the lower limit counts where it binds and is below the upper one
        low = zero_where(g, ~(input < min) if max is None else ~((input < min) & (min < max)))
    if needs[2]:
        high = zero_where(g, ~(input > max) if min is None else ~((input > max) | (max < min)))
    return gx, low, high


def clamp(input, min=None, max=None, *, out=None):
    """Each element, moved to the nearer limit where it is outside of [min, max]; nan stays.

    Args:
        min: a number, a tensor that broadcasts, or None for no limit.
        max: as `min`; where min > max the result is `max`.
        out: the tensor to write the result to.
    Shape: (*) -> (*), or broadcast with the limits
    Raises:
        RuntimeError: there is neither limit, as in `clamp(ones(2))`.

    >>> clamp(tensor([-2.0, 0.5, 3.0]), min=-1, max=1)
    tensor([-1.0000,  0.5000,  1.0000])
    """
    op, args = _clamp_call(input, min, max)
    result = op(*args)
    return result if out is None else write_out("clamp", (input,), result, out)


def _clamp_call(input, min, max):
    """The operator that does this clamp, and its arguments."""
    min, max = _both_limits("clamp", min, max)
    if not isinstance(min, Tensor) and not isinstance(max, Tensor):
        return _clamp_scalar, (input, min, max)
    given = [v for v in (input, min, max) if v is not None]
    cast = iter(_of_one_type(*given))
    return _clamp_tensor, tuple(None if v is None else next(cast) for v in (input, min, max))


def _both_limits(name, min, max):
    """The limits, both as numbers where one is; a tensor must then have one element and no gradient."""
    if isinstance(min, Tensor) == isinstance(max, Tensor) or min is None or max is None:
        return min, max
    min, max = number_in(min), number_in(max)
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        raise TypeError(
            f"{name}() received an invalid combination of arguments: 'min' and 'max' must both be numbers or both be tensors"
        )
    return min, max


_NUMBERS = {int, float, type(None)}


def _limit_into(a, low, high):
    if low is not None:
        np.maximum(low, a, out=a)
    if high is not None:
        np.minimum(high, a, out=a)


def clamp_(self, min=None, max=None):
    """Move each element to the nearer limit, in place."""
    if type(min) in _NUMBERS and type(max) in _NUMBERS and (min is not None or max is not None):
        state = accept_inplace(self)
        if state is not None:
            state.run(_limit_into, self._array, min, max)
            return self
    min, max = _both_limits("clamp_", min, max)
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        return write(_clamp_tensor.record, self, (min, max), ())
    if self.dtype.category < 2 and (isinstance(min, float) or isinstance(max, float)):
        raise RuntimeError(f"result type Float can't be cast to the desired output type {type_word(self.dtype)}")
    return write(_clamp_scalar.record, self, (), (min, max))


def _one_sided(name, node, side):
    doc = f"Each element, but {'at least `min`' if side else 'at most `max`'}."

    @primitive(public=False, name=name, node=node)
    def scalar(input, /, limit):
        return _clamp_scalar.record.kernel(input, limit if side else None, None if side else limit)

    @scalar.vjp
    def _(g, input, limit):
        return zero_where(g, input < limit if side else input > limit)

    def call(input, limit, out):
        if not isinstance(input, Tensor):
            raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
        if isinstance(limit, Tensor):
            result = clamp(input, limit) if side else clamp(input, None, limit)
        else:
            result = scalar(input, limit)
        return result if out is None else write_out(name, (input,), result, out)

    def inplace(self, limit):
        if isinstance(limit, Tensor):
            return clamp_(self, limit) if side else clamp_(self, None, limit)
        if self.dtype.category < 2 and isinstance(limit, float):
            raise RuntimeError(f"result type Float can't be cast to the desired output type {type_word(self.dtype)}")
        return write(scalar.record, self, (), (limit,))

    return call, inplace, doc


_clamp_min, _clamp_min_inplace, _doc_min = _one_sided("clamp_min", "ClampMinBackward0", True)
_clamp_max, _clamp_max_inplace, _doc_max = _one_sided("clamp_max", "ClampMaxBackward0", False)


def clamp_min(input, min, *, out=None):
    """Each element, but at least `min`; nan stays.

    Args:
        min: a number, or a tensor that broadcasts.
        out: the tensor to write the result to.
    Shape: (*) -> (*), or broadcast with `min`
    Raises:
        RuntimeError: the shapes do not broadcast, as in `clamp_min(ones(2), ones(3))`.

    >>> clamp_min(tensor([-2.0, 0.5]), 0)
    tensor([0.0000, 0.5000])
    """
    return _clamp_min(input, min, out)


def clamp_max(input, max, *, out=None):
    """Each element, but at most `max`; nan stays.

    Args:
        max: a number, or a tensor that broadcasts.
        out: the tensor to write the result to.
    Shape: (*) -> (*), or broadcast with `max`
    Raises:
        RuntimeError: the shapes do not broadcast, as in `clamp_max(ones(2), ones(3))`.

    >>> clamp_max(tensor([-2.0, 0.5]), 0)
    tensor([-2.,  0.])
    """
    return _clamp_max(input, max, out)


def clamp_min_(self, min):
    """Raise each element to at least `min`, in place."""
    return _clamp_min_inplace(self, min)


def clamp_max_(self, max):
    """Lower each element to at most `max`, in place."""
    return _clamp_max_inplace(self, max)


publish("clamp", clamp, True, False, ("clip",))
publish("clamp_min", clamp_min, True, False, ())
publish("clamp_max", clamp_max, True, False, ())
Tensor.clamp_ = Tensor.clip_ = clamp_
Tensor.clamp_min_, Tensor.clamp_max_ = clamp_min_, clamp_max_


@primitive(method=True, out=True, inplace=True)
def nan_to_num(input, /, nan=None, posinf=None, neginf=None):
    """Each element, with nan and the infinities replaced by numbers.

    Args:
        nan: for nan; 0 by default.
        posinf: for +inf; the largest number of the type by default.
        neginf: for -inf; the smallest number of the type by default.
        out: the tensor to write the result to.
    Shape: (*) -> (*)
    Raises:
        TypeError: `input` is not a tensor, as in `nan_to_num(0.5)`.

    >>> nan_to_num(tensor([float("nan"), float("inf")]), posinf=9.0)
    tensor([0., 9.])
    """
    if input.dtype.kind not in "fcV":
        return input.copy()
    if input.dtype.kind == "c":
        parts = [nan_to_num.record.kernel(p, nan, posinf, neginf) for p in (input.real, input.imag)]
        return (parts[0] + 1j * parts[1]).astype(input.dtype)
    from ml_dtypes import finfo

    limits = finfo(input.dtype) if input.dtype.kind == "V" else np.finfo(input.dtype)
    r = input.copy()
    r[np.isnan(input)] = 0 if nan is None else nan
    r[input == np.inf] = limits.max if posinf is None else posinf
    r[input == -np.inf] = limits.min if neginf is None else neginf
    return r


@nan_to_num.vjp
def _(g, input):
    return zero_where(g, ~input.isfinite())


@primitive(name="heaviside", method=True, out=True, inplace=True, node="NotImplemented")
def heaviside(input, values, /):
    """0, 1, or `values`, where `input` is negative, positive, or 0.

    Args:
        values: a tensor of the same type, broadcast against `input`.
        out: the tensor to write the result to.
    Shape: (*), (*) -> (*), broadcast
    Raises:
        RuntimeError: the types differ, as in `heaviside(ones(2), tensor([1]))`.

    >>> heaviside(tensor([-1.0, 0.0, 2.0]), tensor(0.5))
    tensor([0.0000, 0.5000, 1.0000])
    """
    if input.dtype != values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    if input.dtype.kind == "c":
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    return np.where(input == 0, values, (input > 0).astype(input.dtype))
