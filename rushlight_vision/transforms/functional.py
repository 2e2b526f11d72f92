"""Image transforms as functions: each takes a PIL image or a tensor (..., C, H, W) and returns the same kind.

Here are the arguments and their checks; what happens to pixels is in `_functional_pil` and `_functional_tensor`.
"""

import math
import numbers
import warnings
from typing import Any

import numpy as np

from rushlight import Tensor
from rushlight_vision.transforms import _functional_pil, _functional_tensor
from rushlight_vision.transforms.convert import pil_to_tensor, to_pil_image, to_tensor
from rushlight_vision.transforms.interpolation import PIL_CODES, InterpolationMode, as_mode

__all__ = [
    "InterpolationMode",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "adjust_sharpness",
    "affine",
    "autocontrast",
    "center_crop",
    "convert_image_dtype",
    "crop",
    "elastic_transform",
    "equalize",
    "erase",
    "five_crop",
    "gaussian_blur",
    "get_dimensions",
    "get_image_num_channels",
    "get_image_size",
    "hflip",
    "invert",
    "normalize",
    "pad",
    "perspective",
    "pil_to_tensor",
    "posterize",
    "resize",
    "resized_crop",
    "rgb_to_grayscale",
    "rotate",
    "solarize",
    "ten_crop",
    "to_grayscale",
    "to_pil_image",
    "to_tensor",
    "vflip",
]


def _of(img):
    """The module that handles this kind of image."""
    return _functional_tensor if isinstance(img, Tensor) else _functional_pil


# What an image is


def get_dimensions(img):
    """[channels, height, width] of an image.

    Shape: (*, C, H, W) -> three numbers (C, H, W)
    Raises:
        TypeError: `img` is neither tensor nor PIL image, as in `get_dimensions(1)`.

    >>> get_dimensions(ones(3, 4, 5))
    [3, 4, 5]
    """
    return _of(img).get_dimensions(img)


def get_image_size(img):
    """[width, height] of an image.

    Shape: (*, C, H, W) -> two numbers (W, H)
    Raises:
        TypeError: `img` is neither tensor nor PIL image, as in `get_image_size(1)`.

    >>> get_image_size(ones(3, 4, 5))
    [5, 4]
    """
    _, height, width = get_dimensions(img)
    return [width, height]


def get_image_num_channels(img):
    """The number of channels of an image.

    Shape: (*, C, H, W) -> int
    Raises:
        TypeError: `img` is neither tensor nor PIL image, as in `get_image_num_channels(1)`.

    >>> get_image_num_channels(ones(3, 4, 5))
    3
    """
    return get_dimensions(img)[0]


# Values of tensors


def convert_image_dtype(image, dtype=None):
    """The tensor in another type, its values scaled: an integer type's range becomes [0, 1].

    Args:
        dtype: float32 by default.
    Shape: (*) -> (*)
    Raises:
        RuntimeError: the values would overflow, as in `convert_image_dtype(ones(1, 2, 2), int64)`.

    >>> convert_image_dtype(tensor([0, 255], dtype=uint8))
    tensor([0., 1.])
    """
    if not isinstance(image, Tensor):
        raise TypeError("Input img should be Tensor Image")
    return _functional_tensor.convert_image_dtype(image, dtype)


def normalize(tensor, mean, std, inplace=False):
    """(tensor - mean) / std, channel by channel.

    Args:
        mean, std: a number for each channel.
        inplace: whether to write the result into `tensor`.
    Shape: (*, C, H, W) -> (*, C, H, W)
    Raises:
        TypeError: the tensor is of integers, as in `normalize(tensor([[[1]]]), [0.5], [0.5])`.
        ValueError: a deviation is 0, as in `normalize(ones(1, 1, 1), [0.5], [0.0])`.

    >>> normalize(tensor([[[0.0, 1.0]]]), [0.5], [0.5])
    tensor([[[-1.,  1.]]])
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(tensor)}")
    return _functional_tensor.normalize(tensor, mean, std, inplace)


def erase(img, i, j, h, w, v, inplace=False):
    """The tensor with the value(s) `v` in the rectangle of h rows from row i and w columns from column j.

    Args:
        inplace: whether to write the result into `img`.
    Shape: (*, C, H, W) -> (*, C, H, W)
    Raises:
        TypeError: `img` is not a tensor, as in `erase([1], 0, 0, 1, 1, 0)`.

    >>> erase(ones(1, 2, 2), 0, 0, 1, 1, 0.0)
    tensor([[[0., 1.],
             [1., 1.]]])
    """
    if not isinstance(img, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(img)}")
    return _functional_tensor.erase(img, i, j, h, w, v, inplace)


# Size and place


def resize(img, size, interpolation=InterpolationMode.BILINEAR, max_size=None, antialias: bool | None = True):
    """The image in another size.

    Args:
        img: a tensor or a PIL image.
        size: (h, w), or an int for the shorter edge, the longer then limited by `max_size`.
        antialias: of tensors under BILINEAR and BICUBIC; PIL images are always antialiased under these.
    Shape: (*, C, H, W) -> (*, C, h, w)
    Raises:
        TypeError: `size` is neither an int nor a sequence, as in `resize(ones(1, 2, 2), "x")`.

    >>> resize(ones(3, 4, 8), 2).shape
    torch.Size([3, 2, 4])
    """
    mode = as_mode(interpolation)
    if isinstance(size, (list, tuple)):
        if len(size) not in (1, 2):
            raise ValueError(
                f"Size must be an int or a 1 or 2 element tuple/list, not a {len(size)} element tuple/list"
            )
        if max_size is not None and len(size) != 1:
            raise ValueError(
                "max_size should only be passed if size specifies the length of the smaller edge, "
                "i.e. size should be an int or a sequence of length 1 in torchscript mode."
            )
    _, height, width = get_dimensions(img)
    output_size = _resized((height, width), [size] if isinstance(size, int) else size, max_size)
    if output_size == [height, width]:
        return img
    if isinstance(img, Tensor):
        return _functional_tensor.resize(img, output_size, mode.value, bool(antialias))
    if antialias is False:
        warnings.warn(
            "Anti-alias option is always applied for PIL Image input. Argument antialias is ignored.", stacklevel=2
        )
    return _functional_pil.resize(img, output_size, PIL_CODES[mode])


def _resized(image_size, size, max_size):
    if len(size) == 2:
        return list(size)
    height, width = image_size
    short, long = sorted(image_size)
    new_short, new_long = size[0], int(size[0] * long / short)
    if max_size is not None:
        if max_size <= new_short:
            raise ValueError(
                f"max_size = {max_size} must be strictly greater than the requested "
                f"size for the smaller edge size = {size}"
            )
        if new_long > max_size:
            new_short, new_long = int(max_size * new_short / new_long), max_size
    return [new_long, new_short] if width <= height else [new_short, new_long]


def pad(img, padding, fill: Any = 0, padding_mode="constant"):
    """The image with a border of `padding` pixels.

    Args:
        img: a tensor or a PIL image.
        padding: one number, (left and right, top and bottom), or (left, top, right, bottom).
        fill: the value of "constant", for PIL images a number or one per channel.
        padding_mode: "constant", "edge" (repeats the border), "reflect" (mirrors without the border), "symmetric" (with
            it).
    Shape: (*, H, W) -> (*, top + H + bottom, left + W + right)
    Raises:
        ValueError: `padding_mode` is another text, as in `pad(ones(1, 2, 2), 1, padding_mode="x")`.

    >>> pad(ones(1, 1, 1), (1, 0), 9)
    tensor([[[9., 1., 9.]]])
    """
    return _of(img).pad(img, padding, fill, padding_mode)


def crop(img, top, left, height, width):
    """The part of the image of that place and size; what is outside the image is 0.

    Args:
        img: a tensor or a PIL image.
    Shape: (*, H, W) -> (*, height, width)

    >>> crop(arange(16).reshape(1, 4, 4), 1, 1, 2, 2)
    tensor([[[ 5,  6],
             [ 9, 10]]])
    """
    return _of(img).crop(img, top, left, height, width)


def center_crop(img, output_size):
    """The middle of the image; a smaller image is padded with 0.

    Args:
        img: a tensor or a PIL image.
        output_size: an int or (h, w).
    Shape: (*, H, W) -> (*, h, w)

    >>> center_crop(arange(16).reshape(1, 4, 4), 2)
    tensor([[[ 5,  6],
             [ 9, 10]]])
    """
    crop_height, crop_width = _pair(output_size)
    _, height, width = get_dimensions(img)
    if crop_width > width or crop_height > height:
        wide, high = max(crop_width - width, 0), max(crop_height - height, 0)
        img = pad(img, [wide // 2, high // 2, (wide + 1) // 2, (high + 1) // 2], fill=0)
        _, height, width = get_dimensions(img)
        if (crop_height, crop_width) == (height, width):
            return img
    top = round((height - crop_height) / 2.0)
    left = round((width - crop_width) / 2.0)
    return crop(img, top, left, crop_height, crop_width)


def resized_crop(img, top, left, height, width, size, interpolation=InterpolationMode.BILINEAR, antialias=True):
    """`crop`, then `resize`.

    Args:
        img: a tensor or a PIL image.
        size: (h, w), or an int for the shorter edge.
        antialias: as in `resize`.
    Shape: (*, C, H, W) -> (*, C, h, w)

    >>> resized_crop(ones(3, 4, 8), 0, 0, 2, 2, (5, 6)).shape
    torch.Size([3, 5, 6])
    """
    return resize(crop(img, top, left, height, width), size, interpolation, antialias=antialias)


def five_crop(img, size):
    """(top left, top right, bottom left, bottom right, middle) crops.

    Args:
        img: a tensor or a PIL image.
        size: an int or (h, w).
    Shape: (*, H, W) -> five of (*, h, w)
    Raises:
        ValueError: the size is too large, as in `five_crop(ones(1, 2, 2), 3)`.

    >>> five_crop(arange(9).reshape(1, 3, 3), 1)[4]
    tensor([[[4]]])
    """
    crop_height, crop_width = _pair(size)
    _, height, width = get_dimensions(img)
    if crop_width > width or crop_height > height:
        raise ValueError(f"Requested crop size {(crop_height, crop_width)} is bigger than input size {(height, width)}")
    bottom, right = height - crop_height, width - crop_width
    corners = [(0, 0), (0, right), (bottom, 0), (bottom, right)]
    return (
        *(crop(img, top, left, crop_height, crop_width) for top, left in corners),
        center_crop(img, [crop_height, crop_width]),
    )


def ten_crop(img, size, vertical_flip=False):
    """`five_crop` of the image and of its mirror image.

    Args:
        img: a tensor or a PIL image.
        size: an int or (h, w).
        vertical_flip: whether the mirror image is upside down rather than left to right.
    Shape: (*, H, W) -> ten of (*, h, w)
    Raises:
        ValueError: the size is too large, as in `ten_crop(ones(1, 2, 2), 3)`.

    >>> len(ten_crop(ones(1, 3, 3), 1))
    10
    """
    return five_crop(img, size) + five_crop(vflip(img) if vertical_flip else hflip(img), size)


def _pair(size):
    if _functional_pil.is_number(size):
        return int(size), int(size)
    if len(size) == 1:
        return size[0], size[0]
    if len(size) != 2:
        raise ValueError("Please provide only two dimensions (h, w) for size.")
    return tuple(size)


# Movement


def hflip(img):
    """The image with left and right exchanged.

    Args:
        img: a tensor or a PIL image.
    Shape: (*, H, W) -> (*, H, W)

    >>> hflip(tensor([[[1, 2], [3, 4]]]))
    tensor([[[2, 1],
             [4, 3]]])
    """
    return _of(img).hflip(img)


def vflip(img):
    """The image with top and bottom exchanged.

    Args:
        img: a tensor or a PIL image.
    Shape: (*, H, W) -> (*, H, W)

    >>> vflip(tensor([[[1, 2], [3, 4]]]))
    tensor([[[3, 4],
             [1, 2]]])
    """
    return _of(img).vflip(img)


def rotate(img, angle, interpolation=InterpolationMode.NEAREST, expand=False, center=None, fill=None):
    """The image turned counter-clockwise by `angle` degrees.

    Args:
        img: a tensor or a PIL image.
        expand: whether the result is large enough for the whole image.
        center: (x, y) of what stays; the middle by default.
        fill: the value outside of the image, one number or one per channel; 0 by default.
    Shape: (*, C, H, W) -> (*, C, H, W), or larger with `expand`
    Raises:
        ValueError: `center` has not two numbers, as in `rotate(ones(1, 2, 2), 90, center=[1])`.

    >>> rotate(tensor([[[1.0, 2.0], [3.0, 4.0]]]), 90)
    tensor([[[2., 4.],
             [1., 3.]]])
    """
    mode = as_mode(interpolation)
    if not isinstance(angle, (int, float)):
        raise TypeError("Argument angle should be int or float")
    _check_center(center)
    if not isinstance(img, Tensor):
        return _functional_pil.rotate(img, angle, PIL_CODES[mode], expand, center, fill)
    matrix = _inverse_affine(_from_middle(img, center), -angle, [0.0, 0.0], 1.0, [0.0, 0.0])
    return _functional_tensor.affine(img, matrix, mode.value, fill, expand)


def affine(img, angle, translate, scale, shear, interpolation=InterpolationMode.NEAREST, fill=None, center=None):
    """The image turned clockwise by `angle` degrees, scaled, sheared by degrees (x, y) and moved by pixels (x, y).

    Args:
        img: a tensor or a PIL image.
        fill: the value outside of the image, one number or one per channel; 0 by default.
        center: (x, y) of what stays; the middle by default.
    Shape: (*, C, H, W) -> (*, C, H, W)
    Raises:
        ValueError: `scale` is not positive, as in `affine(ones(1, 2, 2), 0, [0, 0], 0.0, [0.0])`.

    >>> affine(tensor([[[1.0, 2.0], [3.0, 4.0]]]), 0, [1, 0], 1.0, [0.0])
    tensor([[[0., 1.],
             [0., 3.]]])
    """
    mode = as_mode(interpolation)
    if not isinstance(angle, (int, float)):
        raise TypeError("Argument angle should be int or float")
    if not isinstance(translate, (list, tuple)):
        raise TypeError("Argument translate should be a sequence")
    if len(translate) != 2:
        raise ValueError("Argument translate should be a sequence of length 2")
    if scale <= 0.0:
        raise ValueError("Argument scale should be positive")
    shear = _shear_pair(shear)
    _check_center(center)
    if isinstance(img, Tensor):
        matrix = _inverse_affine(_from_middle(img, center), angle, translate, scale, shear)
        return _functional_tensor.affine(img, matrix, mode.value, fill)
    _, height, width = get_dimensions(img)
    matrix = _inverse_affine(center or [width * 0.5, height * 0.5], angle, translate, scale, shear)
    return _functional_pil.transform(img, "AFFINE", matrix, PIL_CODES[mode], fill)


def _shear_pair(shear):
    if not isinstance(shear, (numbers.Number, list, tuple)):
        raise TypeError("Shear should be either a single value or a sequence of two values")
    if isinstance(shear, numbers.Number):
        return [shear, 0.0]
    shear = [shear[0], shear[0]] if len(shear) == 1 else list(shear)
    if len(shear) != 2:
        raise ValueError(f"Shear should be a sequence containing two values. Got {shear}")
    return shear


def _check_center(center):
    if center is not None and not isinstance(center, (list, tuple)):
        raise TypeError("Argument center should be a sequence")


def _from_middle(img, center):
    """`center`, given in pixels from the top left, in pixels from the middle of the image."""
    if center is None:
        return [0.0, 0.0]
    return [c - size * 0.5 for c, size in zip(center, get_image_size(img), strict=True)]


def _inverse_affine(center, angle, translate, scale, shear):
    """The six numbers that map a pixel of the result to the pixel of the image that it shows.

    The forward map is T C R S C^-1 with T the translation, C the centre, R the turn and S scale and shear
    [[1, -tan(sx)], [-tan(sy), 1 + tan(sx) tan(sy)]]; its linear part has determinant scale^2.
    """
    turn, sx, sy = math.radians(angle), math.radians(shear[0]), math.radians(shear[1])
    (cx, cy), (tx, ty) = center, translate
    a = math.cos(turn - sy) / math.cos(sy)
    b = -math.cos(turn - sy) * math.tan(sx) / math.cos(sy) - math.sin(turn)
    c = math.sin(turn - sy) / math.cos(sy)
    d = -math.sin(turn - sy) * math.tan(sx) / math.cos(sy) + math.cos(turn)
    xx, xy, yx, yy = d / scale, -b / scale, -c / scale, a / scale
    x = xx * (-cx - tx) + xy * (-cy - ty) + cx
    y = yx * (-cx - tx) + yy * (-cy - ty) + cy
    return [xx, xy, x, yx, yy, y]


def perspective(img, startpoints, endpoints, interpolation=InterpolationMode.BILINEAR, fill=None):
    """The image seen so that the four corners `startpoints` (x, y) are mapped to `endpoints`.

    Args:
        img: a tensor or a PIL image.
        startpoints, endpoints: corners in the order top left, top right, bottom right, bottom left.
        fill: the value outside of the image, one number or one per channel; 0 by default.
    Shape: (*, C, H, W) -> (*, C, H, W)

    >>> perspective(ones(1, 2, 2), [[0, 0], [1, 0], [1, 1], [0, 1]], [[0, 0], [1, 0], [1, 1], [0, 1]]).shape
    torch.Size([1, 2, 2])
    """
    mode = as_mode(interpolation)
    coefficients = _perspective_coefficients(startpoints, endpoints)
    if isinstance(img, Tensor):
        return _functional_tensor.perspective(img, coefficients, mode.value, fill)
    return _functional_pil.transform(img, "PERSPECTIVE", coefficients, PIL_CODES[mode], fill)


def _perspective_coefficients(startpoints, endpoints):
    """(a ... h) with x' = (ax + by + c) / (gx + hy + 1), y' = (dx + ey + f) / (gx + hy + 1) from end to start."""
    if len(startpoints) != 4 or len(endpoints) != 4:
        raise ValueError(
            f"Please provide exactly four corners, got {len(startpoints)} startpoints and {len(endpoints)} endpoints."
        )
    rows = []
    for (x, y), (u, v) in zip(endpoints, startpoints, strict=True):
        rows.append([x, y, 1, 0, 0, 0, -u * x, -u * y])
        rows.append([0, 0, 0, x, y, 1, -v * x, -v * y])
    solution = np.linalg.lstsq(np.array(rows, np.float64), np.array(startpoints, np.float64).reshape(8))[0]
    return solution.astype(np.float32).tolist()


def elastic_transform(img, displacement, interpolation=InterpolationMode.BILINEAR, fill=None):
    """The image with each pixel taken from its place plus `displacement`.

    Args:
        img: a tensor or a PIL image.
        displacement: (1, H, W, 2), (x, y) in halves of the size.
        fill: the value outside of the image, one number or one per channel; 0 by default.
    Shape: (*, C, H, W) -> (*, C, H, W)
    Raises:
        TypeError: `displacement` is not a tensor, as in `elastic_transform(ones(1, 2, 2), 1.0)`.

    >>> elastic_transform(ones(1, 2, 2), zeros(1, 2, 2, 2)).shape
    torch.Size([1, 2, 2])
    """
    mode = as_mode(interpolation)
    if not isinstance(displacement, Tensor):
        raise TypeError("Argument displacement should be a Tensor")
    if not isinstance(img, Tensor) and not _functional_pil.is_pil_image(img):
        raise TypeError(f"img should be PIL Image or Tensor. Got {type(img)}")
    tensor = img if isinstance(img, Tensor) else pil_to_tensor(img)
    shape = (1, *tensor.shape[-2:], 2)
    if shape != tuple(displacement.shape):
        raise ValueError(f"Argument displacement shape should be {shape}, but given {displacement.shape}")
    moved = _functional_tensor.elastic(tensor, displacement.numpy()[0], mode.value, fill)
    return moved if isinstance(img, Tensor) else to_pil_image(moved, mode=img.mode)


# Colour


def adjust_brightness(img, brightness_factor):
    """The image brighter (factor above 1) or darker (below 1; 0 is black).

    Args:
        img: a tensor or a PIL image.
    Shape: (*, C, H, W) -> (*, C, H, W)
    Raises:
        ValueError: the factor is negative, as in `adjust_brightness(ones(1, 2, 2), -1.0)`.

    >>> adjust_brightness(full((1, 1, 2), 0.5), 1.5)
    tensor([[[0.7500, 0.7500]]])
    """
    return _of(img).adjust_brightness(img, brightness_factor)


def adjust_contrast(img, contrast_factor):
    """The image with more (factor above 1) or less contrast (below 1; 0 is grey).

    Args:
        img: a tensor or a PIL image.
    Shape: (*, C, H, W) -> (*, C, H, W)
    Raises:
        ValueError: the factor is negative, as in `adjust_contrast(ones(1, 2, 2), -1.0)`.

    >>> adjust_contrast(tensor([[[0.0, 1.0]]]), 0.5)
    tensor([[[0.2500, 0.7500]]])
    """
    return _of(img).adjust_contrast(img, contrast_factor)


def adjust_saturation(img, saturation_factor):
    """The image with stronger (factor above 1) or weaker colours (below 1; 0 is black and white).

    Args:
        img: a tensor or a PIL image.
    Shape: (*, C, H, W) -> (*, C, H, W)
    Raises:
        ValueError: the factor is negative, as in `adjust_saturation(ones(3, 2, 2), -1.0)`.

    >>> adjust_saturation(tensor([1.0, 0.0, 0.0]).reshape(3, 1, 1), 0.0).flatten()
    tensor([0.2989, 0.2989, 0.2989])
    """
    return _of(img).adjust_saturation(img, saturation_factor)


def adjust_hue(img, hue_factor):
    """The image with its hues turned by `hue_factor` of the colour circle.

    Args:
        img: a tensor or a PIL image.
        hue_factor: in [-0.5, 0.5].
    Shape: (*, C, H, W) -> (*, C, H, W)
    Raises:
        ValueError: the factor is outside, as in `adjust_hue(ones(3, 2, 2), 1.0)`.

    >>> adjust_hue(tensor([1.0, 0.0, 0.0]).reshape(3, 1, 1), 0.5).flatten()
    tensor([0., 1., 1.])
    """
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    return _of(img).adjust_hue(img, hue_factor)


def adjust_gamma(img, gamma, gain: float = 1):
    """gain * value^gamma, for values in [0, 1].

    Args:
        img: a tensor or a PIL image.
    Shape: (*, C, H, W) -> (*, C, H, W)
    Raises:
        ValueError: `gamma` is negative, as in `adjust_gamma(ones(1, 2, 2), -1.0)`.

    >>> adjust_gamma(tensor([[[0.5, 1.0]]]), 2)
    tensor([[[0.2500, 1.0000]]])
    """
    if gamma < 0:
        raise ValueError("Gamma should be a non-negative real number")
    return _of(img).adjust_gamma(img, gamma, gain)


def adjust_sharpness(img, sharpness_factor):
    """The image sharper (factor above 1) or softer (below 1).

    Args:
        img: a tensor or a PIL image.
    Shape: (*, C, H, W) -> (*, C, H, W)
    Raises:
        ValueError: the factor is negative, as in `adjust_sharpness(ones(3, 4, 4), -1.0)`.

    >>> adjust_sharpness(ones(1, 3, 3), 2.0).sum()
    tensor(9.)
    """
    return _of(img).adjust_sharpness(img, sharpness_factor)


def rgb_to_grayscale(img, num_output_channels=1):
    """The image in grey.

    Args:
        img: a tensor or a PIL image.
        num_output_channels: 1, or 3 for equal ones.
    Shape: (*, 3, H, W) -> (*, 1, H, W) or (*, 3, H, W)
    Raises:
        ValueError: the number of channels is another, as in `rgb_to_grayscale(ones(3, 2, 2), 2)`.

    >>> rgb_to_grayscale(ones(3, 1, 1)).shape
    torch.Size([1, 1, 1])
    """
    return _of(img).rgb_to_grayscale(img, num_output_channels)


def to_grayscale(img, num_output_channels=1):
    """`rgb_to_grayscale` for PIL images of any mode.

    Args:
        img: a PIL image.
        num_output_channels: 1, or 3 for equal ones.
    Shape: (H, W) or (H, W, 3) -> (H, W) or (H, W, 3)
    Raises:
        TypeError: `img` is a tensor, as in `to_grayscale(ones(3, 2, 2))`.
    """
    if isinstance(img, Tensor):
        raise TypeError("Input should be PIL Image")
    return _functional_pil.rgb_to_grayscale(img, num_output_channels)


def invert(img):
    """Each value v as the largest value minus v.

    Args:
        img: a tensor or a PIL image.
    Shape: (*, C, H, W) -> (*, C, H, W)

    >>> invert(tensor([[[0.25, 1.0]]]))
    tensor([[[0.7500, 0.0000]]])
    """
    return _of(img).invert(img)


def posterize(img, bits):
    """Each value (uint8) with its upper `bits` bits alone.

    Args:
        img: a tensor or a PIL image.
    Shape: (*, C, H, W) -> (*, C, H, W)
    Raises:
        ValueError: `bits` is outside 0 to 8, as in `posterize(zeros(1, 2, 2, dtype=uint8), 9)`.
        TypeError: a tensor is of another type, as in `posterize(ones(1, 2, 2), 2)`.

    >>> posterize(tensor([[[255, 100]]], dtype=uint8), 1)
    tensor([[[128,   0]]], dtype=torch.uint8)
    """
    if not 0 <= bits <= 8:
        raise ValueError(f"The number if bits should be between 0 and 8. Got {bits}")
    return _of(img).posterize(img, bits)


def solarize(img, threshold):
    """Values from `threshold` on inverted.

    Args:
        img: a tensor or a PIL image.
    Shape: (*, C, H, W) -> (*, C, H, W)
    Raises:
        TypeError: the threshold is above the largest value, as in `solarize(ones(1, 2, 2), 2.0)`.

    >>> solarize(tensor([[[0.25, 0.75]]]), 0.5)
    tensor([[[0.2500, 0.2500]]])
    """
    return _of(img).solarize(img, threshold)


def autocontrast(img):
    """Each channel stretched so that its lowest value becomes black and its highest white.

    Args:
        img: a tensor or a PIL image.
    Shape: (*, C, H, W) -> (*, C, H, W)

    >>> autocontrast(tensor([[[0.25, 0.5]]]))
    tensor([[[0., 1.]]])
    """
    return _of(img).autocontrast(img)


def equalize(img):
    """Each channel (uint8) with its values spread so that they are about equally frequent.

    Args:
        img: a tensor or a PIL image.
    Shape: (*, C, H, W) -> (*, C, H, W)
    Raises:
        TypeError: a tensor is of another type, as in `equalize(ones(1, 2, 2))`.

    >>> equalize(tensor([[[10, 20], [30, 40]]], dtype=uint8))
    tensor([[[10, 20],
             [30, 40]]], dtype=torch.uint8)
    """
    return _of(img).equalize(img)


def gaussian_blur(img, kernel_size, sigma=None):
    """The image convolved with a Gaussian.

    Args:
        img: a tensor or a PIL image.
        kernel_size: an odd int or (x, y).
        sigma: the standard deviation, a number or (x, y); 0.3 ((kernel_size - 1) / 2 - 1) + 0.8 by default.
    Shape: (*, C, H, W) -> (*, C, H, W)
    Raises:
        ValueError: the size is even, as in `gaussian_blur(ones(1, 4, 4), 2)`.
        ValueError: `sigma` is not positive, as in `gaussian_blur(ones(1, 4, 4), 3, 0.0)`.

    >>> gaussian_blur(ones(1, 4, 4), 3).shape
    torch.Size([1, 4, 4])
    """
    sizes = [kernel_size, kernel_size] if isinstance(kernel_size, int) else kernel_size
    if not isinstance(sizes, (list, tuple)):
        raise TypeError(f"kernel_size should be int or a sequence of integers. Got {type(kernel_size)}")
    if len(sizes) != 2:
        raise ValueError(f"If kernel_size is a sequence its length should be 2. Got {len(sizes)}")
    if any(size % 2 == 0 or size < 0 for size in sizes):
        raise ValueError(f"kernel_size should have odd and positive integers. Got {sizes}")
    sigmas = [size * 0.15 + 0.35 for size in sizes] if sigma is None else sigma
    if not isinstance(sigmas, (int, float, list, tuple)):
        raise TypeError(f"sigma should be either float or sequence of floats. Got {type(sigma)}")
    if isinstance(sigmas, (int, float)) or len(sigmas) == 1:
        sigmas = [sigmas if isinstance(sigmas, (int, float)) else sigmas[0]] * 2
    if len(sigmas) != 2:
        raise ValueError(f"If sigma is a sequence, its length should be 2. Got {len(sigmas)}")
    if any(s <= 0.0 for s in sigmas):
        raise ValueError(f"sigma should have positive values. Got {sigmas}")
    if isinstance(img, Tensor):
        return _functional_tensor.gaussian_blur(img, sizes, sigmas)
    _functional_pil.check(img)
    return to_pil_image(_functional_tensor.gaussian_blur(pil_to_tensor(img), sizes, sigmas), mode=img.mode)
