"""Dropout of elements, and of whole channels. ``p`` is the probability to drop; nothing happens unless ``training``."""

from __future__ import annotations

import warnings

from rushlight.core.tensor.tensor import Tensor

from .operators import ops


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each channel with probability `p` and scale the others by 1 / (1 - p).

    Args:
        training: False leaves the input as it is.
        inplace: whether to write the result into `input`.
    Shape: (N, C, L) or (C, L) -> the same: (N, C, L) or (C, L)
    Raises:
        ValueError: `p` is outside [0, 1], as in `dropout1d(ones(1, 2, 3), 1.5)`.

    >>> dropout1d(ones(1, 2), 0.0)
    tensor([[1., 1.]])
    """
    _check_probability(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input. Note that dropout1d exists to "
            "provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional "
            "batch dimension (i.e. 2D or 3D inputs)."
        )
    return _drop_channels(input, p, training, inplace, batched=input.dim() == 3)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each channel with probability `p` and scale the others by 1 / (1 - p).

    Args:
        training: False leaves the input as it is.
        inplace: whether to write the result into `input`.
    Shape: (N, C, H, W) -> (N, C, H, W); three dimensions are taken for (N, C, L)
    Raises:
        ValueError: `p` is outside [0, 1], as in `dropout2d(ones(1, 2, 3, 3), 1.5)`.

    >>> dropout2d(ones(1, 2, 1, 1), 0.0).flatten()
    tensor([1., 1.])
    """
    _check_probability(p)
    _warn_about_rank("dropout2d", input.dim(), 2)
    if input.dim() == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired "
            "- input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a "
            "future release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain "
            "the 1D channel-wise dropout behavior, please switch to using dropout1d instead.",
            stacklevel=2,
        )
    return _drop_channels(input, p, training, inplace, batched=True)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each channel with probability `p` and scale the others by 1 / (1 - p).

    Args:
        training: False leaves the input as it is.
        inplace: whether to write the result into `input`.
    Shape: (N, C, D, H, W) or (C, D, H, W) -> the same: (N, C, D, H, W) or (C, D, H, W)
    Raises:
        ValueError: `p` is outside [0, 1], as in `dropout3d(ones(1, 2, 1, 1, 1), 1.5)`.

    >>> dropout3d(ones(1, 2, 1, 1, 1), 0.0).flatten()
    tensor([1., 1.])
    """
    _check_probability(p)
    _warn_about_rank("dropout3d", input.dim(), 3)
    return _drop_channels(input, p, training, inplace, batched=input.dim() == 5)


def _check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _drop_channels(input: Tensor, p: float, training: bool, inplace: bool, batched: bool) -> Tensor:
    if batched:
        return ops.feature_dropout(input, p, training, inplace)
    if inplace:
        return ops.feature_dropout(input.unsqueeze_(0), p, training, True).squeeze_(0)
    return ops.feature_dropout(input.unsqueeze(0), p, training).squeeze(0)


def _warn_about_rank(name: str, rank: int, dims: int) -> None:
    if rank in (dims + 1, dims + 2):
        return
    warnings.warn(
        f"{name}: Received a {rank}-D input to {name}, which is deprecated and will result in an error in a future "
        "release. To retain the behavior and silence this warning, please use dropout instead. Note that "
        f"{name} exists to provide channel-wise dropout on inputs with {dims} spatial dimensions, a channel dimension, "
        f"and an optional batch dimension (i.e. {dims + 1}D or {dims + 2}D inputs).",
        stacklevel=3,
    )
