"""FCOS, a detector without anchors (Tian et al., arXiv 1904.01355)."""

import math
from collections.abc import Sequence
from functools import partial

import rushlight as torch
from rushlight import float32, nn
from rushlight.nn import functional as F
from rushlight_vision.models._api import weights_enum
from rushlight_vision.models.detection import _utils as det_utils
from rushlight_vision.models.detection.anchor_utils import AnchorGenerator
from rushlight_vision.models.detection.builder import builder
from rushlight_vision.models.detection.faster_rcnn import (
    IMAGE_MEAN,
    IMAGE_STD,
    check_backbone,
    check_kind,
    resnet50_pyramid,
)
from rushlight_vision.models.detection.one_stage import OneStage, by_place, no_match
from rushlight_vision.models.detection.transform import GeneralizedRCNNTransform
from rushlight_vision.models.resnet import ResNet50_Weights
from rushlight_vision.ops import boxes as box_ops
from rushlight_vision.ops.feature_pyramid_network import LastLevelP6P7
from rushlight_vision.ops.losses import generalized_box_iou_loss, sigmoid_focal_loss

__all__ = ["FCOS", "FCOS_ResNet50_FPN_Weights", "fcos_resnet50_fpn"]


class FCOSHead(nn.Module):
    """Logits, distances to the box's sides, and how central it is, of each place.

    Shape: a list of (N, in_channels, H, W) -> {'cls_logits': (N, K, num_classes), 'bbox_regression': (N, K, 4),
    'bbox_ctrness': (N, K, 1)}
    """

    def __init__(self, in_channels, num_anchors, num_classes, num_convs=4):
        super().__init__()
        self.box_coder = det_utils.BoxLinearCoder(normalize_by_size=True)
        self.classification_head = FCOSClassificationHead(in_channels, num_anchors, num_classes, num_convs)
        self.regression_head = FCOSRegressionHead(in_channels, num_anchors, num_convs)

    def compute_loss(self, targets, head_outputs, anchors, matched_idxs):
        """{'classification', 'bbox_regression', 'bbox_ctrness'}: sums by the number of places within objects."""
        logits, distances = head_outputs["cls_logits"], head_outputs["bbox_regression"]
        pairs = [_wanted(*image) for image in zip(targets, matched_idxs)]
        labels, boxes = (torch.stack(values) for values in zip(*pairs))
        anchors = torch.stack(anchors)
        inside = labels >= 0
        count = max(1, int(inside.sum().item()))
        classes = torch.zeros_like(logits)
        classes[inside, labels[inside]] = 1.0
        predicted = self.box_coder.decode(distances, anchors)
        central = _centrality(self.box_coder.encode(anchors, boxes))
        scores = head_outputs["bbox_ctrness"].squeeze(dim=2)
        losses = {
            "classification": sigmoid_focal_loss(logits, classes, reduction="sum"),
            "bbox_regression": generalized_box_iou_loss(predicted[inside], boxes[inside], reduction="sum"),
            "bbox_ctrness": F.binary_cross_entropy_with_logits(scores[inside], central[inside], reduction="sum"),
        }
        return {name: loss / count for name, loss in losses.items()}

    def forward(self, x):
        logits = self.classification_head(x)
        distances, central = self.regression_head(x)
        return {"cls_logits": logits, "bbox_regression": distances, "bbox_ctrness": central}


def _wanted(target, matched):
    """The label (-1: none) and box of each place of an image."""
    labels, boxes = target["labels"], target["boxes"]
    if len(labels) == 0:
        labels, boxes = labels.new_zeros((len(matched),)), boxes.new_zeros((len(matched), 4))
    else:
        labels, boxes = labels[matched.clip(min=0)], boxes[matched.clip(min=0)]
    labels[matched < 0] = -1
    return labels, boxes


def _centrality(distances):
    """1 in the middle of a box, 0 at its sides: distances (*, 4) -> (*,)."""
    if len(distances) == 0:
        return distances.new_zeros(distances.size()[:-1])
    across, down = distances[:, :, [0, 2]], distances[:, :, [1, 3]]
    return torch.sqrt((across.min(dim=-1)[0] / across.max(dim=-1)[0]) * (down.min(dim=-1)[0] / down.max(dim=-1)[0]))


class _Head(nn.Module):
    """`num_convs` 3x3 convolutions with norms in `conv`, and what the subclass makes of them."""

    def __init__(self, in_channels, num_convs, norm_layer):
        super().__init__()
        norm_layer = norm_layer or partial(nn.GroupNorm, 32)
        layers = []
        for _ in range(num_convs):
            convolution = nn.Conv2d(in_channels, in_channels, kernel_size=3, stride=1, padding=1)
            layers += [convolution, norm_layer(in_channels), nn.ReLU()]
        self.conv = nn.Sequential(*layers)

    def _initialize(self):
        for layer in self.conv.children():
            if isinstance(layer, nn.Conv2d):
                nn.init.normal_(layer.weight, std=0.01)
                nn.init.constant_(layer.bias, 0)


class FCOSClassificationHead(_Head):
    """Logits of the classes, which begin at `prior_probability`. Shape: a list of (N, C, H, W) -> (N, K, num_classes)"""

    def __init__(self, in_channels, num_anchors, num_classes, num_convs=4, prior_probability=0.01, norm_layer=None):
        super().__init__(in_channels, num_convs, norm_layer)
        self.num_classes = num_classes
        self.num_anchors = num_anchors
        self._initialize()
        self.cls_logits = nn.Conv2d(in_channels, num_anchors * num_classes, kernel_size=3, stride=1, padding=1)
        nn.init.normal_(self.cls_logits.weight, std=0.01)
        nn.init.constant_(self.cls_logits.bias, -math.log((1 - prior_probability) / prior_probability))

    def forward(self, x):
        return torch.cat([by_place(self.cls_logits(self.conv(features)), self.num_classes) for features in x], dim=1)


class FCOSRegressionHead(_Head):
    """Distances and centrality. Shape: a list of (N, C, H, W) -> (N, K, 4), (N, K, 1)"""

    def __init__(self, in_channels, num_anchors, num_convs=4, norm_layer=None):
        super().__init__(in_channels, num_convs, norm_layer)
        self.bbox_reg = nn.Conv2d(in_channels, num_anchors * 4, kernel_size=3, stride=1, padding=1)
        self.bbox_ctrness = nn.Conv2d(in_channels, num_anchors * 1, kernel_size=3, stride=1, padding=1)
        for layer in (self.bbox_reg, self.bbox_ctrness):
            nn.init.normal_(layer.weight, std=0.01)
            nn.init.zeros_(layer.bias)
        self._initialize()

    def forward(self, x):
        distances, central = [], []
        for features in x:
            hidden = self.conv(features)
            distances.append(by_place(F.relu(self.bbox_reg(hidden)), 4))
            central.append(by_place(self.bbox_ctrness(hidden), 1))
        return torch.cat(distances, dim=1), torch.cat(central, dim=1)


class FCOS(OneStage):
    """Boxes and classes of objects, from each place of the maps; see `GeneralizedRCNN` for what goes in and comes out.

    backbone: gives a map or a dictionary of maps, and has `out_channels`. min_size to image_std: see
    `GeneralizedRCNNTransform`. center_sampling_radius: how far from an object's centre a place may be that learns it, in
    strides. score_thresh, nms_thresh, detections_per_img, topk_candidates (of each map): what stays of the result.
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
        center_sampling_radius=1.5,
        score_thresh=0.2,
        nms_thresh=0.6,
        detections_per_img=100,
        topk_candidates=1000,
        **kwargs,
    ):
        super().__init__()
        check_backbone(backbone)
        self.backbone = backbone
        check_kind("anchor_generator", anchor_generator, AnchorGenerator)
        if anchor_generator is None:
            anchor_generator = AnchorGenerator(((8,), (16,), (32,), (64,), (128,)), ((1.0,),) * 5)
        self.anchor_generator = anchor_generator
        count = anchor_generator.num_anchors_per_location()[0]
        if count != 1:
            raise ValueError(f"anchor_generator.num_anchors_per_location()[0] should be 1 instead of {count}")
        self.head = FCOSHead(backbone.out_channels, count, num_classes) if head is None else head
        self.box_coder = det_utils.BoxLinearCoder(normalize_by_size=True)
        mean = IMAGE_MEAN if image_mean is None else image_mean
        std = IMAGE_STD if image_std is None else image_std
        self.transform = GeneralizedRCNNTransform(min_size, max_size, mean, std, **kwargs)
        self.center_sampling_radius = center_sampling_radius
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh
        self.detections_per_img = detections_per_img
        self.topk_candidates = topk_candidates
        self._has_warned = False

    def compute_loss(self, targets, head_outputs, anchors, num_anchors_per_level):
        """The head's losses, for the places within the targets' boxes."""
        matched = [
            self._matched(boxes, target["boxes"], num_anchors_per_level) if target["boxes"].numel() else no_match(boxes)
            for boxes, target in zip(anchors, targets)
        ]
        return self.head.compute_loss(targets, head_outputs, anchors, matched)

    def _matched(self, anchors, boxes, counts):
        """For each place the smallest object whose middle contains it and whose size suits its map, or -1."""
        centres = (boxes[:, :2] + boxes[:, 2:]) / 2
        places = (anchors[:, :2] + anchors[:, 2:]) / 2
        sizes = anchors[:, 2] - anchors[:, 0]
        far = (places[:, None, :] - centres[None, :, :]).abs().max(dim=2).values
        x, y = places.unsqueeze(dim=2).unbind(dim=1)
        x0, y0, x1, y1 = boxes.unsqueeze(dim=0).unbind(dim=2)
        sides = torch.stack([x - x0, y - y0, x1 - x, y1 - y], dim=2)
        least, most = sizes * 4, sizes * 8
        least[: counts[0]] = 0
        most[-counts[-1] :] = float("inf")
        reach = sides.max(dim=2).values
        match = (far < self.center_sampling_radius * sizes[:, None]) & (sides.min(dim=2).values > 0)
        match = match & (reach > least[:, None]) & (reach < most[:, None])
        areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        value, matched = (match.to(float32) * (1e8 - areas[None, :])).max(dim=1)
        matched[value < 1e-5] = -1
        return matched

    def _losses(self, targets, outputs, anchors, features):
        return self.compute_loss(targets, outputs, anchors, [value.size(2) * value.size(3) for value in features])

    def _detections(self, outputs, anchors, features, image_sizes):
        counts = [value.size(2) * value.size(3) for value in features]
        return self.postprocess_detections(*self._split(outputs, anchors, counts), image_sizes)

    def postprocess_detections(self, head_outputs, anchors, image_shapes):
        """For each image {'boxes', 'scores', 'labels'}, from lists of the maps' outputs and anchors."""
        names = ("cls_logits", "bbox_ctrness", "bbox_regression")
        detections = []
        for i, (levels, image_shape) in enumerate(zip(anchors, image_shapes)):
            found = []
            for logits, central, distances, boxes in zip(*(head_outputs[name] for name in names), levels):
                scores, rows, labels = self._best(torch.sqrt(torch.sigmoid(logits[i]) * torch.sigmoid(central[i])))
                boxes = self.box_coder.decode(distances[i][rows], boxes[rows])
                found.append((box_ops.clip_boxes_to_image(boxes, image_shape), scores, labels))
            detections.append(self._chosen(*zip(*found)))
        return detections


FCOS_ResNet50_FPN_Weights = weights_enum("FCOS_ResNet50_FPN_Weights", __name__)


@builder(FCOS_ResNet50_FPN_Weights, ResNet50_Weights["IMAGENET1K_V1"], layers=(5, 3), older=False)
def fcos_resnet50_fpn(start, num_classes, **kwargs):
    """FCOS on a feature pyramid of ResNet-50, from its second stage on."""
    backbone = resnet50_pyramid(start, returned_layers=[2, 3, 4], extra_blocks=partial(LastLevelP6P7, 256, 256))
    return FCOS(backbone, num_classes, **kwargs)
