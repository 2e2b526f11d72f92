"""torchvision's operators on boxes, which the package rushlight_vision registers."""

from __future__ import annotations

from typing import Any

from ....core.tensor import dtype as dtypes
from ....core.tensor.tensor import Tensor
from ..graph import Builder, CannotExport, Item, plain

__all__ = ["ROWS"]

_ALL = 2**63 - 1


def nms(g: Builder, out: Tensor, boxes: Item, scores: Item, threshold: Item) -> str:
    """ONNX's takes boxes and scores of several images and classes, and gives (image, class, box) for each that stays."""
    if boxes.value.dtype is not dtypes.float32:
        raise CannotExport(f"boxes of {boxes.value.dtype}")
    limit = g.constant(float(plain(threshold)), dtypes.float32)
    given = (
        g.emit("Unsqueeze", g.name(boxes), g.constant([0])),
        g.emit("Unsqueeze", g.name(scores), g.constant([0, 1])),
    )
    found = g.emit("NonMaxSuppression", *given, g.constant([_ALL]), limit)
    return g.emit("Gather", found, g.constant(2), axis=1)


def roi_align(
    g: Builder,
    out: Tensor,
    x: Item,
    rois: Item,
    scale: Item,
    height: Item,
    width: Item,
    sampling_ratio: Item,
    aligned: Item,
) -> str:
    name = g.name(rois)
    images = g.cast(g.emit("Gather", name, g.constant(0), axis=1), dtypes.int64)
    corners = g.emit("Slice", name, g.constant([1]), g.constant([5]), g.constant([1]))
    options = {
        "output_height": plain(height),
        "output_width": plain(width),
        "sampling_ratio": max(plain(sampling_ratio), 0),
        "spatial_scale": float(plain(scale)),
        "coordinate_transformation_mode": "half_pixel" if plain(aligned) else "output_half_pixel",
        "mode": "avg",
    }
    return g.emit("RoiAlign", g.name(x), corners, images, **options)


def heatmaps_to_keypoints(g: Builder, out: Any, maps: Item, rois: Item) -> list[str]:
    """A loop over the boxes: each map gets the size of its own."""
    if maps.value.dtype is not dtypes.float32:
        raise CannotExport(f"maps of {maps.value.dtype}")
    count = maps.fixed_size(1)
    names, boxes = g.name(maps), g.name(rois, dtypes.float32)
    first, third, end = g.constant([0]), g.constant([2]), g.constant([4])
    corners = g.emit("Slice", boxes, first, third, g.constant([1]))
    sides = g.emit("Sub", g.emit("Slice", boxes, third, end, g.constant([1])), corners)
    sides = g.emit("Max", sides, g.constant(1.0, dtypes.float32))

    def step(i: str, goes_on: str) -> list[str]:
        size = g.cast(g.emit("Ceil", g.emit("Gather", sides, i)), dtypes.int64)  # width, height
        wide, high = (g.emit("Slice", size, g.constant([k]), g.constant([k + 1])) for k in (0, 1))
        small = g.emit("Unsqueeze", g.emit("Gather", names, i), first)
        sizes = g.emit("Concat", g.constant([1, count]), high, wide, axis=0)
        options = {"mode": "cubic", "coordinate_transformation_mode": "half_pixel", "cubic_coeff_a": -0.75}
        flat = g.emit("Reshape", g.emit("Resize", small, "", "", sizes, **options), g.constant([count, -1]))
        best = g.emit("ArgMax", flat, axis=1, keepdims=1)
        pixel = g.emit("Concat", g.emit("Mod", best, wide), g.emit("Div", best, wide), axis=1)
        middle = g.emit("Add", g.cast(pixel, dtypes.float32), g.constant(0.5, dtypes.float32))
        scale = g.emit("Div", g.emit("Gather", sides, i), g.cast(size, dtypes.float32))
        point = g.emit("Add", g.emit("Mul", middle, scale), g.emit("Gather", corners, i))
        ones = g.constant([[1.0]] * count, dtypes.float32)
        score = g.emit("Reshape", g.emit("GatherElements", flat, best, axis=1), g.constant([count]))
        return [goes_on, g.emit("Concat", point, ones, axis=1), score]

    kinds = [dtypes.bool_, dtypes.float32, dtypes.float32]
    body = g.body([("box", dtypes.int64), ("goes_on", dtypes.bool_)], step, kinds, shape=())
    number = g.emit("Shape", boxes, start=0, end=1)
    points, scores = g.several("Loop", [g.emit("Squeeze", number), g.constant(True, dtypes.bool_)], 2, body=body)
    # of no box, the loop does not know the other sizes
    points = g.emit("Reshape", points, g.emit("Concat", number, g.constant([count, 3]), axis=0))
    return [points, g.emit("Reshape", scores, g.emit("Concat", number, g.constant([count]), axis=0))]


ROWS = {
    "torchvision::nms": nms,
    "torchvision::roi_align": roi_align,
    "torchvision::heatmaps_to_keypoints": heatmaps_to_keypoints,
}
