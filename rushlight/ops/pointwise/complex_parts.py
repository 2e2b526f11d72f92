"""The parts of complex numbers: real, imag, conj, angle. A real tensor is its own real part and conjugate."""

from __future__ import annotations

import math

import numpy as np

from ...core.dispatch.inplace import write
from ...core.dispatch.op import composite, primitive, publish, unary
from ...core.tensor.tensor import Tensor
from .comparison import where
from .helpers import zeros_of


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


@primitive(public=False, name="view_as_real", view=True, node="ViewAsRealBackward0")
def _view_as_real(input, /):
    return np.lib.stride_tricks.as_strided(input.real, (*input.shape, 2), (*input.strides, input.itemsize // 2))


@_view_as_real.vjp
def _(g):
    return view_as_complex(g.contiguous())


@primitive(public=False, name="view_as_complex", view=True, node="ViewAsComplexBackward0")
def _view_as_complex(input, /):
    kinds = {np.dtype(np.float32): np.complex64, np.dtype(np.float64): np.complex128}
    if input.dtype not in kinds:
        raise RuntimeError(
            f"view_as_complex is only supported for half, float and double tensors, but got {input.dtype}"
        )
    if not input.ndim or input.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if input.strides[-1] != input.itemsize:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    return input.view(kinds[input.dtype])[..., 0]


@_view_as_complex.vjp
def _(g):
    return view_as_real(g)


def view_as_real(input):
    """The real and imaginary parts as a last dimension of size 2: a view of a complex tensor."""
    if input._array.dtype.kind != "c":
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return _view_as_real(input)


def view_as_complex(input):
    """Pairs in the last dimension, of size 2, as complex numbers: a view."""
    return _view_as_complex(input)


publish("view_as_real", view_as_real, False, False, ())
publish("view_as_complex", view_as_complex, False, False, ())


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
