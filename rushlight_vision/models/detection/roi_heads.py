"""The second stage: what each proposed box holds, where exactly, and its mask and keypoints where these are wanted."""

import rushlight as torch
from rushlight import Tensor, float16, float32, float64, int64, nn
from rushlight.nn import functional as F
from rushlight_vision.models.detection import _utils as det_utils
from rushlight_vision.models.detection.keypoints import (
    heatmaps_to_keypoints,
    keypointrcnn_inference,
    keypointrcnn_loss,
    keypoints_to_heatmap,
)
from rushlight_vision.models.detection.masks import (
    expand_boxes,
    expand_masks,
    maskrcnn_inference,
    maskrcnn_loss,
    paste_mask_in_image,
    paste_masks_in_image,
    project_masks_on_boxes,
)
from rushlight_vision.ops import boxes as box_ops
from rushlight_vision.ops.roi import roi_align

__all__ = [
    "RoIHeads",
    "expand_boxes",
    "expand_masks",
    "fastrcnn_loss",
    "heatmaps_to_keypoints",
    "keypointrcnn_inference",
    "keypointrcnn_loss",
    "keypoints_to_heatmap",
    "maskrcnn_inference",
    "maskrcnn_loss",
    "paste_mask_in_image",
    "paste_masks_in_image",
    "project_masks_on_boxes",
    "roi_align",
]


def fastrcnn_loss(class_logits, box_regression, labels, regression_targets):
    """(cross entropy of logits (K, C), smooth L1 of the offsets (K, 4 C) of each positive box's own class)."""
    labels, wanted = torch.cat(labels, dim=0), torch.cat(regression_targets, dim=0)
    classification_loss = F.cross_entropy(class_logits, labels)
    positive = torch.where(labels > 0)[0]
    offsets = box_regression.reshape(class_logits.shape[0], box_regression.size(-1) // 4, 4)
    box_loss = F.smooth_l1_loss(offsets[positive, labels[positive]], wanted[positive], beta=1 / 9, reduction="sum")
    return classification_loss, box_loss / labels.numel()


class RoIHeads(nn.Module):
    """Heads over the maps within each proposal; see `FasterRCNN` for the arguments.

    forward(features, proposals, image_shapes, targets) -> (for each image what was found, losses)
    """

    def __init__(
        self,
        box_roi_pool,
        box_head,
        box_predictor,
        fg_iou_thresh,
        bg_iou_thresh,
        batch_size_per_image,
        positive_fraction,
        bbox_reg_weights,
        score_thresh,
        nms_thresh,
        detections_per_img,
        mask_roi_pool=None,
        mask_head=None,
        mask_predictor=None,
        keypoint_roi_pool=None,
        keypoint_head=None,
        keypoint_predictor=None,
    ):
        super().__init__()
        self.box_similarity = box_ops.box_iou
        self.proposal_matcher = det_utils.Matcher(fg_iou_thresh, bg_iou_thresh, allow_low_quality_matches=False)
        self.fg_bg_sampler = det_utils.BalancedPositiveNegativeSampler(batch_size_per_image, positive_fraction)
        self.box_coder = det_utils.BoxCoder((10.0, 10.0, 5.0, 5.0) if bbox_reg_weights is None else bbox_reg_weights)
        self.box_roi_pool = box_roi_pool
        self.box_head = box_head
        self.box_predictor = box_predictor
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh
        self.detections_per_img = detections_per_img
        self.mask_roi_pool = mask_roi_pool
        self.mask_head = mask_head
        self.mask_predictor = mask_predictor
        self.keypoint_roi_pool = keypoint_roi_pool
        self.keypoint_head = keypoint_head
        self.keypoint_predictor = keypoint_predictor

    def has_mask(self):
        """Whether it finds masks."""
        return None not in (self.mask_roi_pool, self.mask_head, self.mask_predictor)

    def has_keypoint(self):
        """Whether it finds keypoints."""
        return None not in (self.keypoint_roi_pool, self.keypoint_head, self.keypoint_predictor)

    # Training: which proposals are matched to which objects

    def assign_targets_to_proposals(self, proposals, gt_boxes, gt_labels):
        """Lists of each proposal's object and of its label (0 background, -1 neither)."""
        pairs = [self._assigned(*image) for image in zip(proposals, gt_boxes, gt_labels)]
        return [matched for matched, _ in pairs], [labels for _, labels in pairs]

    def _assigned(self, proposals, boxes, labels):
        if boxes.numel() == 0:
            nothing = torch.zeros((proposals.shape[0],), dtype=int64, device=proposals.device)
            return nothing, nothing.clone()
        matched = self.proposal_matcher(box_ops.box_iou(boxes, proposals))
        objects = matched.clamp(min=0)
        assigned = labels[objects].to(dtype=int64)
        assigned[matched == self.proposal_matcher.BELOW_LOW_THRESHOLD] = 0
        assigned[matched == self.proposal_matcher.BETWEEN_THRESHOLDS] = -1
        return objects, assigned

    def subsample(self, labels):
        """For each image the indices of a random sample."""
        return [torch.where(positive | negative)[0] for positive, negative in zip(*self.fg_bg_sampler(labels))]

    def add_gt_proposals(self, proposals, gt_boxes):
        """The objects' own boxes among the proposals."""
        return [torch.cat(pair) for pair in zip(proposals, gt_boxes)]

    def check_targets(self, targets):
        """ValueError where targets lack what training needs."""
        if targets is None:
            raise ValueError("targets should not be None")
        for name in ("boxes", "labels", *(("masks",) if self.has_mask() else ())):
            if not all(name in target for target in targets):
                raise ValueError(f"Every element of targets should have a {name} key")

    def select_training_samples(self, proposals, targets):
        """Lists of the sampled proposals, of their objects and labels, and of the offsets to their objects' boxes."""
        self.check_targets(targets)
        boxes = [target["boxes"].to(proposals[0].dtype) for target in targets]
        proposals = self.add_gt_proposals(proposals, boxes)
        matched, labels = self.assign_targets_to_proposals(proposals, boxes, [target["labels"] for target in targets])
        wanted = []
        for i, sampled in enumerate(self.subsample(labels)):
            proposals[i], labels[i], matched[i] = proposals[i][sampled], labels[i][sampled], matched[i][sampled]
            there = boxes[i] if boxes[i].numel() else torch.zeros((1, 4), dtype=boxes[i].dtype, device=boxes[i].device)
            wanted.append(there[matched[i]])
        return proposals, matched, labels, self.box_coder.encode(wanted, proposals)

    # Afterwards: which boxes stay

    def postprocess_detections(self, class_logits, box_regression, proposals, image_shapes):
        """Lists of each image's boxes (k, 4), scores (k,) and labels (k,), best first."""
        counts = [boxes.shape[0] for boxes in proposals]
        boxes = self.box_coder.decode(box_regression, proposals).split(counts, 0)
        scores = F.softmax(class_logits, -1).split(counts, 0)
        found = [self._kept(*image) for image in zip(boxes, scores, image_shapes)]
        return tuple([image[i] for image in found] for i in range(3))

    def _kept(self, boxes, scores, image_shape):
        boxes = box_ops.clip_boxes_to_image(boxes, image_shape)
        labels = torch.arange(scores.shape[-1], device=scores.device).view(1, -1).expand_as(scores)
        boxes, scores, labels = boxes[:, 1:].reshape(-1, 4), scores[:, 1:].reshape(-1), labels[:, 1:].reshape(-1)
        keep = torch.where(scores > self.score_thresh)[0]
        boxes, scores, labels = boxes[keep], scores[keep], labels[keep]
        keep = box_ops.remove_small_boxes(boxes, min_size=1e-2)
        boxes, scores, labels = boxes[keep], scores[keep], labels[keep]
        keep = box_ops.batched_nms(boxes, scores, labels, self.nms_thresh)[: self.detections_per_img]
        return boxes[keep], scores[keep], labels[keep]

    # All of it

    def forward(self, features, proposals, image_shapes, targets=None):
        self._check_types(targets)
        matched = labels = wanted = None
        if self.training:
            proposals, matched, labels, wanted = self.select_training_samples(proposals, targets)
        hidden = self.box_head(self.box_roi_pool(features, proposals, image_shapes))
        class_logits, box_regression = self.box_predictor(hidden)
        result = []
        losses: dict[str, Tensor] = {}
        if self.training:
            pair = fastrcnn_loss(class_logits, box_regression, labels, wanted)
            losses = dict(zip(("loss_classifier", "loss_box_reg"), pair))
        else:
            found = self.postprocess_detections(class_logits, box_regression, proposals, image_shapes)
            result = [{"boxes": b, "labels": label, "scores": s} for b, s, label in zip(*found)]
        objects = self._positive(proposals, matched, labels) if self.training else ([r["boxes"] for r in result], None)
        if self.has_mask():
            losses.update(self._masks(features, *objects, image_shapes, targets, result))
        if self.has_keypoint():
            losses.update(self._keypoints(features, *objects, image_shapes, targets, result))
        return result, losses

    def _check_types(self, targets):
        for target in targets or ():
            if target["boxes"].dtype not in (float32, float64, float16):
                raise TypeError(f"target boxes must of float type, instead got {target['boxes'].dtype}")
            if target["labels"].dtype != int64:
                raise TypeError(f"target labels must of int64 type, instead got {target['labels'].dtype}")
            if self.has_keypoint() and target["keypoints"].dtype != float32:
                raise TypeError(f"target keypoints must of float type, instead got {target['keypoints'].dtype}")

    def _positive(self, proposals, matched, labels):
        """Lists of the proposals that hold an object, and of that object."""
        chosen = [torch.where(label > 0)[0] for label in labels]
        return [p[i] for p, i in zip(proposals, chosen)], [m[i] for m, i in zip(matched, chosen)]

    def _masks(self, features, boxes, matched, image_shapes, targets, result):
        """The loss of the masks; outside training adds them to the result."""
        logits = _logits(self.mask_roi_pool, self.mask_head, self.mask_predictor, features, boxes, image_shapes)
        if self.training:
            masks, labels = ([target[name] for target in targets] for name in ("masks", "labels"))
            return {"loss_mask": maskrcnn_loss(logits, boxes, masks, labels, matched)}
        for found, masks in zip(result, maskrcnn_inference(logits, [found["labels"] for found in result])):
            found["masks"] = masks
        return {}

    def _keypoints(self, features, boxes, matched, image_shapes, targets, result):
        """The loss of the keypoints; outside training adds them to the result."""
        modules = (self.keypoint_roi_pool, self.keypoint_head, self.keypoint_predictor)
        logits = _logits(*modules, features, boxes, image_shapes)
        if self.training:
            points = [target["keypoints"] for target in targets]
            return {"loss_keypoint": keypointrcnn_loss(logits, boxes, points, matched)}
        for found, points, scores in zip(result, *keypointrcnn_inference(logits, boxes)):
            found["keypoints"], found["keypoints_scores"] = points, scores
        return {}


def _logits(roi_pool, head, predictor, features, boxes, image_shapes):
    return predictor(head(roi_pool(features, boxes, image_shapes)))
