"""RetinaNet (Lin et al., arXiv 1708.02002)."""

import math
from collections.abc import Sequence
from functools import partial

import rushlight as torch
from rushlight import nn
from rushlight_vision.models._api import weights_enum
from rushlight_vision.models.detection import _utils as det_utils
from rushlight_vision.models.detection.anchor_utils import AnchorGenerator
from rushlight_vision.models.detection.builder import builder
from rushlight_vision.models.detection.faster_rcnn import (
    IMAGE_MEAN,
    IMAGE_STD,
    check_backbone,
    check_kind,
    normed_resnet50_pyramid,
    resnet50_pyramid,
)
from rushlight_vision.models.detection.one_stage import OneStage, by_place, no_match
from rushlight_vision.models.detection.transform import GeneralizedRCNNTransform
from rushlight_vision.models.resnet import ResNet50_Weights
from rushlight_vision.ops import boxes as box_ops
from rushlight_vision.ops.feature_pyramid_network import LastLevelP6P7
from rushlight_vision.ops.layers import Conv2dNormActivation
from rushlight_vision.ops.losses import sigmoid_focal_loss

__all__ = [
    "RetinaNet",
    "RetinaNet_ResNet50_FPN_V2_Weights",
    "RetinaNet_ResNet50_FPN_Weights",
    "retinanet_resnet50_fpn",
    "retinanet_resnet50_fpn_v2",
]


def _default_anchorgen():
    sizes = tuple((x, int(x * 2 ** (1.0 / 3)), int(x * 2 ** (2.0 / 3))) for x in (32, 64, 128, 256, 512))
    return AnchorGenerator(sizes, ((0.5, 1.0, 2.0),) * len(sizes))


class RetinaNetHead(nn.Module):
    """Logits and offsets of each anchor.

    Shape: a list of (N, in_channels, H, W) -> {'cls_logits': (N, K, num_classes), 'bbox_regression': (N, K, 4)}
    """

    def __init__(self, in_channels, num_anchors, num_classes, norm_layer=None):
        super().__init__()
        self.classification_head = RetinaNetClassificationHead(
            in_channels, num_anchors, num_classes, norm_layer=norm_layer
        )
        self.regression_head = RetinaNetRegressionHead(in_channels, num_anchors, norm_layer=norm_layer)

    def compute_loss(self, targets, head_outputs, anchors, matched_idxs):
        """{'classification', 'bbox_regression'}: the losses of both heads."""
        return {
            "classification": self.classification_head.compute_loss(targets, head_outputs, matched_idxs),
            "bbox_regression": self.regression_head.compute_loss(targets, head_outputs, anchors, matched_idxs),
        }

    def forward(self, x):
        return {"cls_logits": self.classification_head(x), "bbox_regression": self.regression_head(x)}


class _Head(nn.Module):
    """Four 3x3 convolutions in `conv`, and what the subclass makes of them."""

    _version = 2

    def __init__(self, in_channels, norm_layer):
        super().__init__()
        blocks = (Conv2dNormActivation(in_channels, in_channels, norm_layer=norm_layer) for _ in range(4))
        self.conv = nn.Sequential(*blocks)

    def _initialize(self):
        for layer in self.conv.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.normal_(layer.weight, std=0.01)
                if layer.bias is not None:
                    nn.init.constant_(layer.bias, 0)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *args):
        """Also files of version 1, with convolutions and activations in one row."""
        if local_metadata.get("version", 1) < 2:
            for i in range(4):
                for kind in ("weight", "bias"):
                    older = f"{prefix}conv.{2 * i}.{kind}"
                    if older in state_dict:
                        state_dict[f"{prefix}conv.{i}.0.{kind}"] = state_dict.pop(older)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


class RetinaNetClassificationHead(_Head):
    """Logits of the classes, which begin at `prior_probability`. Shape: a list of (N, C, H, W) -> (N, K, num_classes)"""

    def __init__(self, in_channels, num_anchors, num_classes, prior_probability=0.01, norm_layer=None):
        super().__init__(in_channels, norm_layer)
        self._initialize()
        self.cls_logits = nn.Conv2d(in_channels, num_anchors * num_classes, kernel_size=3, stride=1, padding=1)
        nn.init.normal_(self.cls_logits.weight, std=0.01)
        nn.init.constant_(self.cls_logits.bias, -math.log((1 - prior_probability) / prior_probability))
        self.num_classes = num_classes
        self.num_anchors = num_anchors
        self.BETWEEN_THRESHOLDS = det_utils.Matcher.BETWEEN_THRESHOLDS

    def compute_loss(self, targets, head_outputs, matched_idxs):
        """The focal loss of each image by its positive anchors, in the mean; a scalar."""
        losses = []
        for target, logits, matched in zip(targets, head_outputs["cls_logits"], matched_idxs):
            positive = matched >= 0
            wanted = torch.zeros_like(logits)
            wanted[positive, target["labels"][matched[positive]]] = 1.0
            decided = matched != self.BETWEEN_THRESHOLDS
            loss = sigmoid_focal_loss(logits[decided], wanted[decided], reduction="sum")
            losses.append(loss / max(1, int(positive.sum())))
        return sum(losses[1:], losses[0]) / len(targets)

    def forward(self, x):
        return torch.cat([by_place(self.cls_logits(self.conv(features)), self.num_classes) for features in x], dim=1)


class RetinaNetRegressionHead(_Head):
    """Offsets of each anchor. Shape: a list of (N, C, H, W) -> (N, K, 4)"""

    def __init__(self, in_channels, num_anchors, norm_layer=None):
        super().__init__(in_channels, norm_layer)
        self.bbox_reg = nn.Conv2d(in_channels, num_anchors * 4, kernel_size=3, stride=1, padding=1)
        nn.init.normal_(self.bbox_reg.weight, std=0.01)
        nn.init.zeros_(self.bbox_reg.bias)
        self._initialize()
        self.box_coder = det_utils.BoxCoder(weights=(1.0, 1.0, 1.0, 1.0))
        self._loss_type = "l1"

    def compute_loss(self, targets, head_outputs, anchors, matched_idxs):
        """The loss of the positive anchors' boxes of each image by their number, in the mean; a scalar."""
        losses = []
        for target, offsets, boxes, matched in zip(targets, head_outputs["bbox_regression"], anchors, matched_idxs):
            positive = torch.where(matched >= 0)[0]
            wanted = target["boxes"][matched[positive]]
            loss = det_utils._box_loss(
                self._loss_type, self.box_coder, boxes[positive, :], wanted, offsets[positive, :]
            )
            losses.append(loss / max(1, positive.numel()))
        return sum(losses[1:], losses[0]) / max(1, len(targets))

    def forward(self, x):
        return torch.cat([by_place(self.bbox_reg(self.conv(features)), 4) for features in x], dim=1)


class RetinaNet(OneStage):
    """Boxes and classes of objects, in one stage; see `GeneralizedRCNN` for what goes in and comes out.

    backbone: gives a map or a dictionary of maps, and has `out_channels`. min_size to image_std: see
    `GeneralizedRCNNTransform`. fg_iou_thresh, bg_iou_thresh: overlap from which an anchor is positive, and below which
    negative. score_thresh, nms_thresh, detections_per_img, topk_candidates (of each map): what stays of the result.
    """

    def __init__(
        self,
        backbone,
        num_classes,
        min_size: int | Sequence[int] = 800,
        max_size=1333,
        image_mean=None,
        image_std=None,
        anchor_generator=None,
        head=None,
        proposal_matcher=None,
        score_thresh=0.05,
        nms_thresh=0.5,
        detections_per_img=300,
        fg_iou_thresh=0.5,
        bg_iou_thresh=0.4,
        topk_candidates=1000,
        **kwargs,
    ):
        super().__init__()
        check_backbone(backbone)
        self.backbone = backbone
        check_kind("anchor_generator", anchor_generator, AnchorGenerator)
        self.anchor_generator = _default_anchorgen() if anchor_generator is None else anchor_generator
        if head is None:
            count = self.anchor_generator.num_anchors_per_location()[0]
            head = RetinaNetHead(backbone.out_channels, count, num_classes)
        self.head = head
        if proposal_matcher is None:
            proposal_matcher = det_utils.Matcher(fg_iou_thresh, bg_iou_thresh, allow_low_quality_matches=True)
        self.proposal_matcher = proposal_matcher
        self.box_coder = det_utils.BoxCoder(weights=(1.0, 1.0, 1.0, 1.0))
        mean = IMAGE_MEAN if image_mean is None else image_mean
        std = IMAGE_STD if image_std is None else image_std
        self.transform = GeneralizedRCNNTransform(min_size, max_size, mean, std, **kwargs)
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh
        self.detections_per_img = detections_per_img
        self.topk_candidates = topk_candidates
        self._has_warned = False

    def compute_loss(self, targets, head_outputs, anchors):
        """The head's losses, for the anchors that overlap the targets' boxes."""
        matched = []
        for boxes, target in zip(anchors, targets):
            found = target["boxes"]
            if found.numel() == 0:
                matched.append(no_match(boxes))
            else:
                matched.append(self.proposal_matcher(box_ops.box_iou(found, boxes)))
        return self.head.compute_loss(targets, head_outputs, anchors, matched)

    def _losses(self, targets, outputs, anchors, features):
        return self.compute_loss(targets, outputs, anchors)

    def _detections(self, outputs, anchors, features, image_sizes):
        places = [value.size(2) * value.size(3) for value in features]
        each = outputs["cls_logits"].size(1) // sum(places)
        split, levels = self._split(outputs, anchors, [count * each for count in places])
        return self.postprocess_detections(split, levels, image_sizes)

    def postprocess_detections(self, head_outputs, anchors, image_shapes):
        """For each image {'boxes', 'scores', 'labels'}, from lists of the maps' outputs and anchors."""
        detections = []
        for i, (levels, image_shape) in enumerate(zip(anchors, image_shapes)):
            found = []
            for logits, offsets, boxes in zip(head_outputs["cls_logits"], head_outputs["bbox_regression"], levels):
                scores, rows, labels = self._best(torch.sigmoid(logits[i]))
                boxes = self.box_coder.decode_single(offsets[i][rows], boxes[rows])
                found.append((box_ops.clip_boxes_to_image(boxes, image_shape), scores, labels))
            detections.append(self._chosen(*zip(*found)))
        return detections


RetinaNet_ResNet50_FPN_Weights = weights_enum("RetinaNet_ResNet50_FPN_Weights", __name__)
RetinaNet_ResNet50_FPN_V2_Weights = weights_enum("RetinaNet_ResNet50_FPN_V2_Weights", __name__)


@builder(RetinaNet_ResNet50_FPN_Weights, ResNet50_Weights["IMAGENET1K_V1"], layers=(5, 3))
def retinanet_resnet50_fpn(start, num_classes, **kwargs):
    """RetinaNet on a feature pyramid of ResNet-50, from its second stage on."""
    backbone = resnet50_pyramid(start, returned_layers=[2, 3, 4], extra_blocks=partial(LastLevelP6P7, 256, 256))
    return RetinaNet(backbone, num_classes, **kwargs)


@builder(
    RetinaNet_ResNet50_FPN_V2_Weights, ResNet50_Weights["IMAGENET1K_V1"], layers=(5, 3), untrained=True, older=False
)
def retinanet_resnet50_fpn_v2(start, num_classes, **kwargs):
    """RetinaNet on ResNet-50 with group norms in its head and GIoU as its loss (Zhang et al., arXiv 1912.02424)."""
    backbone = normed_resnet50_pyramid(start, returned_layers=[2, 3, 4], extra_blocks=partial(LastLevelP6P7, 2048, 256))
    anchors = _default_anchorgen()
    count = anchors.num_anchors_per_location()[0]
    head = RetinaNetHead(backbone.out_channels, count, num_classes, norm_layer=partial(nn.GroupNorm, 32))
    head.regression_head._loss_type = "giou"
    return RetinaNet(backbone, num_classes, anchor_generator=anchors, head=head, **kwargs)
