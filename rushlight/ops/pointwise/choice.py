"""Choosing between values by element: where, maximum, minimum, fmax, fmin, heaviside."""

from __future__ import annotations

import numpy as np

from ...core.dispatch.errors import argument_type
from ...core.dispatch.mode import may_branch_on_data
from ...core.dispatch.op import binary, composite, primitive
from ...core.dispatch.scalars import exact, number_as
from ...core.dispatch.slow_path import write_out
from ...core.dispatch.torch_function import ask_first
from ...core.tensor import dtype as dtypes
from ...core.tensor.tensor import Tensor, constant, type_word
from .building_blocks import SOME, bits_of, in_order_of, of_arrays, zero_where
from .checks import tensors_only
from .relations import eq, gt, lt


@primitive(public=False, name="where", jit_min_elements=SOME, sized_by=1)
def _where(condition, input, other, /):
    return in_order_of(select(condition, input, other), condition, input, other)


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


@composite()
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
    if not isinstance(condition, Tensor):
        raise argument_type("where", "condition", 1, condition)
    if condition._array.dtype.kind != "b":
        if condition.dtype is not dtypes.uint8:
            raise RuntimeError(
                "where expected condition to be a boolean tensor, but got a tensor with dtype "
                f"{type_word(condition.dtype)}"
            )
        condition = condition.to(dtypes.bool_)
    if not (isinstance(input, Tensor) and isinstance(other, Tensor) and input.dtype is other.dtype):
        if (answer := ask_first("where", (condition, input, other))) is not NotImplemented:
            return answer
        input, other = of_common_type(input, other)
    result = _where(condition, input, other)
    return result if out is None else write_out("where", (condition, input, other), result, out)


def of_common_type(*values):
    """Tensors and numbers as tensors of their common type."""
    p = dtypes.Promotion()
    for v in values:
        if isinstance(v, Tensor):
            p.add_array(v.dtype, v._array.ndim)
        else:
            p.add_number(v)
    d = p.result()
    return [(v if v.dtype is d else v.to(d)) if isinstance(v, Tensor) else _number(v, d) for v in values]


def _number(value, d):
    return constant(
        number_as(value, d) if d.itemsize == 2 and d.is_floating_point else np.asarray(exact(value, d.numpy), d.numpy)
    )


@composite(name="where", method=True, function=False)
def _where_method(self, condition, other):
    """This tensor's elements where `condition` is true, those of `other` elsewhere."""
    return where(condition, self, other)


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
    "fmax", of_arrays(np.fmax), lambda g, x, y: g.masked_fill(~((x >= y) | y.isnan()), 0),
    lambda g, x, y: g.masked_fill((x >= y) | y.isnan(), 0), """The larger of two elements; nan only where both are.

    >>> fmax(tensor([1.0, float("nan")]), tensor([3.0, 2.0]))
    tensor([3., 2.])
    """,
    inplace=False,
)  # fmt: skip
fmin = binary(
    "fmin", of_arrays(np.fmin), lambda g, x, y: g.masked_fill(~((x <= y) | y.isnan()), 0),
    lambda g, x, y: g.masked_fill((x <= y) | y.isnan(), 0), """The smaller of two elements; nan only where both are.

    >>> fmin(tensor([1.0, float("nan")]), tensor([3.0, 2.0]))
    tensor([1., 2.])
    """,
    inplace=False,
)  # fmt: skip

for _op in (maximum, minimum, fmax, fmin):
    tensors_only(_op, 0, 1)


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
    return in_order_of(np.where(input == 0, values, (input > 0).astype(input.dtype)), input, values)
