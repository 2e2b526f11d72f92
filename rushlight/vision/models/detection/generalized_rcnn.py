"""The frame of the detectors of two stages: proposals first, then what each of them is."""

from collections import OrderedDict

from rushlight import nn
from rushlight.core.tensor import Tensor
from rushlight.vision.models.detection.inputs import check_areas, check_targets, sizes_of

__all__ = ["GeneralizedRCNN"]


class GeneralizedRCNN(nn.Module):
    """backbone: images to maps; rpn: maps to proposals; roi_heads: maps and proposals to objects; transform: sizes.

    forward(images, targets): a list of images (3, H, W) in [0, 1] and, in training, of targets (dictionaries of 'boxes'
    (K, 4), 'labels' (K,), perhaps 'masks' (K, H, W) and 'keypoints' (K, points, 3)). In training a dictionary of losses,
    else for each image a dictionary of what was found.
    """

    def __init__(self, backbone, rpn, roi_heads, transform):
        super().__init__()
        self.transform = transform
        self.backbone = backbone
        self.rpn = rpn
        self.roi_heads = roi_heads
        self._has_warned = False

    def eager_outputs(self, losses, detections):
        """Which of both a call returns."""
        return losses if self.training else detections

    def forward(self, images, targets=None):
        if self.training:
            check_targets(targets)
        original = sizes_of(images)
        images, targets = self.transform(images, targets)
        check_areas(targets)
        features = self.backbone(images.tensors)
        if isinstance(features, Tensor):
            features = OrderedDict([("0", features)])
        proposals, proposal_losses = self.rpn(images, features, targets)
        detections, detector_losses = self.roi_heads(features, proposals, images.image_sizes, targets)
        detections = self.transform.postprocess(detections, images.image_sizes, original)
        return self.eager_outputs({**detector_losses, **proposal_losses}, detections)
