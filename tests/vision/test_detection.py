"""Detectors against torchvision's: losses, gradients, what is found, parameters, and the functions that make them."""

import json
import sys
import warnings
from pathlib import Path

import pytest
from rushlight.vision import models
from rushlight.vision.models import detection
from rushlight.vision.models.detection import _utils as det_utils
from rushlight.vision.models.detection import backbone_utils
from rushlight.vision.models.detection.masks import paste_masks_in_image
from rushlight.vision.models.detection.rpn import RPNHead
from rushlight.vision.models.detection.transform import GeneralizedRCNNTransform
from rushlight.vision.ops.layers import FrozenBatchNorm2d

import rushlight as torch

GOLDEN_FOLDER = Path(__file__).parent.parent / "golden"
GOLDEN = json.loads((GOLDEN_FOLDER / "vision_detection.json").read_text())
sys.path.append(str(GOLDEN_FOLDER))
import small_detectors  # noqa: E402

MAKERS = [
    "fasterrcnn_mobilenet_v3_large_320_fpn",
    "fasterrcnn_mobilenet_v3_large_fpn",
    "fasterrcnn_resnet50_fpn",
    "fasterrcnn_resnet50_fpn_v2",
    "fcos_resnet50_fpn",
    "keypointrcnn_resnet50_fpn",
    "maskrcnn_resnet50_fpn",
    "maskrcnn_resnet50_fpn_v2",
    "retinanet_resnet50_fpn",
    "retinanet_resnet50_fpn_v2",
    "ssd300_vgg16",
    "ssdlite320_mobilenet_v3_large",
]


def near(value):
    """approx, also of nested lists."""
    if isinstance(value, list):
        return [near(v) for v in value]
    return pytest.approx(value, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("name", GOLDEN)
def test_losses_gradients_and_boxes_are_torchvisions(name):
    golden, found = GOLDEN[name], small_detectors.facts(name, torch, models)
    assert found["losses"] == {key: near(value) for key, value in golden["losses"].items()}
    assert list(found["losses"]) == list(golden["losses"])
    assert found["norm"] == near(golden["norm"])
    assert found["after"] == golden["after"]
    for mine, theirs in zip(found["found"], golden["found"], strict=True):
        assert mine == {key: near(value) for key, value in theirs.items()}


def test_every_maker_is_listed():
    assert models.list_models(models.detection) == MAKERS


@pytest.mark.parametrize("name", MAKERS)
def test_published_weights(name):
    for weights in models.get_model_weights(name):
        assert weights.transforms()(torch.zeros(3, 2, 2, dtype=torch.uint8)).dtype == torch.float32
        assert len(weights.meta["categories"]) == (2 if "keypoint" in name else 91)
        assert weights.url.startswith(f"https://download.pytorch.org/models/{name.split('_')[0]}")


@pytest.mark.parametrize("name, count, entries", [
    ("fasterrcnn_mobilenet_v3_large_320_fpn", 19410754, 330), ("ssdlite320_mobilenet_v3_large", 3440060, 476)
])  # fmt: skip
def test_parameters(name, count, entries):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = models.get_model(name, weights=None, weights_backbone=None)
    assert sum(p.numel() for p in model.parameters()) == count
    assert len(model.state_dict()) == entries


def test_older_arguments_and_positions():
    with pytest.warns(UserWarning, match="deprecated"):
        model = detection.ssdlite320_mobilenet_v3_large(pretrained=False, pretrained_backbone=False, num_classes=3)
    assert model.head.classification_head.num_columns == 3
    with pytest.warns(UserWarning, match="positional"):
        backbone = backbone_utils.resnet_fpn_backbone("resnet18", None, trainable_layers=1)
    assert backbone.out_channels == 256
    assert isinstance(backbone.body.bn1, FrozenBatchNorm2d)
    assert {key.split(".")[1] for key, p in backbone.body.named_parameters(prefix="body") if p.requires_grad} == {
        "layer4"
    }
    with pytest.warns(UserWarning, match="no effect"):
        assert backbone_utils._validate_trainable_layers(False, 1, 5, 3) == 5


@pytest.mark.parametrize("change, message", [
    (lambda target: target.update(boxes=torch.zeros(2, 3)), "shape .N, 4."),
    (lambda target: target.update(boxes=[1, 2]), "of type Tensor"),
    (lambda target: target["boxes"].copy_(torch.tensor([[5.0, 5, 5, 9]])), "positive height and width"),
])  # fmt: skip
@pytest.mark.parametrize("name", ["faster", "fcos"])
def test_targets_are_checked(name, change, message):
    torch.manual_seed(0)
    model = small_detectors.build(name, torch, models).double()
    images, targets = small_detectors.data(torch)
    change(targets[1])
    with pytest.raises(AssertionError, match=message):
        model(images, targets)
    with pytest.raises(AssertionError, match="targets should not be none"):
        model(images)


@pytest.mark.parametrize("name", ["faster", "retina", "fcos", "ssd"])
def test_an_image_without_objects(name):
    torch.manual_seed(0)
    model = small_detectors.build(name, torch, models).double()
    images, targets = small_detectors.data(torch)
    targets[1].update(boxes=torch.zeros(0, 4).double(), labels=torch.zeros(0, dtype=torch.int64))
    losses = model(images, targets)
    assert all(torch.isfinite(value) for value in losses.values())


def test_matcher():
    overlaps = torch.tensor([[0.9, 0.4, 0.1, 0.0], [0.2, 0.35, 0.3, 0.0]])
    assert det_utils.Matcher(0.5, 0.3)(overlaps).tolist() == [0, -2, -2, -1]
    assert det_utils.Matcher(0.5, 0.3, True)(overlaps).tolist() == [0, 0, -2, -1]
    assert det_utils.SSDMatcher(0.5)(overlaps).tolist() == [0, 1, -1, -1]
    with pytest.raises(ValueError, match="No ground-truth"):
        det_utils.Matcher(0.5, 0.3)(torch.zeros(0, 4))


def test_coders_undo_themselves():
    torch.manual_seed(0)
    start, end = (torch.cat([c := torch.rand(6, 2) * 20, c + 1 + torch.rand(6, 2) * 9], 1).double() for _ in range(2))
    coder = det_utils.BoxCoder((10.0, 10.0, 5.0, 5.0))
    torch.testing.assert_close(coder.decode_single(coder.encode_single(end, start), start), end)
    linear = det_utils.BoxLinearCoder()
    torch.testing.assert_close(linear.decode(linear.encode(start, end), start), end)


def test_masks_are_pasted_where_the_boxes_are():
    boxes = torch.tensor([[2.0, 1.0, 6.0, 5.0], [-3.0, -3.0, 1.0, 1.0], [8.0, 8.0, 30.0, 30.0]])
    pasted = paste_masks_in_image(torch.ones(3, 1, 8, 8), boxes, (10, 12))
    assert pasted.shape == (3, 1, 10, 12)
    assert (pasted[0, 0] > 0.5).nonzero().amin(0).tolist() == [1, 2] and pasted[1, 0, 3:].sum() == 0
    assert paste_masks_in_image(torch.ones(0, 1, 8, 8), boxes[:0], (10, 12)).shape == (0, 1, 10, 12)


def test_transform_prints_and_pads():
    transform = GeneralizedRCNNTransform(20, 30, [0.5] * 3, [0.5] * 3).eval()
    images, _ = transform([torch.rand(3, 10, 12), torch.rand(3, 40, 80)])
    assert images.tensors.shape == (2, 3, 32, 32) and images.image_sizes == [(20, 24), (15, 30)]
    assert repr(transform).splitlines()[2] == "    Resize(min_size=(20,), max_size=30, mode='bilinear')"
    with pytest.raises(TypeError, match="floating type"):
        transform([torch.zeros(3, 4, 4, dtype=torch.uint8)])


def test_a_head_reads_older_files():
    head = RPNHead(4, 3)
    state = {key.replace("conv.0.0", "conv"): value for key, value in head.state_dict().items()}
    assert head.load_state_dict(state).missing_keys == []
