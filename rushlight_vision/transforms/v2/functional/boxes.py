"""What geometry does to boxes and points. Rotated boxes can be converted but not transformed."""

import rushlight as torch
from rushlight import float32
from rushlight_vision import tv_tensors
from rushlight_vision.ops.boxes import box_convert
from rushlight_vision.transforms.v2.functional.kinds import is_pure_tensor, like, plain

_FORMAT = tv_tensors.BoundingBoxFormat


def convert_bounding_box_format(inpt, old_format=None, new_format=None, inplace=False):
    """The boxes in another format; `old_format` is given for a plain tensor only. inplace: in the input's memory."""
    if new_format is None:
        raise TypeError("convert_bounding_box_format() missing 1 required argument: 'new_format'")
    new = _named(new_format)
    if is_pure_tensor(inpt):
        if old_format is None:
            raise ValueError("For pure tensor inputs, `old_format` has to be passed.")
        return _stored(_converted(inpt, _named(old_format), new), inpt, inplace)
    if not isinstance(inpt, tv_tensors.BoundingBoxes):
        raise TypeError(
            f"Input can either be a plain tensor or a bounding box tv_tensor, but got {type(inpt)} instead."
        )
    if old_format is not None:
        raise ValueError("For bounding box tv_tensor inputs, `old_format` must not be passed.")
    boxes = plain(inpt)
    return like(_stored(_converted(boxes, inpt.format, new), boxes, inplace), inpt, format=new)


def _stored(boxes, where, inplace):
    """The boxes, or, if they should be written in place, the tensor `where` with them."""
    return where.copy_(boxes) if inplace else boxes


def _named(format):
    return _FORMAT[format.upper()] if isinstance(format, str) else format


def _converted(boxes, old, new):
    if old == new:
        return boxes
    converted = box_convert(boxes, old.value.lower(), new.value.lower())
    return converted if boxes.is_floating_point() else converted.to(boxes.dtype)


def clamp_bounding_boxes(inpt, format=None, canvas_size=None, clamping_mode="auto"):
    """The boxes cut off at the border of the image; format and canvas_size are given for a plain tensor only."""
    if is_pure_tensor(inpt):
        if format is None or canvas_size is None or clamping_mode == "auto":
            raise ValueError("For pure tensor inputs, `format`, `canvas_size` and `clamping_mode` have to be passed.")
        return clamped(inpt, _named(format), canvas_size, clamping_mode)
    if not isinstance(inpt, tv_tensors.BoundingBoxes):
        raise TypeError(
            f"Input can either be a plain tensor or a bounding box tv_tensor, but got {type(inpt)} instead."
        )
    if format is not None or canvas_size is not None:
        raise ValueError("For bounding box tv_tensor inputs, `format` and `canvas_size` must not be passed.")
    how = inpt.clamping_mode if clamping_mode == "auto" else clamping_mode
    return like(clamped(plain(inpt), inpt.format, inpt.canvas_size, how), inpt)


def clamped(boxes, format, canvas_size, clamping_mode):
    """The plain boxes of a format cut off at the border, unless clamping_mode is None."""
    if clamping_mode is None:
        return boxes
    _refuse_rotated(format)
    corners = _converted(_floating(boxes), format, _FORMAT.XYXY)
    height, width = canvas_size
    x, y = corners[..., 0::2].clamp(min=0, max=width), corners[..., 1::2].clamp(min=0, max=height)
    corners = torch.stack((x, y), dim=-1).reshape(corners.shape)
    return _converted(corners, _FORMAT.XYXY, format).to(boxes.dtype)


def _floating(boxes):
    return boxes if boxes.is_floating_point() else boxes.to(float32)


def _refuse_rotated(format):
    if tv_tensors.is_rotated_bounding_format(format):
        raise NotImplementedError(f"transforms.v2 of rotated boxes ({format.value}) is not implemented in Rushlight")


def moved_boxes(inpt, move, canvas_size=None, clamp=True):
    """BoundingBoxes whose corners went where `move` (N, 2) -> (N, 2) puts them, as upright boxes around them.

    canvas_size: of the result, if it is another. clamp: cut off at its border as the boxes' mode says.
    """
    _refuse_rotated(inpt.format)
    size = inpt.canvas_size if canvas_size is None else tuple(canvas_size)
    boxes = plain(inpt)
    corners = _converted(_floating(boxes), inpt.format, _FORMAT.XYXY)
    all_four = corners[:, [0, 1, 2, 1, 2, 3, 0, 3]].reshape(-1, 2)
    points = move(all_four).reshape(-1, 4, 2)
    around = torch.cat([points.amin(1), points.amax(1)], dim=1) if len(corners) else corners
    out = _converted(around, _FORMAT.XYXY, inpt.format)
    if clamp:
        out = clamped(out, inpt.format, size, inpt.clamping_mode)
    return like(out.to(boxes.dtype), inpt, canvas_size=size)


def clamp_keypoints(inpt, canvas_size=None):
    """The points, those outside the image moved to its nearest pixel."""
    size = inpt.canvas_size if canvas_size is None else canvas_size
    points = _floating(plain(inpt))
    x, y = points[..., 0].clamp(0, size[1] - 1), points[..., 1].clamp(0, size[0] - 1)
    return like(torch.stack((x, y), dim=-1).to(inpt.dtype), inpt)


def moved_points(inpt, move, canvas_size=None):
    """KeyPoints where `move` puts them, which may be outside the image."""
    size = inpt.canvas_size if canvas_size is None else tuple(canvas_size)
    points = _floating(plain(inpt))
    out = move(points.reshape(-1, 2)).reshape(points.shape).to(inpt.dtype)
    return like(out, inpt, canvas_size=size)


def scaled(x_ratio, y_ratio):
    """A movement: coordinates times the ratios."""
    return lambda points: points * torch.tensor([x_ratio, y_ratio], dtype=points.dtype)


def shifted(x, y):
    """A movement: coordinates plus x and y."""
    return lambda points: points + torch.tensor([x, y], dtype=points.dtype)


def mapped(matrix):
    """A movement: (a, b, c, d, e, f) takes (x, y) to (ax + by + c, dx + ey + f)."""

    def move(points):
        rows = torch.tensor(matrix, dtype=points.dtype).reshape(2, 3)
        return torch.matmul(points, rows[:, :2].T) + rows[:, 2]

    return move
