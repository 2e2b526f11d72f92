"""Powers, and the operators that combine three tensors in one pass: lerp, addcmul, addcdiv."""

from __future__ import annotations

import numpy as np

from ...core.dispatch import number_first
from ...core.dispatch.errors import argument_type, type_error
from ...core.dispatch.inplace import accept_inplace, write
from ...core.dispatch.mode import may_branch_on_data
from ...core.dispatch.number_options import LARGEST_OF_ALL
from ...core.dispatch.op import MEMORY_BOUND, OPS, binary, composite, primitive
from ...core.dispatch.scalars import check_number, check_parsed, exact, number_as, python_number, type_name
from ...core.dispatch.slow_path import are_operands, by_others, is_computed, write_out
from ...core.tensor import dtype as dtypes
from ...core.tensor.tensor import Tensor, constant, type_word
from .building_blocks import F32, F64, conjugate, dense, in_order_of, widened
from .checks import c_word_of, guard, not_implemented
from .choice import where
from .fused_loops import LARGE, FusedLoop
from .multiply_add import multiply_add

# ---------------------------------------------------------------------------------------------- powers


def _integer_power(x, y):
    """Powers of integers; a negative exponent gives 0 unless the base is 1 or -1, as torch computes it."""
    y = np.asarray(y)
    negative = y < 0
    r = np.power(x, np.where(negative, 0, y).astype(x.dtype))
    if negative.any():
        odd = (y & 1) == 1
        inverse = np.where(x == 1, 1, np.where(x == -1, np.where(odd, -1, 1), 0))
        r = np.where(negative, inverse, r).astype(x.dtype)
    return r


def _power(x, y):
    if x.dtype.kind in "iub":
        return _integer_power(x, y)
    r = np.power(x, y)
    return _powers_of_zero(r, x, np.asarray(y)) if r.dtype.kind == "c" and not np.all(x) else r


def _powers_of_zero(r, x, y):
    """`r` with complex powers of 0 as exp(y log(0)) gives them, also 0 ** 0, where NumPy has rules of its own."""
    negative_zero = np.where(y.imag < 0, 0.0, -0.0)
    sized = np.full(np.shape(y), complex(np.nan, np.nan), r.dtype)
    sized.real[y.real > 0] = 0
    sized.imag[y.real > 0] = negative_zero[y.real > 0]
    sized.real[y.real < 0] = np.inf
    return np.where(x == 0, sized, r)


_SPECIAL = {
    2: np.square,
    3: lambda x: x * x * x,
    0.5: np.sqrt,
    -0.5: lambda x: np.true_divide(1, np.sqrt(x)),
    -1: lambda x: np.true_divide(1, x),
    -2: lambda x: np.true_divide(1, x * x),
    1: np.copy,
    0: np.ones_like,
}


@widened
def _power_of_widened(x, exponent):
    special = _SPECIAL.get(exponent)
    if special is not None:
        return special(x)
    return _power(x, x.dtype.type(exponent)) if type(exponent) is complex else np.power(x, exponent)


def _power_of_floats(x, exponent):
    """Powers; an exponent takes the type of 16-bit floats, and bfloat16 rounds the square within a cube, as in torch."""
    d = x.dtype
    if d.itemsize == 2 and type(exponent) is float:
        exponent = float(d.type(exponent))
    if d == np.float16 and exponent in (0.5, -0.5):  # C's pow, which differs from the root at -0 and minus infinity
        root = np.where(np.isneginf(x), np.float16(np.inf), np.sqrt(x) + np.float16(0))
        return root if exponent > 0 else np.true_divide(np.float16(1), root)
    if d.kind == "V" and exponent in (3, -2):
        square = np.square(x)
        return square * x if exponent == 3 else np.true_divide(d.type(1), square)
    return _power_of_widened(x, exponent)


def _cast_for(x, number):
    """`x` in the type that it has together with a Python number."""
    p = dtypes.Promotion()
    d = dtypes.from_numpy(x.dtype)
    p.add_array(d, 1)
    p.add_number(number)
    result = p.result()
    return x if result is d else x.astype(result.numpy)


@primitive(public=False, name="pow.scalar", node="PowBackward0", **MEMORY_BOUND)
def _pow_scalar(input, /, exponent):
    d, exponent = input.dtype, python_number(exponent)
    if (d is not F32 and d is not F64) or type(exponent) is complex:
        input = _cast_for(input, exponent)
        if input.dtype.kind in "iub":
            assert not isinstance(exponent, complex)  # it would have made the input complex
            if exponent < 0:
                raise RuntimeError("Integers to negative integer powers are not allowed.")
            if input.dtype.kind == "b":
                return input.copy() if exponent else np.ones_like(input)
            return _integer_power(input, int(exponent))
    return _power_of_floats(input, exponent)


@_pow_scalar.vjp
def _(g, input, exponent):
    if exponent == 0:
        return g.new_zeros(g.shape)
    return g * conjugate(exponent * (input if exponent == 2 else _pow_scalar(input, exponent - 1)))


def _base_rule(g, x, y):
    return where(y == 0, 0, g * conjugate(y * _pow_tensor(x, y - 1)))


def _exponent_rule(g, x, y, out):
    zero = x == 0
    if not may_branch_on_data(zero) or zero._array.any():
        zero = zero if x.is_complex() else zero & ((y.real if y.is_complex() else y) >= 0)
    base = x.to(out.dtype) if out.is_complex() else x  # a negative base has a complex logarithm
    return g * where(zero, 0, conjugate(out * base.log()))


_pow_tensor = binary(
    "pow.tensor", lambda x, y: _power(np.asarray(x), y), _base_rule, _exponent_rule, "input ** exponent.", export=False,
    inplace=False, node="PowBackward1",
)  # fmt: skip


@primitive(public=False, name="pow.base", node="PowBackward2")
def _pow_base(exponent, /, base):
    exponent = _cast_for(exponent, base)
    if exponent.dtype.kind == "b":
        raise not_implemented("pow", exponent.dtype)
    base = number_as(base, dtypes.from_numpy(exponent.dtype))
    return dense(_power(base if base.dtype.kind in "iub" else exponent.dtype.type(base), exponent))


@_pow_base.vjp
def _(g, exponent, out, base):
    if base == 0:
        if exponent.is_complex():
            flat = (exponent.imag == 0) & (exponent.real >= 0)
        else:
            flat = exponent >= 0
        return (g * conjugate(out * float("-inf"))).masked_fill(flat, 0)
    with np.errstate(all="ignore"):  # a negative base gives NaN
        slope = constant(np.log(number_as(base, out.dtype)))
    return g * conjugate(out * slope)


@composite(method=True)
def pow(input, exponent, *, out=None):
    """input ** exponent; either may be a number.

    Args:
        input: a tensor or a number, broadcast against `exponent`.
        exponent: a tensor or a number. The result has the common type.
        out: the tensor to write the result to.
    Shape: (*), (*) -> (*), broadcast
    Raises:
        RuntimeError: integers have a negative power, as in `pow(tensor([2]), -1)`.
        RuntimeError: the shapes do not broadcast, as in `pow(ones(2), ones(3))`.

    >>> pow(tensor([1.0, 2.0, 3.0]), 2)
    tensor([1., 4., 9.])
    >>> pow(2, tensor([1, 10]))
    tensor([   2, 1024])
    """
    if not are_operands((input, exponent)) or not (isinstance(input, Tensor) or isinstance(exponent, Tensor)):
        got = f"({type(input).__name__}, {type(exponent).__name__})"
        raise type_error(f"pow() received an invalid combination of arguments - got {got}, expected tensors or numbers")
    if isinstance(exponent, Tensor):
        result = _pow_tensor(input, exponent) if isinstance(input, Tensor) else _pow_base(exponent, input)
    else:
        result = _pow_scalar(input, _fitting(input, exponent))
    return result if out is None else write_out("pow", (input, exponent), result, out)


@composite(name="__pow__", method=True, function=False)
def _power_operator(self, exponent):
    if isinstance(exponent, Tensor):
        return _pow_tensor(self, exponent)
    if not isinstance(exponent, (int, float, complex, np.generic)):
        return NotImplemented
    return _pow_scalar(self, _fitting(self, exponent))


def _fitting(x, exponent):
    """An exponent that the type of the powers can hold. Raises torch's error for others."""
    kind = x._array.dtype
    if type(exponent) is int and not -128 < exponent < 128:
        check_parsed(exponent)
    whole = kind.kind in "iu" and type(exponent) is int and exponent >= 128
    if whole or (
        kind.itemsize == 2 and kind.kind in "fV" and isinstance(exponent, (int, float)) and abs(exponent) > 65504
    ):
        exact(exponent, kind)
    return exponent


@composite(name="__rpow__", method=True, function=False)
def _reflected_power(self, base):
    if isinstance(base, Tensor):
        return _pow_tensor(base, self)
    return _pow_base(self, base) if isinstance(base, (int, float, complex, np.generic)) else NotImplemented


@composite(method=True, function=False)
def pow_(self, exponent):
    """self **= exponent, in place."""
    if not are_operands((exponent,)):
        raise type_error(f"pow_() received an invalid combination of arguments - got ({type(exponent).__name__})")
    if isinstance(exponent, Tensor):
        return write(_pow_tensor.record, self, (exponent,), ())
    if self._array.dtype.kind in "iub" and isinstance(exponent, float):
        raise RuntimeError(f"result type Float can't be cast to the desired output type {type_word(self.dtype)}")
    return write(_pow_scalar.record, self, (), (_fitting(self, exponent),))


@composite(name="__ipow__", method=True, function=False)
def _inplace_power_operator(self, exponent):
    return pow_(self, exponent) if are_operands((exponent,)) else NotImplemented


def _double(value):
    if not isinstance(value, Tensor):
        check_parsed(value)
        return complex(value) if isinstance(value, complex) else float(value)
    return value.to(dtypes.complex128 if value.is_complex() else dtypes.float64)


@composite(method=True)
def float_power(input, exponent, *, out=None):
    """input ** exponent, computed in double precision (complex128 where one is complex).

    Args:
        input: a tensor or a number, broadcast against `exponent`.
        exponent: a tensor or a number.
        out: the tensor to write the result to.
    Shape: (*), (*) -> (*), broadcast
    Raises:
        RuntimeError: the shapes do not broadcast, as in `float_power(ones(2), ones(3))`.

    >>> float_power(tensor([4]), -0.5)
    tensor([0.5000], dtype=torch.float64)
    """
    input, exponent = _double(input), _double(exponent)
    if out is not None:
        wanted = dtypes.complex128 if any(_is_complex(x) for x in (input, exponent)) else dtypes.float64
        if out.dtype is not wanted:
            raise RuntimeError(
                f"the output given to float_power has dtype {type_word(out.dtype)} but the operation's result requires dtype "
                f"{type_word(wanted)}"
            )
    return pow(input, exponent, out=out)


def _is_complex(x) -> bool:
    return x.is_complex() if isinstance(x, Tensor) else isinstance(x, complex)


@composite(method=True, function=False)
def float_power_(self, exponent):
    """self **= exponent in double precision, in place. Raises RuntimeError unless the tensor is of that type."""
    wanted = dtypes.complex128 if self.is_complex() or isinstance(exponent, complex) else dtypes.float64
    if self.dtype is not wanted:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {type_word(self.dtype)} but the operation's result requires dtype "
            f"{type_word(wanted)}"
        )
    return self.pow_(_double(exponent))


# ---------------------------------------------------------------------------------------------- three tensors at once


@widened
def _lerp(a, b, weight):
    d = a.dtype.type
    if a.dtype.kind == "c":
        return a + d(weight) * (b - a) if abs(weight) < 0.5 else b - (b - a) * d(1 - weight)
    loop, part = _part_of_way(a, weight)
    return (loop.kernel if a.size > LARGE else loop.step)(a, b, part)


def _lerp_from_start(a, b, part, out=None):
    return multiply_add(np.subtract(b, a), part, a, out)


def _lerp_from_end(a, b, part, out=None):
    return multiply_add(np.subtract(b, a), part, b, out)


_lerp_forth = FusedLoop("lerp_from", 2, _lerp_from_start)
_lerp_back = FusedLoop("lerp_to", 2, _lerp_from_end)


def _part_of_way(a, weight):
    """(the loop to take, its factor): forth from the start for less than half the way, else back from the end."""
    d = a.dtype.type
    weight = d(weight)
    return (_lerp_forth, weight) if abs(weight) < 0.5 else (_lerp_back, weight - d(1))


@primitive(public=False, name="lerp.scalar", node="LerpBackward0")
def _lerp_scalar(input, end, /, weight):
    _same_for_lerp(input, end)
    return in_order_of(_lerp(input, end, weight), input, end)


def _same_for_lerp(a, b, name="end"):
    if a.dtype is not b.dtype and a.dtype != b.dtype:
        raise RuntimeError(f"expected dtype {c_word_of(a)} for `{name}` but got dtype {c_word_of(b)}")
    if a.dtype.kind in "iub":
        raise not_implemented("lerp_kernel_scalar", a.dtype)


@_lerp_scalar.vjp
def _(g, weight, needs):
    weight = conjugate(weight)
    return g * (1 - weight) if needs[0] else None, g * weight if needs[1] else None


@primitive(public=False, name="lerp.tensor", node="LerpBackward1")
def _lerp_tensor(input, end, weight, /):
    _same_for_lerp(input, end)
    _same_for_lerp(input, weight, "weight")
    return in_order_of(_lerp_along(input, end, weight), input, end, weight)


def _lerp_by(a, b, weight, out=None):
    small = np.abs(weight) < 0.5
    if a.dtype.kind == "c":
        return np.where(small, a + weight * (b - a), b - (b - a) * (1 - weight))
    return multiply_add(b - a, np.where(small, weight, weight - a.dtype.type(1)), np.where(small, a, b), out)


_lerp_by_many = FusedLoop("lerp", 3, _lerp_by)


@widened
def _lerp_along(a, b, weight):
    return (_lerp_by_many.kernel if a.size > LARGE else _lerp_by)(a, b, weight)


@_lerp_tensor.vjp("input")
def _(g, weight):
    return g * conjugate(1 - weight)


@_lerp_tensor.vjp("end")
def _(g, weight):
    return g * conjugate(weight)


@_lerp_tensor.vjp("weight")
def _(g, input, end):
    return g * conjugate(end - input)


def _number_of_another_type(weight, input):
    """The weight, as Python's number where it is a tensor of another type without dimensions: torch reads that as one."""
    if not isinstance(weight, Tensor) or weight._array.ndim or weight.requires_grad or is_computed(weight):
        return weight
    return weight.item() if weight.dtype is not input.dtype and weight.dtype.category < 3 else weight


@composite(method=True)
def lerp(input, end, weight, *, out=None):
    """input + weight * (end - input): the point between two tensors.

    Args:
        input: the start, a tensor of floating-point numbers.
        end: a tensor of the same type.
        weight: a number or a tensor; all three are broadcast against each other.
        out: the tensor to write the result to.
    Shape: (*), (*), weight (*) or a number -> (*), broadcast
    Raises:
        RuntimeError: the types differ, as in `lerp(ones(2), tensor([1, 2]), 0.5)`.

    >>> lerp(tensor([0.0, 10.0]), tensor([1.0, 20.0]), 0.5)
    tensor([ 0.5000, 15.0000])
    """
    if not isinstance(end, Tensor):
        raise type_error(f"lerp(): argument 'end' (position 2) must be Tensor, not {type(end).__name__}")
    weight = _number_of_another_type(weight, input)
    tensor = isinstance(weight, Tensor)
    if not tensor and type(weight) is not float:
        check_number("lerp", "weight", weight)
    result = _lerp_tensor(input, end, weight) if tensor else _lerp_scalar(input, end, weight)
    return result if out is None else write_out("lerp", (input, end, weight), result, out)


@composite(method=True, function=False)
def lerp_(self, end, weight):
    """self += weight * (end - self), in place."""
    weight = _number_of_another_type(weight, self)
    if not isinstance(weight, Tensor) and type(weight) is not float:
        check_number("lerp_", "weight", weight)
    if isinstance(weight, Tensor):
        return write(_lerp_tensor.record, self, (end, weight), ())
    state = accept_inplace(self, end) if -LARGEST_OF_ALL <= weight <= LARGEST_OF_ALL else None
    if state is not None:
        a = self._array
        loop, part = _part_of_way(a, weight)
        state.run(_write, loop, (a, end._array, part))
        return self
    return write(_lerp_scalar.record, self, (end,), (weight,))


def _write(loop, arguments):
    """Have a loop write to its first array."""
    a = arguments[0]
    (loop.kernel if a.size > LARGE else loop.step)(*arguments, out=a)


def _factor(name, d, value):
    """The number for elements of type `d`: without its fraction for integers."""
    if type(value) is float or type(value) is int:
        return exact(value, d) if d.kind in "iu" else value
    elif isinstance(value, (Tensor, np.ndarray, list, tuple)):
        raise type_error(f"{name}(): argument 'value' must be Number, not {type_name(value)}")
    if isinstance(value, complex):
        exact(value, d)  # raises where something would be lost
    return value


@primitive(method=True, out=True, promote="same", number_first=("value",))
def addcmul(input, tensor1, tensor2, /, *, value=1):
    """input + value * tensor1 * tensor2; all three are broadcast against each other.

    Args:
        value: a number; a whole one for integers.
        out: the tensor to write the result to.
    Shape: (*), (*), (*) -> (*), broadcast
    Raises:
        RuntimeError: the shapes do not broadcast, as in `addcmul(ones(2), ones(3), ones(1))`.

    >>> addcmul(tensor([1.0]), tensor([2.0]), tensor([3.0]), value=0.5)
    tensor([4.])
    """
    value = _factor("addcmul", input.dtype, value)
    return in_order_of(_add_product(input, tensor1, tensor2, value), input, tensor1, tensor2)


@widened
def _add_product(x, y, z, value):
    return (_add_products.kernel if x.size > LARGE else _product_added)(x, y, z, value)


def _product_added(x, y, z, value, out=None):
    if x.dtype.kind == "c":  # torch multiplies by 1 + 0j too
        return x + y * y.dtype.type(value) * z
    y = y if value == 1 else _by(value, y)
    return multiply_add(y, z, x, out) if x.dtype.kind == "f" else x + y * z


_add_products = FusedLoop("addcmul", 3, _product_added)


def _by(value, a):
    return a * a.dtype.type(value) if not a.ndim else a * value


@addcmul.vjp("input")
def _(g):
    return g


@addcmul.vjp("tensor1")
def _(g, tensor2, value):
    return g * conjugate(tensor2 * value)


@addcmul.vjp("tensor2")
def _(g, tensor1, value):
    return g * conjugate(tensor1 * value)


@by_others("addcmul")
def _(input, tensor1, tensor2, value):
    return OPS["add"](input, tensor1 * tensor2, alpha=value)


@by_others("addcdiv")
def _(input, tensor1, tensor2, value):
    return OPS["add"](input, tensor1 / tensor2, alpha=value)


@primitive(method=True, out=True, promote="same", number_first=("value",))
def addcdiv(input, tensor1, tensor2, /, *, value=1):
    """input + value * tensor1 / tensor2; all three are broadcast against each other.

    Args:
        value: a number.
        out: the tensor to write the result to.
    Shape: (*), (*), (*) -> (*), broadcast
    Raises:
        RuntimeError: integers are divided, as in `addcdiv(tensor([1]), tensor([2]), tensor([3]))`.

    >>> addcdiv(tensor([1.0]), tensor([2.0]), tensor([4.0]), value=10)
    tensor([6.])
    """
    if input.dtype.kind in "biu":
        raise type_error("integers")  # the careful path explains
    value = python_number(value)
    if type(value) is complex:
        exact(value, input.dtype)  # raises where something would be lost
    return in_order_of(_add_quotient(input, tensor1, tensor2, value), input, tensor1, tensor2)


@widened
def _add_quotient(x, y, z, value):
    return (_add_quotients.kernel if x.size > LARGE else _quotient_added)(x, y, z, value)


def _quotient_added(x, y, z, value, out=None):
    if x.dtype.kind == "c":
        return x + y * y.dtype.type(value) / z
    if out is None:
        return x + (y / z if value == 1 else _by(value, y) / z)
    t = np.multiply(y, value)
    return np.add(x, np.true_divide(t, z, t) if t.ndim else t / z, out)


_add_quotients = FusedLoop("addcdiv", 3, _quotient_added)


@addcdiv.vjp("input")
def _(g):
    return g


@addcdiv.vjp("tensor1")
def _(g, tensor2, value):
    return g * conjugate(constant(np.asarray(value)) / tensor2)


@addcdiv.vjp("tensor2")
def _(g, tensor1, tensor2, value):
    return -g * conjugate(value * tensor1 / (tensor2 * tensor2))


def _no_numbers(op):
    names = op.record.signature.arrays

    def check(tensors):
        for i, t in enumerate(tensors):
            if not isinstance(t, Tensor):
                raise type_error(
                    f"{op.record.name}(): argument '{names[i]}' (position {i + 1}) must be Tensor, not {type(t).__name__}"
                )

    guard(op, check, operators=False)


for _op in (addcmul, addcdiv):
    _no_numbers(_op)


def _no_whole_quotient(tensors):
    if tensors[1].dtype.category < 2 and tensors[2].dtype.category < 2:
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true "
            "division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * "
            "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / "
            "tensor2) for float inputs. The future addcdiv behavior is just the latter implementation: (input + value * "
            "tensor1 / tensor2), for all dtypes."
        )


guard(addcdiv, _no_whole_quotient, operators=False)


def _three(op, loop):
    record = op.record

    @number_first.hide_from_signature
    def method(self, tensor1, tensor2, *rest, value=1):
        if rest:
            given = (self, tensor1, tensor2, *rest)
            (_, tensor1, tensor2), named = number_first.arguments(f"{record.name}_", given, 3, ("value",))
            return method(self, tensor1, tensor2, **named)
        kind = type(value)
        if (kind is float or kind is int) and -LARGEST_OF_ALL <= value <= LARGEST_OF_ALL:
            state = accept_inplace(self, tensor1, tensor2)
            if state is not None:
                state.run(_write, loop, (self._array, tensor1._array, tensor2._array, value))
                return self
        for i, t in enumerate((tensor1, tensor2)):
            if not isinstance(t, Tensor):
                raise argument_type(f"{record.name}_", f"tensor{i + 1}", i + 1, t)
        return write(record, self, (tensor1, tensor2), (value,))

    method.__name__, method.__doc__ = (
        record.name + "_",
        f"In-place form of `{record.name}`.",
    )
    return method


for _name, _method in (
    ("addcmul_", _three(addcmul, _add_products)),
    ("addcdiv_", _three(addcdiv, _add_quotients)),
):
    composite(name=_name, method=True, function=False)(_method)
