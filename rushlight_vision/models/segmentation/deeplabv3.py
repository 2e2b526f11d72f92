"""DeepLabV3 (Chen et al., arXiv 1706.05587): dilated convolutions of several rates side by side."""

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F
from rushlight_vision.models._api import weights_enum
from rushlight_vision.models._utils import IntermediateLayerGetter
from rushlight_vision.models.mobilenetv3 import MobileNet_V3_Large_Weights, mobilenet_v3_large
from rushlight_vision.models.resnet import ResNet50_Weights, ResNet101_Weights, resnet50, resnet101
from rushlight_vision.models.segmentation._utils import _SimpleSegmentationModel, builder, stage_indices
from rushlight_vision.models.segmentation.fcn import FCNHead, dilated_resnet

__all__ = [
    "DeepLabV3",
    "DeepLabV3_MobileNet_V3_Large_Weights",
    "DeepLabV3_ResNet50_Weights",
    "DeepLabV3_ResNet101_Weights",
    "deeplabv3_mobilenet_v3_large",
    "deeplabv3_resnet50",
    "deeplabv3_resnet101",
]


class DeepLabV3(_SimpleSegmentationModel):
    """A backbone that gives 'out' (and 'aux'), a classifier and perhaps an auxiliary one; see the base for shapes."""


def _normed(channels_in, channels_out, kernel_size=1, **options):
    return (
        nn.Conv2d(channels_in, channels_out, kernel_size, bias=False, **options),
        nn.BatchNorm2d(channels_out),
        nn.ReLU(),
    )


class ASPPConv(nn.Sequential):
    """A dilated 3x3 convolution."""

    def __init__(self, in_channels, out_channels, dilation):
        super().__init__(*_normed(in_channels, out_channels, 3, padding=dilation, dilation=dilation))


class ASPPPooling(nn.Sequential):
    """The mean of the image, at every pixel."""

    def __init__(self, in_channels, out_channels):
        super().__init__(nn.AdaptiveAvgPool2d(1), *_normed(in_channels, out_channels))

    def forward(self, x):
        return F.interpolate(super().forward(x), size=x.shape[-2:], mode="bilinear", align_corners=False)


class ASPP(nn.Module):
    """1x1, a dilated convolution of each rate and the image's mean side by side, joined by 1x1."""

    def __init__(self, in_channels, atrous_rates, out_channels=256):
        super().__init__()
        self.convs = nn.ModuleList(
            [
                nn.Sequential(*_normed(in_channels, out_channels)),
                *(ASPPConv(in_channels, out_channels, rate) for rate in atrous_rates),
                ASPPPooling(in_channels, out_channels),
            ]
        )
        self.project = nn.Sequential(*_normed(len(self.convs) * out_channels, out_channels), nn.Dropout(0.5))

    def forward(self, x):
        return self.project(torch.cat([conv(x) for conv in self.convs], dim=1))


class DeepLabHead(nn.Sequential):
    """ASPP, 3x3, and 1x1 to the classes."""

    def __init__(self, in_channels, num_classes, atrous_rates=(12, 24, 36)):
        super().__init__(
            ASPP(in_channels, atrous_rates), *_normed(256, 256, 3, padding=1), nn.Conv2d(256, num_classes, 1)
        )


def _on_resnet(make, weights, num_classes, aux):
    backbone = dilated_resnet(make, weights, aux)
    aux_classifier = FCNHead(1024, num_classes) if aux else None
    return DeepLabV3(backbone, DeepLabHead(2048, num_classes), aux_classifier)


def _on_mobilenet(features, num_classes, aux):
    stages = stage_indices(features)
    out, early = stages[-1], stages[-4]
    layers = {str(out): "out", str(early): "aux"} if aux else {str(out): "out"}
    backbone = IntermediateLayerGetter(features, layers)
    aux_classifier = FCNHead(features[early].out_channels, num_classes) if aux else None
    return DeepLabV3(backbone, DeepLabHead(features[out].out_channels, num_classes), aux_classifier)


DeepLabV3_ResNet50_Weights = weights_enum("DeepLabV3_ResNet50_Weights", __name__)
DeepLabV3_ResNet101_Weights = weights_enum("DeepLabV3_ResNet101_Weights", __name__)
DeepLabV3_MobileNet_V3_Large_Weights = weights_enum("DeepLabV3_MobileNet_V3_Large_Weights", __name__)


@builder(DeepLabV3_ResNet50_Weights, ResNet50_Weights)
def deeplabv3_resnet50(weights_backbone, num_classes, aux_loss, **kwargs):
    """DeepLabV3 on ResNet-50."""
    return _on_resnet(resnet50, weights_backbone, num_classes, aux_loss)


@builder(DeepLabV3_ResNet101_Weights, ResNet101_Weights)
def deeplabv3_resnet101(weights_backbone, num_classes, aux_loss, **kwargs):
    """DeepLabV3 on ResNet-101."""
    return _on_resnet(resnet101, weights_backbone, num_classes, aux_loss)


@builder(DeepLabV3_MobileNet_V3_Large_Weights, MobileNet_V3_Large_Weights)
def deeplabv3_mobilenet_v3_large(weights_backbone, num_classes, aux_loss, **kwargs):
    """DeepLabV3 on MobileNetV3, large."""
    features = mobilenet_v3_large(weights=weights_backbone, dilated=True).features
    return _on_mobilenet(features, num_classes, aux_loss)
