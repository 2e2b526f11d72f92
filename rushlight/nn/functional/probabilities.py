"""Softmax along a dimension that may be left to be chosen."""

from __future__ import annotations

from typing import Any

from rushlight.core.dispatch.wrong_arguments import raise_no_tensor
from rushlight.core.tensor.tensor import Tensor
from rushlight.ops.nn.softmax import implicit_dim as _implicit_dim

from .operators import ops


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """exp(input) / sum(exp(input)) along `dim`, without overflow.

    Args:
        dim: an int; without it one is chosen by the number of dimensions, with a warning.
        dtype: the type to compute in; by default the input's.
    Shape: (*) -> (*)
    Raises:
        IndexError: `dim` is out of range, as in `softmax(ones(2), 1)`.

    >>> softmax(tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    if dim is None:
        dim = _implicit_dim("softmax", input.ndim, _stacklevel)
    try:
        return ops.softmax(input, dim, dtype)
    except TypeError:
        raise_no_tensor("softmax", input)
        raise


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`, without overflow.

    Args:
        dim: an int; without it one is chosen by the number of dimensions, with a warning.
        dtype: the type to compute in; by default the input's.
    Shape: (*) -> (*)
    Raises:
        IndexError: `dim` is out of range, as in `log_softmax(ones(2), 1)`.

    >>> log_softmax(tensor([0.0, 0.0]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    if dim is None:
        dim = _implicit_dim("log_softmax", input.ndim, _stacklevel)
    try:
        return ops.log_softmax(input, dim, dtype)
    except TypeError:
        raise_no_tensor("log_softmax", input)
        raise
