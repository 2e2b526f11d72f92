"""The parts of complex numbers: real, imag, conj, angle. A real tensor is its own real part and conjugate."""

from __future__ import annotations

import math

import numpy as np

from ..core.inplace import write
from ..core.record import composite, primitive, publish, unary
from ..core.tensor import Tensor
from .comparison import where
from .elements import zeros_of


@primitive(public=False, name="real", view=True)
def _real(input, /):
    return input.real


@_real.vjp
def _(g):
    return g


@primitive(public=False, name="imag", view=True)
def _imag(input, /):
    return input.imag


@_imag.vjp
def _(g):
    return g * 1j


def real(input):
    """The real part: a view of a complex tensor, the tensor itself otherwise."""
    return _real(input) if input._array.dtype.kind == "c" else input


def imag(input):
    """The imaginary part, a view. Raises RuntimeError for a tensor that is not complex."""
    if input._array.dtype.kind != "c":
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return _imag(input)


publish("real", real, False, False, ())
publish("imag", imag, False, False, ())
Tensor.real, Tensor.imag = property(real), property(imag)


@primitive(public=False, name="conj", node="ConjBackward0")
def _conj(input, /):
    return np.conjugate(input) if input.dtype.kind == "c" else input.copy()


@_conj.vjp
def _(g):
    return g.conj()


@composite(method=True)
def conj(input):
    """The conjugate of a complex tensor; the tensor itself otherwise."""
    return _conj(input) if input._array.dtype.kind == "c" else input


@composite(method=True, out=True)
def conj_physical(input):
    """The conjugate of each element, computed; the tensor itself where it is not complex."""
    return _conj(input) if input._array.dtype.kind == "c" else input


Tensor.conj_physical_ = lambda self: write(_conj.record, self, (), ())


def _angle(x):
    if x.dtype.kind == "c":
        return np.angle(x)
    r = np.where(x < 0, x.dtype.type(math.pi) if x.dtype.kind != "V" else math.pi, 0).astype(x.dtype)
    return np.where(np.isnan(x), x, r)


def _angle_rule(g, x):
    if x._array.dtype.kind != "c":
        return zeros_of(g)
    size = x.abs()
    return where(x == 0, 0.0, g * (x * 1j) / (size * size))


angle = unary(
    "angle",
    _angle,
    _angle_rule,
    "The angle of each element in the complex plane: 0 or pi for real numbers.",
    inplace=False,
)
