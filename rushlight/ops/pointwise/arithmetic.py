"""Operators on each element by itself: rows of a table, simplest first.

A row is a name, a NumPy function, the gradient rules and a sentence. In a rule `g` is the incoming gradient, `x` and `y`
are the inputs and `out` is the result. Here is arithmetic; functions of one element are in `elementary.py` and
`special.py`, comparisons, choices and limits in `comparison.py`, operators on bits in `bitwise.py`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.dispatch import number_first
from ...core.dispatch.inplace import accept_inplace, check_order, write
from ...core.dispatch.number_options import LARGEST_OF_ALL
from ...core.dispatch.op import SCALAR_ROW, binary, composite, primitive, unary
from ...core.dispatch.scalars import check_parsed, exact, number_as, python_number
from ...core.dispatch.slow_path import common_type, is_computed, write_out
from ...core.tensor import dtype as dtypes
from ...core.tensor.node import shown_as, written_as
from ...core.tensor.placeholder import Placeholder
from ...core.tensor.tensor import Tensor, constant
from .building_blocks import F32, F64, conjugate, in_order_of, widened, zero_rule
from .checks import check_bool, not_implemented, refuse_bool, tensors_only
from .multiply_add import multiply_add

# ---------------------------------------------------------------------------------------------- addition


_SUB_BOTH = (
    "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator "
    "instead."
)
_SUB_ONE = (
    "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` "
    "or `logical_not()` operator instead."
)


def _plus(x, y, factor):
    """x + factor y of complex numbers, the product written out as in torch: an infinite part makes the other one nan."""
    return in_order_of(x + np.multiply(y, y.dtype.type(factor)), x, y)


_add = binary(
    "add",
    np.add,
    lambda g: g,
    lambda g: g,
    "The sum of two tensors.",
    of_complex=lambda x, y: _plus(x, y, 1),
    operator="add",
    export=False,
    numbers=True,
)
_sub = binary(
    "sub",
    np.subtract,
    lambda g: g,
    lambda g: -g,
    "The difference of two tensors.",
    of_complex=lambda x, y: _plus(x, y, -1),
    operator="sub",
    export=False,
    numbers=True,
)
_rsub = binary(
    "rsub", lambda x, y: in_order_of(np.subtract(y, x), y, x), lambda g: -g, lambda g: g, "other - input.", operator="rsub", export=False,
    inplace=False, number_nodes=("RsubBackward1",), laid_as=lambda _: (1, 0),
    of_complex=lambda x, y: _plus(y, x, -1),
)  # fmt: skip
delattr(Tensor, "__rrsub__")
refuse_bool(_sub, _SUB_ONE, _SUB_BOTH)
refuse_bool(_rsub, _SUB_ONE, _SUB_BOTH)


def _scaled(input, other, alpha):
    """alpha * other, checked as torch checks `alpha` against the type of the result."""
    if isinstance(alpha, bool):
        return _switched(input, other, alpha)
    if isinstance(alpha, (int, float)):
        _check_alpha(input, other, alpha)
        if isinstance(other, Tensor) and other.dtype.category < 2:  # alpha takes the result's type, it has no say in it
            d = common_type(_add.record, (input, other))
            assert d is not None
            return (other.to(d) * exact(alpha, d.numpy)).to(d)
    return other * alpha


def _kinds(input, other):
    return [x.dtype if isinstance(x, Tensor) else dtypes.of_number(x) for x in (input, other)]


def _check_alpha(input, other, alpha):
    """Raise torch's error for a fraction where both are whole numbers, for a complex number where neither is one."""
    highest = max(kind.category for kind in _kinds(input, other))
    if highest < 2 and not isinstance(alpha, int):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if highest < 3 and isinstance(alpha, complex):
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    if abs(alpha) > 100:
        d = common_type(_add.record, (input, other))
        assert d is not None
        exact(alpha, d.numpy)


def _switched(input, other, alpha):
    """other where `alpha` is True; False where it is not. Raises torch's error unless the result is bool."""
    kinds = [x.dtype if isinstance(x, Tensor) else dtypes.of_number(x) for x in (input, other)]
    if any(kind.category for kind in kinds):
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    return other * alpha if isinstance(other, Tensor) else other and alpha


@primitive(public=False, name="add.scaled", promote="same", node="AddBackward0")
def _add_scaled(input, other, /, alpha):
    """input + alpha * other, of floats rounded once; alpha takes their type."""
    d = input.dtype
    if d.kind == "c":
        return _plus(input, other, alpha)
    if d.itemsize == 2:
        r = np.asanyarray(multiply_add(other.astype(F32), d.type(alpha), input.astype(F32))).astype(d)
    else:
        r = multiply_add(other, alpha, input)
    return in_order_of(r, input, other)


@_add_scaled.vjp
def _(g, alpha, needs):
    return g, g * alpha.conjugate() if needs[1] else None


def _terms(input, other, alpha) -> tuple[Tensor, Tensor] | None:
    """Both as tensors where torch's kernel multiplies: of complex numbers, and of floats if the factor changes a digit."""
    check_parsed(alpha)
    are_tensors = isinstance(input, Tensor), isinstance(other, Tensor)
    if any(t and x._array.dtype.kind == "c" for t, x in zip(are_tensors, (input, other), strict=True)):
        return _as_terms(input, other) if type(alpha) in (int, float, complex) else None
    if type(alpha) not in (int, float) or abs(alpha) == 1:
        return None
    if are_tensors == (True, True):
        d, e = input._array.dtype, other._array.dtype
        if (d is F32 or d is F64) and e is d:
            return (input, other)
        if math.frexp(alpha)[0] in (0.5, -0.5):  # a power of two
            return None
    elif are_tensors == (False, False):
        return None
    terms = [x if isinstance(x, Tensor) else None for x in (input, other)]
    if max(kind.category for kind in _kinds(input, other)) != 2 or any(
        x is not None and type(x._array) is Placeholder for x in terms
    ):
        return None
    return _as_terms(input, other)


def _as_terms(input, other) -> tuple[Tensor, Tensor]:
    d = common_type(_add.record, (input, other))
    assert d is not None
    first, second = (x if isinstance(x, Tensor) else constant(number_as(x, d)) for x in (input, other))
    return first, second


def _factor(input, other, alpha):
    """(other, alpha) with an alpha that is one of NumPy's numbers, or a tensor without dimensions, as Python's number."""
    if is_computed(alpha):
        return _computed(other, alpha), 1
    alpha = alpha.item() if is_scalar_tensor(alpha) else python_number(alpha)
    if type(alpha) is complex:
        _check_alpha(input, other, alpha)
    return other, alpha


def is_scalar_tensor(value):
    """Whether a value is a tensor without dimensions, which torch takes for a number."""
    return isinstance(value, Tensor) and not value._array.ndim


def _computed(other, alpha):
    """alpha * other where `alpha` is a tensor that a program computes: it takes the type of the tensor `other`."""
    factor = alpha.detach()
    return factor.to(other.dtype) * other if isinstance(other, Tensor) else factor * other


@composite(method=True)
@number_first.hide_from_signature
def add(input, other, *rest, alpha=1, out=None):
    """input + alpha * other of each pair of elements.

    Args:
        input: a tensor, broadcast against `other`.
        other: a tensor or a number. The result has the common type.
        alpha: a number; a whole one for integers.
        out: the tensor to write the result to.
    Shape: (*), (*) -> (*), broadcast
    Raises:
        RuntimeError: the shapes do not broadcast, as in `add(ones(2), ones(3))`.
        RuntimeError: `alpha` is a fraction for integers, as in `add(tensor([1]), tensor([1]), alpha=0.5)`.

    >>> add(tensor([1.0, 2.0]), tensor([10.0, 20.0]), alpha=2)
    tensor([21., 42.])
    """
    if rest:
        other, alpha = number_first.sum_arguments("add", other, rest)
    if type(alpha) is not int and type(alpha) is not float:
        other, alpha = _factor(input, other, alpha)
    if alpha != 1 or alpha is True:
        if terms := _terms(input, other, alpha):
            result = _add_scaled(*terms, alpha)
            return result if out is None else write_out("add", (input, other), result, out)
        other = _scaled(input, other, alpha)
    return _add(input, other) if out is None else _add(input, other, out=out)


@primitive(public=False, name="sub.scaled", promote="same", node="SubBackward0")
def _sub_scaled(input, other, /, alpha):
    """input - alpha * other of floats, rounded once."""
    return _add_scaled.record.reference(input, other, -alpha)


@_sub_scaled.vjp
def _(g, alpha, needs):
    return g, g * -alpha.conjugate() if needs[1] else None


@composite(method=True, aliases=("subtract",))
@number_first.hide_from_signature
def sub(input, other, *rest, alpha=1, out=None):
    """input - alpha * other of each pair of elements.

    Args:
        input: a tensor, broadcast against `other`.
        other: a tensor or a number. The result has the common type.
        alpha: a number; a whole one for integers.
        out: the tensor to write the result to.
    Shape: (*), (*) -> (*), broadcast
    Raises:
        RuntimeError: the shapes do not broadcast, as in `sub(ones(2), ones(3))`.
        RuntimeError: the elements are bools, as in `sub(tensor([True]), tensor([True]))`.

    >>> sub(tensor([1.0, 2.0]), 0.5)
    tensor([0.5000, 1.5000])
    """
    if rest:
        other, alpha = number_first.sum_arguments("sub", other, rest)
    if type(alpha) is not int and type(alpha) is not float:
        other, alpha = _factor(input, other, alpha)
    if alpha != 1 or alpha is True:
        check_bool((input, other), _SUB_ONE, _SUB_BOTH)
        if terms := _terms(input, other, alpha):
            result = _sub_scaled(*terms, alpha)
            return result if out is None else write_out("sub", (input, other), result, out)
        other = _scaled(input, other, alpha)
    return _sub(input, other) if out is None else _sub(input, other, out=out)


@composite(method=True)
def rsub(input, other, *, alpha=1):
    """other - alpha * input of each pair of elements.

    Args:
        input: a tensor, broadcast against `other`.
        other: a tensor or a number. The result has the common type.
        alpha: a number; a whole one for integers.
    Shape: (*), (*) -> (*), broadcast
    Raises:
        RuntimeError: the shapes do not broadcast, as in `rsub(ones(2), ones(3))`.

    >>> rsub(tensor([1.0, 2.0]), 10)
    tensor([9., 8.])
    """
    if not is_computed(alpha) and alpha == 1 and type(alpha) not in (bool, complex):
        return _rsub(input, other)
    result = sub(other, input, alpha=alpha)
    return shown_as(result, "RsubBackward0") if isinstance(other, Tensor) else shown_as(result, "RsubBackward1", 0)


_plain_add_, _plain_sub_ = Tensor.add_, Tensor.sub_


@composite(method=True, function=False)
@number_first.hide_from_signature
def add_(self, other, *rest, alpha=1):
    """self += alpha * other, in place."""
    if rest:
        other, alpha = number_first.sum_arguments("add_", other, rest)
    if type(alpha) is not int and type(alpha) is not float:
        other, alpha = _factor(self, other, alpha)
    if alpha == 1 and alpha is not True:
        return _plain_add_(self, other)
    if add_scaled(self, other, alpha):
        return self
    if terms := _terms(self, other, alpha):
        return write(_add_scaled.record, self, terms[1:], (alpha,))
    check_order("add_", self, other)
    return write(_add.record, self, (_scaled(self, other, alpha),), ())


@composite(name="sub_", method=True, function=False, aliases=("subtract_",))
@number_first.hide_from_signature
def sub_(self, other, *rest, alpha=1):
    """self -= alpha * other, in place."""
    if rest:
        other, alpha = number_first.sum_arguments("sub_", other, rest)
    if type(alpha) is not int and type(alpha) is not float:
        other, alpha = _factor(self, other, alpha)
    check_bool((self, other), _SUB_ONE, _SUB_BOTH)
    if alpha == 1 and alpha is not True:
        return _plain_sub_(self, other)
    if type(alpha) is float and add_scaled(self, other, -alpha):
        return self
    if terms := _terms(self, other, alpha):
        return write(_sub_scaled.record, self, terms[1:], (alpha,))
    check_order("sub_", self, other)
    return write(_sub.record, self, (_scaled(self, other, alpha),), ())


def add_scaled(self, other, alpha) -> bool:
    """`self += alpha * other` without history, if that is possible."""
    if (type(alpha) is not float and type(alpha) is not int) or not isinstance(other, Tensor):
        return False
    if not -LARGEST_OF_ALL <= alpha <= LARGEST_OF_ALL:
        return False
    state = accept_inplace(self, other)
    if state is None:
        return False
    a = self._array
    state.run(multiply_add, other._array, alpha, a, a)
    return True


# ---------------------------------------------------------------------------------------------- products and quotients


mul = binary(
    "mul", np.multiply, lambda g, y: g * conjugate(y), lambda g, x: g * conjugate(x), """The product of each pair of elements.

    >>> mul(tensor([1.0, 2.0]), tensor([[3.0], [4.0]]))
    tensor([[3., 6.],
            [4., 8.]])
    """,
    operator="mul", aliases=("multiply",), unrounded="any", numbers=True,
)  # fmt: skip
_div = binary(
    "div", np.true_divide, lambda g, y: g / conjugate(y), lambda g, x, y: -g * conjugate((x / y) / y),
    "The quotient of two tensors.", promote="float", operator="truediv", export=False, unrounded="other",
    numbers=True,
)  # fmt: skip


def _reject_zero(x, y) -> None:
    if isinstance(x, np.ndarray) and not x.size:
        return
    if (y.dtype.kind in "iu" and not y.all()) if isinstance(y, np.ndarray) else (type(y) is int and not y):
        raise RuntimeError("ZeroDivisionError")


def _whole(x, y) -> bool:
    """Whether a division of `x` by `y` is one of integers; raises for division by zero, and for bools."""
    if isinstance(x, np.ndarray) and x.dtype.kind == "b":
        raise not_implemented("div_floor_cpu", x.dtype)
    if x.dtype.kind not in "biu" if hasattr(x, "dtype") else type(x) is float:
        return False
    _reject_zero(x, y)
    return True


@widened
def _floor_quotient(x, y):
    _whole(x, y)
    return np.floor_divide(x, y)


@widened
def _quotient(x, y):
    return np.true_divide(x, y)


@widened
def _trunc_of_quotient(x, y):
    return np.trunc(np.true_divide(x, y))


def _trunc_quotient(x, y):
    """The quotient rounded to zero; of two tensors of 16-bit floats it is rounded to their type first, as in torch."""
    if not _whole(x, y):
        is_narrow = isinstance(y, np.ndarray) and y.size != 1 and y.dtype == x.dtype and x.dtype.itemsize == 2
        return np.trunc(_quotient(x, y).astype(np.float32)).astype(x.dtype) if is_narrow else _trunc_of_quotient(x, y)
    q = np.floor_divide(x, y)
    return q + ((q < 0) & (np.remainder(x, y) != 0)).astype(q.dtype)


floor_divide = binary(
    "floor_divide",
    _floor_quotient,
    None,
    None,
    """The quotient of each pair of elements, rounded down.

    >>> floor_divide(tensor([7, -7]), 2)
    tensor([ 3, -4])
    """,
    operator="floordiv",
    node="NotImplemented",
    unrounded="other",
    numbers=True,
    **SCALAR_ROW,
)
_div_floor = binary(
    "div.floor", _floor_quotient, zero_rule, zero_rule, "The quotient rounded down.", export=False,
    inplace=False, node="DivBackward2", unrounded="other", numbers=True, **SCALAR_ROW,
)  # fmt: skip
_div_trunc = binary(
    "div.trunc", _trunc_quotient, zero_rule, zero_rule, "The quotient rounded to zero.", export=False,
    inplace=False, node="DivBackward2", unrounded="other", numbers=True,
)  # fmt: skip
_ROUNDED = {"floor": _div_floor, "trunc": _div_trunc}


class _NotGiven:
    """The default of `rounding_mode`, which reads as None: torch has another operator where None is given."""

    def __repr__(self):
        return "None"


_NOT_GIVEN = _NotGiven()


def _rounded(rounding_mode):
    if rounding_mode is None:
        return lambda *args, **kwargs: shown_as(_div(*args, **kwargs), "DivBackward2")
    if rounding_mode not in _ROUNDED:
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    return _ROUNDED[rounding_mode]


@composite(method=True, aliases=("divide",))
def div(input, other, *, rounding_mode: Any = _NOT_GIVEN, out=None):
    """input / other of each pair of elements.

    Args:
        input: a tensor, broadcast against `other`.
        other: a tensor or a number. Without `rounding_mode` integers give the default float type.
        rounding_mode: None, "trunc" (to zero) or "floor" (down); with it the result has the common type.
        out: the tensor to write the result to.
    Shape: (*), (*) -> (*), broadcast
    Raises:
        RuntimeError: the shapes do not broadcast, as in `div(ones(2), ones(3))`.
        RuntimeError: `rounding_mode` is another text, as in `div(ones(2), 2, rounding_mode="up")`.
        RuntimeError: integers are divided by 0 with a `rounding_mode`, as in
            `div(tensor([1]), 0, rounding_mode="floor")`.

    >>> div(tensor([7, -7]), 2)
    tensor([ 3.5000, -3.5000])
    >>> div(tensor([7, -7]), 2, rounding_mode="floor")
    tensor([ 3, -4])
    """
    f = _div if rounding_mode is _NOT_GIVEN else _rounded(rounding_mode)
    return f(input, other) if out is None else f(input, other, out=out)


@composite(method=True)
def true_divide(input, other, *, out=None):
    """input / other of each pair of elements, as `div` without a rounding mode.

    Args:
        input: a tensor, broadcast against `other`.
        other: a tensor or a number. Integers give the default float type.
        out: the tensor to write the result to.
    Shape: (*), (*) -> (*), broadcast
    Raises:
        RuntimeError: the shapes do not broadcast, as in `true_divide(ones(2), ones(3))`.

    >>> true_divide(tensor([7, -7]), 2)
    tensor([ 3.5000, -3.5000])
    """
    return _div(input, other) if out is None else _div(input, other, out=out)


_plain_div_ = Tensor.div_


@composite(name="div_", method=True, function=False, aliases=("divide_",))
def div_(self, other, *, rounding_mode: Any = _NOT_GIVEN):
    """self /= other, in place."""
    if rounding_mode is _NOT_GIVEN:
        return _plain_div_(self, other)
    if rounding_mode is None:
        return written_as(_plain_div_(self, other), _div.record, "DivBackward2")
    return write(_rounded(rounding_mode).record, self, (other,), ())


composite(name="true_divide_", method=True, function=False)(_plain_div_)


@composite(name="__rtruediv__", method=True, function=False, aliases=("__rdiv__",))
def _rtruediv(self, other):
    """other / self, computed as torch does: the reciprocal times `other`."""
    if not isinstance(other, (Tensor, int, float, complex, np.generic, np.ndarray)):
        return NotImplemented
    return self.reciprocal() * other


composite(name="__div__", method=True, function=False)(Tensor.__truediv__)


def _remainder(x, y):
    if isinstance(x, np.ndarray) and x.dtype.kind == "b":
        raise not_implemented("remainder_cpu", x.dtype)
    if isinstance(y, np.ndarray):
        _reject_zero(x, y)
    elif not y and x.dtype.kind in "iu" and x.size:
        raise RuntimeError("ZeroDivisionError")
    r = np.remainder(x, y)
    return r if r.dtype.kind in "biu" else np.where(r == 0, np.copysign(r, x), r)  # NumPy's zero has the sign of y


@widened
def _fmod(x, y):
    _whole(x, y)
    return np.fmod(x, y)


remainder = binary(
    "remainder", _remainder, lambda g: g, lambda g, x, y: -g * _div_floor(x, y),
    """What division rounded down leaves over, input - floor(input / other) * other: it has the sign of `other`.

    >>> remainder(tensor([7, -7]), 3)
    tensor([1, 2])
    """, operator="mod", node="RemainderBackward1", number_nodes=("RemainderBackward0", "NotImplemented"),
    **SCALAR_ROW,
)  # fmt: skip
fmod = binary(
    "fmod", _fmod, lambda g: g, lambda g, x, y: -g * _div_trunc(x, y),
    """What division rounded to zero leaves over, input - trunc(input / other) * other: it has the sign of `input`.

    >>> fmod(tensor([7, -7]), 3)
    tensor([ 1, -1])
    """, node="FmodBackward1", number_nodes=("FmodBackward0",), **SCALAR_ROW,
)  # fmt: skip


def _negative(x):
    """Never into a strided array: there NumPy 2.4 with AVX-512 changes the first of every few elements only."""
    r = np.negative(x)
    if r.dtype.kind == "c" and r.size * r.itemsize >= _NEGATED_BYTES:
        _clear_signs(r, x)
    return r


_NEGATED_BYTES = 64  # torch negates complex numbers by two vectors of 32 bytes


def _clear_signs(r, x):
    """Take the signs of zeros from -x: torch computes 0 - x in whole vectors, and -x in the elements that are left over.

    On which side of a branch cut a number is depends on it: the root of -(1+0j) is 1j in one, -1j in the other.
    """
    order = sorted(
        range(x.ndim), key=lambda i: -(x.strides[i] or np.inf)
    )  # an expanded dimension goes around the others
    rows, given = r.transpose(order), x.transpose(order)
    if given.flags.c_contiguous:
        rows = rows.reshape(-1)
    elif given.strides[-1] != x.itemsize:
        return
    rows[..., : rows.shape[-1] - rows.shape[-1] % (_NEGATED_BYTES // r.itemsize)] += 0


neg = unary(
    "neg",
    _negative,
    lambda g: -g,
    """Minus each element.

    Raises:
        RuntimeError: `input` is of bools, as in `neg(tensor([True]))`.

    >>> neg(tensor([1.0, -2.0]))
    tensor([-1.,  2.])
    """,
    promote="same",
    aliases=("negative",),
)
composite(name="__neg__", method=True, function=False)(neg)
_NEG_BOOL = (
    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
    "`logical_not()` operator instead."
)
refuse_bool(neg, _NEG_BOOL, _NEG_BOOL)


tensors_only(_rsub, 0)
tensors_only(fmod, 0)


@composite(method=True)
def positive(input):
    """The input itself.

    Args:
        input: a tensor of numbers.
    Shape: (*) -> (*)
    Raises:
        RuntimeError: `input` is of bools, as in `positive(tensor([True]))`.

    >>> positive(tensor([-1.0]))
    tensor([-1.])
    """
    if input._array.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


composite(name="__pos__", method=True, function=False)(positive)
reciprocal = unary(
    "reciprocal",
    lambda x: np.true_divide(1, x),
    lambda g, out: -g * conjugate(out * out),
    """1 / input of each element; infinite at 0.

    >>> reciprocal(tensor([2.0, -4.0]))
    tensor([ 0.5000, -0.2500])
    """,
)
