"""Activation functions, simplest first: rectifiers, smooth ones, shrinkers, gates, softmax."""

from __future__ import annotations

import math

import numpy as np

from ..core import dtype as dtypes
from ..core.inplace import write
from ..core.random import default_generator
from ..core.record import binary, composite, primitive, publish, unary
from ..core.tensor import Tensor, type_word, wrap
from .comparison import select, where
from .pointwise import F32, F64, bits_of, widened, zero_where
from .reduction import axes_of, log_sum_exp

# ---------------------------------------------------------------------------------------------- how they are published


def activation(name, op, *, method=False, function=True, inplace_function=True):
    """Publish `op(input, *metadata)` as nn.functional has it, with an `inplace` argument that writes into the input.

    `op` is a primitive; its in-place form is `name_`.
    """
    record = op.record
    names = record.signature.positional
    defaults = tuple(record.signature.defaults[n] for n in names)

    def functional(input, *args, inplace=False, **kwargs):
        if len(args) > len(names):
            args, inplace = args[:-1], args[-1]
        return inplace_form(input, *args, **kwargs) if inplace else op(input, *args, **kwargs)

    def inplace_form(input, *args, **kwargs):
        values = dict(zip(names, args, strict=False), **kwargs)
        return write(record, input, (), tuple(values.get(n, d) for n, d in zip(names, defaults, strict=True)))

    functional.__name__, functional.__doc__ = name, record.doc
    inplace_form.__name__, inplace_form.__doc__ = name + "_", f"In-place form of `{name}`."
    publish(name, functional, method, True, (), function)
    if inplace_function:
        publish(name + "_", inplace_form, method, True, ())
    return functional


# ---------------------------------------------------------------------------------------------- rectifiers


def _rectify(x):
    if x.dtype.kind == "b":
        raise RuntimeError("Boolean inputs not supported for relu")
    return np.maximum(x, 0)


def _rectify_gradient(g, y):
    return zero_unless_positive(g, y)


def zero_unless_positive(g, y):
    """g where y > 0 (or nan), 0 elsewhere."""
    bits = bits_of(g.dtype)
    drop = np.less_equal(y, 0)
    if g.size < 1024 or bits is None or g.shape != y.shape:
        return np.where(drop, g.dtype.type(0), g)
    keep = drop.astype(bits)
    keep -= 1
    keep &= g.view(bits)
    return keep.view(g.dtype)


threshold_backward = binary(
    "threshold_backward", zero_unless_positive, lambda g, y: threshold_backward(g, y), lambda: None,
    "The gradient of relu.", export=False, inplace=False,
)  # fmt: skip
_relu = unary(
    "relu", _rectify, lambda g, out: threshold_backward(g, out), "max(input, 0) of each element.", promote="same",
    functional=True, out=False,
)  # fmt: skip


def relu(input, inplace=False):
    """max(input, 0) of each element.

    >>> relu(tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return input.relu_() if inplace else _relu(input)
