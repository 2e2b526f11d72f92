"""The parts of complex numbers: real, imag, conj, angle. A real tensor is its own real part and conjugate."""

from __future__ import annotations

import math

import numpy as np

from ...core.device.conjugated import Conjugated, seen
from ...core.dispatch.errors import argument_type
from ...core.dispatch.inplace import check_writable, write
from ...core.dispatch.mode import thread
from ...core.dispatch.op import OPS, composite, primitive, unary
from ...core.dispatch.overlap import shares_places
from ...core.dispatch.slow_path import write_out
from ...core.tensor import dtype as dtypes
from ...core.tensor.storage import storage_of, user_line
from ...core.tensor.strides import new_strides
from ...core.tensor.tensor import Tensor, type_word
from .building_blocks import dense, in_order_of, shared_order, zeros_of
from .choice import where


@primitive(public=False, name="real", view=True, node="SelectBackward0")
def _real(input, /):
    return input.real


@_real.vjp
def _(g):
    return g


@primitive(public=False, name="imag", view=True, node="SelectBackward0")
def _imag(input, /):
    return input.imag


@_imag.vjp
def _(g):
    return g * 1j


@composite()
def real(input):
    """The real part: a view of a complex tensor, the tensor itself otherwise.

    Shape: (*) -> (*)

    >>> real(tensor([1.0 + 2.0j]))
    tensor([1.])
    """
    return _real(input) if input._array.dtype.kind == "c" else input


@composite()
def imag(input):
    """The imaginary part of a complex tensor, a view.

    Shape: (*) -> (*)
    Raises:
        RuntimeError: `input` is not complex, as in `imag(ones(2))`.

    >>> imag(tensor([1.0 + 2.0j]))
    tensor([2.])
    """
    if input._array.dtype.kind != "c":
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return _imag(input)


def _written(part):
    def write_part(self, value):
        part(self)[...] = value

    return write_part


for _name, _part in (("real", real), ("imag", imag)):
    composite(name=_name, method=True, function=False)(property(_part, _written(_part)))


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
    if input.size and input.strides[-1] != input.itemsize:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    return new_strides(input).view(kinds[input.dtype])[..., 0]


@_view_as_complex.vjp
def _(g):
    return view_as_real(g.resolve_conj())


@composite()
def view_as_real(input):
    """The real and imaginary parts of a complex tensor as a last dimension: a view.

    Shape: (*) complex -> (*, 2) real
    Raises:
        RuntimeError: `input` is not complex, as in `view_as_real(ones(2))`.

    >>> view_as_real(tensor([1.0 + 2.0j]))
    tensor([[1., 2.]])
    """
    if input._array.dtype.kind != "c":
        raise RuntimeError("view_as_real is only supported for complex tensors")
    if input.is_conj():
        raise RuntimeError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can view "
            "it as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the original."
        )
    return _view_as_real(input)


@composite()
def view_as_complex(input):
    """Pairs in the last dimension as complex numbers: a view.

    Shape: (*, 2) real -> (*) complex
    Raises:
        RuntimeError: the last dimension has not size 2, as in `view_as_complex(ones(3))`.
        RuntimeError: the numbers are not float16, float32 or float64, as in `view_as_complex(tensor([1, 2]))`.

    >>> view_as_complex(tensor([[1.0, 2.0]]))
    tensor([1.+2.j])
    """
    return _view_as_complex(input)


@primitive(public=False, name="conj", node="ConjBackward0")
def _conj(input, /):
    return in_order_of(np.conjugate(input), input) if input.dtype.kind == "c" else input.copy()


@_conj.vjp
def _(g):
    return g.conj_physical()


@primitive(public=False, name="conj_view", view=True, node="ConjBackward0")
def _conj_view(input, /):
    return seen(input, True, False)


@_conj_view.vjp
def _(g):
    return g.conj_physical()


@primitive(public=False, name="neg_view", view=True, node="NegViewBackward0")
def _negative_view(input, /):
    return seen(input, False, True)


@_negative_view.vjp
def _(g):
    return -g


@composite(method=True)
def conj(input):
    """The conjugate of a complex tensor: a view, whose elements are conjugated when they are read. Any other tensor itself.

    Shape: (*) -> (*)

    >>> x = tensor([1.0 + 2.0j])
    >>> y = conj(x)
    >>> y, y.is_conj()
    (tensor([1.-2.j]), True)
    >>> _ = x.mul_(2)
    >>> y
    tensor([2.-4.j])
    """
    if input._array.dtype.kind != "c":
        return input
    return (_conj_view if _may_wait(input) else _conj)(input)


@composite(method=True)
def _neg_view(input):
    """The negative of a tensor: a view, whose elements are negated when they are read. Shape: (*) -> (*)"""
    return (_negative_view if _may_wait(input) else OPS["neg"])(input)


def _may_wait(t):
    """Whether the result can be a view: not for recorders of calls, for batches, and on devices."""
    state = thread.state
    watched = state.level > 1 and (state.dispatching or state.listener is not None or state.witness is not None)
    return type(t._array) in (np.ndarray, Conjugated) and not watched


@composite(method=True)
def resolve_conj(input):
    """The tensor itself, or a copy with its elements where they are those of another tensor, conjugated.

    Shape: (*) -> (*)

    >>> resolve_conj(tensor([1.0 + 2.0j]).conj()).is_conj()
    False
    """
    return input.clone() if input.is_conj() else input


@composite(method=True)
def resolve_neg(input):
    """The tensor itself, or a copy with its elements where they are those of another tensor, negated.

    Shape: (*) -> (*)

    >>> resolve_neg(tensor([1.0]))
    tensor([1.])
    """
    return input.clone() if input.is_neg() else input


@composite(method=True, out=True)
def conj_physical(input):
    """The conjugate of each element, computed; the tensor itself where it is not complex.

    Args:
        out: the tensor to write the result to.
    Shape: (*) -> (*)

    >>> conj_physical(tensor([1.0 + 2.0j]))
    tensor([1.-2.j])
    """
    return _conj(input) if input._array.dtype.kind == "c" else input


@composite(method=True, function=False)
def conj_physical_(self):
    """In-place form of `conj_physical`."""
    if self._array.dtype.kind != "c" and shares_places(self._array):  # nothing is written; torch counts it
        state = thread.state
        check_writable(self, state, may_share=True)
        storage_of(self).wrote(state.writer or user_line(1))
        return self
    return write(_conj.record, self, (), ())


def _angle(x):
    if x.dtype.kind == "c":
        return dense(np.angle(x))
    r = np.where(x < 0, x.dtype.type(math.pi) if x.dtype.kind != "V" else math.pi, 0).astype(x.dtype)
    return in_order_of(np.where(np.isnan(x), x, r), x)


def _angle_rule(g, x):
    if x._array.dtype.kind != "c":
        return zeros_of(x)
    size = x.abs()
    return where(x == 0, 0.0, g * (x * 1j) / (size * size))


angle = unary(
    "angle",
    _angle,
    _angle_rule,
    """The angle of each element in the complex plane, in radians from -pi to pi: of real numbers 0, or pi below 0.

    Args:
        input: a tensor. The result is real; integers and bools become the default float type.
        out: the tensor to write the result to.

    >>> angle(tensor([1.0, -1.0]))
    tensor([0.0000, 3.1416])
    >>> angle(tensor([1.0j, 1.0 + 1.0j]))
    tensor([1.5708, 0.7854])
    """,
    laid_as=lambda _: (0,),
    inplace=False,
)


@primitive(public=False, name="complex_of_parts", node="ComplexBackward0")
def _complex(real, imag, /):
    kind = np.result_type(real.dtype, np.complex64)
    out = shared_order(real, imag, kind)
    out.real, out.imag = real, imag  # a sum would make nan of an infinite part
    return out


@_complex.vjp("real")
def _(g):
    return g.real


@_complex.vjp("imag")
def _(g):
    return g.imag


@composite(name="complex")
def complex_(real, imag, *, out=None):
    """The complex numbers real + i imag.

    Args:
        real: the real parts: float16, float32 or float64.
        imag: the imaginary parts, of the same type, broadcast against `real`.
        out: the tensor to write the result to.
    Shape: (*), (*) -> (*), broadcast; complex
    Raises:
        RuntimeError: the types differ, as in `complex(ones(1), ones(1).double())`.

    >>> complex(tensor([1.0, 2.0]), tensor([3.0, 4.0]))
    tensor([1.+3.j, 2.+4.j])
    """
    for i, (name, t) in enumerate((("real", real), ("imag", imag))):
        if not isinstance(t, Tensor):
            raise argument_type("complex", name, i + 1, t)
    if real.dtype.category != 2 or imag.dtype.category != 2 or dtypes.bfloat16 in (real.dtype, imag.dtype):
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {type_word(real.dtype)} and {type_word(imag.dtype)}"
        )
    if out is not None and out.dtype is not real.dtype.to_complex():
        raise RuntimeError(
            f"Expected object of scalar type {type_word(real.dtype.to_complex())} but got scalar type {type_word(out.dtype)} for argument 'out'"
        )
    if real.dtype is not imag.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {type_word(real.dtype)} but got scalar type {type_word(imag.dtype)} for second argument"
        )
    t = _complex(real, imag)
    return t if out is None else write_out("complex", (real, imag), t, out)
