"""Keypoint R-CNN (He et al., arXiv 1703.06870)."""

from itertools import pairwise

from rushlight import nn
from rushlight.nn import functional as F
from rushlight_vision.models._api import weights_enum
from rushlight_vision.models.detection.builder import builder
from rushlight_vision.models.detection.faster_rcnn import FasterRCNN, check_kind, resnet50_pyramid
from rushlight_vision.models.resnet import ResNet50_Weights
from rushlight_vision.ops.feature_pyramid_network import MultiScaleRoIAlign

__all__ = ["KeypointRCNN", "KeypointRCNN_ResNet50_FPN_Weights", "keypointrcnn_resnet50_fpn"]


class KeypointRCNN(FasterRCNN):
    """`FasterRCNN` that also finds each object's keypoints: targets have 'keypoints' (K, points, 3: x, y, visible),
    results too, with 'keypoints_scores' (K, points).

    keypoint_roi_pool, keypoint_head, keypoint_predictor: maps and boxes to (K, C, 14, 14), to (K, 512, 14, 14), to
    (K, num_keypoints, 56, 56). The other arguments are `FasterRCNN`'s.
    """

    def __init__(
        self,
        backbone,
        num_classes=None,
        min_size=None,
        *options,
        keypoint_roi_pool=None,
        keypoint_head=None,
        keypoint_predictor=None,
        num_keypoints=None,
        **kwargs,
    ):
        check_kind("keypoint_roi_pool", keypoint_roi_pool, MultiScaleRoIAlign)
        if num_keypoints is not None and keypoint_predictor is not None:
            raise ValueError("num_keypoints should be None when keypoint_predictor is specified")
        if keypoint_roi_pool is None:
            keypoint_roi_pool = MultiScaleRoIAlign(featmap_names=["0", "1", "2", "3"], output_size=14, sampling_ratio=2)
        if keypoint_head is None:
            keypoint_head = KeypointRCNNHeads(backbone.out_channels, (512,) * 8)
        if keypoint_predictor is None:
            keypoint_predictor = KeypointRCNNPredictor(512, 17 if num_keypoints is None else num_keypoints)
        sizes = (640, 672, 704, 736, 768, 800) if min_size is None else min_size
        super().__init__(backbone, num_classes, sizes, *options, **kwargs)
        self.roi_heads.keypoint_roi_pool = keypoint_roi_pool
        self.roi_heads.keypoint_head = keypoint_head
        self.roi_heads.keypoint_predictor = keypoint_predictor


class KeypointRCNNHeads(nn.Sequential):
    """3x3 convolutions of `layers` channels. Shape: (K, in_channels, M, M) -> (K, layers[-1], M, M)"""

    def __init__(self, in_channels, layers):
        widths = [in_channels, *layers]
        blocks = []
        for narrow, wide in pairwise(widths):
            blocks += [nn.Conv2d(narrow, wide, 3, stride=1, padding=1), nn.ReLU(inplace=True)]
        super().__init__(*blocks)
        for layer in self.children():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
                nn.init.constant_(layer.bias, 0)


class KeypointRCNNPredictor(nn.Module):
    """Shape: (K, in_channels, M, M) -> (K, num_keypoints, 4 M, 4 M)"""

    def __init__(self, in_channels, num_keypoints):
        super().__init__()
        self.kps_score_lowres = nn.ConvTranspose2d(in_channels, num_keypoints, 4, stride=2, padding=1)
        nn.init.kaiming_normal_(self.kps_score_lowres.weight, mode="fan_out", nonlinearity="relu")
        nn.init.constant_(self.kps_score_lowres.bias, 0)
        self.up_scale = 2
        self.out_channels = num_keypoints

    def forward(self, x):
        return F.interpolate(
            self.kps_score_lowres(x),
            scale_factor=float(self.up_scale),
            mode="bilinear",
            align_corners=False,
            recompute_scale_factor=False,
        )


KeypointRCNN_ResNet50_FPN_Weights = weights_enum("KeypointRCNN_ResNet50_FPN_Weights", __name__)


def _member(pretrained):
    return "COCO_LEGACY" if pretrained == "legacy" else "COCO_V1"


@builder(
    KeypointRCNN_ResNet50_FPN_Weights,
    ResNet50_Weights["IMAGENET1K_V1"],
    layers=(5, 3),
    classes=2,
    pretrained=_member,
    keypoints=True,
)
def keypointrcnn_resnet50_fpn(start, num_classes, num_keypoints=17, **kwargs):
    """Keypoint R-CNN on a feature pyramid of ResNet-50, for people and their 17 joints."""
    return KeypointRCNN(resnet50_pyramid(start), num_classes, num_keypoints=num_keypoints, **kwargs)
