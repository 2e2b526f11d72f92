"""Operators on the bits of integers and bools, greatest common divisors, and operators on the parts of floats."""

from __future__ import annotations

import math

import numpy as np

from ...core.dispatch.errors import argument_type, type_error
from ...core.dispatch.inplace import write
from ...core.dispatch.op import OPS, binary, composite, primitive, unary
from ...core.dispatch.return_types import named
from ...core.dispatch.scalars import NUMBERS
from ...core.dispatch.slow_path import write_out
from ...core.tensor import dtype as dtypes
from ...core.tensor.node import shown_as
from ...core.tensor.tensor import Tensor
from .building_blocks import F32, conjugate, dense, for_types, in_order_of, of_arrays, zeros_of
from .checks import not_implemented, tensors_only
from .choice import where

# ---------------------------------------------------------------------------------------------- bits


def _on_bits(ufunc, name):
    """`ufunc`, for integers and bools only."""

    def kernel(x, *y):
        d = x.dtype if isinstance(x, np.ndarray) else y[0].dtype
        if d.kind not in "biu":
            raise not_implemented(name + "_cpu", d)
        return ufunc(x, *y)

    return kernel


def _bits(name, ufunc, doc, operator):
    return binary(
        name,
        _on_bits(ufunc, name),
        None,
        None,
        doc,
        operator=operator,
        differentiable=False,
    )


bitwise_and = _bits(
    "bitwise_and",
    np.bitwise_and,
    """The bits that both integers have; for bools, whether both are true.

    Raises:
        NotImplementedError: the elements are floating-point numbers, as in `bitwise_and(ones(2), ones(2))`.

    >>> bitwise_and(tensor([12, 3]), 10)
    tensor([8, 2])
    """,
    "and",
)
bitwise_or = _bits(
    "bitwise_or",
    np.bitwise_or,
    """The bits that at least one of two integers has; for bools, whether one is true.

    Raises:
        NotImplementedError: the elements are floating-point numbers, as in `bitwise_or(ones(2), ones(2))`.

    >>> bitwise_or(tensor([12, 3]), 10)
    tensor([14, 11])
    """,
    "or",
)
bitwise_xor = _bits(
    "bitwise_xor",
    np.bitwise_xor,
    """The bits in which two integers differ; for bools, whether they differ.

    Raises:
        NotImplementedError: the elements are floating-point numbers, as in `bitwise_xor(ones(2), ones(2))`.

    >>> bitwise_xor(tensor([12, 3]), 10)
    tensor([6, 9])
    """,
    "xor",
)
bitwise_not = unary(
    "bitwise_not", _on_bits(np.invert, "bitwise_not"), None, """Each element with all its bits turned over: -1 - input for signed integers, the opposite for bools.

    Raises:
        NotImplementedError: `input` is of floating-point numbers, as in `bitwise_not(ones(2))`.

    >>> bitwise_not(tensor([0, 5]))
    tensor([-1, -6])
    """, promote="same",
    differentiable=False,
)  # fmt: skip


@composite(name="__invert__", method=True, function=False)
def _invert(self):
    if self._array.dtype.kind not in "biu":
        raise type_error("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return bitwise_not(self)


def _shift(ufunc, fill, name):
    def kernel(x, y):
        x, y = np.asarray(x), np.asarray(y)
        if x.dtype.kind == "b":
            raise not_implemented(f"{name}_cpu", x.dtype)
        d = x.dtype if x.ndim or not y.ndim else y.dtype
        bits = 8 * d.itemsize - (d.kind == "i" and fill is not None)
        wild = (y < 0) | (y >= bits)
        if not wild.any():
            return ufunc(x, y)
        r = ufunc(x, np.where(wild, 0, y).astype(y.dtype))
        return np.where(wild, 0 if fill is None else np.where(x < 0, -1, 0), r).astype(r.dtype)

    return kernel


bitwise_left_shift = binary(
    "bitwise_left_shift", _on_bits(_shift(np.left_shift, None, "lshift"), "lshift"), None, None, """Each integer moved up by `other` bits: input * 2^other.

    Raises:
        NotImplementedError: the elements are floating-point numbers, as in `bitwise_left_shift(ones(2), ones(2))`.

    >>> bitwise_left_shift(tensor([1, 3]), 2)
    tensor([ 4, 12])
    """,
    differentiable=False,
)  # fmt: skip
bitwise_right_shift = binary(
    "bitwise_right_shift", _on_bits(_shift(np.right_shift, 0, "rshift"), "rshift"), None, None,
    """Each integer moved down by `other` bits: input / 2^other, rounded down.

    Raises:
        NotImplementedError: the elements are floating-point numbers, as in `bitwise_right_shift(ones(2), ones(2))`.

    >>> bitwise_right_shift(tensor([8, -3]), 1)
    tensor([ 4, -2])
    """, differentiable=False,
)  # fmt: skip


def _shift_operator(shift):

    def operator(self, other):
        if not isinstance(other, (Tensor, *NUMBERS)):
            return NotImplemented
        return shift(self, other)

    return operator


def _reflected_shift(shift):
    def operator(self, other):
        return shift(other, self) if isinstance(other, NUMBERS) else NotImplemented

    return operator


for _word, _shift_op, _sign in (
    ("lshift", bitwise_left_shift, 1),
    ("rshift", bitwise_right_shift, -1),
):
    composite(name=f"__{_word}__", method=True, function=False)(_shift_operator(_shift_op))
    composite(name=f"__r{_word}__", method=True, function=False)(_reflected_shift(_shift_op))
    composite(name=f"__i{_word}__", method=True, function=False)(getattr(Tensor, _shift_op.record.name + "_"))

# ---------------------------------------------------------------------------------------------- divisors


def _divisors(name, ufunc, doc):
    return binary(name, of_arrays(_on_bits(ufunc, name)), None, None, doc, differentiable=False)


gcd = _divisors(
    "gcd",
    np.gcd,
    """The greatest common divisor of each pair of integers; 0 of two zeros.

    Raises:
        RuntimeError: the shapes do not broadcast, as in `gcd(tensor([1, 2]), tensor([1, 2, 3]))`.
        NotImplementedError: the elements are floating-point numbers, as in `gcd(ones(2), ones(2))`.

    >>> gcd(tensor([12, 7]), tensor([18, 0]))
    tensor([6, 7])
    """,
)


def _multiple(x, y):
    """|x / gcd * y|, as torch has it where the product does not fit the type; narrow ones are computed in 32 bits there."""
    if max(x.dtype.itemsize, y.dtype.itemsize) < 4:
        return np.lcm(x, y)
    g = np.gcd(x, y)
    return np.abs(x // np.where(g == 0, g.dtype.type(1), g) * y)


lcm = _divisors(
    "lcm",
    _multiple,
    """The least common multiple of each pair of integers.

    Raises:
        RuntimeError: the shapes do not broadcast, as in `lcm(tensor([1, 2]), tensor([1, 2, 3]))`.
        NotImplementedError: the elements are floating-point numbers, as in `lcm(ones(2), ones(2))`.

    >>> lcm(tensor([4, 3]), tensor([6, 5]))
    tensor([12, 15])
    """,
)

tensors_only(gcd, 0, 1)
tensors_only(lcm, 0, 1)

# ---------------------------------------------------------------------------------------------- sign, mantissa and exponent


def _copysign_rule(g, x, out):
    return g * (out / x).masked_fill(x == 0, 0)


copysign = binary(
    "copysign", np.copysign, _copysign_rule, lambda g: zeros_of(g), """The absolute value of each element of the input with the sign of `other`, also of -0.0.

    >>> copysign(tensor([1.0, 2.0]), tensor([-1.0, 0.0]))
    tensor([-1.,  2.])
    """,
    promote="float", number_nodes=("CopysignBackward1",),
)  # fmt: skip
nextafter = binary(
    "nextafter", of_arrays(for_types("fV", "nextafter_cpu", np.nextafter)), lambda g, x, y: where(x == y, 0, g), lambda g: zeros_of(g),
    """The next floating-point number after each element of the input in the direction of `other`.

    >>> nextafter(tensor([1.0]), tensor([2.0])) > 1
    tensor([True])
    """,
)  # fmt: skip
tensors_only(copysign, 0)
tensors_only(nextafter, 0, 1)


@primitive(name="ldexp_of_integers", public=False, node="LdexpBackward0")
def _ldexp_of_integers(input, other, /):
    """Without 2^other, which may be infinite where the product is not. torch takes the low 32 bits of `other`."""
    wide = input.astype(F32) if input.dtype.itemsize == 2 else input
    return in_order_of(np.ldexp(wide, other.astype(np.int32)).astype(input.dtype, copy=False), input, other)


@primitive(name="ldexp", public=False, node="LdexpBackward0", promote="float")
def _ldexp_of_floats(input, other, /):
    power = dense(np.power(input.dtype.type(2), other.astype(input.dtype)))  # as `pow` of a number gives it
    return in_order_of(input * power, input, power)


@_ldexp_of_integers.vjp("input")
@_ldexp_of_floats.vjp("input")
def _(g, other):
    return g * conjugate(OPS["pow"](2, other))  # of integers a power of integers, which overflows in torch


@_ldexp_of_floats.vjp("other")
def _(g, out):
    return g * conjugate(out) * math.log(2)


def _ldexp(input, other):
    if not isinstance(input, Tensor):
        raise argument_type("ldexp", "input", 1, input)
    if not isinstance(other, Tensor):
        raise type_error(f"ldexp(): argument 'other' (position 2) must be Tensor, not {type(other).__name__}")
    if other.dtype is dtypes.bool_ and input.dtype.category == 2:
        raise NotImplementedError("\"ldexp_cpu_exp\" not implemented for 'Bool'")
    by_integers = other.dtype.category < 2 and input.dtype.is_floating_point
    return _ldexp_of_integers if by_integers else _ldexp_of_floats


@composite(method=True)
def ldexp(input, other, *, out=None):
    """input * 2^other of each pair of elements.

    Args:
        input: a tensor; integers give the default float type.
        other: a tensor of exponents, broadcast against `input`.
        out: the tensor to write the result to.
    Shape: (*), (*) -> (*), broadcast
    Raises:
        RuntimeError: the shapes do not broadcast, as in `ldexp(ones(2), ones(3))`.

    >>> ldexp(tensor([1.0, 3.0]), tensor([4, -1]))
    tensor([16.0000,  1.5000])
    """
    operator = _ldexp(input, other)
    if operator is _ldexp_of_floats and other.dtype.itemsize == 2 and other.dtype is not input.dtype:
        result = shown_as(
            input * OPS["pow"](2.0, other), "LdexpBackward0"
        )  # the power is rounded to the exponent's type
    else:
        result = operator(input, other)
    return result if out is None else write_out("ldexp", (input, other), result, out)


@composite(method=True, function=False)
def ldexp_(self, other):
    """In-place form of `ldexp`."""
    operator = _ldexp(self, other)
    if operator is _ldexp_of_floats and other.dtype.itemsize == 2:  # the power is rounded to the exponent's type
        return self.mul_(OPS["pow"](2.0, other))
    return write(operator.record, self, (other,), ())


@primitive(
    name="frexp",
    method=True,
    out=True,
    outputs=1,
    returns=named("frexp", "mantissa", "exponent"),
)
def frexp(input, /):
    """(mantissa, exponent) of each element, with |mantissa| in [0.5, 1) and input = mantissa * 2^exponent.

    Args:
        input: a tensor of floating-point numbers. The exponent is int32.
        out: the two tensors to write the results to.
    Shape: (*) -> (*), (*)
    Raises:
        RuntimeError: `input` is of integers, as in `frexp(tensor([1]))`.

    >>> frexp(tensor([8.0, 0.75]))
    torch.return_types.frexp(
    mantissa=tensor([0.5000, 0.7500]),
    exponent=tensor([4, 0], dtype=torch.int32))
    """
    if input.dtype.kind not in "fV":
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    if input.dtype.kind == "V":
        mantissa, exponent = np.frexp(input.astype(F32))
        return mantissa.astype(input.dtype), exponent
    return np.frexp(input)


@frexp.vjp
def _(g, out1):
    return g[0] / 2.0**out1
