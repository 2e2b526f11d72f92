"""SSD (Liu et al., arXiv 1512.02325) on VGG-16."""

from collections import OrderedDict

import rushlight as torch
from rushlight import int64, nn
from rushlight.nn import functional as F
from rushlight_vision.models._api import weights_enum
from rushlight_vision.models.detection import _utils as det_utils
from rushlight_vision.models.detection.anchor_utils import DefaultBoxGenerator
from rushlight_vision.models.detection.backbone_utils import freeze_stages
from rushlight_vision.models.detection.builder import builder, ignore_size
from rushlight_vision.models.detection.faster_rcnn import IMAGE_MEAN, IMAGE_STD
from rushlight_vision.models.detection.one_stage import OneStage, by_place, no_match
from rushlight_vision.models.detection.transform import GeneralizedRCNNTransform
from rushlight_vision.models.vgg import VGG16_Weights, vgg16
from rushlight_vision.ops import boxes as box_ops

__all__ = ["SSD300_VGG16_Weights", "ssd300_vgg16"]


def _xavier_init(conv):
    for layer in conv.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.constant_(layer.bias, 0.0)


class SSDHead(nn.Module):
    """Logits and offsets of each default box.

    Shape: a list of (N, in_channels[i], H, W) -> {'bbox_regression': (N, K, 4), 'cls_logits': (N, K, num_classes)}
    """

    def __init__(self, in_channels, num_anchors, num_classes):
        super().__init__()
        self.classification_head = SSDClassificationHead(in_channels, num_anchors, num_classes)
        self.regression_head = SSDRegressionHead(in_channels, num_anchors)

    def forward(self, x):
        return {"bbox_regression": self.regression_head(x), "cls_logits": self.classification_head(x)}


class SSDScoringHead(nn.Module):
    """A module for each map. Shape: a list of (N, C, H, W) -> (N, K, num_columns)"""

    def __init__(self, module_list, num_columns):
        super().__init__()
        self.module_list = module_list
        self.num_columns = num_columns

    def forward(self, x):
        return torch.cat(
            [by_place(self.module_list[i](features), self.num_columns) for i, features in enumerate(x)], dim=1
        )


class SSDClassificationHead(SSDScoringHead):
    """Logits of the classes."""

    def __init__(self, in_channels, num_anchors, num_classes):
        super().__init__(_convolutions(in_channels, [num_classes * count for count in num_anchors]), num_classes)


class SSDRegressionHead(SSDScoringHead):
    """Offsets of the boxes."""

    def __init__(self, in_channels, num_anchors):
        super().__init__(_convolutions(in_channels, [4 * count for count in num_anchors]), 4)


def _convolutions(in_channels, out_channels):
    layers = nn.ModuleList(nn.Conv2d(*pair, kernel_size=3, padding=1) for pair in zip(in_channels, out_channels))
    _xavier_init(layers)
    return layers


class SSD(OneStage):
    """Boxes and classes of objects, from default boxes; see `GeneralizedRCNN` for what goes in and comes out.

    backbone: gives a dictionary of maps. size: (width, height) to which each image is brought. iou_thresh: overlap from
    which a default box is positive. positive_fraction: of the boxes whose classes are learned; the rest are the worst
    negative ones. score_thresh, nms_thresh, detections_per_img, topk_candidates (of each class): what stays.
    """

    def __init__(
        self,
        backbone,
        anchor_generator,
        size,
        num_classes,
        image_mean=None,
        image_std=None,
        head=None,
        score_thresh=0.01,
        nms_thresh=0.45,
        detections_per_img=200,
        iou_thresh=0.5,
        topk_candidates=400,
        positive_fraction=0.25,
        **kwargs,
    ):
        super().__init__()
        self.backbone = backbone
        self.anchor_generator = anchor_generator
        self.box_coder = det_utils.BoxCoder(weights=(10.0, 10.0, 5.0, 5.0))
        if head is None:
            channels = getattr(backbone, "out_channels", None) or det_utils.retrieve_out_channels(backbone, size)
            check_maps(channels, anchor_generator)
            head = SSDHead(channels, anchor_generator.num_anchors_per_location(), num_classes)
        self.head = head
        self.proposal_matcher = det_utils.SSDMatcher(iou_thresh)
        mean = IMAGE_MEAN if image_mean is None else image_mean
        std = IMAGE_STD if image_std is None else image_std
        self.transform = GeneralizedRCNNTransform(
            min(size), max(size), mean, std, size_divisible=1, fixed_size=size, **kwargs
        )
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh
        self.detections_per_img = detections_per_img
        self.topk_candidates = topk_candidates
        self.neg_to_pos_ratio = (1.0 - positive_fraction) / positive_fraction
        self._has_warned = False

    def compute_loss(self, targets, head_outputs, anchors, matched_idxs):
        """{'bbox_regression', 'classification'}: sums by the number of positive boxes."""
        logits = head_outputs["cls_logits"]
        count, distances, labels = 0, [], []
        for target, offsets, boxes, matched in zip(targets, head_outputs["bbox_regression"], anchors, matched_idxs):
            positive = torch.where(matched >= 0)[0]
            objects = matched[positive]
            count += objects.numel()
            wanted = self.box_coder.encode_single(target["boxes"][objects], boxes[positive, :])
            distances.append(F.smooth_l1_loss(offsets[positive, :], wanted, reduction="sum"))
            label = target["labels"].new_zeros((offsets.size(0),))
            label[positive] = target["labels"][objects]
            labels.append(label)
        labels = torch.stack(labels)
        loss = F.cross_entropy(logits.view(-1, logits.size(-1)), labels.view(-1), reduction="none").view(labels.size())
        positive = labels > 0
        worst = self._worst_negative(loss, positive)
        return {
            "bbox_regression": torch.stack(distances).sum() / max(1, count),
            "classification": (loss[positive].sum() + loss[worst].sum()) / max(1, count),
        }

    def _worst_negative(self, loss, positive):
        """A mask of the negative boxes of the greatest losses (N, K), so many for each positive one."""
        count = self.neg_to_pos_ratio * positive.sum(1, keepdim=True)
        negative = loss.clone()
        negative[positive] = -float("inf")
        return negative.sort(1, descending=True)[1].sort(1)[1] < count

    def _losses(self, targets, outputs, anchors, features):
        matched = []
        for boxes, target in zip(anchors, targets):
            found = target["boxes"]
            if found.numel() == 0:
                matched.append(no_match(boxes))
            else:
                matched.append(self.proposal_matcher(box_ops.box_iou(found, boxes)))
        return self.compute_loss(targets, outputs, anchors, matched)

    def _detections(self, outputs, anchors, features, image_sizes):
        return self.postprocess_detections(outputs, anchors, image_sizes)

    def postprocess_detections(self, head_outputs, image_anchors, image_shapes):
        """For each image {'boxes', 'scores', 'labels'}."""
        probabilities = F.softmax(head_outputs["cls_logits"], dim=-1)
        images = zip(head_outputs["bbox_regression"], probabilities, image_anchors, image_shapes)
        return [self._found(*image) for image in images]

    def _found(self, offsets, scores, anchors, image_shape):
        boxes = box_ops.clip_boxes_to_image(self.box_coder.decode_single(offsets, anchors), image_shape)
        found = []
        for label in range(1, scores.size(-1)):
            score = scores[:, label]
            keep = score > self.score_thresh
            score = score[keep]
            score, order = score.topk(det_utils._topk_min(score, self.topk_candidates, 0))
            found.append((boxes[keep][order], score, torch.full_like(score, fill_value=label, dtype=int64)))
        return self._chosen(*zip(*found))


def check_maps(channels, anchor_generator):
    """ValueError unless there are default boxes for each map."""
    ratios = anchor_generator.aspect_ratios
    if len(channels) != len(ratios):
        raise ValueError(
            f"The length of the output channels from the backbone ({len(channels)}) do not match the length of the "
            f"anchor generator aspect ratios ({len(ratios)})"
        )


class SSDFeatureExtractorVGG(nn.Module):
    """VGG-16 up to its fifth stage, with convolutions in place of its hidden layers, and the smaller maps after it.

    Shape: (N, 3, H, W) -> {'0': (N, 512, H/8, W/8), ...}, six maps, with `highres` seven
    """

    def __init__(self, backbone, highres):
        super().__init__()
        pools = [i for i, layer in enumerate(backbone) if isinstance(layer, nn.MaxPool2d)]
        backbone[pools[2]].ceil_mode = True  # the paper's sizes
        self.scale_weight = nn.Parameter(torch.ones(512) * 20)
        self.features = nn.Sequential(*backbone[: pools[3]])
        shrinking = {"padding": 1, "stride": 2}
        extra = nn.ModuleList(
            [
                _narrowed(1024, 256, 512, kernel_size=3, **shrinking),
                _narrowed(512, 128, 256, kernel_size=3, **shrinking),
                _narrowed(256, 128, 256, kernel_size=3),
                _narrowed(256, 128, 256, kernel_size=3),
            ]
        )
        if highres:
            extra.append(_narrowed(256, 128, 256, kernel_size=4))
        _xavier_init(extra)
        hidden = nn.Sequential(
            nn.MaxPool2d(kernel_size=3, stride=1, padding=1, ceil_mode=False),
            nn.Conv2d(in_channels=512, out_channels=1024, kernel_size=3, padding=6, dilation=6),
            nn.ReLU(inplace=True),
            nn.Conv2d(in_channels=1024, out_channels=1024, kernel_size=1),
            nn.ReLU(inplace=True),
        )
        _xavier_init(hidden)
        extra.insert(0, nn.Sequential(*backbone[pools[3] : -1], hidden))
        self.extra = extra

    def forward(self, x):
        x = self.features(x)
        maps = [self.scale_weight.view(1, -1, 1, 1) * F.normalize(x)]
        for block in self.extra:
            x = block(x)
            maps.append(x)
        return OrderedDict((str(i), value) for i, value in enumerate(maps))


def _narrowed(channels, narrow, wide, **options):
    return nn.Sequential(
        nn.Conv2d(channels, narrow, kernel_size=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(narrow, wide, **options),
        nn.ReLU(inplace=True),
    )


def _vgg_extractor(backbone, highres, trainable_layers):
    features = backbone.features
    pools = [i for i, layer in enumerate(features) if isinstance(layer, nn.MaxPool2d)]
    freeze_stages(features, [0, *pools[:-1]], trainable_layers)
    return SSDFeatureExtractorVGG(features, highres)


SSD300_VGG16_Weights = weights_enum("SSD300_VGG16_Weights", __name__)


@builder(SSD300_VGG16_Weights, VGG16_Weights["IMAGENET1K_FEATURES"], layers=(5, 4), older=False)
def ssd300_vgg16(start, num_classes, **kwargs):
    """SSD on VGG-16, for images of 300 pixels."""
    ignore_size(kwargs)
    backbone = _vgg_extractor(vgg16(weights=start.weights, progress=start.progress), False, start.trainable_layers)
    boxes = DefaultBoxGenerator(
        [[2], [2, 3], [2, 3], [2, 3], [2], [2]],
        scales=[0.07, 0.15, 0.33, 0.51, 0.69, 0.87, 1.05],
        steps=[8, 16, 32, 64, 100, 300],
    )
    values = {
        "image_mean": [0.48235, 0.45882, 0.40784],
        "image_std": [1.0 / 255.0] * 3,
    }  # the backbone's, from 0 to 255
    return SSD(backbone, boxes, (300, 300), num_classes, **{**values, **kwargs})
