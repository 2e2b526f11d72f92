"""The frame of the detectors of two stages: proposals first, then what each of them is."""

from rushlight_vision.models.detection.detector import Detector

__all__ = ["GeneralizedRCNN"]


class GeneralizedRCNN(Detector):
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

    def forward(self, images, targets=None):
        images, features, targets, original = self._prepared(images, targets)
        proposals, proposal_losses = self.rpn(images, features, targets)
        detections, detector_losses = self.roi_heads(features, proposals, images.image_sizes, targets)
        detections = self.transform.postprocess(detections, images.image_sizes, original)
        return self.eager_outputs({**detector_losses, **proposal_losses}, detections)
