"""Transforms of an image's size and place: resizing, padding, crops, flips."""

import numbers
from collections.abc import Sequence
from typing import Any

from rushlight import nn
from rushlight_vision.transforms import draw
from rushlight_vision.transforms import functional as F
from rushlight_vision.transforms.arguments import check_scale_and_ratio, size_pair
from rushlight_vision.transforms.interpolation import InterpolationMode, as_mode


class Resize(nn.Module):
    """The image in another size: (h, w), or an int for the shorter edge, the longer then limited by `max_size`.

    Shape: (*, C, H, W) -> (*, C, h, w)
    Raises:
        TypeError: `size` is neither an int nor a sequence, as in `Resize(1.5)`.

    >>> Resize((2, 3))(ones(3, 4, 8)).shape
    torch.Size([3, 2, 3])
    """

    def __init__(self, size, interpolation=InterpolationMode.BILINEAR, max_size=None, antialias=True):
        super().__init__()
        if not isinstance(size, (int, Sequence)):
            raise TypeError(f"Size should be int or sequence. Got {type(size)}")
        if isinstance(size, Sequence) and len(size) not in (1, 2):
            raise ValueError("If size is a sequence, it should have 1 or 2 values")
        self.size = size
        self.max_size = max_size
        self.interpolation = _mode(interpolation)
        self.antialias = antialias

    def forward(self, img):
        return F.resize(img, self.size, self.interpolation, self.max_size, self.antialias)

    def __repr__(self):
        return (
            f"{type(self).__name__}(size={self.size}, interpolation={self.interpolation.value}, "
            f"max_size={self.max_size}, antialias={self.antialias})"
        )


class CenterCrop(nn.Module):
    """The middle of the image, of size `size` (int or (h, w)); a smaller image is padded with 0.

    Shape: (*, H, W) -> (*, h, w)
    Raises:
        ValueError: the size has three numbers, as in `CenterCrop((1, 2, 3))`.

    >>> CenterCrop(2)(arange(16).reshape(1, 4, 4))
    tensor([[[ 5,  6],
             [ 9, 10]]])
    """

    def __init__(self, size):
        super().__init__()
        self.size = size_pair(size)

    def forward(self, img):
        return F.center_crop(img, self.size)

    def __repr__(self):
        return f"{type(self).__name__}(size={self.size})"


class Pad(nn.Module):
    """The image with a border; see `functional.pad`.

    Shape: (*, H, W) -> (*, top + H + bottom, left + W + right)
    Raises:
        ValueError: `padding` has three numbers, as in `Pad((1, 2, 3))`.

    >>> Pad(1)(ones(1, 2, 2)).shape
    torch.Size([1, 4, 4])
    """

    def __init__(self, padding, fill: Any = 0, padding_mode="constant"):
        super().__init__()
        if not isinstance(padding, (numbers.Number, tuple, list)):
            raise TypeError("Got inappropriate padding arg")
        if not isinstance(fill, (numbers.Number, tuple, list)):
            raise TypeError("Got inappropriate fill arg")
        if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
            raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")
        if isinstance(padding, Sequence) and len(padding) not in (1, 2, 4):
            raise ValueError(
                f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(padding)} element tuple"
            )
        self.padding = padding
        self.fill = fill
        self.padding_mode = padding_mode

    def forward(self, img):
        return F.pad(img, self.padding, self.fill, self.padding_mode)

    def __repr__(self):
        return f"{type(self).__name__}(padding={self.padding}, fill={self.fill}, padding_mode={self.padding_mode})"


class RandomCrop(nn.Module):
    """A part of size `size` (int or (h, w)) from a random place, after a border of `padding` pixels was added.

    `pad_if_needed` widens smaller images, for which ValueError is raised otherwise. `fill` and `padding_mode` are
    `functional.pad`'s.

    Shape: (*, H, W) -> (*, h, w)
    Raises:
        ValueError: the image is too small, as in `RandomCrop(3)(ones(1, 2, 2))`.

    >>> RandomCrop(2)(ones(3, 4, 4)).shape
    torch.Size([3, 2, 2])
    """

    def __init__(self, size, padding=None, pad_if_needed=False, fill: Any = 0, padding_mode="constant"):
        super().__init__()
        self.size = tuple(size_pair(size))
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    @staticmethod
    def get_params(img, output_size):
        """(top, left, height, width) of a random crop."""
        _, height, width = F.get_dimensions(img)
        crop_height, crop_width = output_size
        if height < crop_height or width < crop_width:
            raise ValueError(
                f"Required crop size {(crop_height, crop_width)} is larger than input image size {(height, width)}"
            )
        if (height, width) == (crop_height, crop_width):
            return 0, 0, height, width
        top = draw.integer(0, height - crop_height + 1)
        left = draw.integer(0, width - crop_width + 1)
        return top, left, crop_height, crop_width

    def forward(self, img):
        if self.padding is not None:
            img = self._padded(img, self.padding)
        if self.pad_if_needed:
            _, height, width = F.get_dimensions(img)
            if width < self.size[1]:
                img = self._padded(img, [self.size[1] - width, 0])
            if height < self.size[0]:
                img = self._padded(img, [0, self.size[0] - height])
        return F.crop(img, *self.get_params(img, self.size))

    def _padded(self, img, padding):
        return F.pad(img, padding, self.fill, self.padding_mode)

    def __repr__(self):
        return f"{type(self).__name__}(size={self.size}, padding={self.padding})"


class RandomResizedCrop(nn.Module):
    """A random part, resized to `size`: its share of the area uniform in `scale`, its aspect log-uniform in `ratio`.

    Shape: (*, C, H, W) -> (*, C, h, w)

    >>> RandomResizedCrop(2)(ones(3, 8, 8)).shape
    torch.Size([3, 2, 2])
    """

    def __init__(
        self,
        size,
        scale=(0.08, 1.0),
        ratio=(3.0 / 4.0, 4.0 / 3.0),
        interpolation=InterpolationMode.BILINEAR,
        antialias=True,
    ):
        super().__init__()
        check_scale_and_ratio(scale, ratio)
        self.size = size_pair(size)
        self.interpolation = _mode(interpolation)
        self.antialias = antialias
        self.scale = scale
        self.ratio = ratio

    @staticmethod
    def get_params(img, scale, ratio):
        """(top, left, height, width) of a random part; after ten that do not fit, the largest one in the middle."""
        _, height, width = F.get_dimensions(img)
        for w, h in draw.sides(height * width, scale, ratio):
            if 0 < w <= width and 0 < h <= height:
                top = draw.integer(0, height - h + 1)
                left = draw.integer(0, width - w + 1)
                return top, left, h, w
        w, h = width, height
        if width / height < min(ratio):
            h = round(width / min(ratio))
        elif width / height > max(ratio):
            w = round(height * max(ratio))
        return (height - h) // 2, (width - w) // 2, h, w

    def forward(self, img):
        place = self.get_params(img, self.scale, self.ratio)
        return F.resized_crop(img, *place, self.size, self.interpolation, antialias=self.antialias)

    def __repr__(self):
        return (
            f"{type(self).__name__}(size={self.size}, scale={tuple(round(s, 4) for s in self.scale)}, "
            f"ratio={tuple(round(r, 4) for r in self.ratio)}, interpolation={self.interpolation.value}, "
            f"antialias={self.antialias})"
        )


class FiveCrop(nn.Module):
    """(top left, top right, bottom left, bottom right, middle) crops of size `size`.

    Shape: (*, H, W) -> five of (*, h, w)
    Raises:
        ValueError: the size is too large, as in `FiveCrop(3)(ones(1, 2, 2))`.

    >>> len(FiveCrop(2)(ones(1, 4, 4)))
    5
    """

    def __init__(self, size):
        super().__init__()
        self.size = size_pair(size)

    def forward(self, img):
        return F.five_crop(img, self.size)

    def __repr__(self):
        return f"{type(self).__name__}(size={self.size})"


class TenCrop(nn.Module):
    """The five crops of the image and of its mirror image, upside down if `vertical_flip`.

    Shape: (*, H, W) -> ten of (*, h, w)
    Raises:
        ValueError: the size is too large, as in `TenCrop(3)(ones(1, 2, 2))`.

    >>> len(TenCrop(2)(ones(1, 4, 4)))
    10
    """

    def __init__(self, size, vertical_flip=False):
        super().__init__()
        self.size = size_pair(size)
        self.vertical_flip = vertical_flip

    def forward(self, img):
        return F.ten_crop(img, self.size, self.vertical_flip)

    def __repr__(self):
        return f"{type(self).__name__}(size={self.size}, vertical_flip={self.vertical_flip})"


class RandomHorizontalFlip(nn.Module):
    """Left and right exchanged with probability `p`.

    Shape: (*, H, W) -> the same

    >>> RandomHorizontalFlip(1.0)(tensor([[[1, 2]]]))
    tensor([[[2, 1]]])
    """

    def __init__(self, p=0.5):
        super().__init__()
        self.p = p

    def forward(self, img):
        return F.hflip(img) if draw.chance(self.p) else img

    def __repr__(self):
        return f"{type(self).__name__}(p={self.p})"


class RandomVerticalFlip(nn.Module):
    """Top and bottom exchanged with probability `p`.

    Shape: (*, H, W) -> the same

    >>> RandomVerticalFlip(1.0)(tensor([[[1], [2]]])).flatten()
    tensor([2, 1])
    """

    def __init__(self, p=0.5):
        super().__init__()
        self.p = p

    def forward(self, img):
        return F.vflip(img) if draw.chance(self.p) else img

    def __repr__(self):
        return f"{type(self).__name__}(p={self.p})"


def _mode(interpolation):
    """torchvision's classes take anything but an int as it is, and leave its check to the call."""
    return as_mode(interpolation) if isinstance(interpolation, int) else interpolation
