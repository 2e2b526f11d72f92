"""What detectors compute with boxes gives, under ONNX Runtime, what it gives here, for any number of boxes."""

import pytest
from rushlight.vision import ops
from rushlight.vision.models.detection import KeypointRCNN, MaskRCNN, RetinaNet
from rushlight.vision.models.detection.anchor_utils import AnchorGenerator
from rushlight.vision.models.detection.faster_rcnn import FastRCNNPredictor, TwoMLPHead
from rushlight.vision.models.detection.keypoint_rcnn import KeypointRCNNHeads, KeypointRCNNPredictor
from rushlight.vision.models.detection.keypoints import heatmaps_to_keypoints
from rushlight.vision.models.detection.mask_rcnn import MaskRCNNHeads, MaskRCNNPredictor

import rushlight as torch
from rushlight import nn

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


def boxes(n, seed, side=200.0):
    generator = torch.Generator().manual_seed(seed)
    corners = torch.rand(n, 2, generator=generator) * side
    return torch.cat([corners, corners + torch.rand(n, 2, generator=generator) * side / 3], 1), torch.rand(
        n, generator=generator
    )


class Chosen(nn.Module):
    def forward(self, boxes, scores, classes):
        return ops.nms(boxes, scores, 0.5), ops.batched_nms(boxes, scores, classes, 0.5)


def test_boxes_that_stay():
    def sample(n):
        return *boxes(n, n), torch.arange(n) % 4

    program = torch.onnx.export(Chosen(), sample(20), dynamic_shapes=({0: "n"},) * 3)
    onnx.checker.check_model(program.model_proto, full_check=True)
    for n in (0, 1, 20, 500):
        for found, expected in zip(program(*sample(n)), Chosen()(*sample(n)), strict=True):
            assert found.tolist() == expected.tolist()


class Aligned(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.options = options

    def forward(self, x, rois):
        return ops.roi_align(x, rois, (3, 5), **self.options)


@pytest.mark.parametrize("options", [{}, {"sampling_ratio": 2}, {"aligned": True, "spatial_scale": 0.25}], ids=str)
def test_means_within_boxes(options):
    def sample(n, height, width):
        x = torch.randn(2, 3, height, width, generator=torch.Generator().manual_seed(n))
        return x, torch.cat([(torch.arange(n) % 2)[:, None].float(), boxes(n, n, 40.0)[0] - 2], 1)

    program = torch.onnx.export(Aligned(**options), sample(4, 9, 12), dynamic_shapes=({2: "h", 3: "w"}, {0: "n"}))
    for given in (sample(4, 9, 12), sample(7, 20, 30)):
        torch.testing.assert_close(program(*given)[0], Aligned(**options)(*given), rtol=1e-5, atol=1e-5)


class Keypoints(nn.Module):
    def forward(self, maps, rois):
        return heatmaps_to_keypoints(maps, rois)


def test_points_in_boxes_of_any_size():
    def sample(n):
        return torch.randn(n, 5, 14, 14, generator=torch.Generator().manual_seed(n)), boxes(n, n)[0]

    program = torch.onnx.export(Keypoints(), sample(6), dynamic_shapes=({0: "n"},) * 2)
    onnx.checker.check_model(program.model_proto, full_check=True)
    for n in (0, 1, 6, 40):
        for found, expected in zip(program(*sample(n)), Keypoints()(*sample(n)), strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def of_few_channels(kind):
    """Heads for each box, which take a minute of a processor with the channels that trained networks have."""
    if kind is KeypointRCNN:
        heads = {"keypoint_head": KeypointRCNNHeads(8, (8, 8)), "keypoint_predictor": KeypointRCNNPredictor(8, 17)}
        return {"num_classes": 5, **heads}
    if kind is MaskRCNN:  # with a predictor of masks, all classes are those of predictors
        heads = {"mask_head": MaskRCNNHeads(8, (8, 8), 1), "mask_predictor": MaskRCNNPredictor(8, 8, 5)}
        return {"box_head": TwoMLPHead(8 * 7 * 7, 32), "box_predictor": FastRCNNPredictor(32, 5), **heads}
    return {"num_classes": 5}


def detector(kind, **options):
    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Conv2d(3, 8, 3, 4, 1), nn.ReLU(), nn.Conv2d(8, 8, 3, 2, 1))
    backbone.out_channels = 8
    anchors = AnchorGenerator(((16, 32),), ((0.5, 1.0, 2.0),))
    anchors = dict.fromkeys(options["anchors"], anchors)
    model = kind(backbone, min_size=64, max_size=96, **anchors, **of_few_channels(kind)).eval()
    with torch.no_grad():
        for path, layer in model.named_modules():
            is_head = path.startswith("head.classification") or path.endswith(("cls_logits", "cls_score"))
            if is_head and hasattr(layer, "weight"):
                layer.weight *= 1 / (layer.weight.std() * layer.weight[0].numel() ** 0.5)
    return model


@pytest.mark.parametrize("name", ["of one stage", "with masks", "with keypoints"])
def test_detectors(name):
    kinds = {
        "of one stage": (RetinaNet, ["anchor_generator"]),
        "with masks": (MaskRCNN, ["rpn_anchor_generator"]),
        "with keypoints": (KeypointRCNN, ["rpn_anchor_generator"]),
    }
    kind, anchors = kinds[name]
    model = detector(kind, anchors=anchors)
    if name == "of one stage":
        model.score_thresh, model.detections_per_img = 0.005, 20  # of more, rounding decides the order

    def sample(seed):
        return torch.rand(1, 3, 48, 64, generator=torch.Generator().manual_seed(seed))

    program = torch.onnx.export(model, (sample(0),))
    onnx.checker.check_model(program.model_proto, full_check=True)
    for seed in (0, 1):
        with torch.no_grad():
            (expected,) = model(sample(seed))
        assert len(expected["scores"]) > 3
        for found, value in zip(program(sample(seed)), expected.values(), strict=True):
            torch.testing.assert_close(found, value, rtol=1e-4, atol=1e-3)


def test_parts_that_the_example_leaves_empty():
    class Joined(nn.Module):
        def forward(self, x):
            return torch.cat([x[x > 1], x[x < 0]]), torch.cat([x[x > 1]])

    program = torch.onnx.export(Joined(), (torch.full((3,), 0.5),))
    assert [found.tolist() for found in program(torch.tensor([-1.0, 2.0, 0.5]))] == [[2.0, -1.0], [2.0]]
