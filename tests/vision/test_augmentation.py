"""Automatic augmentation and transforms.v2 against torchvision's at the same seed."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from rushlight.vision import transforms, tv_tensors
from rushlight.vision.transforms import v2

import rushlight as torch

FOLDER = Path(__file__).parent.parent / "golden"
GOLDEN = json.loads((FOLDER / "vision_augment.json").read_text())


@pytest.fixture(scope="module")
def found():
    sys.path.insert(0, str(FOLDER))
    try:
        import make_vision_augment
    finally:
        sys.path.remove(str(FOLDER))
    return make_vision_augment.results(torch, transforms, tv_tensors)


@pytest.mark.parametrize("name", GOLDEN)
def test_same_seed_same_images(found, name):
    *samples, after = json.loads(json.dumps(found[name]))
    *expected, after_expected = GOLDEN[name]
    assert after == after_expected
    for mine, theirs in zip(samples, expected, strict=True):
        mine, theirs = (s if isinstance(s, dict) else {"image": s} for s in (mine, theirs))
        for part in theirs:
            assert mine[part][0] == theirs[part][0]
            assert mine[part][1] == pytest.approx(theirs[part][1], rel=2e-5, abs=0.02)


def test_kinds_of_tensors():
    image = tv_tensors.Image(torch.zeros(3, 4, 5))
    assert type(image + 1) is torch.Tensor and type(image[0]) is torch.Tensor
    assert type(image.clone()) is tv_tensors.Image and type(image.to(torch.float64)) is tv_tensors.Image
    assert type(tv_tensors.wrap(image + 1, like=image)) is tv_tensors.Image
    boxes = tv_tensors.BoundingBoxes([[1, 2, 3, 4]], format="xywh", canvas_size=(10, 10))
    assert boxes.clone().format is tv_tensors.BoundingBoxFormat.XYWH
    with tv_tensors.set_return_type("TVTensor"):
        assert type(image + 1) is tv_tensors.Image
    assert type(image + 1) is torch.Tensor
    with pytest.raises(ValueError, match="2D or higher"):
        tv_tensors.Image(torch.zeros(3))


def test_which_tensor_is_the_image():
    flip = v2.RandomHorizontalFlip(1.0)
    plain = torch.arange(6.0).reshape(1, 2, 3)
    image, label = flip(plain, torch.arange(3))
    assert (image == plain.flip(-1)).all() and label.tolist() == [0, 1, 2]
    picture = tv_tensors.Image(plain)
    kept, flipped = flip(plain, picture)
    assert kept is plain and (flipped == plain.flip(-1)).all()


def test_dtypes():
    image = torch.full((3, 2, 2), 255, dtype=torch.uint8)
    assert v2.ToDtype(torch.float32, scale=True)(image).max().item() == 1.0
    assert v2.ToDtype(torch.float32)(image).max().item() == 255.0
    chain = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5] * 3, [0.5] * 3)])
    assert chain(Image.new("RGB", (4, 4), "white")).unique().tolist() == [1.0]
    assert type(v2.ToPureTensor()(v2.ToImage()(np.zeros((4, 4, 3), np.uint8)))) is torch.Tensor


@pytest.mark.parametrize("kind", [v2.MixUp, v2.CutMix])
def test_mixing(kind):
    torch.manual_seed(1)
    images = torch.arange(4.0).reshape(4, 1, 1, 1).expand(4, 1, 8, 8).contiguous()
    mixed, labels = kind(num_classes=4)(images, torch.arange(4))
    assert labels.sum(1).tolist() == pytest.approx([1.0] * 4)
    share = labels[1, 1].item()
    assert mixed[1].mean().item() == pytest.approx(share * 1 + (1 - share) * 0, abs=1e-5)
    with pytest.raises(ValueError, match="num_classes must be passed"):
        kind()(images, torch.arange(4))


def test_boxes_follow_their_image():
    """A rectangle drawn into an image and the box around it move together."""
    image = torch.zeros(1, 40, 60)
    image[:, 10:20, 30:50] = 1
    sample = {
        "image": tv_tensors.Image(image),
        "boxes": tv_tensors.BoundingBoxes([[30.0, 10.0, 50.0, 20.0]], format="XYXY", canvas_size=(40, 60)),
    }
    for transform in (
        v2.RandomHorizontalFlip(1.0),
        v2.RandomVerticalFlip(1.0),
        v2.Pad([3, 4, 5, 6]),
        v2.CenterCrop(36),
        v2.Resize((80, 120), interpolation=0),
        v2.RandomRotation((90, 90), expand=True),
        v2.RandomAffine((0, 0), translate=(0.1, 0.1)),
    ):
        done = transform(sample)
        _, rows, columns = torch.nonzero(done["image"] > 0.5, as_tuple=True)
        box = [columns.min().item(), rows.min().item(), columns.max().item() + 1, rows.max().item() + 1]
        assert done["boxes"][0].tolist() == pytest.approx(box, abs=0.01), transform
        assert tuple(done["boxes"].canvas_size) == tuple(done["image"].shape[-2:])


def test_what_is_missing_says_so():
    rotated = tv_tensors.BoundingBoxes([[1.0, 2, 3, 4, 5]], format="XYWHR", canvas_size=(9, 9))
    with pytest.raises(NotImplementedError, match="rotated boxes"):
        v2.Pad(1)(rotated)
    with pytest.raises(NotImplementedError, match="AugMix"):
        v2.AugMix()(torch.zeros(3, 4, 4, dtype=torch.uint8))
