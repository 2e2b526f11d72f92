"""Pooling: one number for each window of the input."""

from __future__ import annotations

from typing import Any

from rushlight.core.tensor.tensor import Tensor
from rushlight.nn import functional as F

from .expand import expand
from .module import Module

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]


class _MaxPoolNd(Module):
    _function: str  # of `functional`; looked up at the call, for programs that replace functions there

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._function)(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The largest element of each window.

    Args:
        stride: `kernel_size` by default.
        return_indices: also give its place.
        ceil_mode: ceil instead of floor.
    Shape: (N, C, L) or (C, L) -> (N, C, L') or (C, L')
        L' = floor((L + 2 padding - dilation (kernel_size - 1) - 1) / stride) + 1
    Raises:
        RuntimeError: the padding is too large, as in `MaxPool1d(2, padding=2)(ones(1, 4))`.

    >>> MaxPool1d(2)(tensor([[1.0, 3.0, 2.0, 4.0]]))
    tensor([[3., 4.]])
    """

    _function = "max_pool1d"


class MaxPool2d(_MaxPoolNd):
    """The largest element of each window.

    Args:
        stride: `kernel_size` by default.
        return_indices: also give its place in the flattened image.
        ceil_mode: ceil instead of floor.
    Shape: (N, C, H, W) or (C, H, W) -> (N, C, H', W') or (C, H', W')
        H' = floor((H + 2 padding - dilation (kernel_size - 1) - 1) / stride) + 1, W' likewise
    Raises:
        RuntimeError: the padding is too large, as in `MaxPool2d(2, padding=2)(ones(1, 4, 4))`.

    >>> MaxPool2d(2)(arange(16.0).reshape(1, 4, 4))
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """

    _function = "max_pool2d"


class MaxPool3d(_MaxPoolNd):
    """The largest element of each window.

    Args:
        stride: `kernel_size` by default.
        return_indices: also give its place in the flattened volume.
        ceil_mode: ceil instead of floor.
    Shape: (N, C, D, H, W) or (C, D, H, W) -> (N, C, D', H', W') or (C, D', H', W')
    Raises:
        RuntimeError: the padding is too large, as in `MaxPool3d(2, padding=2)(ones(1, 4, 4, 4))`.

    >>> MaxPool3d(2)(ones(1, 2, 4, 4, 4)).shape
    torch.Size([1, 2, 2, 2, 2])
    """

    _function = "max_pool3d"


class _MaxUnpoolNd(Module):
    _dims: int
    _function: str

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size = expand(kernel_size, self._dims)
        self.stride = expand(stride if stride is not None else kernel_size, self._dims)
        self.padding = expand(padding, self._dims)

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return getattr(F, self._function)(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Put the results of `MaxPool1d` back at their indices, zeros elsewhere.

    Shape: (N, C, L) twice -> (N, C, L')

    >>> MaxUnpool1d(2)(tensor([[5.0, 7.0]]), tensor([[1, 2]]))
    tensor([[0., 5., 7., 0.]])
    """

    _dims = 1
    _function = "max_unpool1d"


class MaxUnpool2d(_MaxUnpoolNd):
    """Put the results of `MaxPool2d` back at their indices, zeros elsewhere.

    Shape: (N, C, H, W) twice -> (N, C, H', W')
    Raises:
        ValueError: the output size is impossible, as in
            `MaxUnpool2d(2)(ones(1, 1, 1), tensor([[[0]]]), output_size=(9, 9))`.

    >>> MaxUnpool2d(2)(tensor([[[5.0]]]), tensor([[[2]]]))
    tensor([[[0., 0.],
             [5., 0.]]])
    """

    _dims = 2
    _function = "max_unpool2d"


class MaxUnpool3d(_MaxUnpoolNd):
    """Put the results of `MaxPool3d` back at their indices, zeros elsewhere.

    Shape: (N, C, D, H, W) twice -> (N, C, D', H', W')
    """

    _dims = 3
    _function = "max_unpool3d"


class _AvgPoolNd(Module):
    _function: str

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._function)(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The mean of each window.

    Args:
        stride: `kernel_size` by default.
        count_include_pad: whether padding counts as zeros.
    Shape: (N, C, L) or (C, L) -> (N, C, L') or (C, L')
    Raises:
        RuntimeError: the padding is too large, as in `AvgPool1d(2, padding=2)(ones(1, 4))`.

    >>> AvgPool1d(2)(tensor([[1.0, 3.0, 2.0, 4.0]]))
    tensor([[2., 3.]])
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        stride = stride if stride is not None else kernel_size
        super().__init__(expand(kernel_size, 1), expand(stride, 1), expand(padding, 1), ceil_mode, count_include_pad)

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class AvgPool2d(_AvgPoolNd):
    """The mean of each window.

    Args:
        stride: `kernel_size` by default.
        count_include_pad: whether padding counts as zeros.
        divisor_override: what to divide the sums by instead.
    Shape: (N, C, H, W) or (C, H, W) -> (N, C, H', W') or (C, H', W')
    Raises:
        RuntimeError: the padding is too large, as in `AvgPool2d(2, padding=2)(ones(1, 4, 4))`.

    >>> AvgPool2d(2)(arange(16.0).reshape(1, 4, 4))
    tensor([[[ 2.5000,  4.5000],
             [10.5000, 12.5000]]])
    """

    _function = "avg_pool2d"


class AvgPool3d(_AvgPoolNd):
    """The mean of each window.

    Args:
        stride: `kernel_size` by default.
        count_include_pad: whether padding counts as zeros.
        divisor_override: what to divide the sums by instead.
    Shape: (N, C, D, H, W) or (C, D, H, W) -> (N, C, D', H', W') or (C, D', H', W')
    Raises:
        RuntimeError: the padding is too large, as in `AvgPool3d(2, padding=2)(ones(1, 4, 4, 4))`.

    >>> AvgPool3d(2)(ones(1, 2, 4, 4, 4)).shape
    torch.Size([1, 2, 2, 2, 2])
    """

    _function = "avg_pool3d"


class _LPPoolNd(Module):
    _function: str

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._function)(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """(sum of x^p)^(1/p) over each window, p the `norm_type`.

    Shape: (N, C, L) or (C, L) -> (N, C, L') or (C, L')

    >>> LPPool1d(2, 2)(tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """

    _function = "lp_pool1d"


class LPPool2d(_LPPoolNd):
    """(sum of x^p)^(1/p) over each window, p the `norm_type`.

    Shape: (N, C, H, W) or (C, H, W) -> (N, C, H', W') or (C, H', W')

    >>> LPPool2d(2, 2)(ones(1, 2, 2))
    tensor([[[2.]]])
    """

    _function = "lp_pool2d"


class LPPool3d(_LPPoolNd):
    """(sum of x^p)^(1/p) over each window, p the `norm_type`.

    Shape: (N, C, D, H, W) or (C, D, H, W) -> (N, C, D', H', W') or (C, D', H', W')

    >>> LPPool3d(1, 2)(ones(1, 2, 2, 2)).flatten()
    tensor([8.])
    """

    _function = "lp_pool3d"


class _FractionalMaxPoolNd(Module):
    _dims: int
    _function: str
    kernel_size: Any
    output_size: Any
    output_ratio: Any

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.kernel_size = expand(kernel_size, self._dims)
        if self._dims == 3 and not all(k > 0 for k in self.kernel_size):
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else expand(output_size, self._dims)
        self.output_ratio = None if output_ratio is None else expand(output_ratio, self._dims)
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._function)(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The largest of windows at random places.

    Source: Graham, Fractional Max-Pooling, 2014.

    Args:
        output_size: how many windows, an int or (H', W').
        output_ratio: their share of the input's extents, in (0, 1), instead.
        return_indices: also give the places in the flattened image.
    Shape: (N, C, H, W) or (C, H, W) -> (N, C, H', W') or (C, H', W')
    Raises:
        ValueError: neither is given, as in `FractionalMaxPool2d(2)`.

    >>> FractionalMaxPool2d(2, output_size=3)(ones(1, 1, 5, 5)).shape
    torch.Size([1, 1, 3, 3])
    """

    _dims = 2
    _function = "fractional_max_pool2d"


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """The largest of windows at random places.

    Source: Graham, Fractional Max-Pooling, 2014.

    Args:
        output_size: how many windows, an int or (D', H', W').
        output_ratio: their share of the input's extents, in (0, 1), instead.
        return_indices: also give the places in the flattened volume.
    Shape: (N, C, D, H, W) or (C, D, H, W) -> (N, C, D', H', W') or (C, D', H', W')
    Raises:
        ValueError: neither is given, as in `FractionalMaxPool3d(2)`.

    >>> FractionalMaxPool3d(2, output_size=3)(ones(1, 1, 5, 5, 5)).shape
    torch.Size([1, 1, 3, 3, 3])
    """

    _dims = 3
    _function = "fractional_max_pool3d"


class _AdaptivePoolNd(Module):
    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class _AdaptiveMaxPoolNd(_AdaptivePoolNd):
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest of each of `output_size` windows that cover the input.

    Args:
        return_indices: also give its place.
    Shape: (N, C, L) or (C, L) -> (N, C, output_size) or (C, output_size)
    Raises:
        RuntimeError: the input has neither two nor three dimensions, as in `AdaptiveMaxPool1d(1)(ones(2))`.

    >>> AdaptiveMaxPool1d(2)(tensor([[1.0, 2.0, 3.0, 4.0]]))
    tensor([[2., 4.]])
    """

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The largest of each of H' x W' windows that cover the input.

    Args:
        output_size: an int, or (H', W') where None keeps an extent.
        return_indices: also give its place in the flattened image.
    Shape: (N, C, H, W) or (C, H, W) -> (N, C, H', W') or (C, H', W')
    Raises:
        RuntimeError: the input has neither three nor four dimensions, as in `AdaptiveMaxPool2d(1)(ones(2, 2))`.

    >>> AdaptiveMaxPool2d(1)(ones(2, 3, 4, 4)).shape
    torch.Size([2, 3, 1, 1])
    """

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The largest of each of D' x H' x W' windows that cover the input.

    Args:
        output_size: an int, or (D', H', W') where None keeps an extent.
        return_indices: also give its place in the flattened volume.
    Shape: (N, C, D, H, W) or (C, D, H, W) -> (N, C, D', H', W') or (C, D', H', W')
    Raises:
        RuntimeError: the input has neither four nor five dimensions, as in `AdaptiveMaxPool3d(1)(ones(2, 2))`.

    >>> AdaptiveMaxPool3d(1)(ones(2, 3, 4, 4, 4)).shape
    torch.Size([2, 3, 1, 1, 1])
    """

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class AdaptiveAvgPool1d(_AdaptivePoolNd):
    """The mean of each of `output_size` windows that cover the input.

    Shape: (N, C, L) or (C, L) -> (N, C, output_size) or (C, output_size)
    Raises:
        RuntimeError: the input has neither two nor three dimensions, as in `AdaptiveAvgPool1d(1)(ones(2))`.

    >>> AdaptiveAvgPool1d(2)(tensor([[1.0, 2.0, 3.0, 4.0]]))
    tensor([[1.5000, 3.5000]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptivePoolNd):
    """The mean of each of H' x W' windows that cover the input.

    Args:
        output_size: an int, or (H', W') where None keeps an extent.
    Shape: (N, C, H, W) or (C, H, W) -> (N, C, H', W') or (C, H', W')

    >>> AdaptiveAvgPool2d(1)(ones(2, 3, 4, 4)).shape
    torch.Size([2, 3, 1, 1])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptivePoolNd):
    """The mean of each of D' x H' x W' windows that cover the input.

    Args:
        output_size: an int, or (D', H', W') where None keeps an extent.
    Shape: (N, C, D, H, W) or (C, D, H, W) -> (N, C, D', H', W') or (C, D', H', W')

    >>> AdaptiveAvgPool3d(1)(ones(2, 3, 4, 4, 4)).shape
    torch.Size([2, 3, 1, 1, 1])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)
