"""What detectors share: boxes as offsets from anchors, matching of anchors to objects, a balanced sample of them."""

import math
from collections import OrderedDict

import rushlight as torch
from rushlight import Tensor, int64, no_grad, uint8
from rushlight.nn import functional as F
from rushlight_vision.ops.layers import FrozenBatchNorm2d
from rushlight_vision.ops.losses import complete_box_iou_loss, distance_box_iou_loss, generalized_box_iou_loss
from rushlight_vision.ops.registered import is_recorded

__all__ = [
    "BalancedPositiveNegativeSampler",
    "BoxCoder",
    "BoxLinearCoder",
    "Matcher",
    "SSDMatcher",
    "encode_boxes",
    "overwrite_eps",
    "retrieve_out_channels",
]

_XFORM_CLIP = math.log(1000.0 / 16)  # from 16 pixels to 1000


# A sample


class BalancedPositiveNegativeSampler:
    """Chooses at random `batch_size_per_image` elements of each image, at most `positive_fraction` of them positive."""

    def __init__(self, batch_size_per_image, positive_fraction):
        self.batch_size_per_image = batch_size_per_image
        self.positive_fraction = positive_fraction

    def __call__(self, matched_idxs):
        """A list of labels (K,) (above 0 positive, 0 negative, below left out) -> two lists of uint8 masks (K,)."""
        masks = [self._masks(labels) for labels in matched_idxs]
        return [positive for positive, _ in masks], [negative for _, negative in masks]

    def _masks(self, labels):
        positive, negative = torch.where(labels >= 1)[0], torch.where(labels == 0)[0]
        positives = min(positive.numel(), int(self.batch_size_per_image * self.positive_fraction))
        negatives = min(negative.numel(), self.batch_size_per_image - positives)
        return _mask_of_some(labels, positive, positives), _mask_of_some(labels, negative, negatives)


def _mask_of_some(labels, candidates, count):
    mask = torch.zeros_like(labels, dtype=uint8)
    mask[candidates[torch.randperm(candidates.numel(), device=labels.device)[:count]]] = 1
    return mask


# Boxes as offsets


def encode_boxes(reference_boxes, proposals, weights):
    """Offsets (N, 4) of the centres, and logarithms of the sizes, that lead from `proposals` (N, 4) to `reference_boxes`.

    weights: the factors of x, y, width and height (Girshick, arXiv 1504.08083).
    """
    width, height, x, y = _sizes_and_centres(proposals)
    wide, high, to_x, to_y = _sizes_and_centres(reference_boxes)
    wx, wy, ww, wh = weights
    offsets = (
        wx * (to_x - x) / width,
        wy * (to_y - y) / height,
        ww * torch.log(wide / width),
        wh * torch.log(high / height),
    )
    return torch.cat(offsets, dim=1)


def _sizes_and_centres(boxes):
    """(width, height, x, y of the centre), each (N, 1)."""
    x1, y1, x2, y2 = (boxes[:, i].unsqueeze(1) for i in range(4))
    width, height = x2 - x1, y2 - y1
    return width, height, x1 + 0.5 * width, y1 + 0.5 * height


class BoxCoder:
    """Boxes to offsets from other boxes, and back.

    weights: the offsets' factors (x, y, width, height). bbox_xform_clip: the largest logarithm of a size.
    """

    def __init__(self, weights, bbox_xform_clip=_XFORM_CLIP):
        self.weights = weights
        self.bbox_xform_clip = bbox_xform_clip

    def encode(self, reference_boxes, proposals):
        """Two lists of boxes (K, 4) -> a tuple of offsets (K, 4)."""
        counts = [len(boxes) for boxes in reference_boxes]
        return self.encode_single(torch.cat(reference_boxes, dim=0), torch.cat(proposals, dim=0)).split(counts, 0)

    def encode_single(self, reference_boxes, proposals):
        """Boxes (K, 4) to reach and to start from -> offsets (K, 4)."""
        weights = torch.as_tensor(self.weights, dtype=reference_boxes.dtype, device=reference_boxes.device)
        return encode_boxes(reference_boxes, proposals, weights)

    def decode(self, rel_codes, boxes):
        """Offsets (K, 4 C) and a list of boxes, K in all -> (K, C, 4)."""
        if not isinstance(boxes, (list, tuple)):
            raise AssertionError("This function expects boxes of type list or tuple.")
        if not isinstance(rel_codes, Tensor):
            raise AssertionError("This function expects rel_codes of type torch.Tensor.")
        count = sum(b.size(0) for b in boxes)
        decoded = self.decode_single(rel_codes.reshape(count, -1) if count else rel_codes, torch.cat(boxes, dim=0))
        return decoded.reshape(count, -1, 4) if count else decoded

    def decode_single(self, rel_codes, boxes):
        """Offsets (K, 4 C) from boxes (K, 4) -> boxes (K, 4 C)."""
        width, height, x, y = _sizes_and_centres(boxes.to(rel_codes.dtype))
        dx, dy, dw, dh = (rel_codes[:, i::4] / weight for i, weight in enumerate(self.weights))
        x, y = dx * width + x, dy * height + y
        half_width = 0.5 * (torch.exp(torch.clamp(dw, max=self.bbox_xform_clip)) * width)
        half_height = 0.5 * (torch.exp(torch.clamp(dh, max=self.bbox_xform_clip)) * height)
        return torch.stack((x - half_width, y - half_height, x + half_width, y + half_height), dim=2).flatten(1)


class BoxLinearCoder:
    """Boxes as distances of their four sides from the centre of another (FCOS, Tian et al., arXiv 1904.01355)."""

    def __init__(self, normalize_by_size=True):
        self.normalize_by_size = normalize_by_size

    def encode(self, reference_boxes, proposals):
        """Distances (*, 4) to the left, top, right and bottom of `proposals` from the centres of `reference_boxes`."""
        x, y = _middles(reference_boxes)
        left, top, right, bottom = proposals.unbind(-1)
        distances = torch.stack((x - left, y - top, right - x, bottom - y), dim=-1)
        return distances / _sides(reference_boxes) if self.normalize_by_size else distances

    def decode(self, rel_codes, boxes):
        """Distances (*, 4) from the centres of boxes (*, 4) -> boxes (*, 4)."""
        boxes = boxes.to(dtype=rel_codes.dtype)
        x, y = _middles(boxes)
        if self.normalize_by_size:
            rel_codes = rel_codes * _sides(boxes)
        left, top, right, bottom = rel_codes.unbind(-1)
        return torch.stack((x - left, y - top, x + right, y + bottom), dim=-1)


def _middles(boxes):
    return 0.5 * (boxes[..., 0] + boxes[..., 2]), 0.5 * (boxes[..., 1] + boxes[..., 3])


def _sides(boxes):
    width, height = boxes[..., 2] - boxes[..., 0], boxes[..., 3] - boxes[..., 1]
    return torch.stack((width, height, width, height), dim=-1)


# Which object


class Matcher:
    """To each prediction the object that it overlaps most, or a negative number.

    high_threshold: from here on it counts; below `low_threshold` the prediction is background, between them undecided.
    allow_low_quality_matches: each object also keeps the predictions that overlap it most, however little.
    """

    BELOW_LOW_THRESHOLD = -1
    BETWEEN_THRESHOLDS = -2

    def __init__(self, high_threshold, low_threshold, allow_low_quality_matches=False):
        if low_threshold > high_threshold:
            raise AssertionError("low_threshold should be <= high_threshold")
        self.high_threshold = high_threshold
        self.low_threshold = low_threshold
        self.allow_low_quality_matches = allow_low_quality_matches

    def __call__(self, match_quality_matrix):
        """Overlaps (objects M, predictions N) -> int64 (N,): the object's number, -1 background, -2 undecided."""
        if match_quality_matrix.numel() == 0:
            lacking = "ground-truth" if match_quality_matrix.shape[0] == 0 else "proposal"
            raise ValueError(f"No {lacking} boxes available for one of the images during training")
        values, matches = match_quality_matrix.max(dim=0)
        nearest = matches.clone() if self.allow_low_quality_matches else None
        matches[values < self.low_threshold] = self.BELOW_LOW_THRESHOLD
        matches[(values >= self.low_threshold) & (values < self.high_threshold)] = self.BETWEEN_THRESHOLDS
        if nearest is not None:
            self.set_low_quality_matches_(matches, nearest, match_quality_matrix)
        return matches

    def set_low_quality_matches_(self, matches, all_matches, match_quality_matrix):
        """Gives the predictions that overlap some object most (ties too) the object that they overlap most."""
        best = match_quality_matrix.max(dim=1)[0]
        chosen = torch.where(match_quality_matrix == best[:, None])[1]
        matches[chosen] = all_matches[chosen]


class SSDMatcher(Matcher):
    """One threshold; each object also gets the prediction that overlaps it most (Liu et al., arXiv 1512.02325)."""

    def __init__(self, threshold):
        super().__init__(threshold, threshold, allow_low_quality_matches=False)

    def __call__(self, match_quality_matrix):
        matches = super().__call__(match_quality_matrix)
        best = match_quality_matrix.max(dim=1)[1]
        matches[best] = torch.arange(best.size(0), dtype=int64, device=best.device)
        return matches


# Backbones and losses


def overwrite_eps(model, eps):
    """Sets `eps` of each FrozenBatchNorm2d: weights from before torchvision 0.9 were trained with 0."""
    for module in model.modules():
        if isinstance(module, FrozenBatchNorm2d):
            module.eps = eps


def retrieve_out_channels(model, size):
    """Channels of each map that a backbone gives for an image of `size` (width, height)."""
    training = model.training
    model.eval()
    with no_grad():
        features = model(torch.zeros((1, 3, size[1], size[0]), device=next(model.parameters()).device))
    if isinstance(features, Tensor):
        features = OrderedDict([("0", features)])
    if training:
        model.train()
    return [value.size(1) for value in features.values()]


def _topk_min(input, orig_kval, axis):
    """`orig_kval`, or the length of the axis where that is less."""
    if is_recorded():  # as part of the graph
        return torch.minimum(torch.tensor(orig_kval), input.size(axis))
    return min(orig_kval, input.size(axis))


def _box_loss(type, box_coder, anchors_per_image, matched_gt_boxes_per_image, bbox_regression_per_image, cnf=None):
    """The sum of a loss of boxes: 'l1' and 'smooth_l1' of the offsets, 'ciou', 'diou' and 'giou' of the boxes."""
    options = cnf or {}
    if type in ("l1", "smooth_l1"):
        wanted = box_coder.encode_single(matched_gt_boxes_per_image, anchors_per_image)
        if type == "l1":
            return F.l1_loss(bbox_regression_per_image, wanted, reduction="sum")
        return F.smooth_l1_loss(bbox_regression_per_image, wanted, reduction="sum", beta=options.get("beta", 1.0))
    losses = {"ciou": complete_box_iou_loss, "diou": distance_box_iou_loss, "giou": generalized_box_iou_loss}
    if type not in losses:
        raise AssertionError(f"Unsupported loss: {type}")
    boxes = box_coder.decode_single(bbox_regression_per_image, anchors_per_image)
    return losses[type](boxes, matched_gt_boxes_per_image, reduction="sum", eps=options.get("eps", 1e-7))
