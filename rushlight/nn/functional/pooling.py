"""Maxima of windows with their places: what torch's pooling functions are with `return_indices=True`, as functions by themselves.

The argument `return_indices` is torch's and has no meaning here: the places are always returned.
"""

from __future__ import annotations

from collections.abc import Sequence

from rushlight.core.tensor.tensor import Tensor

from .operators import ops


def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """`max_pool1d` with the places of the maxima: (maxima, flat indices within a channel).

    Shape: (*, C, L) -> (*, C, L'), (*, C, L') int64
    Raises:
        RuntimeError: `input` has too few dimensions, as in `max_pool1d_with_indices(ones(4), 2)`.

    >>> max_pool1d_with_indices(tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
    return ops.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices=True)


def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """`max_pool2d` with the places of the maxima: (maxima, flat indices within a channel).

    Shape: (*, C, H, W) -> (*, C, H', W'), (*, C, H', W') int64
    Raises:
        RuntimeError: `input` has too few dimensions, as in `max_pool2d_with_indices(ones(4), 2)`.

    >>> max_pool2d_with_indices(arange(16.0).reshape(1, 4, 4), 2)
    (tensor([[[ 5.,  7.],
             [13., 15.]]]), tensor([[[ 5,  7],
             [13, 15]]]))
    """
    return ops.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices=True)


def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """`max_pool3d` with the places of the maxima: (maxima, flat indices within a channel).

    Shape: (*, C, D, H, W) -> (*, C, D', H', W'), (*, C, D', H', W') int64
    Raises:
        RuntimeError: `input` has too few dimensions, as in `max_pool3d_with_indices(ones(4), 2)`.

    >>> max_pool3d_with_indices(arange(8.0).reshape(1, 2, 2, 2), 2)
    (tensor([[[[7.]]]]), tensor([[[[7]]]]))
    """
    return ops.max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices=True)


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: int | Sequence[int], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool1d` with the places of the maxima: (maxima, flat indices within a channel).

    Shape: (*, C, L) -> (*, C, output_size), (*, C, output_size) int64
    Raises:
        RuntimeError: `input` has too few dimensions, as in `adaptive_max_pool1d_with_indices(ones(2), 1)`.

    >>> adaptive_max_pool1d_with_indices(tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
    return ops.adaptive_max_pool1d(input, output_size, return_indices=True)


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool2d` with the places of the maxima: (maxima, flat indices within a channel).

    Shape: (*, C, H, W) -> (*, C, output_size), (*, C, output_size) int64
    Raises:
        RuntimeError: `input` has too few dimensions, as in `adaptive_max_pool2d_with_indices(ones(2), 1)`.

    >>> adaptive_max_pool2d_with_indices(arange(16.0).reshape(1, 4, 4), 2)
    (tensor([[[ 5.,  7.],
             [13., 15.]]]), tensor([[[ 5,  7],
             [13, 15]]]))
    """
    return ops.adaptive_max_pool2d(input, output_size, return_indices=True)


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool3d` with the places of the maxima: (maxima, flat indices within a channel).

    Shape: (*, C, D, H, W) -> (*, C, output_size), (*, C, output_size) int64
    Raises:
        RuntimeError: `input` has too few dimensions, as in `adaptive_max_pool3d_with_indices(ones(2), 1)`.

    >>> adaptive_max_pool3d_with_indices(arange(8.0).reshape(1, 2, 2, 2), 1)
    (tensor([[[[7.]]]]), tensor([[[[7]]]]))
    """
    return ops.adaptive_max_pool3d(input, output_size, return_indices=True)


def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: int | Sequence[int],
    output_size: int | Sequence[int] | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """`fractional_max_pool2d` with the places of the maxima: (maxima, flat indices within a channel).

    Shape: (*, C, H, W) -> (*, C, H', W'), (*, C, H', W') int64
    Raises:
        ValueError: neither size nor ratio is given, as in `fractional_max_pool2d_with_indices(ones(1, 4, 4), 2)`.

    >>> fractional_max_pool2d_with_indices(ones(1, 4, 4), 2, output_size=3)[1].shape
    torch.Size([1, 3, 3])
    """
    return ops.fractional_max_pool2d(
        input, kernel_size, output_size, output_ratio, return_indices=True, _random_samples=_random_samples
    )


def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: int | Sequence[int],
    output_size: int | Sequence[int] | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """`fractional_max_pool3d` with the places of the maxima: (maxima, flat indices within a channel).

    Shape: (*, C, D, H, W) -> (*, C, D', H', W'), (*, C, D', H', W') int64
    Raises:
        ValueError: neither size nor ratio is given, as in `fractional_max_pool3d_with_indices(ones(1, 4, 4, 4), 2)`.

    >>> fractional_max_pool3d_with_indices(ones(1, 5, 5, 5), 2, output_size=3)[1].shape
    torch.Size([1, 3, 3, 3])
    """
    return ops.fractional_max_pool3d(
        input, kernel_size, output_size, output_ratio, return_indices=True, _random_samples=_random_samples
    )
