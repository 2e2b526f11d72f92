"""Mask R-CNN (He et al., arXiv 1703.06870)."""

from collections import OrderedDict
from itertools import pairwise

from rushlight import nn
from rushlight_vision.models._api import weights_enum
from rushlight_vision.models.detection.builder import builder
from rushlight_vision.models.detection.faster_rcnn import (
    FasterRCNN,
    check_kind,
    initialize_convolutions,
    resnet50_pyramid,
    second_version,
)
from rushlight_vision.models.resnet import ResNet50_Weights
from rushlight_vision.ops.feature_pyramid_network import MultiScaleRoIAlign
from rushlight_vision.ops.layers import Conv2dNormActivation

__all__ = [
    "MaskRCNN",
    "MaskRCNN_ResNet50_FPN_V2_Weights",
    "MaskRCNN_ResNet50_FPN_Weights",
    "maskrcnn_resnet50_fpn",
    "maskrcnn_resnet50_fpn_v2",
]


class MaskRCNN(FasterRCNN):
    """`FasterRCNN` that also finds each object's mask: targets have 'masks' (K, H, W), results (K, 1, H, W) in [0, 1].

    mask_roi_pool, mask_head, mask_predictor: maps and boxes to (K, C, 14, 14), to the same, to (K, num_classes, 28, 28).
    The other arguments are `FasterRCNN`'s.
    """

    def __init__(
        self,
        backbone,
        num_classes=None,
        *options,
        mask_roi_pool=None,
        mask_head=None,
        mask_predictor=None,
        **kwargs,
    ):
        check_kind("mask_roi_pool", mask_roi_pool, MultiScaleRoIAlign)
        if num_classes is not None and mask_predictor is not None:
            raise ValueError("num_classes should be None when mask_predictor is specified")
        if mask_roi_pool is None:
            mask_roi_pool = MultiScaleRoIAlign(featmap_names=["0", "1", "2", "3"], output_size=14, sampling_ratio=2)
        if mask_head is None:
            mask_head = MaskRCNNHeads(backbone.out_channels, (256, 256, 256, 256), 1)
        if mask_predictor is None:
            mask_predictor = MaskRCNNPredictor(256, 256, num_classes)
        super().__init__(backbone, num_classes, *options, **kwargs)
        self.roi_heads.mask_roi_pool = mask_roi_pool
        self.roi_heads.mask_head = mask_head
        self.roi_heads.mask_predictor = mask_predictor


class MaskRCNNHeads(nn.Sequential):
    """3x3 convolutions of `layers` channels. Shape: (K, in_channels, M, M) -> (K, layers[-1], M, M)"""

    _version = 2

    def __init__(self, in_channels, layers, dilation, norm_layer=None):
        style = {"kernel_size": 3, "stride": 1, "padding": dilation, "dilation": dilation, "norm_layer": norm_layer}
        widths = [in_channels, *layers]
        super().__init__(*(Conv2dNormActivation(*pair, **style) for pair in pairwise(widths)))
        initialize_convolutions(self)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *args):
        """Also files of version 1, whose convolutions had names of their own."""
        if local_metadata.get("version", 1) < 2:
            for i in range(len(self)):
                for kind in ("weight", "bias"):
                    older = f"{prefix}mask_fcn{i + 1}.{kind}"
                    if older in state_dict:
                        state_dict[f"{prefix}{i}.0.{kind}"] = state_dict.pop(older)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


class MaskRCNNPredictor(nn.Sequential):
    """Shape: (K, in_channels, M, M) -> (K, num_classes, 2 M, 2 M)"""

    def __init__(self, in_channels, dim_reduced, num_classes):
        layers = OrderedDict(
            conv5_mask=nn.ConvTranspose2d(in_channels, dim_reduced, 2, 2, 0),
            relu=nn.ReLU(inplace=True),
            mask_fcn_logits=nn.Conv2d(dim_reduced, num_classes, 1, 1, 0),
        )
        super().__init__(layers)
        for name, parameter in self.named_parameters():
            if "weight" in name:
                nn.init.kaiming_normal_(parameter, mode="fan_out", nonlinearity="relu")


MaskRCNN_ResNet50_FPN_Weights = weights_enum("MaskRCNN_ResNet50_FPN_Weights", __name__)
MaskRCNN_ResNet50_FPN_V2_Weights = weights_enum("MaskRCNN_ResNet50_FPN_V2_Weights", __name__)


@builder(MaskRCNN_ResNet50_FPN_Weights, ResNet50_Weights["IMAGENET1K_V1"], layers=(5, 3))
def maskrcnn_resnet50_fpn(start, num_classes, **kwargs):
    """Mask R-CNN on a feature pyramid of ResNet-50."""
    return MaskRCNN(resnet50_pyramid(start), num_classes=num_classes, **kwargs)


@builder(
    MaskRCNN_ResNet50_FPN_V2_Weights, ResNet50_Weights["IMAGENET1K_V1"], layers=(5, 3), untrained=True, older=False
)
def maskrcnn_resnet50_fpn_v2(start, num_classes, **kwargs):
    """Mask R-CNN on ResNet-50 with the heads of Li et al., arXiv 2111.11429."""
    backbone, heads = second_version(start)
    mask_head = MaskRCNNHeads(backbone.out_channels, [256, 256, 256, 256], 1, norm_layer=nn.BatchNorm2d)
    return MaskRCNN(backbone, num_classes=num_classes, **heads, mask_head=mask_head, **kwargs)
