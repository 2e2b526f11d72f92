"""Images to look at: `make_grid` and `save_image`, and what `drawing` draws."""

import math
from collections.abc import Sequence

import rushlight as torch
from rushlight import Tensor, no_grad, uint8
from rushlight_vision.drawing import draw_bounding_boxes, draw_keypoints, draw_segmentation_masks, flow_to_image

__all__ = [
    "draw_bounding_boxes",
    "draw_keypoints",
    "draw_segmentation_masks",
    "flow_to_image",
    "make_grid",
    "save_image",
]


@no_grad()
def make_grid(
    tensor, nrow=8, padding: int | Sequence[int] = 2, normalize=False, value_range=None, scale_each=False, pad_value=0.0
):
    """The images side by side, `nrow` in a row, with `padding` pixels of `pad_value` around each.

    Shape: (B, C, H, W), (C, H, W), (H, W), or a list of (C, H, W) -> (3 or C, rows (H + padding) + padding, ...); one
    channel becomes three. One image alone is returned without a border.

    normalize maps `value_range` (min, max), by default the tensor's own or with scale_each each image's own, to (0, 1).
    """
    if not isinstance(tensor, Tensor):
        if not isinstance(tensor, list):
            raise TypeError(f"tensor or list of tensors expected, got {type(tensor)}")
        for image in tensor:
            if not isinstance(image, Tensor):
                raise TypeError(f"tensor or list of tensors expected, got a list containing {type(image)}")
        tensor = torch.stack(tensor, dim=0)
    images = _batch(tensor)
    if normalize is True:
        images = _normalized(images, value_range, scale_each)
    if images.size(0) == 1:
        return images.squeeze(0)
    count, channels, height, width = images.shape
    columns = min(nrow, count)
    rows = math.ceil(count / columns)
    high, wide = height + padding, width + padding
    grid = images.new_full((channels, high * rows + padding, wide * columns + padding), pad_value)
    for index in range(count):
        top, left = index // columns * high + padding, index % columns * wide + padding
        grid[:, top : top + height, left : left + width] = images[index]
    return grid


def _batch(tensor):
    """(B, C, H, W), one channel made three."""
    if tensor.dim() == 2:
        tensor = tensor.unsqueeze(0)
    if tensor.dim() == 3:
        tensor = tensor.unsqueeze(0)
    if tensor.dim() == 4 and tensor.size(1) == 1:
        tensor = torch.cat((tensor, tensor, tensor), 1)
    return tensor


def _normalized(images, value_range, scale_each):
    if value_range is not None and not isinstance(value_range, tuple):
        raise TypeError("value_range has to be a tuple (min, max) if specified. min and max are numbers")
    images = images.clone()
    for part in images if scale_each is True else [images]:
        low, high = value_range or (float(part.min()), float(part.max()))
        part.clamp_(min=low, max=high).sub_(low).div_(max(high - low, 1e-5))
    return images


@no_grad()
def save_image(tensor, fp, format=None, **kwargs):
    """Write `make_grid(tensor, **kwargs)`, values in [0, 1], to a file name or file object.

    `format` is needed for a file object; a file name's ending says it otherwise.
    """
    from PIL import Image

    grid = make_grid(tensor, **kwargs)
    pixels = grid.mul(255).add_(0.5).clamp_(0, 255).permute(1, 2, 0).to(uint8).numpy()
    Image.fromarray(pixels).save(fp, format=format)
