"""Values between pixels: resizing as two matrix products, and sampling at given places.

The coordinates are computed in NumPy, the values in tensor operators, so that gradients reach the image.
"""

import numpy as np

import rushlight as torch
from rushlight import from_numpy


def resized(img, size, mode, antialias):
    """The float tensor (..., H, W) in another size (h, w), aligned as torch's `interpolate(align_corners=False)` does.

    mode 'nearest', 'nearest-exact', 'bilinear' or 'bicubic'; antialias widens the last two's filters when shrinking.
    """
    height, width = img.shape[-2:]
    if mode in ("nearest", "nearest-exact"):
        offset = 0.5 if mode == "nearest-exact" else 0.0
        return at_indices(img, _nearest(height, size[0], offset), _nearest(width, size[1], offset))
    if mode not in ("bilinear", "bicubic"):
        raise NotImplementedError(f"Interpolation mode '{mode}' is unsupported with Tensor input")
    kind = img.dtype.numpy.type  # weights rounded as torch rounds them, or images of bytes differ here and there by 1
    down = _like(_weights(height, size[0], mode, antialias, kind), img)
    across = _like(_weights(width, size[1], mode, antialias, kind).T, img)
    return torch.matmul(down, torch.matmul(img, across))


def at_indices(img, rows, columns):
    """The image's pixels at each of `rows` and each of `columns`, int arrays."""
    return img[..., from_numpy(rows[:, None]), from_numpy(columns[None, :])]


def sampled(img, x, y, mode, fill):
    """The float tensor (..., C, H, W) at the pixel coordinates x, y (arrays (h, w)): (..., C, h, w).

    mode 'nearest' or 'bilinear'. Outside the image is `fill`, None (0) or one value or one per channel.
    """
    if mode == "nearest":
        values, inside = _at(img, np.rint(x), np.rint(y))
        share = _like(inside, img)
    else:
        values, share = _bilinear(img, x, y)
    if fill is None:
        return values
    return values * share + (1.0 - share) * torch.tensor(fill, dtype=img.dtype).reshape(-1, 1, 1)


def _bilinear(img, x, y):
    """The weighted sum of the four pixels around each place, and the share of it that came from inside the image."""
    left, top = np.floor(x), np.floor(y)
    right, bottom = left + 1, top + 1
    values, share = 0.0, 0.0
    for column, row, weight in (
        (left, top, (right - x) * (bottom - y)),
        (right, top, (x - left) * (bottom - y)),
        (left, bottom, (right - x) * (y - top)),
        (right, bottom, (x - left) * (y - top)),
    ):
        pixel, inside = _at(img, column, row)
        values = values + pixel * _like(weight, img)
        share = share + _like(weight * inside, img)
    return values, share


def _at(img, column, row):
    """The pixels in these columns and rows, 0 outside the image; and where they are inside."""
    height, width = img.shape[-2:]
    inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
    rows = np.clip(row, 0, height - 1).astype(np.int64)
    columns = np.clip(column, 0, width - 1).astype(np.int64)
    return img[..., from_numpy(rows), from_numpy(columns)] * _like(inside, img), inside


def _like(array, img):
    return from_numpy(np.ascontiguousarray(array, img.dtype.numpy))


def _nearest(old, new, offset):
    scale = np.float32(old) / np.float32(new)
    places = np.floor((np.arange(new, dtype=np.float32) + np.float32(offset)) * scale)
    return np.minimum(places.astype(np.int64), old - 1)


def _weights(old, new, mode, antialias, kind):
    """The matrix (new, old), of the float type `kind`, that resizes one dimension; its rows sum to 1."""
    scale = kind(old) / kind(new)
    centre = scale * (np.arange(new, dtype=kind) + kind(0.5))
    if antialias:
        return _filter_weights(old, centre, max(scale, kind(1)), mode)
    weights = np.zeros((new, old), kind)
    source = centre - kind(0.5)
    if mode == "bilinear":
        source = np.maximum(source, kind(0))
    first = np.floor(source).astype(np.int64)
    for tap in (0, 1) if mode == "bilinear" else (-1, 0, 1, 2):
        place = np.clip(first + tap, 0, old - 1)
        distance = np.abs(source - (first + tap).astype(kind))
        np.add.at(weights, (np.arange(new), place), _kernel(distance, mode, -0.75))
    return weights


def _filter_weights(old, centre, stretch, mode):
    """Weights of a filter stretched over the pixels that a new one covers, as Pillow computes them."""
    support = (1.0 if mode == "bilinear" else 2.0) * stretch
    low = np.maximum((centre - support + 0.5).astype(np.int64), 0)
    high = np.minimum((centre + support + 0.5).astype(np.int64), old)
    pixel = np.arange(old, dtype=centre.dtype)
    within = (pixel >= low[:, None]) & (pixel < high[:, None])
    distance = np.abs((pixel - centre[:, None] + 0.5).astype(centre.dtype)) / stretch
    weights = np.where(within, _kernel(distance, mode, -0.5), 0.0)
    return weights / weights.sum(axis=1, keepdims=True)


def _kernel(distance, mode, a):
    """The triangle, or the cubic convolution kernel with parameter `a` (Keys 1981)."""
    t = distance
    if mode == "bilinear":
        return np.maximum(1.0 - t, 0.0)
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = (((t - 5) * t + 8) * t - 4) * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0.0))
