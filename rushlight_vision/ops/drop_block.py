"""DropBlock: squares of a feature map dropped together (Ghiasi et al., arXiv 1810.12890)."""

import math

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F


def drop_block2d(input, p, block_size, inplace=False, eps=1e-06, training=True):
    """The input with squares of odd size `block_size` zeroed, about a share `p` of it, and rescaled.

    Source: Ghiasi et al., DropBlock, 2018.

    Args:
        inplace: whether to write the result into `input`.
        training: False leaves the input as it is.
    Shape: (N, C, H, W) -> (N, C, H, W)
    Raises:
        ValueError: `p` is outside [0, 1], as in `drop_block2d(ones(1, 1, 3, 3), 2.0, 3)`.

    >>> drop_block2d(ones(1, 1, 3, 3), 0.0, 3).sum()
    tensor(9.)
    """
    return _dropped(input, p, block_size, inplace, eps, training, F.max_pool2d, 2)


def drop_block3d(input, p, block_size, inplace=False, eps=1e-06, training=True):
    """The input with cubes of odd size `block_size` zeroed, about a share `p` of it, and rescaled.

    Source: Ghiasi et al., DropBlock, 2018.

    Args:
        inplace: whether to write the result into `input`.
        training: False leaves the input as it is.
    Shape: (N, C, D, H, W) -> (N, C, D, H, W)
    Raises:
        ValueError: `p` is outside [0, 1], as in `drop_block3d(ones(1, 1, 3, 3, 3), 2.0, 3)`.

    >>> drop_block3d(ones(1, 1, 3, 3, 3), 0.0, 3).sum()
    tensor(27.)
    """
    return _dropped(input, p, block_size, inplace, eps, training, F.max_pool3d, 3)


def _dropped(input, p, block_size, inplace, eps, training, max_pool, dims):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"drop probability has to be between 0 and 1, but got {p}.")
    if input.ndim != dims + 2:
        raise ValueError(f"input should be {dims + 2} dimensional. Got {input.ndim} dimensions.")
    if not training or p == 0.0:
        return input
    space = input.shape[2:]
    block = min(block_size, *space)
    if block % 2 == 0:
        raise ValueError(f"block size should be odd. Got {block} which is even.")
    corners = [size - block + 1 for size in space]
    gamma = (p * math.prod(space)) / ((block**dims) * math.prod(corners))
    noise = torch.empty([*input.shape[:2], *corners], dtype=input.dtype, device=input.device).bernoulli_(gamma)
    noise = F.pad(noise, [block // 2] * 2 * dims, value=0)
    kept = 1 - max_pool(noise, kernel_size=block, stride=1, padding=block // 2)
    scale = kept.numel() / (eps + kept.sum())
    return input.mul_(kept).mul_(scale) if inplace else input * kept * scale


class DropBlock2d(nn.Module):
    """`drop_block2d` as a module.

    Shape: (N, C, H, W) -> the same
    Raises:
        ValueError: `p` is outside [0, 1], as in `DropBlock2d(2.0, 3)(ones(1, 1, 3, 3))`.

    >>> DropBlock2d(0.5, 3).eval()(ones(1, 1, 3, 3)).sum()
    tensor(9.)
    """

    def __init__(self, p, block_size, inplace=False, eps=1e-06):
        super().__init__()
        self.p = p
        self.block_size = block_size
        self.inplace = inplace
        self.eps = eps

    def forward(self, input):
        return drop_block2d(input, self.p, self.block_size, self.inplace, self.eps, self.training)

    def __repr__(self):
        return f"{type(self).__name__}(p={self.p}, block_size={self.block_size}, inplace={self.inplace})"


class DropBlock3d(DropBlock2d):
    """`drop_block3d` as a module.

    Shape: (N, C, D, H, W) -> the same
    Raises:
        ValueError: `p` is outside [0, 1], as in `DropBlock3d(2.0, 3)(ones(1, 1, 3, 3, 3))`.

    >>> DropBlock3d(0.5, 3).eval()(ones(1, 1, 3, 3, 3)).sum()
    tensor(27.)
    """

    def forward(self, input):
        return drop_block3d(input, self.p, self.block_size, self.inplace, self.eps, self.training)
