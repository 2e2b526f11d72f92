"""Lite reduced ASPP, the segmentation head of MobileNetV3 (Howard et al., arXiv 1905.02244)."""

from collections import OrderedDict

from rushlight import nn
from rushlight.nn import functional as F
from rushlight_vision.models._api import weights_enum
from rushlight_vision.models._utils import IntermediateLayerGetter
from rushlight_vision.models.mobilenetv3 import MobileNet_V3_Large_Weights, mobilenet_v3_large
from rushlight_vision.models.segmentation._utils import builder, stage_indices

__all__ = ["LRASPP", "LRASPP_MobileNet_V3_Large_Weights", "lraspp_mobilenet_v3_large"]


class LRASPP(nn.Module):
    """A backbone that gives 'low' and 'high' features, and the head.

    Shape: (N, 3, H, W) -> {'out': (N, num_classes, H, W)}
    """

    def __init__(self, backbone, low_channels, high_channels, num_classes, inter_channels=128):
        super().__init__()
        self.backbone = backbone
        self.classifier = LRASPPHead(low_channels, high_channels, num_classes, inter_channels)

    def forward(self, input):
        out = self.classifier(self.backbone(input))
        out = F.interpolate(out, size=input.shape[-2:], mode="bilinear", align_corners=False)
        return OrderedDict(out=out)


class LRASPPHead(nn.Module):
    """High features, weighted by their means, joined with the low ones."""

    def __init__(self, low_channels, high_channels, num_classes, inter_channels):
        super().__init__()
        self.cbr = nn.Sequential(
            nn.Conv2d(high_channels, inter_channels, 1, bias=False),
            nn.BatchNorm2d(inter_channels),
            nn.ReLU(inplace=True),
        )
        self.scale = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(high_channels, inter_channels, 1, bias=False), nn.Sigmoid()
        )
        self.low_classifier = nn.Conv2d(low_channels, num_classes, 1)
        self.high_classifier = nn.Conv2d(inter_channels, num_classes, 1)

    def forward(self, input):
        low, high = input["low"], input["high"]
        x = self.cbr(high) * self.scale(high)
        x = F.interpolate(x, size=low.shape[-2:], mode="bilinear", align_corners=False)
        return self.low_classifier(low) + self.high_classifier(x)


LRASPP_MobileNet_V3_Large_Weights = weights_enum("LRASPP_MobileNet_V3_Large_Weights", __name__)


@builder(LRASPP_MobileNet_V3_Large_Weights, MobileNet_V3_Large_Weights)
def lraspp_mobilenet_v3_large(weights_backbone, num_classes, aux_loss, **kwargs):
    """LRASPP on MobileNetV3, large."""
    if aux_loss:
        raise NotImplementedError("This model does not use auxiliary loss")
    features = mobilenet_v3_large(weights=weights_backbone, dilated=True).features
    stages = stage_indices(features)
    low, high = stages[-4], stages[-1]
    backbone = IntermediateLayerGetter(features, {str(low): "low", str(high): "high"})
    return LRASPP(backbone, features[low].out_channels, features[high].out_channels, num_classes)
