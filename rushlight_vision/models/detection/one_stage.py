"""What the detectors of one stage share: the frame of a call, and the best boxes of each map."""

import rushlight as torch
from rushlight import int64
from rushlight_vision.models.detection import _utils as det_utils
from rushlight_vision.models.detection.detector import Detector
from rushlight_vision.ops import boxes as box_ops


class OneStage(Detector):
    """Maps, the head's outputs and anchors of the images, then losses or boxes.

    A subclass has `transform`, `backbone`, `head`, `anchor_generator` and the methods `_losses(targets, outputs, anchors,
    features)` and `_detections(outputs, anchors, features, image_sizes)`. See `GeneralizedRCNN` for what goes in.
    """

    def forward(self, images, targets=None):
        images, features, targets, original = self._prepared(images, targets)
        features = list(features.values())
        outputs = self.head(features)
        anchors = self.anchor_generator(images, features)
        losses, detections = {}, []
        if self.training:
            losses = self._losses(targets, outputs, anchors, features)
        else:
            detections = self._detections(outputs, anchors, features, images.image_sizes)
            detections = self.transform.postprocess(detections, images.image_sizes, original)
        return self.eager_outputs(losses, detections)

    def _losses(self, targets, outputs, anchors, features):
        raise NotImplementedError

    def _detections(self, outputs, anchors, features, image_sizes):
        raise NotImplementedError

    def _split(self, outputs, anchors, counts):
        """Outputs {name: (N, K, C)} and anchors of each image, in lists of the maps, which have `counts` anchors."""
        split = {name: list(value.split(counts, dim=1)) for name, value in outputs.items()}
        return split, [list(boxes.split(counts)) for boxes in anchors]

    def _best(self, scores):
        """(scores, rows, classes) of the highest of (K, C) that are above `score_thresh`."""
        classes = scores.shape[-1]
        scores = scores.flatten()
        keep = scores > self.score_thresh
        places = torch.where(keep)[0]
        scores, order = scores[keep].topk(det_utils._topk_min(places, self.topk_candidates, 0))
        places = places[order]
        return scores, torch.div(places, classes, rounding_mode="floor"), places % classes

    def _chosen(self, boxes, scores, labels):
        """What is left of lists of boxes (k, 4), scores (k,) and labels (k,) when overlaps are removed."""
        boxes, scores, labels = (torch.cat(values, dim=0) for values in (boxes, scores, labels))
        keep = box_ops.batched_nms(boxes, scores, labels, self.nms_thresh)[: self.detections_per_img]
        return {"boxes": boxes[keep], "scores": scores[keep], "labels": labels[keep]}


def no_match(anchors):
    """Of an image without objects: each anchor is background."""
    return torch.full((anchors.size(0),), -1, dtype=int64, device=anchors.device)


def by_place(output, columns):
    """(N, A C, H, W) -> (N, H W A, C)."""
    n, _, height, width = output.shape
    return output.view(n, -1, columns, height, width).permute(0, 3, 4, 1, 2).reshape(n, -1, columns)
