"""Region proposals: boxes that may hold an object, from the anchors of each map (Ren et al., arXiv 1506.01497)."""

import rushlight as torch
from rushlight import float32, int64, nn
from rushlight.nn import functional as F
from rushlight_vision.models.detection import _utils as det_utils
from rushlight_vision.models.detection.anchor_utils import AnchorGenerator
from rushlight_vision.models.detection.image_list import ImageList
from rushlight_vision.ops import boxes as box_ops
from rushlight_vision.ops.layers import Conv2dNormActivation

__all__ = [
    "AnchorGenerator",
    "ImageList",
    "RPNHead",
    "RegionProposalNetwork",
    "concat_box_prediction_layers",
    "permute_and_flatten",
]


class RPNHead(nn.Module):
    """3x3 convolutions, then 1x1 for the score and for the offsets of each anchor.

    Shape: a list of (N, in_channels, H, W) -> lists of (N, num_anchors, H, W) and (N, 4 num_anchors, H, W)
    """

    _version = 2

    def __init__(self, in_channels, num_anchors, conv_depth=1):
        super().__init__()
        self.conv = nn.Sequential(
            *(Conv2dNormActivation(in_channels, in_channels, kernel_size=3, norm_layer=None) for _ in range(conv_depth))
        )
        self.cls_logits = nn.Conv2d(in_channels, num_anchors, kernel_size=1, stride=1)
        self.bbox_pred = nn.Conv2d(in_channels, num_anchors * 4, kernel_size=1, stride=1)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.normal_(layer.weight, std=0.01)
                if layer.bias is not None:
                    nn.init.constant_(layer.bias, 0)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *args):
        """Also files of version 1, with one convolution by itself."""
        if local_metadata.get("version", 1) < 2:
            for kind in ("weight", "bias"):
                if f"{prefix}conv.{kind}" in state_dict:
                    state_dict[f"{prefix}conv.0.0.{kind}"] = state_dict.pop(f"{prefix}conv.{kind}")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)

    def forward(self, x):
        hidden = [self.conv(features) for features in x]
        pairs = [(self.cls_logits(h), self.bbox_pred(h)) for h in hidden]
        return [logits for logits, _ in pairs], [offsets for _, offsets in pairs]


def permute_and_flatten(layer, N, A, C, H, W):
    """(N, A C, H, W) -> (N, H W A, C)."""
    return layer.view(N, -1, C, H, W).permute(0, 3, 4, 1, 2).reshape(N, -1, C)


def concat_box_prediction_layers(box_cls, box_regression):
    """All maps' scores (K, C) and offsets (K, 4), image by image, from lists of (N, A C, H, W) and (N, 4 A, H, W)."""
    scores, offsets = [], []
    for cls, regression in zip(box_cls, box_regression):
        n, channels, height, width = cls.shape
        anchors = regression.shape[1] // 4
        scores.append(permute_and_flatten(cls, n, anchors, channels // anchors, height, width))
        offsets.append(permute_and_flatten(regression, n, anchors, 4, height, width))
    return torch.cat(scores, dim=1).flatten(0, -2), torch.cat(offsets, dim=1).reshape(-1, 4)


class RegionProposalNetwork(nn.Module):
    """Scores and moves the anchors, and keeps the best that do not overlap.

    fg_iou_thresh, bg_iou_thresh: overlap with an object from which an anchor is positive, and below which negative.
    batch_size_per_image, positive_fraction: the sample that the loss is of. pre_nms_top_n, post_nms_top_n: how many
    proposals stay before (of each map) and after, {'training': n, 'testing': n}. nms_thresh: overlap of proposals.
    """

    def __init__(
        self,
        anchor_generator,
        head,
        fg_iou_thresh,
        bg_iou_thresh,
        batch_size_per_image,
        positive_fraction,
        pre_nms_top_n,
        post_nms_top_n,
        nms_thresh,
        score_thresh=0.0,
    ):
        super().__init__()
        self.anchor_generator = anchor_generator
        self.head = head
        self.box_coder = det_utils.BoxCoder(weights=(1.0, 1.0, 1.0, 1.0))
        self.box_similarity = box_ops.box_iou
        self.proposal_matcher = det_utils.Matcher(fg_iou_thresh, bg_iou_thresh, allow_low_quality_matches=True)
        self.fg_bg_sampler = det_utils.BalancedPositiveNegativeSampler(batch_size_per_image, positive_fraction)
        self._pre_nms_top_n = pre_nms_top_n
        self._post_nms_top_n = post_nms_top_n
        self.nms_thresh = nms_thresh
        self.score_thresh = score_thresh
        self.min_size = 1e-3

    def pre_nms_top_n(self):
        """How many proposals of each map stay before overlaps are removed."""
        return self._pre_nms_top_n["training" if self.training else "testing"]

    def post_nms_top_n(self):
        """How many proposals of an image stay."""
        return self._post_nms_top_n["training" if self.training else "testing"]

    def assign_targets_to_anchors(self, anchors, targets):
        """Lists of each anchor's label (1 object, 0 background, -1 neither) and of the box that it should become."""
        pairs = [self._assigned(*image) for image in zip(anchors, targets)]
        return [labels for labels, _ in pairs], [boxes for _, boxes in pairs]

    def _assigned(self, anchors, target):
        boxes = target["boxes"]
        if boxes.numel() == 0:
            labels = torch.zeros((anchors.shape[0],), dtype=float32, device=anchors.device)
            return labels, torch.zeros(anchors.shape, dtype=float32, device=anchors.device)
        matched = self.proposal_matcher(self.box_similarity(boxes, anchors))
        labels = (matched >= 0).to(dtype=float32)
        labels[matched == self.proposal_matcher.BELOW_LOW_THRESHOLD] = 0.0
        labels[matched == self.proposal_matcher.BETWEEN_THRESHOLDS] = -1.0
        return labels, boxes[matched.clamp(min=0)]

    def _get_top_n_idx(self, objectness, num_anchors_per_level):
        """(N, kept): the highest scores (N, K) of each map, K = sum of num_anchors_per_level."""
        found, offset = [], 0
        for scores in objectness.split(num_anchors_per_level, 1):
            count = det_utils._topk_min(scores, self.pre_nms_top_n(), 1)
            found.append(scores.topk(count, dim=1)[1] + offset)
            offset += scores.shape[1]
        return torch.cat(found, dim=1)

    def filter_proposals(self, proposals, objectness, image_shapes, num_anchors_per_level):
        """Boxes (N, K, 4) and scores -> lists of each image's best boxes (k, 4) and their probabilities (k,)."""
        images = proposals.shape[0]
        objectness = objectness.detach().reshape(images, -1)
        levels = torch.cat(
            [
                torch.full((n,), level, dtype=int64, device=proposals.device)
                for level, n in enumerate(num_anchors_per_level)
            ],
            0,
        )
        top = self._get_top_n_idx(objectness, num_anchors_per_level)
        rows = torch.arange(images, device=proposals.device)[:, None]
        probabilities = torch.sigmoid(objectness[rows, top])
        pairs = [
            self._filtered(*image) for image in zip(proposals[rows, top], probabilities, levels[top], image_shapes)
        ]
        return [boxes for boxes, _ in pairs], [scores for _, scores in pairs]

    def _filtered(self, boxes, scores, levels, image_shape):
        boxes = box_ops.clip_boxes_to_image(boxes, image_shape)
        keep = box_ops.remove_small_boxes(boxes, self.min_size)
        boxes, scores, levels = boxes[keep], scores[keep], levels[keep]
        keep = torch.where(scores >= self.score_thresh)[0]
        boxes, scores, levels = boxes[keep], scores[keep], levels[keep]
        keep = box_ops.batched_nms(boxes, scores, levels, self.nms_thresh)[: self.post_nms_top_n()]
        return boxes[keep], scores[keep]

    def compute_loss(self, objectness, pred_bbox_deltas, labels, regression_targets):
        """(loss of the scores, loss of the boxes) over a random sample of the anchors."""
        positive, negative = (torch.where(torch.cat(masks, dim=0))[0] for masks in self.fg_bg_sampler(labels))
        sampled = torch.cat([positive, negative], dim=0)
        objectness = objectness.flatten()
        labels = torch.cat(labels, dim=0)
        wanted = torch.cat(regression_targets, dim=0)
        distance = F.smooth_l1_loss(pred_bbox_deltas[positive], wanted[positive], beta=1 / 9, reduction="sum")
        score_loss = F.binary_cross_entropy_with_logits(objectness[sampled], labels[sampled])
        return score_loss, distance / sampled.numel()

    def forward(self, images, features, targets=None):
        """An ImageList, its maps and in training its targets -> (list of each image's proposals (k, 4), losses)."""
        features = list(features.values())
        objectness, deltas = self.head(features)
        anchors = self.anchor_generator(images, features)
        counts = [scores[0].numel() for scores in objectness]
        objectness, deltas = concat_box_prediction_layers(objectness, deltas)
        proposals = self.box_coder.decode(deltas.detach(), anchors).view(len(anchors), -1, 4)
        boxes, _ = self.filter_proposals(proposals, objectness, images.image_sizes, counts)
        if not self.training:
            return boxes, {}
        if targets is None:
            raise ValueError("targets should not be None")
        labels, matched = self.assign_targets_to_anchors(anchors, targets)
        wanted = self.box_coder.encode(matched, anchors)
        score_loss, box_loss = self.compute_loss(objectness, deltas, labels, wanted)
        return boxes, {"loss_objectness": score_loss, "loss_rpn_box_reg": box_loss}
