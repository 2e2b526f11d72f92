"""Functions of `torch` whose namesakes in `torch.nn.functional` take other arguments, or the same in another order.

`OPS` has the forms of `nn.functional` under these names; the top level of the package exports the ones of this file.
"""

from __future__ import annotations

from typing import Any

from ..core.dispatch import torch_function
from ..core.dispatch.autocast import followed
from ..core.dispatch.op import OPS
from ..core.dispatch.slow_path import write_out
from ..core.dispatch.wrong_arguments import explained
from ..core.tensor.tensor import Tensor
from .nn import activation, rectifiers
from .nn.embedding import bags_with_places
from .random import dropout as dropouts
from .spatial.adaptive_pool import adaptive_max_pool1d as _adaptive_max_pool1d

__all__ = [
    "adaptive_max_pool1d", "alpha_dropout", "celu", "dropout", "embedding", "embedding_bag", "feature_alpha_dropout",
    "feature_dropout", "relu", "rrelu", "selu", "threshold",
]  # fmt: skip

_MODES = ("sum", "mean", "max")


def _core_form(f: Any) -> Any:
    """Decorator: torch's errors for arguments of the wrong type, and autocast, as operators have them."""
    return followed(f.__name__, explained(f.__name__, f))


@_core_form
def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    """The rows of `weight` at `indices`; `nn.functional.embedding` takes the indices first.

    Args:
        indices: int32 or int64.
        padding_idx: a row without gradient, or -1.
        scale_grad_by_freq: whether a row's gradient is divided by how often it is used.
        sparse: whether the gradient of `weight` is a sparse tensor of the rows in use.
    Shape: (V, E), (*) -> (*, E)
    Raises:
        IndexError: an index is out of range, as in `embedding(ones(2, 3), tensor([2]))`.
        RuntimeError: `weight` is not a matrix, as in `embedding(ones(2), tensor([0]))`.

    >>> embedding(tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([1, 0]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    row = None if padding_idx == -1 else padding_idx
    return OPS["embedding"](indices, weight, row, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


@_core_form
def embedding_bag(weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None,
                  include_last_offset=False, padding_idx=None):  # fmt: skip
    """The sum, mean or maximum of the rows of each bag of indices; `nn.functional.embedding_bag` takes the indices first.

    The other results are the bag of each index (none for a plain sum), the number of indices in each bag, and the indices of
    the maxima, which are the sizes of the bags where `mode` is another.

    Args:
        indices, offsets: int32 or int64; where each bag begins.
        mode: 0 for the sum, 1 for the mean, 2 for the maximum.
        per_sample_weights: a factor for each index, for the sum.
        include_last_offset: whether the last offset is the end of the last bag.
        padding_idx: a row that is left out.
    Shape: (V, E), (N), (B) -> (B, E), (N), (B), (B)
    Raises:
        ValueError: `indices` has two dimensions, as in `embedding_bag(ones(2, 3), tensor([[0]]), tensor([0]))`.

    >>> embedding_bag(tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([0, 1]), tensor([0]))[0]
    tensor([[4., 6.]])
    """
    if not isinstance(indices, Tensor) or indices._array.ndim != 1:
        raise ValueError(f"input has to be a 1D Tensor, but got Tensor of dimension {indices.dim()}")
    options = {"scale_grad_by_freq": scale_grad_by_freq, "sparse": sparse, "per_sample_weights": per_sample_weights,
               "include_last_offset": include_last_offset, "padding_idx": padding_idx}  # fmt: skip
    result = OPS["embedding_bag"](indices, weight, offsets, mode=_MODES[mode], **options)
    return (result, *bags_with_places(weight, indices, offsets, _MODES[mode], include_last_offset, padding_idx))


@_core_form
def adaptive_max_pool1d(input, output_size):
    """The maxima of `output_size` windows that cover the sequence, and their places in it.

    Shape: (N, C, L) or (C, L) -> two of (N, C, output_size) or (C, output_size)
    Raises:
        RuntimeError: `input` has neither two nor three dimensions, as in `adaptive_max_pool1d(ones(2), 1)`.

    >>> adaptive_max_pool1d(tensor([[1.0, 2.0, 3.0, 4.0]]), 2)
    (tensor([[2., 4.]]), tensor([[1, 3]]))
    """
    return _adaptive_max_pool1d(input, output_size, True)


@_core_form
def relu(input):
    """max(input, 0) of each element.

    Shape: (*) -> (*)
    Raises:
        RuntimeError: `input` is of bools, as in `relu(tensor([True]))`.

    >>> relu(tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return Tensor.relu(input)  # type: ignore[attr-defined]


@_core_form
def selu(input):
    """`elu` with the alpha and scale that keep activations normal.

    Source: Klambauer et al., Self-Normalizing Neural Networks, 2017.

    Shape: (*) -> (*)
    Raises:
        NotImplementedError: `input` is of integers, as in `selu(tensor([1]))`.

    >>> selu(tensor([-1.0, 1.0]))
    tensor([-1.1113,  1.0507])
    """
    return activation.selu(input)


@_core_form
def celu(input, alpha=1.0):
    """max(0, input) + min(0, alpha * (exp(input / alpha) - 1)) of each element.

    Source: Barron, Continuously Differentiable Exponential Linear Units, 2017.

    Shape: (*) -> (*)
    Raises:
        RuntimeError: `alpha` is 0, as in `celu(ones(2), 0)`.

    >>> celu(tensor([-1.0, 1.0]), 0.5)
    tensor([-0.4323,  1.0000])
    """
    return activation.celu(input, alpha)


@_core_form
def threshold(input, threshold, value, *, out=None):
    """The input where it is above `threshold`, `value` elsewhere.

    Args:
        out: the tensor to write the result to.
    Shape: (*) -> (*)

    >>> threshold(tensor([0.5, 2.0]), 1.0, 9.0)
    tensor([9., 2.])
    """
    result = rectifiers.threshold(input, threshold, value)
    return result if out is None else write_out("threshold", (input,), result, out)


@_core_form
def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    """`leaky_relu` with a random slope from [lower, upper) for each element in training, and their mean otherwise.

    Args:
        generator: None, the default generator; others are not implemented.
    Shape: (*) -> (*)
    Raises:
        RuntimeError: lower > upper, as in `rrelu(ones(2), 0.5, 0.1)`.

    >>> rrelu(tensor([-1.0, 2.0]), 0.1, 0.3)
    tensor([-0.2000,  2.0000])
    """
    if generator is not None and training:
        raise NotImplementedError("rrelu(generator=...) is not implemented")
    return rectifiers.rrelu(input, lower, upper, training)


def _dropping(name: str, what: str, shape: str, drop: Any) -> Any:
    def f(input, p, train):
        return drop(input, p, train)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"""{what}

    Args:
        train: False leaves the input as it is.
    Shape: {shape} -> {shape}
    Raises:
        ValueError: `p` is outside [0, 1], as in `{name}(ones(2, 2), 1.5, True)`.

    >>> {name}(ones(2), 0.5, False)
    tensor([1., 1.])
    """
    return _core_form(f)


_SCALED = "Zero each {} with probability `p` and scale the others by 1 / (1 - p)."
_ALPHA = "Dropout{} that keeps mean and variance of self-normalising activations (SELU)."
dropout = _dropping("dropout", _SCALED.format("element"), "(*)", dropouts.dropout)
feature_dropout = _dropping("feature_dropout", _SCALED.format("channel"), "(N, C, *)", dropouts.feature_dropout)
alpha_dropout = _dropping("alpha_dropout", _ALPHA.format(""), "(*)", dropouts.alpha_dropout)
feature_alpha_dropout = _dropping(
    "feature_alpha_dropout", _ALPHA.format(" of whole channels"), "(N, C, *)", dropouts.feature_alpha_dropout
)
torch_function.publish({name: globals()[name] for name in __all__})
