"""SSDlite (Sandler et al., arXiv 1801.04381) on MobileNetV3 (Howard et al., arXiv 1905.02244)."""

from collections import OrderedDict
from functools import partial

from rushlight import nn
from rushlight_vision.models._api import weights_enum
from rushlight_vision.models.detection import _utils as det_utils
from rushlight_vision.models.detection.anchor_utils import DefaultBoxGenerator
from rushlight_vision.models.detection.backbone_utils import freeze_stages
from rushlight_vision.models.detection.builder import builder, ignore_size
from rushlight_vision.models.detection.ssd import SSD, SSDScoringHead, check_maps
from rushlight_vision.models.mobilenetv3 import MobileNet_V3_Large_Weights, mobilenet_v3_large
from rushlight_vision.models.segmentation._utils import stage_indices
from rushlight_vision.ops.layers import Conv2dNormActivation

__all__ = ["SSDLite320_MobileNet_V3_Large_Weights", "ssdlite320_mobilenet_v3_large"]


def _prediction_block(in_channels, out_channels, kernel_size, norm_layer):
    """A depthwise convolution and 1x1."""
    style = {"kernel_size": kernel_size, "groups": in_channels, "activation_layer": nn.ReLU6}
    return nn.Sequential(
        Conv2dNormActivation(in_channels, in_channels, norm_layer=norm_layer, **style),
        nn.Conv2d(in_channels, out_channels, 1),
    )


def _extra_block(in_channels, out_channels, norm_layer):
    """1x1 to half the channels, a depthwise convolution of stride 2, and 1x1."""
    style = {"norm_layer": norm_layer, "activation_layer": nn.ReLU6}
    narrow = out_channels // 2
    return nn.Sequential(
        Conv2dNormActivation(in_channels, narrow, kernel_size=1, **style),
        Conv2dNormActivation(narrow, narrow, kernel_size=3, stride=2, groups=narrow, **style),
        Conv2dNormActivation(narrow, out_channels, kernel_size=1, **style),
    )


def _normal_init(conv):
    for layer in conv.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.normal_(layer.weight, mean=0.0, std=0.03)
            if layer.bias is not None:
                nn.init.constant_(layer.bias, 0.0)


class SSDLiteHead(nn.Module):
    """Logits and offsets of each default box; shapes as `SSDHead`."""

    def __init__(self, in_channels, num_anchors, num_classes, norm_layer):
        super().__init__()
        self.classification_head = SSDLiteClassificationHead(in_channels, num_anchors, num_classes, norm_layer)
        self.regression_head = SSDLiteRegressionHead(in_channels, num_anchors, norm_layer)

    def forward(self, x):
        return {"bbox_regression": self.regression_head(x), "cls_logits": self.classification_head(x)}


class SSDLiteClassificationHead(SSDScoringHead):
    """Logits of the classes."""

    def __init__(self, in_channels, num_anchors, num_classes, norm_layer):
        columns = [num_classes * count for count in num_anchors]
        super().__init__(_blocks(in_channels, columns, norm_layer), num_classes)


class SSDLiteRegressionHead(SSDScoringHead):
    """Offsets of the boxes."""

    def __init__(self, in_channels, num_anchors, norm_layer):
        super().__init__(_blocks(in_channels, [4 * count for count in num_anchors], norm_layer), 4)


def _blocks(in_channels, out_channels, norm_layer):
    layers = nn.ModuleList(_prediction_block(*pair, 3, norm_layer) for pair in zip(in_channels, out_channels))
    _normal_init(layers)
    return layers


class SSDLiteFeatureExtractorMobileNet(nn.Module):
    """MobileNetV3 up to the widening of block `c4_pos`, from there to its end, and four smaller maps.

    Shape: (N, 3, H, W) -> {'0': (N, C_0, H/16, W/16), ...}, six maps
    """

    def __init__(self, backbone, c4_pos, norm_layer, width_mult=1.0, min_depth=16):
        super().__init__()
        if backbone[c4_pos].use_res_connect:
            raise ValueError("backbone[c4_pos].use_res_connect should be False")
        block = backbone[c4_pos].block
        self.features = nn.Sequential(
            nn.Sequential(*backbone[:c4_pos], block[0]), nn.Sequential(block[1:], *backbone[c4_pos + 1 :])
        )
        depths = [max(min_depth, int(depth * width_mult)) for depth in (512, 256, 256, 128)]
        widths = [backbone[-1].out_channels, *depths]
        self.extra = nn.ModuleList(_extra_block(*pair, norm_layer) for pair in zip(widths, depths))
        _normal_init(self.extra)

    def forward(self, x):
        maps = []
        for block in (*self.features, *self.extra):
            x = block(x)
            maps.append(x)
        return OrderedDict((str(i), value) for i, value in enumerate(maps))


def _mobilenet_extractor(backbone, trainable_layers, norm_layer):
    features = backbone.features
    stages = stage_indices(features)
    freeze_stages(features, stages, trainable_layers)
    return SSDLiteFeatureExtractorMobileNet(features, stages[-2], norm_layer)


SSDLite320_MobileNet_V3_Large_Weights = weights_enum("SSDLite320_MobileNet_V3_Large_Weights", __name__)

_DEFAULTS = {
    "score_thresh": 0.001,
    "nms_thresh": 0.55,
    "detections_per_img": 300,
    "topk_candidates": 300,
    "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.5, 0.5, 0.5],
}


@builder(SSDLite320_MobileNet_V3_Large_Weights, MobileNet_V3_Large_Weights["IMAGENET1K_V1"], layers=(6, 6), older=False)
def ssdlite320_mobilenet_v3_large(start, num_classes, norm_layer=None, **kwargs):
    """SSDlite on MobileNetV3, large, for images of 320 pixels."""
    ignore_size(kwargs)
    if norm_layer is None:
        norm_layer = partial(nn.BatchNorm2d, eps=0.001, momentum=0.03)
    backbone = mobilenet_v3_large(
        weights=start.weights,
        progress=start.progress,
        norm_layer=norm_layer,
        reduced_tail=start.weights is None,
        **kwargs,
    )
    if start.weights is None:
        _normal_init(backbone)
    backbone = _mobilenet_extractor(backbone, start.trainable_layers, norm_layer)
    size = (320, 320)
    boxes = DefaultBoxGenerator([[2, 3] for _ in range(6)], min_ratio=0.2, max_ratio=0.95)
    channels = det_utils.retrieve_out_channels(backbone, size)
    check_maps(channels, boxes)
    head = SSDLiteHead(channels, boxes.num_anchors_per_location(), num_classes, norm_layer)
    return SSD(backbone, boxes, size, num_classes, head=head, **{**_DEFAULTS, **kwargs})
