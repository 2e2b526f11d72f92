"""Views with the dimensions in another order: transpose, permute, movedim, and the properties `.T`, `.mT` and `.H`."""

from __future__ import annotations

from ...core.dispatch.docs import like
from ...core.dispatch.errors import type_error
from ...core.dispatch.op import composite, primitive
from ...core.tensor.size import (
    shape_from,
    wrap_dim,
)
from ...core.warn import warn_once


@primitive(method=True, view=True)
def transpose(input, /, dim0, dim1):
    """The tensor with dimensions `dim0` and `dim1` exchanged: a view.

    Shape: (*, n, *, m, *) -> (*, m, *, n, *)
    Raises:
        IndexError: a dimension is out of range, as in `transpose(ones(2), 0, 1)`.

    >>> transpose(tensor([[1, 2], [3, 4]]), 0, 1)
    tensor([[1, 3],
            [2, 4]])
    """
    if not input.ndim:
        wrap_dim(dim0, 0)
        wrap_dim(dim1, 0)
        return input.view()
    try:
        return input.swapaxes(dim0, dim1)
    except ValueError:
        wrap_dim(dim0, input.ndim)
        wrap_dim(dim1, input.ndim)
        raise


@transpose.vjp
def _(g, dim0, dim1):
    return g.transpose(dim0, dim1)


@primitive(method=True, view=True)
def t(input, /):
    """The transpose of a matrix, a view; a tensor of fewer dimensions as it is.

    Shape: (n, m) -> (m, n)
    Raises:
        RuntimeError: `input` has more than two dimensions, as in `t(ones(1, 2, 3))`.

    >>> t(tensor([[1, 2], [3, 4]]))
    tensor([[1, 3],
            [2, 4]])
    """
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return input.T


@t.vjp
def _(g):
    return g.t()


@primitive(name="permute", view=True, public=False)
def _permute(input, /, dims):
    if len(dims) != input.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {input.ndim} is not equal to len(dims) = {len(dims)}"
        )
    try:
        return input.transpose(dims)
    except ValueError:
        order = [wrap_dim(d, input.ndim) for d in dims]
        if len(set(order)) != len(order):
            raise RuntimeError("permute(): duplicate dims are not allowed.") from None
        raise


@_permute.vjp
def _(g, dims):
    n = len(dims)
    back = [0] * n
    for i, d in enumerate(dims):
        back[d % n] = i
    return g.permute(back)


@composite(name="permute")
def permute(input, dims):
    """The tensor with its dimensions in the order `dims`: a view.

    Args:
        dims: every dimension once.
    Shape: (*) -> (*), reordered
    Raises:
        RuntimeError: the number of dimensions differs, as in `permute(ones(2, 3), (0,))`.
        RuntimeError: a dimension is given twice, as in `permute(ones(2, 3), (0, 0))`.

    >>> permute(ones(2, 3, 4), (2, 0, 1)).shape
    torch.Size([4, 2, 3])
    """
    return _permute(input, tuple(dims))


@composite(name="permute", method=True, function=False)
def _permute_method(self, *args, dims=None):
    """The tensor with its dimensions in the order `dims`."""
    if not args and dims is None:
        raise type_error('permute() missing 1 required positional arguments: "dims"')
    return _permute(self, shape_from(args, "permute", "dims") if dims is None else tuple(dims))


def _like_transpose(f):
    f.__doc__ = like(transpose, f.__name__, "The tensor with two dimensions exchanged: `transpose`.")
    return composite(method=True)(f)


@_like_transpose
def swapaxes(input, axis0, axis1):
    return transpose(input, axis0, axis1)


@_like_transpose
def swapdims(input, dim0, dim1):
    return transpose(input, dim0, dim1)


@composite(method=True, aliases=("moveaxis",))
def movedim(input, source, destination):
    """The tensor with dimensions `source` moved to the places `destination`, the others in order: a view.

    Args:
        source, destination: ints, or tuples of the same length.
    Shape: (*) -> (*), reordered
    Raises:
        RuntimeError: the lengths differ, as in `moveaxis(ones(2, 3), (0, 1), (0,))`.

    >>> moveaxis(ones(2, 3, 4), 0, -1).shape
    torch.Size([3, 4, 2])
    """
    n = input._array.ndim
    source, destination = _several(source), _several(destination)
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same number of dims "
            f"as destination ({list(destination)} dims)"
        )
    src, dst = _moved(source, n, "source"), _moved(destination, n, "destination")
    rest = iter(d for d in range(n) if d not in src)
    place = dict(zip(dst, src, strict=True))
    return _permute(input, tuple(place[i] if i in place else next(rest) for i in range(n)))


def _several(dims) -> tuple:
    return (dims,) if hasattr(dims, "__index__") and not getattr(dims, "ndim", 0) else tuple(dims)


def _moved(dims: tuple, n: int, name: str) -> tuple[int, ...]:
    wrapped = [wrap_dim(d, n) for d in dims]
    if len({*wrapped}) < len(wrapped):
        raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(dims)})")
    return tuple(wrapped)


def _reversed(self):
    if self._array.ndim != 2:
        warn_once(_OTHER_RANK if self._array.ndim else _identity("T"))
    return _permute(self, tuple(range(self._array.ndim - 1, -1, -1)))


_OTHER_RANK = (
    "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an error in "
    "a future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to "
    "reverse the dimensions of a tensor."
)


def _identity(name):
    return f"Tensor.{name} is deprecated on 0-D tensors. This function is the identity in these cases."


def _matrix_transpose(self):
    if not self._array.ndim:
        warn_once(_identity("mT"))
        return self
    if self._array.ndim < 2:
        raise RuntimeError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got {self._array.ndim}-D tensor."
        )
    return transpose(self, -2, -1)


def _adjoint(input):
    """The conjugate of each matrix, transposed: a view of a real tensor.

    Shape: (*, m, n) -> (*, n, m)
    Raises:
        RuntimeError: of a vector, as in `adjoint(ones(2))`.

    >>> adjoint(tensor([[1.0, 2.0]])).shape
    torch.Size([2, 1])
    """
    if input._array.ndim == 1:
        raise RuntimeError("tensor.mH is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return _conjugate_transpose(input, "mH")


def _hermitian(self):
    n = self._array.ndim
    if n not in (0, 2):
        batches = " For batches of matrices, consider using tensor.mH" if n > 2 else ""
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {n}-D tensor.{batches}")
    return _conjugate_transpose(self, "H")


def _conjugate_transpose(self, name):
    if not self._array.ndim:
        warn_once(f"Tensor.{name} is deprecated on 0-D tensors. Consider using x.conj().")
    result = transpose(self, -2, -1) if self._array.ndim else self
    return result.conj() if self.is_complex() else result


for _name, _f in (("T", _reversed), ("mT", _matrix_transpose), ("H", _hermitian), ("mH", _adjoint)):
    composite(name=_name, method=True, function=False)(property(_f))
composite(name="adjoint", method=True)(_adjoint)
