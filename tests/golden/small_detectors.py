"""Detectors of a few thousand parameters on two images, in float64: what make_vision_detection.py records of torchvision
and tests/vision/test_detection.py of Rushlight. `torch` and `models` are those of one or the other."""

from collections import OrderedDict
from functools import partial
from importlib import import_module

NAMES = ["faster", "mask", "keypoint", "retina", "retina_giou", "fcos", "ssd"]


def backbone(torch):
    """Two maps of 32 channels, of strides 8 and 16."""
    nn = torch.nn

    class Backbone(nn.Module):
        out_channels = 32

        def __init__(self):
            super().__init__()
            self.first = nn.Sequential(nn.Conv2d(3, 16, 5, 4, 2), nn.Tanh(), nn.Conv2d(16, 32, 3, 2, 1), nn.Tanh())
            self.second = nn.Sequential(nn.Conv2d(32, 32, 3, 2, 1), nn.Tanh())

        def forward(self, x):
            x = self.first(x)
            return OrderedDict([("0", x), ("1", self.second(x))])

    return Backbone()


def build(name, torch, models):
    """The detector, of 4 classes."""
    detection, ops = models.detection, import_module(models.__name__.rpartition(".")[0] + ".ops")

    def part(module):
        return import_module(f"{detection.__name__}.{module}")

    anchors, faster = part("anchor_utils"), part("faster_rcnn")
    sizes = {"min_size": 64, "max_size": 96}
    pool = partial(ops.MultiScaleRoIAlign, featmap_names=["0", "1"], sampling_ratio=2)
    if name in ("faster", "mask", "keypoint"):
        common = {
            **sizes,
            "rpn_anchor_generator": anchors.AnchorGenerator(((16, 24), (32, 48)), ((0.5, 1.0, 2.0),) * 2),
            "box_roi_pool": pool(output_size=3),
            "box_head": faster.TwoMLPHead(32 * 9, 20),
            "rpn_pre_nms_top_n_test": 60,
            "rpn_post_nms_top_n_test": 12,
            "rpn_post_nms_top_n_train": 40,
            "box_batch_size_per_image": 16,
            "box_score_thresh": 0.0,
            "box_detections_per_img": 8,
        }
        predictor = faster.FastRCNNPredictor(20, 4)
        if name == "faster":
            return detection.FasterRCNN(backbone(torch), box_predictor=predictor, **common)
        if name == "mask":
            mask = part("mask_rcnn")
            heads = {"mask_roi_pool": pool(output_size=4), "mask_head": mask.MaskRCNNHeads(32, (16, 16), 1)}
            heads["mask_predictor"] = mask.MaskRCNNPredictor(16, 16, 4)
            return detection.MaskRCNN(backbone(torch), box_predictor=predictor, **heads, **common)
        key = part("keypoint_rcnn")
        heads = {"keypoint_roi_pool": pool(output_size=4), "keypoint_head": key.KeypointRCNNHeads(32, (16, 16))}
        heads["keypoint_predictor"] = key.KeypointRCNNPredictor(16, 3)
        return detection.KeypointRCNN(
            backbone(torch), box_predictor=predictor, **heads, **{**common, "min_size": (56, 64)}
        )
    if name.startswith("retina"):
        retina = part("retinanet")
        generator = anchors.AnchorGenerator(((16, 24), (32, 48)), ((0.5, 1.0, 2.0),) * 2)
        head = None
        if name == "retina_giou":
            head = retina.RetinaNetHead(32, 6, 4, norm_layer=partial(torch.nn.GroupNorm, 8))
            head.regression_head._loss_type = "giou"
        found = {"score_thresh": 0.0, "detections_per_img": 8, "topk_candidates": 40}
        return detection.RetinaNet(backbone(torch), 4, anchor_generator=generator, head=head, **sizes, **found)
    if name == "fcos":
        generator = anchors.AnchorGenerator(((8,), (16,)), ((1.0,),) * 2)
        found = {"score_thresh": 0.0, "detections_per_img": 8, "topk_candidates": 40}
        return detection.FCOS(backbone(torch), 4, anchor_generator=generator, **sizes, **found)
    boxes = anchors.DefaultBoxGenerator([[2], [2, 3]])
    ssd = part("ssd")
    head = ssd.SSDHead([32, 32], boxes.num_anchors_per_location(), 4)
    return ssd.SSD(backbone(torch), boxes, (64, 48), 4, head=head, detections_per_img=8, topk_candidates=10)


def data(torch):
    """Two images, and targets of three objects and of one."""
    images = [torch.rand(3, 45, 60).double(), torch.rand(3, 50, 40).double()]
    targets = []
    for image, count in zip(images, (3, 1)):
        corner, size = torch.rand(count, 2) * 20, torch.rand(count, 2) * 15 + 8
        boxes = torch.cat([corner, corner + size], 1)
        masks = torch.zeros(count, *image.shape[-2:], dtype=torch.uint8)
        for mask, (x1, y1, x2, y2) in zip(masks, boxes.long().tolist()):
            mask[y1:y2, x1:x2] = 1
        points = torch.cat([torch.rand(count, 3, 2) * size[:, None] + corner[:, None], torch.ones(count, 3, 1)], 2)
        points[0, 0, 2] = 0
        labels = torch.randint(1, 4, (count,))
        targets.append({"boxes": boxes.double(), "labels": labels, "masks": masks, "keypoints": points})
    return images, targets


def facts(name, torch, models):
    """{losses of a step, the gradient's norm, the next random number, for each image what is found}."""
    torch.manual_seed(11)
    model = build(name, torch, models).double()
    images, targets = data(torch)
    losses = model(images, targets)
    after = float(torch.rand(1))
    sum(losses.values()).backward()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    norm = float(torch.cat([g.flatten() for g in gradients]).norm())
    model.eval()
    with torch.no_grad():
        found = model(images)
    return {
        "losses": {key: float(value) for key, value in losses.items()},
        "norm": norm,
        "after": after,
        "found": [{key: described(value) for key, value in image.items()} for image in found],
    }


def described(value):
    """Small tensors as lists, others as their shape and sums."""
    if value.numel() <= 40:
        return value.tolist()
    rows = value.double().flatten(1).abs().sum(1)
    return [list(value.shape), rows.tolist()]
