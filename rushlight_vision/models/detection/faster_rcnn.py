"""Faster R-CNN (Ren et al., arXiv 1506.01497) on feature pyramids of ResNet-50 and MobileNetV3."""

from collections.abc import Sequence

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F
from rushlight_vision.models._api import weights_enum
from rushlight_vision.models.detection.anchor_utils import AnchorGenerator
from rushlight_vision.models.detection.backbone_utils import _mobilenet_extractor, _resnet_fpn_extractor
from rushlight_vision.models.detection.builder import builder
from rushlight_vision.models.detection.generalized_rcnn import GeneralizedRCNN
from rushlight_vision.models.detection.roi_heads import RoIHeads
from rushlight_vision.models.detection.rpn import RegionProposalNetwork, RPNHead
from rushlight_vision.models.detection.transform import GeneralizedRCNNTransform
from rushlight_vision.models.mobilenetv3 import MobileNet_V3_Large_Weights, mobilenet_v3_large
from rushlight_vision.models.resnet import ResNet50_Weights, resnet50
from rushlight_vision.ops.feature_pyramid_network import MultiScaleRoIAlign
from rushlight_vision.ops.layers import Conv2dNormActivation

__all__ = [
    "FasterRCNN",
    "FasterRCNN_MobileNet_V3_Large_320_FPN_Weights",
    "FasterRCNN_MobileNet_V3_Large_FPN_Weights",
    "FasterRCNN_ResNet50_FPN_V2_Weights",
    "FasterRCNN_ResNet50_FPN_Weights",
    "fasterrcnn_mobilenet_v3_large_320_fpn",
    "fasterrcnn_mobilenet_v3_large_fpn",
    "fasterrcnn_resnet50_fpn",
    "fasterrcnn_resnet50_fpn_v2",
]

IMAGE_MEAN = [0.485, 0.456, 0.406]  # of ImageNet's training images
IMAGE_STD = [0.229, 0.224, 0.225]


def _default_anchorgen():
    return AnchorGenerator(((32,), (64,), (128,), (256,), (512,)), ((0.5, 1.0, 2.0),) * 5)


def check_kind(name, value, kind):
    """TypeError unless the argument is None or of its kind."""
    if not isinstance(value, (kind, type(None))):
        raise TypeError(f"{name} should be of type {kind.__name__} or None instead of {type(value)}")


def check_backbone(backbone):
    """ValueError for a backbone that does not say how many channels its maps have."""
    if not hasattr(backbone, "out_channels"):
        raise ValueError(
            "backbone should contain an attribute out_channels specifying the number of output channels (assumed to be "
            "the same for all the levels)"
        )


class FasterRCNN(GeneralizedRCNN):
    """Boxes and classes of objects; see `GeneralizedRCNN` for what goes in and comes out.

    backbone: gives a map or a dictionary of maps, and has `out_channels`. num_classes: with the background; None where
    `box_predictor` is given. min_size to image_std: see `GeneralizedRCNNTransform`. rpn_*: see `RegionProposalNetwork`.
    box_roi_pool, box_head, box_predictor: maps and boxes to (K, C, 7, 7), to (K, 1024), to logits (K, num_classes) and
    offsets (K, 4 num_classes). box_score_thresh, box_nms_thresh, box_detections_per_img: what stays of the result.
    box_fg_iou_thresh to box_positive_fraction: the sample that training takes. bbox_reg_weights: factors of offsets.
    """

    def __init__(
        self,
        backbone,
        num_classes=None,
        min_size: int | Sequence[int] = 800,
        max_size=1333,
        image_mean=None,
        image_std=None,
        rpn_anchor_generator=None,
        rpn_head=None,
        rpn_pre_nms_top_n_train=2000,
        rpn_pre_nms_top_n_test=1000,
        rpn_post_nms_top_n_train=2000,
        rpn_post_nms_top_n_test=1000,
        rpn_nms_thresh=0.7,
        rpn_fg_iou_thresh=0.7,
        rpn_bg_iou_thresh=0.3,
        rpn_batch_size_per_image=256,
        rpn_positive_fraction=0.5,
        rpn_score_thresh=0.0,
        box_roi_pool=None,
        box_head=None,
        box_predictor=None,
        box_score_thresh=0.05,
        box_nms_thresh=0.5,
        box_detections_per_img=100,
        box_fg_iou_thresh=0.5,
        box_bg_iou_thresh=0.5,
        box_batch_size_per_image=512,
        box_positive_fraction=0.25,
        bbox_reg_weights=None,
        **kwargs,
    ):
        check_backbone(backbone)
        check_kind("rpn_anchor_generator", rpn_anchor_generator, AnchorGenerator)
        check_kind("box_roi_pool", box_roi_pool, MultiScaleRoIAlign)
        if num_classes is not None and box_predictor is not None:
            raise ValueError("num_classes should be None when box_predictor is specified")
        if num_classes is None and box_predictor is None:
            raise ValueError("num_classes should not be None when box_predictor is not specified")
        channels = backbone.out_channels
        anchors = _default_anchorgen() if rpn_anchor_generator is None else rpn_anchor_generator
        if rpn_head is None:
            rpn_head = RPNHead(channels, anchors.num_anchors_per_location()[0])
        rpn = RegionProposalNetwork(
            anchors,
            rpn_head,
            rpn_fg_iou_thresh,
            rpn_bg_iou_thresh,
            rpn_batch_size_per_image,
            rpn_positive_fraction,
            {"training": rpn_pre_nms_top_n_train, "testing": rpn_pre_nms_top_n_test},
            {"training": rpn_post_nms_top_n_train, "testing": rpn_post_nms_top_n_test},
            rpn_nms_thresh,
            score_thresh=rpn_score_thresh,
        )
        if box_roi_pool is None:
            box_roi_pool = MultiScaleRoIAlign(featmap_names=["0", "1", "2", "3"], output_size=7, sampling_ratio=2)
        if box_head is None:
            box_head = TwoMLPHead(channels * box_roi_pool.output_size[0] ** 2, 1024)
        if box_predictor is None:
            box_predictor = FastRCNNPredictor(1024, num_classes)
        roi_heads = RoIHeads(
            box_roi_pool,
            box_head,
            box_predictor,
            box_fg_iou_thresh,
            box_bg_iou_thresh,
            box_batch_size_per_image,
            box_positive_fraction,
            bbox_reg_weights,
            box_score_thresh,
            box_nms_thresh,
            box_detections_per_img,
        )
        mean = IMAGE_MEAN if image_mean is None else image_mean
        std = IMAGE_STD if image_std is None else image_std
        super().__init__(backbone, rpn, roi_heads, GeneralizedRCNNTransform(min_size, max_size, mean, std, **kwargs))


class TwoMLPHead(nn.Module):
    """Two hidden layers. Shape: (K, C, P, Q), in_channels = C P Q -> (K, representation_size)"""

    def __init__(self, in_channels, representation_size):
        super().__init__()
        self.fc6 = nn.Linear(in_channels, representation_size)
        self.fc7 = nn.Linear(representation_size, representation_size)

    def forward(self, x):
        return F.relu(self.fc7(F.relu(self.fc6(x.flatten(start_dim=1)))))


class FastRCNNConvFCHead(nn.Sequential):
    """Convolutions of `conv_layers` channels, then hidden layers of `fc_layers`. Shape: (K, *input_size) -> (K, last)"""

    def __init__(self, input_size, conv_layers, fc_layers, norm_layer=None):
        channels, height, width = input_size
        blocks = []
        for wide in conv_layers:
            blocks.append(Conv2dNormActivation(channels, wide, norm_layer=norm_layer))
            channels = wide
        blocks.append(nn.Flatten())
        features = channels * height * width
        for wide in fc_layers:
            blocks += [nn.Linear(features, wide), nn.ReLU(inplace=True)]
            features = wide
        super().__init__(*blocks)
        initialize_convolutions(self)


def initialize_convolutions(model):
    """He et al.'s normal weights by the channels going out, no bias."""
    for layer in model.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


class FastRCNNPredictor(nn.Module):
    """Shape: (K, in_channels) or (K, in_channels, 1, 1) -> logits (K, num_classes), offsets (K, 4 num_classes)"""

    def __init__(self, in_channels, num_classes):
        super().__init__()
        self.cls_score = nn.Linear(in_channels, num_classes)
        self.bbox_pred = nn.Linear(in_channels, num_classes * 4)

    def forward(self, x):
        if x.dim() == 4 and list(x.shape[2:]) != [1, 1]:
            raise AssertionError(
                f"x has the wrong shape, expecting the last two dimensions to be [1,1] instead of {list(x.shape[2:])}"
            )
        x = torch.flatten(x, start_dim=1)
        return self.cls_score(x), self.bbox_pred(x)


FasterRCNN_ResNet50_FPN_Weights = weights_enum("FasterRCNN_ResNet50_FPN_Weights", __name__)
FasterRCNN_ResNet50_FPN_V2_Weights = weights_enum("FasterRCNN_ResNet50_FPN_V2_Weights", __name__)
FasterRCNN_MobileNet_V3_Large_FPN_Weights = weights_enum("FasterRCNN_MobileNet_V3_Large_FPN_Weights", __name__)
FasterRCNN_MobileNet_V3_Large_320_FPN_Weights = weights_enum("FasterRCNN_MobileNet_V3_Large_320_FPN_Weights", __name__)


def resnet50_pyramid(start, extra_blocks=None, **options):
    """A feature pyramid on ResNet-50, its norms frozen if its weights are published ones.

    extra_blocks: a function that makes them; the backbone's random numbers are drawn first.
    """
    backbone = resnet50(weights=start.weights, progress=start.progress, norm_layer=start.norm_layer)
    return _pyramid(backbone, start, extra_blocks, options)


def normed_resnet50_pyramid(start, extra_blocks=None, **options):
    """A feature pyramid on ResNet-50 whose norms learn; `extra_blocks` as in `resnet50_pyramid`."""
    backbone = resnet50(weights=start.weights, progress=start.progress)
    return _pyramid(backbone, start, extra_blocks, options)


def _pyramid(backbone, start, extra_blocks, options):
    extra = None if extra_blocks is None else extra_blocks()
    return _resnet_fpn_extractor(backbone, start.trainable_layers, extra_blocks=extra, **options)


def second_version(start):
    """(backbone, the arguments of `FasterRCNN`) of the second version: norms that learn, deeper heads."""
    backbone = normed_resnet50_pyramid(start, norm_layer=nn.BatchNorm2d)
    anchors = _default_anchorgen()
    head = RPNHead(backbone.out_channels, anchors.num_anchors_per_location()[0], conv_depth=2)
    box_head = FastRCNNConvFCHead((backbone.out_channels, 7, 7), [256] * 4, [1024], norm_layer=nn.BatchNorm2d)
    return backbone, {"rpn_anchor_generator": anchors, "rpn_head": head, "box_head": box_head}


def _on_mobilenet(start, num_classes, options):
    backbone = mobilenet_v3_large(weights=start.weights, progress=start.progress, norm_layer=start.norm_layer)
    backbone = _mobilenet_extractor(backbone, True, start.trainable_layers)
    anchors = AnchorGenerator(((32, 64, 128, 256, 512),) * 3, ((0.5, 1.0, 2.0),) * 3)
    return FasterRCNN(backbone, num_classes, rpn_anchor_generator=anchors, **options)


@builder(FasterRCNN_ResNet50_FPN_Weights, ResNet50_Weights["IMAGENET1K_V1"], layers=(5, 3))
def fasterrcnn_resnet50_fpn(start, num_classes, **kwargs):
    """Faster R-CNN on a feature pyramid of ResNet-50."""
    return FasterRCNN(resnet50_pyramid(start), num_classes=num_classes, **kwargs)


@builder(
    FasterRCNN_ResNet50_FPN_V2_Weights, ResNet50_Weights["IMAGENET1K_V1"], layers=(5, 3), untrained=True, older=False
)
def fasterrcnn_resnet50_fpn_v2(start, num_classes, **kwargs):
    """Faster R-CNN on ResNet-50 with the heads of Li et al., arXiv 2111.11429."""
    backbone, heads = second_version(start)
    return FasterRCNN(backbone, num_classes=num_classes, **heads, **kwargs)


@builder(
    FasterRCNN_MobileNet_V3_Large_320_FPN_Weights,
    MobileNet_V3_Large_Weights["IMAGENET1K_V1"],
    layers=(6, 3),
    older=False,
)
def fasterrcnn_mobilenet_v3_large_320_fpn(start, num_classes, **kwargs):
    """Faster R-CNN on MobileNetV3, large, for images of 320 pixels."""
    small = {"min_size": 320, "max_size": 640, "rpn_pre_nms_top_n_test": 150, "rpn_post_nms_top_n_test": 150}
    return _on_mobilenet(start, num_classes, {**small, "rpn_score_thresh": 0.05, **kwargs})


@builder(
    FasterRCNN_MobileNet_V3_Large_FPN_Weights, MobileNet_V3_Large_Weights["IMAGENET1K_V1"], layers=(6, 3), older=False
)
def fasterrcnn_mobilenet_v3_large_fpn(start, num_classes, **kwargs):
    """Faster R-CNN on MobileNetV3, large."""
    return _on_mobilenet(start, num_classes, {"rpn_score_thresh": 0.05, **kwargs})
