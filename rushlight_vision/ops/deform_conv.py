"""Deformable convolution (Dai et al., arXiv 1703.06211; with a mask Zhu et al., 1811.11168)."""

import math
from collections.abc import Sequence

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F


def _pair(value):
    return (value, value) if isinstance(value, int) else tuple(value)


def deform_conv2d(input, offset, weight, bias=None, stride=(1, 1), padding=(0, 0), dilation=(1, 1), mask=None):
    """A convolution each of whose taps reads at its place plus an offset, interpolated, 0 outside, times a mask.

    Source: Dai et al., Deformable Convolutional Networks, 2017.

    Args:
        offset: (down, right) of each tap; G offset groups share the channels.
        mask: a factor for each tap, or None.
    Shape: input (N, C, H, W), offset (N, 2 G R S, H', W'), weight (K, C/groups, R, S), mask (N, G R S, H', W') -> (N,
        K, H', W')

    >>> deform_conv2d(ones(1, 1, 3, 3), zeros(1, 8, 2, 2), ones(1, 1, 2, 2)).flatten()
    tensor([4., 4., 4., 4.])
    """
    count, channels, height, width = input.shape
    taps = weight.shape[-2] * weight.shape[-1]
    offset_groups = offset.shape[1] // (2 * taps)
    if offset_groups == 0:
        raise RuntimeError(
            "the shape of the offset tensor at dimension 1 is not valid. It should be a multiple of 2 * weight.size[2] "
            f"* weight.size[3].\nGot offset.shape[1]={offset.shape[1]}, while 2 * weight.size[2] * weight.size[3]="
            f"{2 * taps}"
        )
    high, wide = offset.shape[-2:]
    offset = offset.reshape(count * offset_groups, taps, 2, high, wide)
    y, x = _tap_places(weight, (high, wide), _pair(stride), _pair(padding), _pair(dilation), input)
    # grid_sample's coordinates: -1 and 1 are the outer edges of the image
    grid = torch.stack(
        [(2 * (x + offset[:, :, 1]) + 1) / width - 1, (2 * (y + offset[:, :, 0]) + 1) / height - 1], dim=-1
    )
    image = input.reshape(count * offset_groups, channels // offset_groups, height, width)
    grid = grid.reshape(count * offset_groups, taps * high, wide, 2)
    columns = F.grid_sample(image, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
    columns = columns.reshape(count, offset_groups, channels // offset_groups, taps, high * wide)
    if mask is not None:
        columns = columns * mask.reshape(count, offset_groups, 1, taps, high * wide)
    groups = channels // weight.shape[1]
    columns = columns.reshape(count, groups, weight.shape[1] * taps, high * wide)
    out = torch.matmul(weight.reshape(groups, weight.shape[0] // groups, -1), columns)
    out = out.reshape(count, weight.shape[0], high, wide)
    return out if bias is None else out + bias.reshape(1, -1, 1, 1)


def _tap_places(weight, size, stride, padding, dilation, like):
    """(y, x) of each tap at each place of the result, each (R S, H', W')."""
    high, wide = weight.shape[-2:]
    axes = []
    for out, step, pad in zip(size, stride, padding):
        axes.append(torch.arange(out, dtype=like.dtype) * step - pad)
    down, right = (torch.arange(n, dtype=like.dtype) * d for n, d in zip((high, wide), dilation))
    y = axes[0].reshape(1, 1, -1, 1) + down.reshape(-1, 1, 1, 1)
    x = axes[1].reshape(1, 1, 1, -1) + right.reshape(1, -1, 1, 1)
    shape = (high, wide, *size)
    return y.expand(shape).reshape(-1, *size), x.expand(shape).reshape(-1, *size)


class DeformConv2d(nn.Module):
    """`deform_conv2d` as a module, its weight and bias initialized as nn.Conv2d's.

    Shape: (N, C, H, W), offset (N, 2 R S, H', W'), mask (N, R S, H', W') or None -> (N, K, H', W')
    Raises:
        ValueError: the channels are no multiple of `groups`, as in `DeformConv2d(3, 4, 1, groups=2)`.

    >>> DeformConv2d(1, 2, 2)(ones(1, 1, 3, 3), zeros(1, 8, 2, 2)).shape
    torch.Size([1, 2, 2, 2])
    """

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups=1,
        bias=True,
    ):
        super().__init__()
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = _pair(kernel_size)
        self.stride = _pair(stride)
        self.padding = _pair(padding)
        self.dilation = _pair(dilation)
        self.groups = groups
        self.weight = nn.Parameter(torch.empty(out_channels, in_channels // groups, *self.kernel_size))
        if bias:
            self.bias = nn.Parameter(torch.empty(out_channels))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        """Weights and bias at random again."""
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.weight[0].numel())
            nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, input, offset, mask=None):
        return deform_conv2d(input, offset, self.weight, self.bias, self.stride, self.padding, self.dilation, mask)

    def __repr__(self):
        parts = [str(self.in_channels), str(self.out_channels)]
        parts += [f"kernel_size={self.kernel_size}", f"stride={self.stride}"]
        for name, usual in (("padding", (0, 0)), ("dilation", (1, 1)), ("groups", 1)):
            if getattr(self, name) != usual:
                parts.append(f"{name}={getattr(self, name)}")
        if self.bias is None:
            parts.append("bias=False")
        return f"{type(self).__name__}({', '.join(parts)})"
