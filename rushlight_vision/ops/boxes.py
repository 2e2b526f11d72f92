"""Boxes: conversion, area, overlap, and non-maximum suppression. Unless said otherwise a box is (x1, y1, x2, y2)."""

import math

import numpy as np

import rushlight as torch
from rushlight import float32, float64, from_numpy, int32, int64, no_grad
from rushlight_vision.ops.registered import is_recorded, refuse_in_traces, registered

_ALIGNED = ("xyxy", "xywh", "cxcywh")
_ROTATED = ("cxcywhr", "xywhr", "xyxyxyxy")


# Choice


def nms(boxes, scores, iou_threshold):
    """Indices of the boxes that stay, by falling score, when each removes those that overlap it by more than `iou_threshold`.

    Shape: boxes (N, 4), scores (N) -> (kept) int64
    Raises:
        RuntimeError: the numbers of boxes and scores differ, as in `nms(ones(2, 4), ones(3), 0.5)`.

    >>> nms(tensor([[0.0, 0, 2, 2], [0, 0, 2, 2], [5, 5, 6, 6]]), tensor([0.5, 0.9, 0.1]), 0.5)
    tensor([1, 2])
    """
    return _nms(boxes, scores, iou_threshold)


@registered("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
def _nms(boxes, scores, iou_threshold):
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise RuntimeError(f"boxes should be a 2d tensor with 4 columns, got shape {tuple(boxes.shape)}")
    if scores.ndim != 1 or scores.shape[0] != boxes.shape[0]:
        raise RuntimeError(
            f"boxes and scores should have same number of elements in dimension 0, got {boxes.shape[0]} and "
            f"{tuple(scores.shape)}"
        )
    return from_numpy(_kept(boxes.detach().numpy(), scores.detach().numpy(), iou_threshold))


def _kept(boxes, scores, iou_threshold):
    x1, y1, x2, y2 = boxes.T
    areas = (x2 - x1) * (y2 - y1)
    order = np.argsort(-scores, kind="stable")
    kept = []
    while len(order):
        best, order = order[0], order[1:]
        kept.append(best)
        width = np.minimum(x2[best], x2[order]) - np.maximum(x1[best], x1[order])
        height = np.minimum(y2[best], y2[order]) - np.maximum(y1[best], y1[order])
        shared = np.maximum(width, 0) * np.maximum(height, 0)
        with np.errstate(divide="ignore", invalid="ignore"):  # boxes without area: NaN removes nothing
            overlap = shared / (areas[best] + areas[order] - shared)
        order = order[~(overlap > iou_threshold)]
    return np.array(kept, np.int64)


def batched_nms(boxes, scores, idxs, iou_threshold):
    """`nms` among the boxes of each class by itself.

    Args:
        idxs: the class of each box.
    Shape: boxes (N, 4), scores (N), idxs (N) -> (kept) int64

    >>> batched_nms(tensor([[0.0, 0, 2, 2], [0, 0, 2, 2]]), tensor([0.5, 0.9]), tensor([0, 1]), 0.5)
    tensor([1, 0])
    """
    if is_recorded():
        return _nms_of_any_number(boxes, scores, idxs, iou_threshold)
    if boxes.numel() > 4000:
        return _nms_by_class(boxes, scores, idxs, iou_threshold)
    if boxes.numel() == 0:
        return torch.empty((0,), dtype=int64)
    separated = idxs.to(boxes) * (boxes.max() + torch.tensor(1).to(boxes))  # so far that classes cannot overlap
    return nms(boxes + separated[:, None], scores, iou_threshold)


def _nms_of_any_number(boxes, scores, idxs, iou_threshold):
    """The same for a graph, in which the number of boxes decides nothing, and may be 0."""
    farthest = torch.cat([boxes.reshape(-1), boxes.new_zeros(1)]).max()
    return nms(boxes + (idxs.to(boxes) * (farthest + 1))[:, None], scores, iou_threshold)


def _nms_by_class(boxes, scores, idxs, iou_threshold):
    kept = []
    for label in torch.unique(idxs):
        chosen = torch.where(idxs == label)[0]
        kept.append(chosen[nms(boxes[chosen], scores[chosen], iou_threshold)])
    kept = torch.cat(kept).sort()[0]
    return kept[scores[kept].sort(descending=True)[1]]


def remove_small_boxes(boxes, min_size):
    """Indices of the boxes with no side shorter than `min_size`.

    Shape: (N, 4) -> (kept) int64

    >>> remove_small_boxes(tensor([[0.0, 0, 2, 2], [0, 0, 0.5, 2]]), 1.0)
    tensor([0])
    """
    width, height = boxes[..., 2] - boxes[..., 0], boxes[..., 3] - boxes[..., 1]
    return torch.where((width >= min_size) & (height >= min_size))[0]


def clip_boxes_to_image(boxes, size):
    """The boxes cut off at the border of an image.

    Args:
        size: (height, width).
    Shape: (*, 4) -> (*, 4)

    >>> clip_boxes_to_image(tensor([[-1.0, 0.0, 9.0, 2.0]]), (4, 5))
    tensor([[0., 0., 5., 2.]])
    """
    height, width = size
    x, y = boxes[..., 0::2].clamp(min=0, max=width), boxes[..., 1::2].clamp(min=0, max=height)
    return torch.stack((x, y), dim=boxes.dim()).reshape(boxes.shape)


# Forms


def box_convert(boxes, in_fmt, out_fmt):
    """Boxes from one form to another.

    Args:
        in_fmt, out_fmt: "xyxy" (two corners), "xywh" (a corner and the size), "cxcywh" (the centre and the size),
            "xywhr", "cxcywhr" (with a rotation in degrees), "xyxyxyxy" (four corners).
    Shape: (*, 4), (*, 5) or (*, 8) -> (*, 4), (*, 5) or (*, 8)
    Raises:
        ValueError: a form is another text, as in `box_convert(ones(1, 4), "x", "xyxy")`.

    >>> box_convert(tensor([[0.0, 0.0, 2.0, 4.0]]), "xyxy", "cxcywh")
    tensor([[1., 2., 2., 4.]])
    """
    if in_fmt not in (*_ALIGNED, *_ROTATED) or out_fmt not in (*_ALIGNED, *_ROTATED):
        raise ValueError(f"Unsupported Bounding Box Conversions for given in_fmt {in_fmt} and out_fmt {out_fmt}")
    if in_fmt == out_fmt:
        return boxes.clone()
    if (in_fmt in _ALIGNED) != (out_fmt in _ALIGNED):
        raise NotImplementedError(
            f"Unsupported Bounding Box Conversions for given in_fmt {in_fmt} and out_fmt {out_fmt}"
        )
    middle = "xyxy" if in_fmt in _ALIGNED else "xywhr"
    if in_fmt != middle:
        boxes = _TO_MIDDLE[in_fmt](boxes)
    return boxes if out_fmt == middle else _FROM_MIDDLE[out_fmt](boxes)


def _from_xywh(boxes):
    x, y, w, h = boxes.unbind(-1)
    return torch.stack([x, y, x + w, y + h], dim=-1)


def _from_cxcywh(boxes):
    x, y, w, h = boxes.unbind(-1)
    return torch.stack((x - 0.5 * w, y - 0.5 * h, x + 0.5 * w, y + 0.5 * h), dim=-1)


def _to_xywh(boxes):
    x1, y1, x2, y2 = boxes.unbind(-1)
    return torch.stack((x1, y1, x2 - x1, y2 - y1), dim=-1)


def _to_cxcywh(boxes):
    x1, y1, x2, y2 = boxes.unbind(-1)
    return torch.stack(((x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1), dim=-1)


def _like(boxes, values):
    """Stacked in the boxes' dtype, rounded where that is an integer one."""
    stacked = torch.stack(values, dim=-1)
    return stacked if boxes.is_floating_point() else stacked.round().to(boxes.dtype)


def _directions(degrees):
    radians = degrees * math.pi / 180.0
    return torch.cos(radians), torch.sin(radians)


def _from_cxcywhr(boxes):
    cx, cy, w, h, r = boxes.unbind(-1)
    cos, sin = _directions(r)
    return _like(boxes, (cx - w / 2 * cos - h / 2 * sin, cy - h / 2 * cos + w / 2 * sin, w, h, r))


def _to_cxcywhr(boxes):
    x, y, w, h, r = boxes.unbind(-1)
    cos, sin = _directions(r)
    return _like(boxes, (x + w / 2 * cos + h / 2 * sin, y - w / 2 * sin + h / 2 * cos, w, h, r))


def _from_corners(boxes):
    x1, y1, x2, y2, x3, y3, _, _ = boxes.unbind(-1)
    degrees = torch.atan2(y1 - y2, x2 - x1) * 180 / math.pi
    width = ((x2 - x1) ** 2 + (y1 - y2) ** 2).sqrt()
    height = ((x3 - x2) ** 2 + (y3 - y2) ** 2).sqrt()
    return _like(boxes, (x1, y1, width, height, degrees))


def _to_corners(boxes):
    x, y, w, h, r = boxes.unbind(-1)
    cos, sin = _directions(r)
    right, up, across, down = w * cos, w * sin, h * sin, h * cos
    corners = (x, y, x + right, y - up, x + right + across, y - up + down, x + across, y + down)
    return _like(boxes, corners)


_TO_MIDDLE = {
    "xywh": _from_xywh,
    "cxcywh": _from_cxcywh,
    "cxcywhr": _from_cxcywhr,
    "xyxyxyxy": _from_corners,
}
_FROM_MIDDLE = {"xywh": _to_xywh, "cxcywh": _to_cxcywh, "cxcywhr": _to_cxcywhr, "xyxyxyxy": _to_corners}


# Overlap


def _upcast(t):
    """At least float32 or int32, in which products do not overflow so soon."""
    if t.is_floating_point():
        return t if t.dtype in (float32, float64) else t.to(float32)
    return t if t.dtype in (int32, int64) else t.to(int32)


def box_area(boxes, fmt="xyxy"):
    """Areas of boxes.

    Args:
        fmt: "xyxy", "xywh" or "cxcywh".
    Shape: (*, 4) -> (*)
    Raises:
        ValueError: `fmt` is another text, as in `box_area(ones(1, 4), fmt="x")`.

    >>> box_area(tensor([[0.0, 0.0, 2.0, 3.0]]))
    tensor([6.])
    """
    if fmt not in _ALIGNED:
        raise ValueError(f"Unsupported Bounding Box area for given format {fmt}")
    boxes = _upcast(boxes)
    if fmt != "xyxy":
        return boxes[..., 2] * boxes[..., 3]
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def _corners(boxes, fmt):
    """(top left, bottom right), each (*, 2)."""
    first, second = boxes[..., :2], boxes[..., 2:]
    if fmt == "xyxy":
        return first, second
    return (first, first + second) if fmt == "xywh" else (first - second / 2, first + second / 2)


def _intersection_and_union(boxes1, boxes2, fmt="xyxy"):
    """Both (*, N, M), for boxes (*, N, 4) and (*, M, 4)."""
    area1, area2 = box_area(boxes1, fmt), box_area(boxes2, fmt)
    start1, end1 = _corners(boxes1[..., None, :], fmt)
    start2, end2 = _corners(boxes2[..., None, :, :], fmt)
    sides = _upcast(torch.min(end1, end2) - torch.max(start1, start2)).clamp(min=0)
    shared = sides[..., 0] * sides[..., 1]
    return shared, area1[..., None] + area2[..., None, :] - shared


def _hull(boxes1, boxes2):
    """Sides of the smallest box around each pair: (*, N, M, 2)."""
    start = torch.min(boxes1[..., None, :2], boxes2[..., None, :, :2])
    end = torch.max(boxes1[..., None, 2:], boxes2[..., None, :, 2:])
    return _upcast(end - start).clamp(min=0)


def box_iou(boxes1, boxes2, fmt="xyxy"):
    """Intersection over union of each pair of boxes.

    Args:
        fmt: "xyxy", "xywh" or "cxcywh"; rotated boxes are not implemented.
    Shape: (N, 4), (M, 4) -> (N, M)
    Raises:
        ValueError: `fmt` is another text, as in `box_iou(ones(1, 4), ones(1, 4), fmt="x")`.

    >>> box_iou(tensor([[0.0, 0.0, 2.0, 2.0]]), tensor([[1.0, 0.0, 3.0, 2.0]]))
    tensor([[0.3333]])
    """
    if fmt in _ROTATED:
        raise NotImplementedError(f"box_iou of rotated boxes (fmt={fmt!r}) is not implemented in Rushlight")
    if fmt not in _ALIGNED:
        raise ValueError(
            f"Unsupported format '{fmt}'. Supported axis-aligned formats: {_ALIGNED}. Supported rotated formats: "
            f"{_ROTATED}."
        )
    shared, union = _intersection_and_union(boxes1, boxes2, fmt)
    return shared / union


def generalized_box_iou(boxes1, boxes2):
    """GIoU of each pair of boxes.

    Source: Rezatofighi et al., Generalized Intersection over Union, 2019 (arXiv 1902.09630).

    Shape: (N, 4), (M, 4) -> (N, M)

    >>> generalized_box_iou(tensor([[0.0, 0.0, 1.0, 1.0]]), tensor([[1.0, 0.0, 2.0, 1.0]]))
    tensor([[0.]])
    """
    shared, union = _intersection_and_union(boxes1, boxes2)
    sides = _hull(boxes1, boxes2)
    around = sides[..., 0] * sides[..., 1]
    return shared / union - (around - union) / around


def distance_box_iou(boxes1, boxes2, eps=1e-7):
    """DIoU of each pair of boxes.

    Source: Zheng et al., Distance-IoU Loss, 2019 (arXiv 1911.08287).

    Shape: (N, 4), (M, 4) -> (N, M)

    >>> distance_box_iou(tensor([[0.0, 0.0, 1.0, 1.0]]), tensor([[0.0, 0.0, 1.0, 1.0]]))
    tensor([[1.]])
    """
    return _distance_iou(_upcast(boxes1), _upcast(boxes2), eps)[0]


def _distance_iou(boxes1, boxes2, eps):
    iou = box_iou(boxes1, boxes2)
    sides = _hull(boxes1, boxes2)
    diagonal = sides[..., 0] ** 2 + sides[..., 1] ** 2 + eps
    x1, y1 = ((boxes1[..., i] + boxes1[..., i + 2]) / 2 for i in (0, 1))
    x2, y2 = ((boxes2[..., i] + boxes2[..., i + 2]) / 2 for i in (0, 1))
    separated = _upcast(x1[..., None] - x2[..., None, :]) ** 2 + _upcast(y1[..., None] - y2[..., None, :]) ** 2
    return iou - separated / diagonal, iou


def complete_box_iou(boxes1, boxes2, eps=1e-7):
    """CIoU of each pair of boxes.

    Source: Zheng et al., Enhancing Geometric Factors, 2020 (arXiv 2005.03572).

    Shape: (N, 4), (M, 4) -> (N, M)

    >>> complete_box_iou(tensor([[0.0, 0.0, 1.0, 1.0]]), tensor([[0.0, 0.0, 1.0, 1.0]]))
    tensor([[1.]])
    """
    boxes1, boxes2 = _upcast(boxes1), _upcast(boxes2)
    diou, iou = _distance_iou(boxes1, boxes2, eps)
    angle1 = _shape_angle(boxes1[..., None, :])
    angle2 = _shape_angle(boxes2[..., None, :, :])
    v = 4 / math.pi**2 * (angle1 - angle2) ** 2
    with no_grad():
        alpha = v / (1 - iou + v + eps)
    return diou - alpha * v


def _shape_angle(boxes):
    return torch.atan((boxes[..., 2] - boxes[..., 0]) / (boxes[..., 3] - boxes[..., 1]))


def masks_to_boxes(masks):
    """The box around each mask, with the last row and column inside; 0 for an empty mask.

    Shape: (N, H, W) -> (N, 4) float32

    >>> masks_to_boxes(tensor([[[0, 1, 1], [0, 1, 0]]]))
    tensor([[1., 0., 2., 1.]])
    """
    if masks.numel() == 0:
        return torch.zeros((0, 4), dtype=float32)
    refuse_in_traces("masks_to_boxes")
    found = np.zeros((len(masks), 4), np.float32)
    for box, mask in zip(found, masks.detach().numpy()):
        rows, columns = np.nonzero(mask.any(axis=1))[0], np.nonzero(mask.any(axis=0))[0]
        if len(rows):
            box[:] = columns[0], rows[0], columns[-1], rows[-1]
    return from_numpy(found)
