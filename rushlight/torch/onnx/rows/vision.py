"""torchvision's operators on boxes, which the package rushlight_vision registers."""

from __future__ import annotations

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


ROWS = {"torchvision::nms": nms, "torchvision::roi_align": roi_align}
