"""Size, place and movement of images, masks, boxes and points."""

import numpy as np

import rushlight as torch
from rushlight import Tensor
from rushlight_vision import tv_tensors
from rushlight_vision.transforms import _functional_pil, _functional_tensor
from rushlight_vision.transforms import functional as F
from rushlight_vision.transforms.interpolation import InterpolationMode
from rushlight_vision.transforms.v2.functional.boxes import mapped, moved_boxes, moved_points, scaled, shifted
from rushlight_vision.transforms.v2.functional.kinds import by_kind, like, mode, plain

_BOXES, _POINTS, _MASK = tv_tensors.BoundingBoxes, tv_tensors.KeyPoints, tv_tensors.Mask
_NEAREST = InterpolationMode.NEAREST


def _on_mask(function, inpt, *args, **kwargs):
    """An image's function on a mask (..., H, W), which may have two dimensions."""
    mask = plain(inpt)
    out = function(mask.unsqueeze(0) if mask.ndim == 2 else mask, *args, **kwargs)
    return like(out.squeeze(0) if mask.ndim == 2 else out, inpt)


def _moves(function, movement, resized=None, clamp=True):
    """Register for boxes and points: movement(inpt, *args) -> a map of points; resized(inpt, *args) -> canvas size."""

    def boxes(inpt, *args, **kwargs):
        size = resized(inpt, *args, **kwargs) if resized else None
        return moved_boxes(inpt, movement(inpt, *args, **kwargs), size, clamp)

    def points(inpt, *args, **kwargs):
        size = resized(inpt, *args, **kwargs) if resized else None
        return moved_points(inpt, movement(inpt, *args, **kwargs), size)

    function.kernel(_BOXES)(boxes)
    function.kernel(_POINTS)(points)


# Flips


@by_kind
def horizontal_flip(inpt):
    """Left and right exchanged."""
    return F.hflip(inpt)


@by_kind
def vertical_flip(inpt):
    """Top and bottom exchanged."""
    return F.vflip(inpt)


def _mirrored(points, axis, end):
    """The points with one coordinate counted from the other end."""
    return torch.stack([end - points[:, i] if i == axis else points[:, i] for i in (0, 1)], dim=1)


def _flips(function, on_image, axis):
    """Register for the other kinds; the border of pixel k is k for boxes, its middle is k for points."""

    def boxes(inpt):
        end = inpt.canvas_size[1 - axis]
        return moved_boxes(inpt, lambda points: _mirrored(points, axis, end), clamp=False)

    def points(inpt):
        end = inpt.canvas_size[1 - axis] - 1
        return moved_points(inpt, lambda points: _mirrored(points, axis, end))

    function.kernel(_MASK)(lambda inpt: _on_mask(on_image, inpt))
    function.kernel(_BOXES)(boxes)
    function.kernel(_POINTS)(points)


_flips(horizontal_flip, F.hflip, 0)
_flips(vertical_flip, F.vflip, 1)


# Size


def _new_size(image_size, size, max_size):
    if size is None:
        scale = max_size / max(image_size)
        return [int(scale * side) for side in image_size]
    return F._resized(tuple(image_size), [size] if isinstance(size, int) else list(size), max_size)


@by_kind
def resize(inpt, size, interpolation=InterpolationMode.BILINEAR, max_size=None, antialias=True):
    """In another size; see `transforms.functional.resize`. size=None makes the longer edge `max_size`."""
    if size is None:
        size, max_size = _new_size(F.get_dimensions(inpt)[1:], None, max_size), None
    antialias = antialias if isinstance(inpt, Tensor) else None
    return F.resize(inpt, size, mode(interpolation), max_size, antialias)


@resize.kernel(_MASK)
def _(inpt, size, interpolation=None, max_size=None, antialias=None):
    if size is None:
        size, max_size = _new_size(inpt.shape[-2:], None, max_size), None
    return _on_mask(F.resize, inpt, size, _NEAREST, max_size, None)


def _resized_canvas(inpt, size, interpolation=None, max_size=None, antialias=None):
    return _new_size(inpt.canvas_size, size, max_size)


def _resizing(inpt, *args, **kwargs):
    height, width = _resized_canvas(inpt, *args, **kwargs)
    return scaled(width / inpt.canvas_size[1], height / inpt.canvas_size[0])


_moves(resize, _resizing, _resized_canvas, clamp=False)


# Place


@by_kind
def crop(inpt, top, left, height, width):
    """The part of that place and size; what is outside is 0."""
    return F.crop(inpt, top, left, height, width)


crop.kernel(_MASK)(lambda inpt, *args, **kwargs: _on_mask(F.crop, inpt, *args, **kwargs))
_moves(
    crop,
    lambda inpt, top, left, height, width: shifted(-left, -top),
    lambda inpt, top, left, height, width: (height, width),
)


@by_kind
def center_crop(inpt, output_size):
    """The middle, of size `output_size`; what is smaller is padded with 0."""
    return F.center_crop(inpt, output_size)


def _middle(inpt, output_size):
    """(top, left, height, width) of the middle."""
    height, width = F._pair(output_size)
    (old_height, old_width) = inpt.canvas_size
    return _start(old_height, height), _start(old_width, width), height, width


def _start(old, new):
    return round((old - new) / 2.0) if new <= old else -((new - old) // 2)


center_crop.kernel(_MASK)(lambda inpt, output_size: _on_mask(F.center_crop, inpt, output_size))
center_crop.kernel(_BOXES)(lambda inpt, output_size: crop(inpt, *_middle(inpt, output_size)))
center_crop.kernel(_POINTS)(lambda inpt, output_size: crop(inpt, *_middle(inpt, output_size)))


@by_kind
def resized_crop(inpt, top, left, height, width, size, interpolation=InterpolationMode.BILINEAR, antialias=True):
    """`crop`, then `resize`."""
    return resize(crop(inpt, top, left, height, width), size, interpolation, antialias=antialias)


for _kind in (_MASK, _BOXES, _POINTS):
    resized_crop.kernel(_kind)(
        lambda inpt, top, left, height, width, size, interpolation=None, antialias=None: resize(
            crop(inpt, top, left, height, width), size
        )
    )


def _sides(padding):
    """(left, top, right, bottom)."""
    return _functional_pil.padding_ltrb(padding, 0, "constant")


@by_kind
def pad(inpt, padding, fill=None, padding_mode="constant"):
    """With a border; see `transforms.functional.pad`."""
    if isinstance(inpt, Tensor) and isinstance(fill, (list, tuple)):
        if padding_mode != "constant":
            raise ValueError(f"Padding mode '{padding_mode}' is not supported if fill is not scalar")
        return _padded_by_channel(inpt, _sides(padding), fill)
    return F.pad(inpt, padding, 0 if fill is None else fill, padding_mode)


def _padded_by_channel(img, sides, fill):
    out = _functional_tensor.pad(img, sides, 0, "constant")
    left, top, _, _ = sides
    height, width = img.shape[-2:]
    values = torch.tensor(list(fill), dtype=out.dtype).reshape(-1, 1, 1)
    border = torch.zeros_like(out) + values
    border[..., top : top + height, left : left + width] = img
    return border


@pad.kernel(_MASK)
def _(inpt, padding, fill=None, padding_mode="constant"):
    if isinstance(fill, (tuple, list)):
        raise ValueError("Non-scalar fill value is not supported")
    return _on_mask(F.pad, inpt, padding, 0 if fill is None else fill, padding_mode)


def _padding(inpt, padding, fill=None, padding_mode="constant"):
    if padding_mode != "constant":
        raise ValueError(f"Padding mode '{padding_mode}' is not supported with bounding boxes")
    left, top, _, _ = _sides(padding)
    return shifted(left, top)


def _padded_canvas(inpt, padding, fill=None, padding_mode="constant"):
    left, top, right, bottom = _sides(padding)
    return inpt.canvas_size[0] + top + bottom, inpt.canvas_size[1] + left + right


_moves(pad, _padding, _padded_canvas)


@by_kind
def five_crop(inpt, size):
    """The four corners and the middle."""
    return F.five_crop(inpt, size)


@by_kind
def ten_crop(inpt, size, vertical_flip=False):
    """`five_crop` of the image and of its mirror image."""
    return F.ten_crop(inpt, size, vertical_flip)


# Movement


@by_kind
def rotate(inpt, angle, interpolation=InterpolationMode.NEAREST, expand=False, center=None, fill=None):
    """Turned counter-clockwise; see `transforms.functional.rotate`."""
    return F.rotate(inpt, angle, mode(interpolation), expand, center, fill)


@rotate.kernel(_MASK)
def _(inpt, angle, interpolation=None, expand=False, center=None, fill=None):
    return _on_mask(F.rotate, inpt, angle, _NEAREST, expand, center, fill)


def _forward(canvas_size, angle, translate, scale, shear, center):
    """(a, b, c, d, e, f) from a pixel of the image to that of the result."""
    height, width = canvas_size
    center = [width * 0.5, height * 0.5] if center is None else center
    inverse = np.reshape(F._inverse_affine(center, angle, translate, scale, shear), (2, 3))
    return np.linalg.inv(np.vstack([inverse, [0, 0, 1]]))[:2].reshape(-1).tolist()


def _turning(inpt, angle, interpolation=None, expand=False, center=None, fill=None):
    matrix = _forward(inpt.canvas_size, -angle, [0, 0], 1.0, [0.0, 0.0], center)
    if not expand:
        return mapped(matrix)
    height, width = inpt.canvas_size
    corners = mapped(matrix)(torch.tensor([[0.0, 0.0], [0.0, height], [width, height], [width, 0.0]]))
    left, top = corners.amin(0).tolist()
    return mapped([*matrix[:2], matrix[2] - left, *matrix[3:5], matrix[5] - top])


def _turned_canvas(inpt, angle, interpolation=None, expand=False, center=None, fill=None):
    if not expand:
        return inpt.canvas_size
    height, width = inpt.canvas_size
    # about the middle counted from the corner, as torchvision sizes the canvas of boxes
    center = [width * 0.5, height * 0.5] if center is None else center
    matrix = F._inverse_affine(center, -angle, [0, 0], 1.0, [0.0, 0.0])
    return _functional_tensor._expanded(matrix, width, height)[::-1]


_moves(rotate, _turning, _turned_canvas)


@by_kind
def affine(inpt, angle, translate, scale, shear, interpolation=InterpolationMode.NEAREST, fill=None, center=None):
    """Turned clockwise, scaled, sheared and moved; see `transforms.functional.affine`."""
    return F.affine(inpt, angle, list(translate), scale, shear, mode(interpolation), fill, center)


@affine.kernel(_MASK)
def _(inpt, angle, translate, scale, shear, interpolation=None, fill=None, center=None):
    return _on_mask(F.affine, inpt, angle, list(translate), scale, shear, _NEAREST, fill, center)


def _moving(inpt, angle, translate, scale, shear, interpolation=None, fill=None, center=None):
    return mapped(_forward(inpt.canvas_size, angle, translate, scale, F._shear_pair(shear), center))


_moves(affine, _moving)


@by_kind
def perspective(inpt, startpoints, endpoints, interpolation=InterpolationMode.BILINEAR, fill=None, coefficients=None):
    """Seen so that the corners `startpoints` are mapped to `endpoints`; or by the eight coefficients of that map."""
    if coefficients is not None:
        startpoints, endpoints = _points_of(coefficients)
    return F.perspective(inpt, startpoints, endpoints, mode(interpolation), fill)


def _points_of(coefficients):
    """Four corners and where the map of these coefficients puts them, which is from end to start."""
    a, b, c, d, e, f, g, h = coefficients
    ends = [(0.0, 0.0), (100.0, 0.0), (100.0, 100.0), (0.0, 100.0)]
    depths = [g * x + h * y + 1 for x, y in ends]
    starts = [((a * x + b * y + c) / depth, (d * x + e * y + f) / depth) for (x, y), depth in zip(ends, depths)]
    return starts, ends


@perspective.kernel(_MASK)
def _(inpt, startpoints, endpoints, interpolation=None, fill=None, coefficients=None):
    if coefficients is not None:
        startpoints, endpoints = _points_of(coefficients)
    return _on_mask(F.perspective, inpt, startpoints, endpoints, _NEAREST, fill)


def _tilting(inpt, startpoints, endpoints, interpolation=None, fill=None, coefficients=None):
    if coefficients is None:
        coefficients = F._perspective_coefficients(startpoints, endpoints)
    inverse = np.linalg.inv(np.append(coefficients, 1.0).reshape(3, 3))

    def move(points):
        rows = torch.tensor(inverse.tolist(), dtype=points.dtype)
        moved = torch.matmul(points, rows[:, :2].T) + rows[:, 2]
        return moved[:, :2] / moved[:, 2:]

    return move


_moves(perspective, _tilting)


@by_kind
def elastic(inpt, displacement, interpolation=InterpolationMode.BILINEAR, fill=None):
    """Warped; see `transforms.functional.elastic_transform`."""
    return F.elastic_transform(inpt, displacement, mode(interpolation), fill)


@elastic.kernel(_MASK)
def _(inpt, displacement, interpolation=None, fill=None):
    return _on_mask(F.elastic_transform, inpt, displacement, _NEAREST, fill)


def _warped(inpt, displacement, interpolation=None, fill=None):
    raise NotImplementedError("transforms.v2 elastic of boxes and points is not implemented in Rushlight")


elastic.kernel(_BOXES)(_warped)
elastic.kernel(_POINTS)(_warped)
hflip, vflip, elastic_transform = horizontal_flip, vertical_flip, elastic
