"""Elements kept within limits: clamp and its one-sided forms, nan_to_num."""

from __future__ import annotations

from math import inf

import numpy as np
from numpy._core.umath import clip as _clip  # type: ignore[import]  # without the wrapper that handles options

from ...core.dispatch.errors import argument_type, type_error
from ...core.dispatch.inplace import accept_inplace, write
from ...core.dispatch.mode import take_target
from ...core.dispatch.number_options import LARGEST_OF_ALL
from ...core.dispatch.op import composite, node_name, primitive
from ...core.dispatch.scalars import check_number, exact, python_number, type_name
from ...core.dispatch.slow_path import number_in, write_out
from ...core.tensor import dtype as dtypes
from ...core.tensor.casting import cast, cast_like
from ...core.tensor.node import shown_as, written_as
from ...core.tensor.tensor import Tensor
from .building_blocks import F32, F64, MANY, SOME, in_order_of, zero_where
from .checks import refuse
from .choice import of_common_type


def _limited(x, low, high):
    """Of two zeros NumPy takes the second, but of float16 the first; torch takes that of x."""
    if x.dtype.kind == "f" and x.dtype.itemsize == 2:
        r = x if low is None else np.maximum(x, low)
        return r if high is None else np.minimum(r, high)
    r = x if low is None else np.maximum(low, x)
    return r if high is None else np.minimum(high, r)


def _both(low, high):
    """Both limits of floats for `_clip`, which is four times as fast as NumPy's maximum of an array and a number."""
    return -inf if low is None else low, inf if high is None else high


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
    return cast(x, result.numpy), result


@primitive(public=False, name="clamp", node="ClampBackward1", inplace=False, jit_min_elements=SOME)
def _clamp_scalar(input, /, min, max):
    d, min, max = input.dtype, python_number(min), python_number(max)
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if (d is not F32 and d is not F64) or complex in (type(min), type(max)):
        input, common = _cast_for(input, min, max)
        refuse(f"clamp{'_max' if min is None else '_min' if max is None else ''}_scalar_cpu", common.numpy, "b")
        min = None if min is None else np.asarray(exact(min, common.numpy), common.numpy)
        max = None if max is None else np.asarray(exact(max, common.numpy), common.numpy)
    elif type(input) is np.ndarray and take_target(input):
        _limit_into(input, min, max)
        return input
    elif min != 0 and max != 0 and type(input) is np.ndarray:  # at limits of 0 it would take their sign
        return _clip(input, *_both(min, max))
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
    if input.dtype.kind == "c":
        raise NotImplementedError("clamp is not supported for complex types")
    if min is not None and max is not None:
        refuse("clamp_cpu", input.dtype, "b")
    return in_order_of(_limited(input, min, max), input, min, max)


@_clamp_tensor.vjp
def _(g, input, min, max, needs):
    gx = zero_where(g, _outside(input, min, max)) if needs[0] else None
    low = high = None
    if needs[1]:  # the lower limit counts where it binds and is below the upper one
        low = zero_where(g, ~(input < min) if max is None else ~((input < min) & (min < max)))
    if needs[2]:
        high = zero_where(g, ~(input > max) if min is None else ~((input > max) | (max < min)))
    return gx, low, high


@composite(method=True, aliases=("clip",))
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
    return result if out is None else write_out("clamp", (input, min, max), result, out)


def _clamp_call(input, min, max):
    """The operator that does this clamp, and its arguments."""
    min, max = _both_limits("clamp", min, max)
    if not isinstance(min, Tensor) and not isinstance(max, Tensor):
        if complex in (type(min), type(max)) and isinstance(input, Tensor) and input.is_floating_point():
            raise RuntimeError("value cannot be converted to type double without overflow")
        return _clamp_scalar, (input, min, max)
    if not isinstance(input, Tensor):
        raise argument_type("clamp", "input", 1, input)
    given = [v for v in (input, min, max) if v is not None]
    cast = iter(of_common_type(*given))
    return _clamp_tensor, tuple(None if v is None else next(cast) for v in (input, min, max))


def _both_limits(name, min, max):
    """The limits, both as numbers where one is; a tensor must then have one element and no gradient."""
    if type(min) in _NUMBERS and type(max) in _NUMBERS:
        return min, max
    if isinstance(min, (list, tuple)) or isinstance(max, (list, tuple)):
        got = f"{type_name(min)}, {type_name(max)}"
        raise type_error(f"{name}() received an invalid combination of arguments - got (Tensor, {got})")
    if isinstance(min, Tensor) == isinstance(max, Tensor) or min is None or max is None:
        return min, max
    min, max = number_in(min), number_in(max)
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        raise type_error(
            f"{name}() received an invalid combination of arguments: 'min' and 'max' must both be numbers or both be tensors"
        )
    return min, max


_NUMBERS = {int, float, type(None)}


def _is_small(limit):
    """Whether a limit is none, or a Python number that every type of floats holds."""
    return limit is None or type(limit) in _NUMBERS and -LARGEST_OF_ALL <= limit <= LARGEST_OF_ALL


def _limit_into(a, low, high):
    if low and high:  # at limits of 0 it would take their sign
        _clip(a, low, high, out=a)
        return
    if low != 0 and high != 0:
        _clip(a, *_both(low, high), out=a)
        return
    if low is not None:
        np.maximum(low, a, out=a)
    if high is not None:
        np.minimum(high, a, out=a)


@composite(name="clamp_", method=True, function=False, aliases=("clip_",))
def clamp_(self, min=None, max=None):
    """Move each element to the nearer limit, in place."""
    if self._array.size < MANY and (min is not None or max is not None) and _is_small(min) and _is_small(max):
        state = accept_inplace(self)
        if state is not None:
            state.run(_limit_into, self._array, min, max)
            return self
    min, max = _both_limits("clamp_", min, max)
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        return write(_clamp_tensor.record, self, (min, max), ())
    if self.dtype.category < 2 and (isinstance(min, float) or isinstance(max, float)):
        raise RuntimeError(f"result type Float can't be cast to the desired output type {dtypes.c_word(self.dtype)}")
    return write(_clamp_scalar.record, self, (), (min, max))


def _one_sided(name, side):
    doc = f"Each element, but {'at least `min`' if side else 'at most `max`'}."

    node, absent = node_name(name).removesuffix("0"), 2 if side else 1

    @primitive(public=False, name=name, jit_min_elements=SOME)
    def scalar(input, /, limit):
        return _clamp_scalar.record.kernel(input, limit if side else None, None if side else limit)

    @scalar.vjp
    def _(g, input, limit):
        return zero_where(g, _outside(input, limit, None) if side else _outside(input, None, limit))

    def call(input, limit, out):
        if not isinstance(input, Tensor):
            raise type_error(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
        if isinstance(limit, Tensor):
            result = shown_as(clamp(input, limit) if side else clamp(input, None, limit), f"{node}1", absent)
        else:
            result = scalar(input, limit)
        return result if out is None else write_out(name, (input, limit), result, out)

    def inplace(self, limit):
        is_number = _is_small(limit) and limit is not None and self._array.size < MANY
        if is_number and (state := accept_inplace(self)) is not None:
            state.run(_limit_into, self._array, *((limit, None) if side else (None, limit)))
            return self
        if isinstance(limit, Tensor):
            clamp_(self, limit) if side else clamp_(self, None, limit)
            return written_as(self, _clamp_tensor.record, f"{node}1", absent)
        if self.dtype.category < 2 and isinstance(limit, float):
            raise RuntimeError(
                f"result type Float can't be cast to the desired output type {dtypes.c_word(self.dtype)}"
            )
        return write(scalar.record, self, (), (limit,))

    return call, inplace, doc


_clamp_min, _clamp_min_inplace, _doc_min = _one_sided("clamp_min", True)
_clamp_max, _clamp_max_inplace, _doc_max = _one_sided("clamp_max", False)


@composite(method=True)
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


@composite(method=True)
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


@composite(method=True, function=False)
def clamp_min_(self, min):
    """Raise each element to at least `min`, in place."""
    return _clamp_min_inplace(self, min)


@composite(method=True, function=False)
def clamp_max_(self, max):
    """Lower each element to at most `max`, in place."""
    return _clamp_max_inplace(self, max)


@primitive(method=True, out=True, inplace=True, jit_min_elements=SOME)
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
    for option, value in (("nan", nan), ("posinf", posinf), ("neginf", neginf)):
        if value is not None and type(value) is not float:
            check_number("nan_to_num", option, value, "float")
    if input.dtype.kind not in "fcV":
        return cast_like(input, input.dtype)
    if input.dtype.kind == "c":
        parts = [nan_to_num.record.kernel(p, nan, posinf, neginf) for p in (input.real, input.imag)]
        return (parts[0] + 1j * parts[1]).astype(input.dtype)
    from ml_dtypes import finfo

    limits = finfo(input.dtype) if input.dtype.kind == "V" else np.finfo(input.dtype)
    kind = input.dtype.type
    high, low = limits.max if posinf is None else posinf, limits.min if neginf is None else neginf
    r = np.where(input == np.inf, kind(high), np.where(input == -np.inf, kind(low), input))
    return in_order_of(np.where(np.isnan(input), kind(0 if nan is None else nan), r), input)


@nan_to_num.vjp
def _(g, input):
    return g * input.isfinite()
