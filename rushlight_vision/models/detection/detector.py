"""How every detector's call begins and ends: checks of images and targets, the backbone's maps, losses or boxes."""

from collections import OrderedDict

import rushlight as torch
from rushlight import Tensor, nn


class Detector(nn.Module):
    """Has `transform` and `backbone`. See `GeneralizedRCNN` for what goes in and comes out of a call."""

    def eager_outputs(self, losses, detections):
        """Which of both a call returns."""
        return losses if self.training else detections

    def _prepared(self, images, targets):
        """(images of one size, their maps by name, targets of that size, sizes (height, width) as given)."""
        if self.training:
            check_targets(targets)
        original = sizes_of(images)
        images, targets = self.transform(images, targets)
        check_areas(targets)
        features = self.backbone(images.tensors)
        if isinstance(features, Tensor):
            features = OrderedDict([("0", features)])
        return images, features, targets, original


def check_targets(targets):
    """AssertionError unless there are targets whose boxes are tensors (K, 4)."""
    if targets is None:
        raise AssertionError("targets should not be none when in training mode")
    for target in targets:
        boxes = target["boxes"]
        if not isinstance(boxes, Tensor):
            raise AssertionError(f"Expected target boxes to be of type Tensor, got {type(boxes)}.")
        if boxes.ndim != 2 or boxes.shape[-1] != 4:
            raise AssertionError(f"Expected target boxes to be a tensor of shape [N, 4], got {boxes.shape}.")


def sizes_of(images):
    """The (height, width) of each image."""
    sizes = []
    for image in images:
        if image.ndim < 2:
            raise AssertionError(
                "expecting the last two dimensions of the Tensor to be H and W instead got " + str(image.shape[-2:])
            )
        sizes.append((image.shape[-2], image.shape[-1]))
    return sizes


def check_areas(targets):
    """AssertionError for a box without width or height."""
    for number, target in enumerate(targets or ()):
        boxes = target["boxes"]
        flat = (boxes[:, 2:] <= boxes[:, :2]).any(dim=1)
        if flat.any():
            box = boxes[torch.where(flat)[0][0]].tolist()
            raise AssertionError(
                f"All bounding boxes should have positive height and width. Found invalid box {box} for target at "
                f"index {number}."
            )
