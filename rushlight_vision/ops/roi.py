"""Regions of interest: a feature map's values within boxes, brought to one size.

The weights of a box's sampling points factor into rows and columns, so that each result is a product of two matrices
with the part of the map that the box touches.
"""

import math
from typing import Any

import numpy as np

import rushlight as torch
from rushlight import Tensor, from_numpy, nn
from rushlight.autograd import Function
from rushlight_vision.ops.registered import refuse_in_traces, registered

__all__ = [
    "PSRoIAlign",
    "PSRoIPool",
    "RoIAlign",
    "RoIPool",
    "ps_roi_align",
    "ps_roi_pool",
    "roi_align",
    "roi_pool",
]


def as_rois(boxes):
    """(K, 5), the image's number before each box, from that or a list of boxes (L, 4) for each image."""
    if isinstance(boxes, Tensor):
        if boxes.size(1) != 5:
            raise AssertionError("The boxes tensor shape is not correct as Tensor[K, 5]")
        return boxes
    if not isinstance(boxes, (list, tuple)):
        raise AssertionError("boxes is expected to be a Tensor[L, 5] or a List[Tensor[K, 4]]")
    if any(b.size(1) != 4 for b in boxes):
        raise AssertionError("The shape of the tensor in the boxes list is not correct as List[Tensor[L, 4]]")
    numbers = torch.cat([torch.full_like(b[:, :1], i) for i, b in enumerate(boxes)])
    return torch.cat([numbers, torch.cat(list(boxes))], dim=1)


def _pair(size):
    return (size, size) if isinstance(size, int) else tuple(size)


# Align


def roi_align(input, boxes, output_size, spatial_scale=1.0, sampling_ratio=-1, aligned=False):
    """Means of interpolated values in each bin of each box. Gradients go to the input, not to the boxes.

    Source: He et al., Mask R-CNN, 2017 (arXiv 1703.06870).

    Args:
        boxes: (image, x1, y1, x2, y2) each, or a list of (x1, y1, x2, y2) for each image.
        output_size: an int or (H', W').
        spatial_scale: from the boxes' coordinates to the map's.
        sampling_ratio: points of a bin along each side; as many as needed for -1.
        aligned: whether to shift by half a pixel, as it should be.
    Shape: input (N, C, H, W), boxes (K, 5) or a list of (L, 4) -> (K, C, H', W')

    >>> roi_align(ones(1, 2, 4, 4), [tensor([[0.0, 0.0, 2.0, 2.0]])], 2).shape
    torch.Size([1, 2, 2, 2])
    """
    height, width = _pair(output_size)
    return _roi_align(input, as_rois(boxes), spatial_scale, height, width, sampling_ratio, aligned)


@registered(
    "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, "
    "int sampling_ratio, bool aligned) -> Tensor"
)
def _roi_align(input, rois, spatial_scale, height, width, sampling_ratio, aligned):
    places = [
        _align_weights(roi, input.shape, (height, width), spatial_scale, sampling_ratio, aligned)
        for roi in rois.detach().numpy()
    ]
    return _Sampled.apply(input, places, (height, width))


def _align_weights(roi, shape, output_size, scale, sampling_ratio, aligned):
    """(image, rows, weights of rows, columns, weights of columns) for one box."""
    kind = roi.dtype.type
    shift = kind(0.5 if aligned else 0.0)
    image, x1, y1, x2, y2 = (int(roi[0]), *(roi[1:] * kind(scale) - shift))
    sides = [y2 - y1, x2 - x1]
    if not aligned:  # a box without area counts as one pixel
        sides = [max(side, kind(1)) for side in sides]
    result: list[Any] = [image]  # a number, then arrays and slices
    for start, side, bins, size in zip((y1, x1), sides, output_size, shape[-2:]):
        count = sampling_ratio if sampling_ratio > 0 else math.ceil(side / bins)
        result += _interpolation(start, side / kind(bins), bins, count, size)
    return tuple(result)


def _interpolation(start, step, bins, count, size):
    """(slice of the pixels touched, weights (bins, pixels)) along one side, the mean of `count` points in each bin."""
    kind = step.dtype.type
    if count <= 0:
        return slice(0, 1), np.zeros((bins, 1), kind)
    inner = (np.arange(count, dtype=kind) + kind(0.5)) * step / kind(count)
    points = start + np.arange(bins, dtype=kind)[:, None] * step + inner
    outside = (points < -1) | (points > size)
    points = np.maximum(points, kind(0))
    low = np.minimum(points.astype(np.int64), size - 1)
    high = np.minimum(low + 1, size - 1)
    share = np.where(low >= size - 1, kind(0), points - low)
    first, last = int(low.min()), int(high.max()) + 1
    weights = np.zeros((bins, last - first), kind)
    rows = np.broadcast_to(np.arange(bins)[:, None], low.shape)
    for place, weight in ((low, 1 - share), (high, share)):
        np.add.at(weights, (rows, place - first), np.where(outside, kind(0), weight))
    return slice(first, last), weights / kind(count)


class _Sampled(Function):
    """rows (P, h) @ part of the map (C, h, w) @ columns (w, Q) for each place."""

    @staticmethod
    def forward(ctx, input, places, output_size):
        ctx.places, ctx.input_shape = places, tuple(input.shape)
        source = input.detach().numpy()
        out = np.zeros((len(places), input.shape[1], *output_size), source.dtype)
        for result, (image, rows, down, columns, across) in zip(out, places):
            result[:] = down.astype(source.dtype) @ source[image, :, rows, columns] @ across.T.astype(source.dtype)
        return from_numpy(out)

    @staticmethod
    def backward(ctx, g):
        given = g.detach().numpy()
        out = np.zeros(ctx.input_shape, given.dtype)
        for part, (image, rows, down, columns, across) in zip(given, ctx.places):
            out[image, :, rows, columns] += down.T.astype(given.dtype) @ part @ across.astype(given.dtype)
        return from_numpy(out), None, None


def ps_roi_align(input, boxes, output_size, spatial_scale=1.0, sampling_ratio=-1):
    """Position-sensitive `roi_align`: each bin takes its values from channels of its own.

    Source: Li et al., Light-Head R-CNN, 2017 (arXiv 1711.07264).

    Args:
        boxes: (image, x1, y1, x2, y2) each, or a list of (x1, y1, x2, y2) for each image.
        output_size: an int or (P, Q).
        spatial_scale: from the boxes' coordinates to the map's.
        sampling_ratio: points of a bin along each side; as many as needed for -1.
    Shape: input (N, C P Q, H, W), boxes (K, 5) or a list of (L, 4) -> (K, C, P, Q)

    >>> ps_roi_align(ones(1, 4, 4, 4), [tensor([[0.0, 0.0, 2.0, 2.0]])], 2).shape
    torch.Size([1, 1, 2, 2])
    """
    refuse_in_traces("ps_roi_align")
    rois = as_rois(boxes)
    size = _pair(output_size)
    _check_channels(input, size)
    places = []
    for roi in rois.detach().numpy():
        kind = roi.dtype.type
        x1, y1, x2, y2 = roi[1:] * kind(spatial_scale) - kind(0.5)
        place: list[Any] = [int(roi[0])]  # as in `_align_weights`
        for start, side, bins, length in zip((y1, x1), (y2 - y1, x2 - x1), size, input.shape[-2:]):
            count = sampling_ratio if sampling_ratio > 0 else math.ceil(side / bins)
            place += _interpolation(start, side / kind(bins), bins, count, length)
        places.append(tuple(place))
    return _own_channels(_Sampled.apply(input, places, size), size)


def _check_channels(input, size):
    if input.size(1) % (size[0] * size[1]):
        raise RuntimeError("input channels must be a multiple of pooling height * pooling width")


def _own_channels(values, size):
    """(K, C P Q, P, Q) -> (K, C, P, Q): bin (p, q) of channel c from channel (c P + p) Q + q."""
    high, wide = size
    values = values.reshape(values.size(0), -1, high * wide, high * wide)
    return values.diagonal(dim1=2, dim2=3).reshape(values.size(0), -1, high, wide)


# Pool


def roi_pool(input, boxes, output_size, spatial_scale=1.0):
    """Largest values in each bin of each box, all rounded to pixels; 0 in an empty bin.

    Source: Girshick, Fast R-CNN, 2015 (arXiv 1504.08083).

    Args:
        boxes: (image, x1, y1, x2, y2) each, or a list of (x1, y1, x2, y2) for each image.
        output_size: an int or (H', W').
        spatial_scale: from the boxes' coordinates to the map's.
    Shape: input (N, C, H, W), boxes (K, 5) or a list of (L, 4) -> (K, C, H', W')

    >>> roi_pool(arange(16.0).reshape(1, 1, 4, 4), [tensor([[0.0, 0.0, 3.0, 3.0]])], 1).flatten()
    tensor([15.])
    """
    refuse_in_traces("roi_pool")
    rois, size = as_rois(boxes), _pair(output_size)
    results = []
    for roi in rois.detach().numpy():
        image, rows, columns = _pixel_bins(roi, input.shape, size, spatial_scale)
        bins = [_largest(input[image, :, a:b, c:d]) for a, b in rows for c, d in columns]
        results.append(torch.stack(bins, dim=-1).reshape(input.size(1), *size))
    if not results:
        return input.new_zeros((0, input.size(1), *size))
    return torch.stack(results)


def _largest(part):
    if part.numel() == 0:
        return part.new_zeros(part.shape[0])
    return torch.max(part.flatten(1), dim=1)[0]


def _pixel_bins(roi, shape, size, scale):
    """(image, [(first row, end)], [(first column, end)]) of one box's bins."""
    kind = roi.dtype.type
    x1, y1, x2, y2 = (_rounded(v * kind(scale)) for v in roi[1:])
    spans = []
    for start, end, bins, length in ((y1, y2, size[0], shape[-2]), (x1, x2, size[1], shape[-1])):
        step = kind(max(end - start + 1, 1)) / kind(bins)
        firsts = [math.floor(kind(i) * step) + start for i in range(bins)]
        ends = [math.ceil(kind(i + 1) * step) + start for i in range(bins)]
        spans.append([(min(max(a, 0), length), min(max(b, 0), length)) for a, b in zip(firsts, ends)])
    return int(roi[0]), *spans


def _rounded(value):
    """To the nearest integer, halves away from zero, as C's round."""
    return int(math.copysign(math.floor(abs(float(value)) + 0.5), value))


def ps_roi_pool(input, boxes, output_size, spatial_scale=1.0):
    """Position-sensitive means: each bin takes its values from channels of its own.

    Source: Dai et al., R-FCN, 2016 (arXiv 1605.06409).

    Args:
        boxes: (image, x1, y1, x2, y2) each, or a list of (x1, y1, x2, y2) for each image.
        output_size: an int or (P, Q).
        spatial_scale: from the boxes' coordinates to the map's.
    Shape: input (N, C P Q, H, W), boxes (K, 5) or a list of (L, 4) -> (K, C, P, Q)

    >>> ps_roi_pool(ones(1, 4, 4, 4), [tensor([[0.0, 0.0, 2.0, 2.0]])], 2).shape
    torch.Size([1, 1, 2, 2])
    """
    refuse_in_traces("ps_roi_pool")
    rois, size = as_rois(boxes), _pair(output_size)
    _check_channels(input, size)
    places = []
    for roi in rois.detach().numpy():
        kind = roi.dtype.type
        x1, y1, x2, y2 = (_rounded(v * kind(spatial_scale)) for v in roi[1:])
        place = [int(roi[0])]
        for start, end, bins, length in ((y1, y2, size[0], input.shape[-2]), (x1, x2, size[1], input.shape[-1])):
            step = kind(max(end - start, 1)) / kind(bins)
            weights = np.zeros((bins, length), kind)
            for i in range(bins):
                first = min(max(math.floor(kind(i) * step + start), 0), length)
                stop = min(max(math.ceil(kind(i + 1) * step + start), 0), length)
                if stop > first:
                    weights[i, first:stop] = kind(1) / kind(stop - first)
            place += [slice(0, length), weights]
        places.append(tuple(place))
    return _own_channels(_Sampled.apply(input, places, size), size)


# Modules


class _RoI(nn.Module):
    """Keeps the arguments of the function under their names."""

    _names = ()

    def _keep(self, *values):
        for name, value in zip(self._names, values, strict=True):
            setattr(self, name, value)

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)}' for name in self._names)})"


class RoIAlign(_RoI):
    """`roi_align` as a module.

    Shape: (N, C, H, W), boxes (K, 5) or a list of (L, 4) -> (K, C, H', W')

    >>> RoIAlign(2, 1.0, -1)(ones(1, 3, 4, 4), [tensor([[0.0, 0.0, 2.0, 2.0]])]).shape
    torch.Size([1, 3, 2, 2])
    """

    _names = ("output_size", "spatial_scale", "sampling_ratio", "aligned")

    def __init__(self, output_size, spatial_scale, sampling_ratio, aligned=False):
        super().__init__()
        self._keep(output_size, spatial_scale, sampling_ratio, aligned)

    def forward(self, input, rois):
        return roi_align(input, rois, self.output_size, self.spatial_scale, self.sampling_ratio, self.aligned)


class RoIPool(_RoI):
    """`roi_pool` as a module.

    Shape: (N, C, H, W), boxes (K, 5) or a list of (L, 4) -> (K, C, H', W')

    >>> RoIPool(2, 1.0)(ones(1, 3, 4, 4), [tensor([[0.0, 0.0, 2.0, 2.0]])]).shape
    torch.Size([1, 3, 2, 2])
    """

    _names = ("output_size", "spatial_scale")

    def __init__(self, output_size, spatial_scale):
        super().__init__()
        self._keep(output_size, spatial_scale)

    def forward(self, input, rois):
        return roi_pool(input, rois, self.output_size, self.spatial_scale)


class PSRoIAlign(_RoI):
    """`ps_roi_align` as a module.

    Shape: (N, C P Q, H, W), boxes (K, 5) or a list of (L, 4) -> (K, C, P, Q)

    >>> PSRoIAlign(2, 1.0, -1)(ones(1, 4, 4, 4), [tensor([[0.0, 0.0, 2.0, 2.0]])]).shape
    torch.Size([1, 1, 2, 2])
    """

    _names = ("output_size", "spatial_scale", "sampling_ratio")

    def __init__(self, output_size, spatial_scale, sampling_ratio):
        super().__init__()
        self._keep(output_size, spatial_scale, sampling_ratio)

    def forward(self, input, rois):
        return ps_roi_align(input, rois, self.output_size, self.spatial_scale, self.sampling_ratio)


class PSRoIPool(_RoI):
    """`ps_roi_pool` as a module.

    Shape: (N, C P Q, H, W), boxes (K, 5) or a list of (L, 4) -> (K, C, P, Q)

    >>> PSRoIPool(2, 1.0)(ones(1, 4, 4, 4), [tensor([[0.0, 0.0, 2.0, 2.0]])]).shape
    torch.Size([1, 1, 2, 2])
    """

    _names = ("output_size", "spatial_scale")

    def __init__(self, output_size, spatial_scale):
        super().__init__()
        self._keep(output_size, spatial_scale)

    def forward(self, input, rois):
        return ps_roi_pool(input, rois, self.output_size, self.spatial_scale)
