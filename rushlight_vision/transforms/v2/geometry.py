"""Transforms of size, place and movement, of images together with their masks, boxes and points."""

from collections.abc import Sequence
from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight_vision import tv_tensors
from rushlight_vision.ops.boxes import box_iou
from rushlight_vision.transforms import draw, elastic, rotation
from rushlight_vision.transforms import functional as F1
from rushlight_vision.transforms import geometry as v1
from rushlight_vision.transforms.arguments import angle_range, check_length, check_scale_and_ratio, size_pair
from rushlight_vision.transforms.v2 import functional as F
from rushlight_vision.transforms.v2.functional.kinds import is_image, plain
from rushlight_vision.transforms.v2.transform import (
    RandomTransform,
    Transform,
    fill_for,
    fills,
    get_bounding_boxes,
    has_any,
    query_size,
)


class RandomHorizontalFlip(RandomTransform):
    """Left and right exchanged with probability `p`."""

    def transform(self, inpt, params):
        return self._call_kernel(F.horizontal_flip, inpt)


class RandomVerticalFlip(RandomTransform):
    """Top and bottom exchanged with probability `p`."""

    def transform(self, inpt, params):
        return self._call_kernel(F.vertical_flip, inpt)


class Resize(Transform):
    """In another size: (h, w), or an int for the shorter edge; or None for a longer edge of `max_size`."""

    def __init__(self, size, interpolation: Any = "bilinear", max_size=None, antialias=True):
        super().__init__()
        if size is None:
            if not isinstance(max_size, int):
                raise ValueError(f"max_size must be an integer when size is None, but got {max_size} instead.")
        elif isinstance(size, int):
            size = [size]
        elif isinstance(size, Sequence) and len(size) in (1, 2):
            size = list(size)
        else:
            raise ValueError(
                f"size can be an integer, a sequence of one or two integers, or None, but got {size} instead."
            )
        self.size = size
        self.interpolation = interpolation
        self.max_size = max_size
        self.antialias = antialias

    def transform(self, inpt, params):
        return self._call_kernel(F.resize, inpt, self.size, self.interpolation, self.max_size, self.antialias)


class _DrawnSize(Transform):
    """Resized to a size that make_params draws."""

    def _keep(self, interpolation, antialias):
        self.interpolation = interpolation
        self.antialias = antialias

    def transform(self, inpt, params):
        return self._call_kernel(F.resize, inpt, params["size"], self.interpolation, antialias=self.antialias)


class RandomResize(_DrawnSize):
    """The shorter edge drawn from min_size up to, but without, max_size."""

    def __init__(self, min_size, max_size, interpolation: Any = "bilinear", antialias=True):
        super().__init__()
        self.min_size = min_size
        self.max_size = max_size
        self._keep(interpolation, antialias)

    def make_params(self, flat_inputs):
        return {"size": [int(torch.randint(self.min_size, self.max_size, ()))]}


class RandomShortestSize(_DrawnSize):
    """The shorter edge one of `min_size`, the longer not above `max_size`."""

    def __init__(self, min_size, max_size=None, interpolation: Any = "bilinear", antialias=True):
        super().__init__()
        self.min_size = [min_size] if isinstance(min_size, int) else list(min_size)
        self.max_size = max_size
        self._keep(interpolation, antialias)

    def make_params(self, flat_inputs):
        height, width = query_size(flat_inputs)
        ratio = self.min_size[int(torch.randint(len(self.min_size), ()))] / min(height, width)
        if self.max_size is not None:
            ratio = min(ratio, self.max_size / max(height, width))
        return {"size": (int(height * ratio), int(width * ratio))}


class ScaleJitter(_DrawnSize):
    """Fitted into `target_size`, times a factor drawn from `scale_range`."""

    def __init__(self, target_size, scale_range=(0.1, 2.0), interpolation: Any = "bilinear", antialias=True):
        super().__init__()
        self.target_size = target_size
        self.scale_range = scale_range
        self._keep(interpolation, antialias)

    def make_params(self, flat_inputs):
        height, width = query_size(flat_inputs)
        low, high = self.scale_range
        scale = low + torch.rand(1) * (high - low)
        ratio = min(self.target_size[1] / height, self.target_size[0] / width) * scale
        return {"size": (int(height * ratio), int(width * ratio))}


class CenterCrop(Transform):
    """The middle, of size `size`."""

    def __init__(self, size):
        super().__init__()
        self.size = size_pair(size)

    def transform(self, inpt, params):
        return self._call_kernel(F.center_crop, inpt, self.size)


class RandomResizedCrop(Transform):
    """A random part of that share of the area and aspect, resized; see the first version's."""

    def __init__(
        self, size, scale=(0.08, 1.0), ratio=(3.0 / 4.0, 4.0 / 3.0), interpolation: Any = "bilinear", antialias=True
    ):
        super().__init__()
        self.size = size_pair(size)
        check_scale_and_ratio(scale, ratio)
        self.scale = scale
        self.ratio = ratio
        self.interpolation = interpolation
        self.antialias = antialias

    def make_params(self, flat_inputs):
        canvas = torch.empty(1, *query_size(flat_inputs))
        names = ("top", "left", "height", "width")
        return dict(zip(names, v1.RandomResizedCrop.get_params(canvas, self.scale, self.ratio)))

    def transform(self, inpt, params):
        options = {"interpolation": self.interpolation, "antialias": self.antialias}
        return self._call_kernel(F.resized_crop, inpt, **params, size=self.size, **options)


class _Crops(Transform):
    def __init__(self, size):
        super().__init__()
        self.size = size_pair(size)

    def check_inputs(self, flat_inputs):
        if has_any(flat_inputs, tv_tensors.BoundingBoxes, tv_tensors.Mask):
            raise TypeError(f"BoundingBoxes'es and Mask's are not supported by {type(self).__name__}()")


class FiveCrop(_Crops):
    """The four corners and the middle."""

    def transform(self, inpt, params):
        return self._call_kernel(F.five_crop, inpt, self.size)


class TenCrop(_Crops):
    """The five crops of the image and of its mirror image."""

    def __init__(self, size, vertical_flip=False):
        super().__init__(size)
        self.vertical_flip = vertical_flip

    def transform(self, inpt, params):
        return self._call_kernel(F.ten_crop, inpt, self.size, self.vertical_flip)


def _check_padding(padding, padding_mode="constant"):
    sides = padding if isinstance(padding, (tuple, list)) else [padding]
    if len(sides) not in (1, 2, 4) or not all(isinstance(side, int) for side in sides):
        raise ValueError(f"Padding must be an int or a 1, 2, or 4 element of tuple or list, got {padding}.")
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")


class Pad(Transform):
    """With a border; `fill` may be a dict from kinds to values."""

    def __init__(self, padding, fill: Any = 0, padding_mode="constant"):
        super().__init__()
        _check_padding(padding, padding_mode)
        self.padding = padding if isinstance(padding, int) else list(padding)
        self.fill = fill
        self._fill = fills(fill)
        self.padding_mode = padding_mode

    def transform(self, inpt, params):
        return self._call_kernel(F.pad, inpt, self.padding, fill_for(self._fill, inpt), self.padding_mode)


class RandomZoomOut(RandomTransform):
    """With probability `p` in a random place of a canvas larger by a factor drawn from `side_range`."""

    def __init__(self, fill: Any = 0, side_range=(1.0, 4.0), p=0.5):
        super().__init__(p=p)
        self.fill = fill
        self._fill = fills(fill)
        check_length(side_range, "side_range", (2,))
        self.side_range = side_range
        if side_range[0] < 1.0 or side_range[0] > side_range[1]:
            raise ValueError(f"Invalid side range provided {side_range}.")

    def make_params(self, flat_inputs):
        height, width = query_size(flat_inputs)
        low, high = self.side_range
        ratio = low + torch.rand(1) * (high - low)
        across, down = int(width * ratio) - width, int(height * ratio) - height
        place = torch.rand(2)
        left, top = int(across * place[0]), int(down * place[1])
        return {"padding": [left, top, across - left, down - top]}

    def transform(self, inpt, params):
        return self._call_kernel(F.pad, inpt, params["padding"], fill_for(self._fill, inpt))


class RandomCrop(Transform):
    """A random part of size `size`, of the image with `padding` around it."""

    def __init__(self, size, padding=None, pad_if_needed=False, fill: Any = 0, padding_mode="constant"):
        super().__init__()
        self.size = size_pair(size)
        if padding is not None:
            _check_padding(padding, padding_mode)
        self.padding = F1._functional_pil.padding_ltrb(padding, 0, "constant") if padding else None
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self._fill = fills(fill)
        self.padding_mode = padding_mode

    def make_params(self, flat_inputs):
        size = list(query_size(flat_inputs))
        border = [0, 0, 0, 0] if self.padding is None else list(self.padding)  # left, top, right, bottom
        start = []
        for axis in (0, 1):  # height, then width
            first, last = (1, 3) if axis == 0 else (0, 2)
            size[axis] += border[first] + border[last]
            missing = self.size[axis] - size[axis]
            if self.pad_if_needed and missing > 0:
                border[first] += missing
                border[last] += missing
                size[axis] += 2 * missing
        if any(have < want for have, want in zip(size, self.size)):
            raise ValueError(
                f"Required crop size {tuple(self.size)} is larger than "
                f"{'padded ' if self.padding is not None else ''}input image size {tuple(size)}."
            )
        for have, want in zip(size, self.size):
            start.append(int(torch.randint(0, have - want + 1, size=())) if have > want else 0)
        return {"border": border, "place": (*start, *self.size), "cut": tuple(size) != tuple(self.size)}

    def transform(self, inpt, params):
        if any(params["border"]):
            inpt = self._call_kernel(F.pad, inpt, params["border"], fill_for(self._fill, inpt), self.padding_mode)
        return self._call_kernel(F.crop, inpt, *params["place"]) if params["cut"] else inpt


class RandomRotation(Transform):
    """Turned by an angle drawn from `degrees`."""

    def __init__(self, degrees, interpolation: Any = "nearest", expand=False, center=None, fill: Any = 0):
        super().__init__()
        self.degrees = angle_range(degrees, "degrees")
        self.interpolation = interpolation
        self.expand = expand
        self.fill = fill
        self._fill = fills(fill)
        if center is not None:
            check_length(center, "center", (2,))
        self.center = center

    def make_params(self, flat_inputs):
        return {"angle": draw.uniform(*self.degrees)}

    def transform(self, inpt, params):
        options = (self.interpolation, self.expand, self.center, fill_for(self._fill, inpt))
        return self._call_kernel(F.rotate, inpt, params["angle"], *options)


class RandomAffine(Transform):
    """Turned, moved, scaled and sheared at random; see the first version's."""

    def __init__(
        self,
        degrees,
        translate=None,
        scale=None,
        shear=None,
        interpolation: Any = "nearest",
        fill: Any = 0,
        center=None,
    ):
        super().__init__()
        checked = rotation.RandomAffine(degrees, translate, scale, shear, center=center)
        self.degrees = checked.degrees
        self.translate = translate
        self.scale = scale
        self.shear = checked.shear
        self.interpolation = interpolation
        self.fill = fill
        self._fill = fills(fill)
        self.center = center

    def make_params(self, flat_inputs):
        height, width = query_size(flat_inputs)
        ranges = (self.degrees, self.translate, self.scale, self.shear)
        return {"moves": rotation.RandomAffine.get_params(*ranges, [width, height])}

    def transform(self, inpt, params):
        options = (self.interpolation, fill_for(self._fill, inpt), self.center)
        return self._call_kernel(F.affine, inpt, *params["moves"], *options)


class RandomPerspective(RandomTransform):
    """With probability `p`, each corner moved inwards at random by up to `distortion_scale` of half the size."""

    def __init__(self, distortion_scale=0.5, p=0.5, interpolation: Any = "bilinear", fill: Any = 0):
        super().__init__(p=p)
        if not (0 <= distortion_scale <= 1):
            raise ValueError("Argument distortion_scale value should be between 0 and 1")
        self.distortion_scale = distortion_scale
        self.interpolation = interpolation
        self.fill = fill
        self._fill = fills(fill)

    def make_params(self, flat_inputs):
        height, width = query_size(flat_inputs)
        return {"corners": rotation.RandomPerspective.get_params(width, height, self.distortion_scale)}

    def transform(self, inpt, params):
        fill = fill_for(self._fill, inpt)
        return self._call_kernel(F.perspective, inpt, *params["corners"], self.interpolation, fill)


class ElasticTransform(Transform):
    """Warped by smooth random displacements; see the first version's."""

    def __init__(
        self,
        alpha: float | Sequence[float] = 50.0,
        sigma: float | Sequence[float] = 5.0,
        interpolation: Any = "bilinear",
        fill: Any = 0,
    ):
        super().__init__()
        self.alpha = _two_floats(alpha, "alpha")
        self.sigma = _two_floats(sigma, "sigma")
        self.interpolation = interpolation
        self.fill = fill
        self._fill = fills(fill)

    def make_params(self, flat_inputs):
        size = list(query_size(flat_inputs))
        return {"displacement": elastic.ElasticTransform.get_params(self.alpha, self.sigma, size)}

    def transform(self, inpt, params):
        fill = fill_for(self._fill, inpt)
        return self._call_kernel(F.elastic, inpt, params["displacement"], self.interpolation, fill)


def _two_floats(value, name):
    if not isinstance(value, (int, float, Sequence)):
        raise TypeError(f"{name} should be a number or a sequence of numbers. Got {type(value)}")
    values = [value] if isinstance(value, (int, float)) else list(value)
    if len(values) not in (1, 2):
        raise ValueError(f"If {name} is a sequence its length should be 1 or 2. Got {len(values)}")
    return [float(v) for v in (values * 2)[:2]]


class RandomIoUCrop(Transform):
    """A random part that overlaps a box by at least one of `sampler_options` (Liu et al., arXiv 1512.02325).

    Boxes whose centre is not in it become 0; SanitizeBoundingBoxes removes them.
    """

    def __init__(
        self,
        min_scale=0.3,
        max_scale=1.0,
        min_aspect_ratio=0.5,
        max_aspect_ratio=2.0,
        sampler_options=None,
        trials=40,
    ):
        super().__init__()
        self.min_scale = min_scale
        self.max_scale = max_scale
        self.min_aspect_ratio = min_aspect_ratio
        self.max_aspect_ratio = max_aspect_ratio
        self.options = [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0] if sampler_options is None else sampler_options
        self.trials = trials

    def check_inputs(self, flat_inputs):
        if not (has_any(flat_inputs, tv_tensors.BoundingBoxes) and has_any(flat_inputs, is_image)):
            raise TypeError(
                f"{type(self).__name__}() requires input sample to contain tensor or PIL images and bounding boxes. "
                "Sample can also contain masks."
            )

    def make_params(self, flat_inputs):
        size = query_size(flat_inputs)
        boxes = get_bounding_boxes(flat_inputs)
        corners = F.convert_bounding_box_format(plain(boxes), boxes.format, tv_tensors.BoundingBoxFormat.XYXY)
        while True:
            overlap = self.options[draw.integer(0, len(self.options))]
            if overlap >= 1.0:
                return {}
            for _ in range(self.trials):
                found = self._tried(size, corners, overlap)
                if found is not None:
                    return found

    def _tried(self, size, corners, overlap):
        height, width = size
        shares = self.min_scale + (self.max_scale - self.min_scale) * torch.rand(2)
        new_width, new_height = int(width * shares[0]), int(height * shares[1])
        if not (self.min_aspect_ratio <= new_width / new_height <= self.max_aspect_ratio):
            return None
        place = torch.rand(2)
        left, top = int((width - new_width) * place[0]), int((height - new_height) * place[1])
        right, bottom = left + new_width, top + new_height
        if left == right or top == bottom:
            return None
        x, y = 0.5 * (corners[..., 0] + corners[..., 2]), 0.5 * (corners[..., 1] + corners[..., 3])
        inside = (left < x) & (x < right) & (top < y) & (y < bottom)
        part = torch.tensor([[left, top, right, bottom]], dtype=corners.dtype)
        if not inside.any() or box_iou(corners[inside], part).max() < overlap:
            return None
        return {"place": (top, left, new_height, new_width), "inside": inside}

    def transform(self, inpt, params):
        if not params:
            return inpt
        output = self._call_kernel(F.crop, inpt, *params["place"])
        if isinstance(output, tv_tensors.BoundingBoxes):
            output.as_subclass(Tensor)[~params["inside"]] = 0
        return output
