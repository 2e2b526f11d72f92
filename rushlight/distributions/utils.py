"""What the distributions share: parameters of one shape, probabilities and their logits, values computed once.

torch gives these functions in a module of this name, from which programs import them.
"""

from __future__ import annotations

from functools import update_wrapper
from typing import TYPE_CHECKING, Any

from rushlight import ops
from rushlight.core.dispatch.mode import enable_grad
from rushlight.core.tensor.dtype import get_default_dtype
from rushlight.core.tensor.layout import finfo
from rushlight.core.tensor.size import Size
from rushlight.core.tensor.tensor import Tensor

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

NUMBER = (int, float, bool)
SCALAR = Size()  # the shape of one draw
euler_constant = 0.57721566490153286060


def is_tensor_like(value: Any) -> bool:
    """Whether this is a tensor, or an object of its own kind that acts as one (`__torch_function__`)."""
    return isinstance(value, Tensor) or hasattr(type(value), "__torch_function__")


def broadcast_all(*values: Any) -> tuple:
    """Tensors and numbers as tensors of one shape.

    Numbers take the type of the first tensor, or the default type if there is none. Raises ValueError for anything
    that is neither.

    >>> broadcast_all(tensor([1.0, 2.0]), 0)
    (tensor([1., 2.]), tensor([0., 0.]))
    """
    if not all(is_tensor_like(v) or isinstance(v, NUMBER) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    kind = next((v.dtype for v in values if isinstance(v, Tensor)), None) or get_default_dtype()
    tensors = [v if is_tensor_like(v) else ops.tensor(v, dtype=kind) for v in values]
    wide = ops.broadcast_tensors(*tensors)
    return tuple(t if t.shape == w.shape else w for t, w in zip(tensors, wide))


# ---------------------------------------------------------------------------------------------- probabilities


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities from log odds (`is_binary`), or from log probabilities up to a constant along the last axis."""
    return logits.sigmoid() if is_binary else ops.softmax(logits, -1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities kept a rounding error away from 0 and 1."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log odds (`is_binary`) or log probabilities, both finite."""
    inside = clamp_probs(probs)
    return inside.log() - (-inside).log1p() if is_binary else inside.log()


class lazy_property:
    """A method whose value is computed at the first use, with gradients, and is an attribute from then on."""

    def __init__(self, wrapped: Any):
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # pyright: ignore[reportArgumentType]: it takes any object

    if TYPE_CHECKING:

        def __set__(self, instance: Any, value: Any) -> None: ...  # not so: an attribute of this name takes its place

    def __get__(self, instance: Any, obj_type: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def undefined(doc: str) -> property:
    """A property that a subclass has to define, or to give as an attribute."""

    def value(self: Any) -> Any:
        raise NotImplementedError

    return property(value, doc=doc)


def exactly_one(probs: Any, logits: Any) -> None:
    """Raise ValueError unless one of the two is given."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


class Odds:
    """The part of a distribution that is given as `probs` or as `logits` (log odds); the other one follows."""

    _param: Tensor

    def _set_odds(self, probs: Any, logits: Any) -> None:
        exactly_one(probs, logits)
        if logits is None:
            (self._param,) = broadcast_all(probs)
            self.probs = self._param
        else:
            (self._param,) = broadcast_all(logits)
            self.logits = self._param

    def _set_counted_odds(self, total_count: Any, probs: Any, logits: Any) -> None:
        exactly_one(probs, logits)
        total_count, self._param = broadcast_all(total_count, probs if logits is None else logits)
        self.total_count = total_count.type_as(self._param)
        setattr(self, "probs" if logits is None else "logits", self._param)

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> Any:
        return self._param.size()

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)


# ---------------------------------------------------------------------------------------------- draws and shapes


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    return ops.empty(shape, dtype=dtype, device=device).normal_()


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the last `dim` axes."""
    return value if dim == 0 else value.reshape(value.shape[:-dim] + (-1,)).sum(-1)


def _below(n: int, diag: int, device: Any) -> Tensor:
    """The mask of an n x n matrix's entries on and below diagonal `diag`."""
    column = ops.arange(n, device=device)
    return column < column.view(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The entries on and below diagonal `diag`, row by row. Shape: (*, D, D) -> (*, N). ValueError for no diagonal."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _below(n, diag, mat.device)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The inverse of `tril_matrix_to_vec`, zero above. Shape: (*, N) -> (*, D, D). ValueError if no D fits N."""
    shift = 1 + 2 * diag
    side = (-shift + (shift**2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    n = round(side)
    if n - side > finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {vec.shape[-1]} which cannot be expressed as "
            "the lower triangular part of a square D x D matrix."
        )
    mat = vec.new_zeros(vec.shape[:-1] + (n, n))
    mat[..., _below(n, diag, vec.device)] = vec
    return mat


def along_batch(values: Tensor, batch_shape: Any, expand: bool) -> Tensor:
    """The values of a discrete distribution on an axis in front of the batch's, which get their sizes by `expand`."""
    values = values.view((-1,) + (1,) * len(batch_shape))
    return values.expand((-1,) + tuple(batch_shape)) if expand else values


def filled(like: Tensor, shape: Any, value: float) -> Tensor:
    """A tensor of one value in the type of `like`."""
    return ops.full(shape, value, dtype=like.dtype, device=like.device)
