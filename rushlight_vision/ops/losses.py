"""Losses on boxes and on unbalanced classes."""

import math

import rushlight as torch
from rushlight import float32, float64, no_grad
from rushlight.nn import functional as F


def _reduced(loss, reduction, empty_mean=False):
    if reduction == "none":
        return loss
    if reduction == "mean":
        return 0.0 * loss.sum() if empty_mean and loss.numel() == 0 else loss.mean()
    if reduction == "sum":
        return loss.sum()
    raise ValueError(
        f"Invalid Value for arg 'reduction': '{reduction} \n Supported reduction modes: 'none', 'mean', 'sum'"
    )


def sigmoid_focal_loss(inputs, targets, alpha: float = 0.25, gamma: float = 2, reduction="none"):
    """Focal loss: the cross-entropy of each logit times (1 - p of the truth)^gamma.

    Source: Lin et al., Focal Loss for Dense Object Detection, 2017 (arXiv 1708.02002).

    Args:
        alpha: weights ones against zeros, -1 for no weights.
        reduction: "none", "mean" or "sum".
    Shape: inputs (*), targets (*) -> (*), or () reduced
    Raises:
        ValueError: `reduction` is another text, as in `sigmoid_focal_loss(ones(2), ones(2), reduction="x")`.

    >>> sigmoid_focal_loss(tensor([0.0]), tensor([1.0]))
    tensor([0.0433])
    """
    if not (0 <= alpha <= 1) and alpha != -1:
        raise ValueError(f"Invalid alpha value: {alpha}. alpha must be in the range [0,1] or -1 for ignore.")
    p = torch.sigmoid(inputs)
    cross_entropy = F.binary_cross_entropy_with_logits(inputs, targets, reduction="none")
    p_truth = p * targets + (1 - p) * (1 - targets)
    loss = cross_entropy * ((1 - p_truth) ** gamma)
    if alpha >= 0:
        loss = (alpha * targets + (1 - alpha) * (1 - targets)) * loss
    return _reduced(loss, reduction)


def _floating(boxes):
    return boxes if boxes.dtype in (float32, float64) else boxes.to(float32)


def _overlap(boxes1, boxes2):
    """(intersection, union) of each box with the one in its place."""
    x1, y1, x2, y2 = boxes1.unbind(-1)
    u1, v1, u2, v2 = boxes2.unbind(-1)
    width, height = torch.min(x2, u2) - torch.max(x1, u1), torch.min(y2, v2) - torch.max(y1, v1)
    shared = torch.where((width > 0) & (height > 0), width * height, torch.zeros_like(width))
    return shared, (x2 - x1) * (y2 - y1) + (u2 - u1) * (v2 - v1) - shared


def _hull(boxes1, boxes2):
    """(width, height) of the smallest box around each pair."""
    x1, y1, x2, y2 = boxes1.unbind(-1)
    u1, v1, u2, v2 = boxes2.unbind(-1)
    return torch.max(x2, u2) - torch.min(x1, u1), torch.max(y2, v2) - torch.min(y1, v1)


def generalized_box_iou_loss(boxes1, boxes2, reduction="none", eps=1e-7):
    """1 - GIoU of each box with the one in its place.

    Source: Rezatofighi et al., Generalized Intersection over Union, 2019 (arXiv 1902.09630).

    Args:
        reduction: "none", "mean" or "sum".
    Shape: (N, 4), (N, 4) -> (N), or () reduced
    Raises:
        ValueError: `reduction` is another text, as in `generalized_box_iou_loss(ones(1, 4), ones(1, 4), "x")`.

    >>> generalized_box_iou_loss(tensor([[0.0, 0.0, 1.0, 1.0]]), tensor([[1.0, 0.0, 2.0, 1.0]]))
    tensor([1.])
    """
    boxes1, boxes2 = _floating(boxes1), _floating(boxes2)
    shared, union = _overlap(boxes1, boxes2)
    width, height = _hull(boxes1, boxes2)
    around = width * height
    return _reduced(1 - (shared / (union + eps) - (around - union) / (around + eps)), reduction, empty_mean=True)


def _distance_loss(boxes1, boxes2, eps):
    shared, union = _overlap(boxes1, boxes2)
    iou = shared / (union + eps)
    width, height = _hull(boxes1, boxes2)
    x1, y1, x2, y2 = boxes1.unbind(-1)
    u1, v1, u2, v2 = boxes2.unbind(-1)
    squared_distance = ((x2 + x1) / 2 - (u1 + u2) / 2) ** 2 + ((y2 + y1) / 2 - (v1 + v2) / 2) ** 2
    return 1 - iou + squared_distance / (width**2 + height**2 + eps), iou


def distance_box_iou_loss(boxes1, boxes2, reduction="none", eps=1e-7):
    """1 - DIoU of each box with the one in its place.

    Source: Zheng et al., Distance-IoU Loss, 2019 (arXiv 1911.08287).

    Args:
        reduction: "none", "mean" or "sum".
    Shape: (N, 4), (N, 4) -> (N), or () reduced
    Raises:
        ValueError: `reduction` is another text, as in `distance_box_iou_loss(ones(1, 4), ones(1, 4), "x")`.

    >>> distance_box_iou_loss(tensor([[0.0, 0.0, 1.0, 1.0]]), tensor([[1.0, 0.0, 2.0, 1.0]]))
    tensor([1.2000])
    """
    return _reduced(_distance_loss(_floating(boxes1), _floating(boxes2), eps)[0], reduction, empty_mean=True)


def complete_box_iou_loss(boxes1, boxes2, reduction="none", eps=1e-7):
    """1 - CIoU of each box with the one in its place.

    Source: Zheng et al., Enhancing Geometric Factors, 2020 (arXiv 2005.03572).

    Args:
        reduction: "none", "mean" or "sum".
    Shape: (N, 4), (N, 4) -> (N), or () reduced
    Raises:
        ValueError: `reduction` is another text, as in `complete_box_iou_loss(ones(1, 4), ones(1, 4), "x")`.

    >>> complete_box_iou_loss(tensor([[0.0, 0.0, 1.0, 1.0]]), tensor([[1.0, 0.0, 2.0, 1.0]]))
    tensor([1.2000])
    """
    boxes1, boxes2 = _floating(boxes1), _floating(boxes2)
    loss, iou = _distance_loss(boxes1, boxes2, 1e-7)
    angles = [torch.atan((b[..., 2] - b[..., 0]) / (b[..., 3] - b[..., 1])) for b in (boxes2, boxes1)]
    v = (4 / math.pi**2) * (angles[0] - angles[1]) ** 2
    with no_grad():
        alpha = v / (1 - iou + v + eps)
    return _reduced(loss + alpha * v, reduction, empty_mean=True)
