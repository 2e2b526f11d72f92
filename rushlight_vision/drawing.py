"""Boxes, masks and keypoints drawn on images, and optical flow as colours. Pillow draws."""

import math
import warnings

import numpy as np

import rushlight as torch
from rushlight import Tensor, float32, from_numpy, int64, no_grad, uint8
from rushlight import bool as bool_
from rushlight_vision.transforms._functional_tensor import convert_image_dtype
from rushlight_vision.transforms.functional import pil_to_tensor, to_pil_image

__all__ = ["draw_bounding_boxes", "draw_keypoints", "draw_segmentation_masks", "flow_to_image"]


def _check_image(image, channels, message):
    if not isinstance(image, Tensor):
        raise TypeError(f"The image must be a tensor, got {type(image)}")
    if not (image.dtype == uint8 or image.is_floating_point()):
        raise ValueError(f"The image dtype must be uint8 or float, got {image.dtype}")
    if image.dim() != 3:
        raise ValueError("Pass individual images, not batches")
    if image.size(0) not in channels:
        raise ValueError(message)


def _parsed(colors, count):
    """`count` colours as (red, green, blue) from one, a list, or None for a palette."""
    from PIL import ImageColor

    if colors is None:
        colors = [tuple(i * step % 255 for step in (2**25 - 1, 2**15 - 1, 2**21 - 1)) for i in range(count)]
    elif isinstance(colors, list):
        if len(colors) < count:
            raise ValueError(
                f"Number of colors must be equal or larger than the number of objects, but got {len(colors)} < {count}."
            )
    elif not isinstance(colors, (tuple, str)):
        raise ValueError(f"colors must be a tuple or a string, or a list thereof, but got {colors}.")
    elif isinstance(colors, tuple) and len(colors) != 3:
        raise ValueError(f"If passed as tuple, colors should be an RGB triplet, but got {colors}.")
    else:
        colors = [colors] * count
    return [ImageColor.getrgb(color) if isinstance(color, str) else color for color in colors]


@no_grad()
def draw_bounding_boxes(
    image,
    boxes,
    labels=None,
    colors=None,
    fill=False,
    width=1,
    font=None,
    font_size=None,
    label_colors=None,
    label_background_colors=None,
    fill_labels=False,
):
    """The image with boxes (x1, y1, x2, y2), or four corners (8 numbers, the first side dashed), drawn on it.

    Shape: image (1 or 3, H, W) of bytes or floats in [0, 1], boxes (N, 4) or (N, 8) -> (3, H, W) of the same dtype

    colors: one for all or a list. fill tints the boxes. labels are written into their top left corners, in a TrueType
    font of `font_size` if given.
    """
    if not isinstance(image, Tensor):
        raise TypeError(f"Tensor expected, got {type(image)}")
    _check_image(image, (1, 3), "Only grayscale and RGB images are supported")
    if boxes.shape[-1] == 4 and ((boxes[:, 0] > boxes[:, 2]).any() or (boxes[:, 1] > boxes[:, 3]).any()):
        raise ValueError(
            "Boxes need to be in (xmin, ymin, xmax, ymax) format. Use torchvision.ops.box_convert to convert them"
        )
    count = boxes.shape[0]
    if count == 0:
        warnings.warn("boxes doesn't contain any box. No box was drawn", stacklevel=2)
        return image
    if labels is not None and len(labels) != count:
        raise ValueError(
            f"Number of boxes ({count}) and labels ({len(labels)}) mismatch. Please specify labels for each box."
        )
    colors = _parsed(colors, count)
    written = _parsed(label_colors or "black", count) if label_colors or fill_labels else colors
    backgrounds = _parsed(label_background_colors, count) if fill_labels and label_background_colors else colors
    canvas, draw = _canvas(image, "RGBA" if fill else None)
    typeface = _font(font, font_size)
    for box, color, text, text_color, back in zip(
        boxes.to(int64).tolist(), colors, labels or [None] * count, written, backgrounds
    ):
        inside = (*color, 100) if fill else None
        if len(box) > 4:
            _draw_corners(draw, box, color, inside, width)
        else:
            draw.rectangle(box, width=width, outline=color, fill=inside)
        if text is not None:
            place = (box[0] + width + 1, box[1] + width + 1)
            if fill_labels:
                left, top, right, bottom = draw.textbbox(place, text, font=typeface)
                draw.rectangle((left - 1, top - 1, right + 1, bottom + 1), fill=back)
            draw.text(place, text, fill=text_color, font=typeface)
    return convert_image_dtype(pil_to_tensor(canvas), image.dtype)


def _canvas(image, mode):
    from PIL import ImageDraw

    image = torch.cat([image] * 3) if image.size(0) == 1 else image
    canvas = to_pil_image(convert_image_dtype(image, uint8))
    return canvas, ImageDraw.Draw(canvas, mode)


def _font(font, size):
    from PIL import ImageFont

    if font is not None:
        return ImageFont.truetype(font=font, size=size or 10)
    if size is not None:
        warnings.warn("Argument 'font_size' will be ignored since 'font' is not set.", stacklevel=3)
    return ImageFont.load_default()


def _draw_corners(draw, corners, outline, fill, width):
    points = list(zip(corners[::2], corners[1::2]))
    _draw_dashed(draw, points[0], points[1], outline, width)
    for i in range(1, len(points)):
        draw.line((points[i], points[(i + 1) % len(points)]), width=width, fill=outline)
    draw.polygon(corners, fill=fill, outline=None, width=0)


def _draw_dashed(draw, start, end, color, width, dash=5):
    length = math.dist(start, end)
    for i in range(0, math.ceil(length / dash), 2):
        ends = [min(i * dash, length) / length, min((i + 1) * dash, length) / length]
        draw.line([tuple(a + (b - a) * t for a, b in zip(start, end)) for t in ends], color, width)


@no_grad()
def draw_segmentation_masks(image, masks, alpha: float = 0.8, colors=None):
    """The image with masks laid over it, of opacity `alpha`; pixels in several masks are black.

    Shape: image (3, H, W) of bytes or floats in [0, 1], masks bool (H, W) or (N, H, W) -> (3, H, W)
    """
    _check_image(image, (3,), "Pass an RGB image. Other Image formats are not supported")
    masks = masks[None, :, :] if masks.ndim == 2 else masks
    if masks.ndim != 3:
        raise ValueError("masks must be of shape (H, W) or (batch_size, H, W)")
    if masks.dtype != bool_:
        raise ValueError(f"The masks must be of dtype bool. Got {masks.dtype}")
    if masks.shape[-2:] != image.shape[-2:]:
        raise ValueError("The image and the masks must have the same height and width")
    if masks.size(0) == 0:
        warnings.warn("masks doesn't contain any mask. No mask was drawn", stacklevel=2)
        return image
    scale = 255 if image.is_floating_point() else 1
    coloured = image.detach().clone()
    for mask, color in zip(masks, _parsed(colors, masks.size(0))):
        coloured[:, mask] = torch.tensor([part / scale for part in color]).to(image.dtype)[:, None]
    coloured[:, masks.sum(dim=0) > 1] = 0
    return (image * (1 - alpha) + coloured * alpha).to(image.dtype)


@no_grad()
def draw_keypoints(image, keypoints, connectivity=None, colors=None, radius=2, width=3, visibility=None):
    """The image with a disc at each keypoint (x, y), and lines between those that `connectivity` pairs.

    Shape: image (3, H, W) of bytes or floats in [0, 1], keypoints (N, K, 2), visibility (N, K) -> (3, H, W)
    """
    _check_image(image, (3,), "Pass an RGB image. Other Image formats are not supported")
    if keypoints.ndim != 3:
        raise ValueError("keypoints must be of shape (num_instances, K, 2)")
    if visibility is None:
        visibility = torch.ones(keypoints.shape[:-1], dtype=bool_)
    visibility = visibility.squeeze(-1) if visibility.ndim == 3 else visibility
    if visibility.ndim != 2:
        raise ValueError(f"visibility must be of shape (num_instances, K). Got ndim={visibility.ndim}")
    if visibility.shape != keypoints.shape[:-1]:
        raise ValueError(
            "keypoints and visibility must have the same dimensionality for num_instances and K. "
            f"Got visibility.shape={visibility.shape} and keypoints.shape={keypoints.shape}"
        )
    canvas, draw = _canvas(image, None)
    for points, seen in zip(keypoints.to(int64).tolist(), visibility.to(bool_).tolist()):
        for (x, y), visible in zip(points, seen):
            if visible:
                draw.ellipse([x - radius, y - radius, x + radius, y + radius], fill=colors, outline=None, width=0)
        for first, second in connectivity or ():
            if seen[first] and seen[second]:
                draw.line((tuple(points[first]), tuple(points[second])), width=width)
    return convert_image_dtype(pil_to_tensor(canvas), image.dtype)


# Optical flow


@no_grad()
def flow_to_image(flow):
    """Optical flow as colours: the hue is the direction, the saturation the length (Baker et al., 2011).

    Shape: float32 (2, H, W) or (N, 2, H, W) -> uint8 (3, H, W) or (N, 3, H, W)
    """
    if flow.dtype != float32:
        raise ValueError(f"Flow should be of dtype torch.float, got {flow.dtype}.")
    batch = flow[None] if flow.ndim == 3 else flow
    if batch.ndim != 4 or batch.shape[1] != 2:
        raise ValueError(f"Input flow should have shape (2, H, W) or (N, 2, H, W), got {flow.shape}.")
    longest = torch.sum(batch.pow(2), dim=1).sqrt().max()
    image = _coloured((batch / (longest + float(np.finfo(np.float32).eps))).numpy())
    return image[0] if flow.ndim == 3 else image


def _coloured(flow):
    wheel = _wheel()
    length = np.sqrt((flow**2).sum(axis=1))
    turn = np.arctan2(-flow[:, 1], -flow[:, 0]) / np.float32(np.pi)
    place = (turn + 1) / 2 * (len(wheel) - 1)
    low = np.floor(place).astype(np.int64)
    share = (place - low)[..., None]
    color = (1 - share) * (wheel[low] / np.float32(255)) + share * (wheel[(low + 1) % len(wheel)] / np.float32(255))
    color = 1 - length[..., None] * (1 - color)
    return from_numpy(np.ascontiguousarray(np.floor(255 * color).astype(np.uint8).transpose(0, 3, 1, 2)))


def _wheel():
    """(55, 3): from red by yellow, green, cyan, blue and magenta back, in steps as fine as the eye's."""
    parts = []
    # steps, the channel that is full, the one that changes, whether it rises
    for steps, full, changing, rising in (
        (15, 0, 1, True),
        (6, 1, 0, False),
        (4, 1, 2, True),
        (11, 2, 1, False),
        (13, 2, 0, True),
        (6, 0, 2, False),
    ):
        part = np.zeros((steps, 3), np.float32)
        part[:, full] = 255
        ramp = np.floor(255 * np.arange(steps, dtype=np.float32) / steps)
        part[:, changing] = ramp if rising else 255 - ramp
        parts.append(part)
    return np.concatenate(parts)
