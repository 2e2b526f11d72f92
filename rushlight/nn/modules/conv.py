"""Convolutions and transposed convolutions in one, two and three dimensions."""

from __future__ import annotations

from typing import Any

from rushlight import ops
from rushlight.core.tensor.tensor import Tensor
from rushlight.nn import functional as F
from rushlight.nn.parameter import Parameter

from .expand import expand
from .linear import register_bias, reset_affine
from .module import Module

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """What all of them share. The sizes are tuples with one entry per spatial dimension."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: str | tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_channels(in_channels, out_channels, groups)
        _check_padding(padding, stride, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = _padding_for_pad(padding, kernel_size, dilation)
        outer, inner = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        self.weight = Parameter(ops.empty((outer, inner // groups, *kernel_size), device=device, dtype=dtype))
        register_bias(self, out_channels if bias else None, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Re-initialise weight and bias from U(-k, k), k = 1 / sqrt(fan in)."""
        reset_affine(self.weight, self.bias)

    def extra_repr(self) -> str:
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        for name, neutral in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
            value = getattr(self, name)
            if value != (neutral,) * len(value):
                parts.append(f"{name}={value}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


def _check_channels(in_channels: int, out_channels: int, groups: int) -> None:
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups != 0:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups != 0:
        raise ValueError("out_channels must be divisible by groups")


def _check_padding(padding: str | tuple[int, ...], stride: tuple[int, ...], mode: str) -> None:
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
        if padding == "same" and any(step != 1 for step in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if mode not in _PADDING_MODES:
        raise ValueError(f"padding_mode must be one of {set(_PADDING_MODES)}, but got padding_mode='{mode}'")


def _padding_for_pad(
    padding: str | tuple[int, ...], kernel_size: tuple[int, ...], dilation: tuple[int, ...]
) -> list[int]:
    """The padding as `functional.pad` takes it: last dimension first, two numbers each."""
    if not isinstance(padding, str):
        return [n for n in reversed(padding) for _ in range(2)]
    amounts: list[int] = []
    for d in reversed(range(len(kernel_size))):
        if padding == "same":
            total = dilation[d] * (kernel_size[d] - 1)
            amounts += [total // 2, total - total // 2]
        else:
            amounts += [0, 0]
    return amounts


class _Conv(_ConvNd):
    """Cross-correlation; a subclass says in how many dimensions, and by which function."""

    _dims: int

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        n = self._dims
        super().__init__(
            in_channels,
            out_channels,
            expand(kernel_size, n),
            expand(stride, n),
            padding if isinstance(padding, str) else expand(padding, n),
            expand(dilation, n),
            False,
            (0,) * n,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _convolve(self, input: Tensor, weight: Tensor, bias: Tensor | None, padding: Any) -> Tensor:
        raise NotImplementedError

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if self.padding_mode == "zeros":
            return self._convolve(input, weight, bias, self.padding)
        padded = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
        return self._convolve(padded, weight, bias, 0)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    """Cross-correlation of a batch of sequences with learned filters.

    Args:
        padding: a size, "valid" or "same".
        groups: how many groups of channels are computed separately.
        bias: whether there is one.
        padding_mode: "zeros", "reflect", "replicate" or "circular".
    Shape: (N, C, L) or (C, L) -> (N, K, L') or (K, L'); weight (out_channels, in_channels / groups, kernel_size)
        L' = floor((L + 2 padding - dilation (kernel_size - 1) - 1) / stride) + 1
    Raises:
        ValueError: the channels are no multiple of `groups`, as in `Conv1d(3, 4, 1, groups=2)`.
        RuntimeError: the input has other channels, as in `Conv1d(3, 4, 1)(ones(1, 2, 5))`.

    >>> Conv1d(3, 4, 2)(ones(1, 3, 5)).shape
    torch.Size([1, 4, 4])
    """

    _dims = 1

    def _convolve(self, input: Tensor, weight: Tensor, bias: Tensor | None, padding: Any) -> Tensor:
        return F.conv1d(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class Conv2d(_Conv):
    """Cross-correlation of a batch of images with learned filters; sizes are one number or (height, width).

    Args:
        padding: a size, "valid" or "same".
        groups: how many groups of channels are computed separately.
        bias: whether there is one.
        padding_mode: "zeros", "reflect", "replicate" or "circular".
    Shape: (N, C, H, W) or (C, H, W) -> (N, K, H', W') or (K, H', W'); weight (K, C / groups, R, S)
        H' = floor((H + 2 padding - dilation (R - 1) - 1) / stride) + 1, W' likewise
    Raises:
        ValueError: the channels are no multiple of `groups`, as in `Conv2d(3, 4, 1, groups=2)`.
        ValueError: padding="same" with a stride, as in `Conv2d(3, 4, 3, stride=2, padding="same")`.
        RuntimeError: the input has other channels, as in `Conv2d(3, 4, 1)(ones(1, 2, 5, 5))`.

    >>> Conv2d(3, 4, 3, padding=1)(ones(1, 3, 5, 5)).shape
    torch.Size([1, 4, 5, 5])
    """

    _dims = 2

    def _convolve(self, input: Tensor, weight: Tensor, bias: Tensor | None, padding: Any) -> Tensor:
        return F.conv2d(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class Conv3d(_Conv):
    """Cross-correlation of a batch of volumes with learned filters; sizes are one number or (depth, height, width).

    Args:
        padding: a size, "valid" or "same".
        groups: how many groups of channels are computed separately.
        bias: whether there is one.
        padding_mode: "zeros", "reflect", "replicate" or "circular".
    Shape: (N, C, D, H, W) or (C, D, H, W) -> (N, K, D', H', W') or (K, D', H', W')
    Raises:
        ValueError: the channels are no multiple of `groups`, as in `Conv3d(3, 4, 1, groups=2)`.

    >>> Conv3d(3, 4, 3, padding=1)(ones(1, 3, 5, 5, 5)).shape
    torch.Size([1, 4, 5, 5, 5])
    """

    _dims = 3

    def _convolve(self, input: Tensor, weight: Tensor, bias: Tensor | None, padding: Any) -> Tensor:
        return F.conv3d(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class _ConvTransposeNd(_ConvNd):
    """The gradient of a convolution as a layer."""

    _dims: int

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        n = self._dims
        super().__init__(
            in_channels,
            out_channels,
            expand(kernel_size, n),
            expand(stride, n),
            expand(padding, n),
            expand(dilation, n),
            True,
            expand(output_padding, n),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _output_padding(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        """The padding that makes the output this size. ValueError if no padding does."""
        if output_size is None:
            return self.output_padding
        n = self._dims
        leading = input.dim() - n
        wanted = list(output_size)
        if len(wanted) == leading + n:
            wanted = wanted[leading:]
        if len(wanted) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} or {leading + n} elements "
                f"(got {len(wanted)})"
            )
        smallest = [self._smallest_output(input.size(leading + d), d) for d in range(n)]
        largest = [size + step - 1 for size, step in zip(smallest, self.stride, strict=True)]
        if any(not low <= size <= high for low, size, high in zip(smallest, wanted, largest, strict=True)):
            raise ValueError(
                f"requested an output size of {tuple(wanted)}, but valid sizes range from {smallest} to {largest} "
                f"(for an input of {input.size()[2:]})"
            )
        return tuple(size - low for size, low in zip(wanted, smallest, strict=True))

    def _smallest_output(self, extent: int, d: int) -> int:
        reach = self.dilation[d] * (self.kernel_size[d] - 1) + 1
        return (extent - 1) * self.stride[d] - 2 * int(self.padding[d]) + reach


class ConvTranspose1d(_ConvTransposeNd):
    """The transpose of `Conv1d`, which enlarges a sequence.

    Args:
        output_padding: added to one side of the output, to choose among the sizes that `Conv1d` maps to one.
        bias: whether there is one.
    Shape: (N, C, L) or (C, L) -> (N, K, L') or (K, L'); weight (in_channels, out_channels / groups, kernel_size)
        L' = (L - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1
    Raises:
        ValueError: `padding_mode` is not "zeros", as in `ConvTranspose1d(1, 1, 2, padding_mode="reflect")`.

    >>> ConvTranspose1d(3, 4, 2, stride=2)(ones(1, 3, 5)).shape
    torch.Size([1, 4, 10])
    """

    _dims = 1

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        extra = self._output_padding(input, output_size)
        return F.conv_transpose1d(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )


class ConvTranspose2d(_ConvTransposeNd):
    """The transpose of `Conv2d`, which enlarges an image.

    Args:
        output_padding: added to one side of the output, to choose among the sizes that `Conv2d` maps to one.
        bias: whether there is one.
    Shape: (N, C, H, W) or (C, H, W) -> (N, K, H', W') or (K, H', W'); weight (in_channels, out_channels / groups, R, S)
        H' = (H - 1) stride - 2 padding + dilation (R - 1) + output_padding + 1, W' likewise
    Raises:
        ValueError: `padding_mode` is not "zeros", as in `ConvTranspose2d(1, 1, 2, padding_mode="reflect")`.

    >>> ConvTranspose2d(3, 4, 2, stride=2)(ones(1, 3, 5, 5)).shape
    torch.Size([1, 4, 10, 10])
    """

    _dims = 2

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        extra = self._output_padding(input, output_size)
        return F.conv_transpose2d(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )


class ConvTranspose3d(_ConvTransposeNd):
    """The transpose of `Conv3d`, which enlarges a volume.

    Args:
        output_padding: added to one side of the output, to choose among the sizes that `Conv3d` maps to one.
        bias: whether there is one.
    Shape: (N, C, D, H, W) or (C, D, H, W) -> (N, K, D', H', W') or (K, D', H', W')
    Raises:
        ValueError: `padding_mode` is not "zeros", as in `ConvTranspose3d(1, 1, 2, padding_mode="reflect")`.

    >>> ConvTranspose3d(3, 4, 2, stride=2)(ones(1, 3, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4, 4])
    """

    _dims = 3

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        extra = self._output_padding(input, output_size)
        return F.conv_transpose3d(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )
