"""Fully convolutional networks (Long et al., arXiv 1411.4038)."""

from rushlight import nn
from rushlight_vision.models._api import weights_enum
from rushlight_vision.models._utils import IntermediateLayerGetter
from rushlight_vision.models.resnet import ResNet50_Weights, ResNet101_Weights, resnet50, resnet101
from rushlight_vision.models.segmentation._utils import _SimpleSegmentationModel, builder

__all__ = ["FCN", "FCN_ResNet50_Weights", "FCN_ResNet101_Weights", "fcn_resnet50", "fcn_resnet101"]


class FCN(_SimpleSegmentationModel):
    """A backbone that gives 'out' (and 'aux'), a classifier and perhaps an auxiliary one; see the base for shapes."""


class FCNHead(nn.Sequential):
    """3x3 to a quarter of the channels, then 1x1 to the classes."""

    def __init__(self, in_channels, channels):
        inner = in_channels // 4
        super().__init__(
            nn.Conv2d(in_channels, inner, 3, padding=1, bias=False),
            nn.BatchNorm2d(inner),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Conv2d(inner, channels, 1),
        )


def dilated_resnet(make, weights, aux):
    """The backbone of a ResNet whose last two stages dilate, giving 'out' and, if `aux`, 'aux'."""
    layers = {"layer4": "out", "layer3": "aux"} if aux else {"layer4": "out"}
    return IntermediateLayerGetter(make(weights=weights, replace_stride_with_dilation=[False, True, True]), layers)


def _fcn(make, weights, num_classes, aux):
    backbone = dilated_resnet(make, weights, aux)
    aux_classifier = FCNHead(1024, num_classes) if aux else None
    return FCN(backbone, FCNHead(2048, num_classes), aux_classifier)


FCN_ResNet50_Weights = weights_enum("FCN_ResNet50_Weights", __name__)
FCN_ResNet101_Weights = weights_enum("FCN_ResNet101_Weights", __name__)


@builder(FCN_ResNet50_Weights, ResNet50_Weights)
def fcn_resnet50(weights_backbone, num_classes, aux_loss, **kwargs):
    """FCN on ResNet-50."""
    return _fcn(resnet50, weights_backbone, num_classes, aux_loss)


@builder(FCN_ResNet101_Weights, ResNet101_Weights)
def fcn_resnet101(weights_backbone, num_classes, aux_loss, **kwargs):
    """FCN on ResNet-101."""
    return _fcn(resnet101, weights_backbone, num_classes, aux_loss)
