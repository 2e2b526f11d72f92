"""Writes vision_augment.json: sums of augmented images at a seed. Needs torch 2.13 and torchvision 0.28 (its Python
files are enough). The tests call `results` with Rushlight's packages.
"""

import json
import warnings
from pathlib import Path

import numpy as np
from PIL import Image

FIRST = {
    "rand": "T.RandAugment()",
    "rand_strong": "T.RandAugment(3, 14)",
    "trivial": "T.TrivialAugmentWide()",
    "imagenet": "T.AutoAugment()",
    "cifar": "T.AutoAugment(T.AutoAugmentPolicy.CIFAR10, fill=3)",
    "svhn": "T.AutoAugment(T.AutoAugmentPolicy.SVHN)",
    "elastic": "T.ElasticTransform(alpha=[50.0, 90.0], sigma=[3.0, 4.0], interpolation=T.InterpolationMode.NEAREST)",
}
SECOND = {
    "flip": "T.RandomHorizontalFlip()",
    "resize": "T.Resize((20, 30), interpolation=0)",
    "resize_longest": "T.Resize(None, max_size=60, interpolation=0)",
    "center": "T.CenterCrop((50, 30))",
    "resized_crop": "T.RandomResizedCrop(16, interpolation=0)",
    "pad": "T.Pad((1, 2, 3, 4), fill=7)",
    "zoom_out": "T.RandomZoomOut(p=1.0)",
    "crop": "T.RandomCrop(30, padding=4)",
    "crop_padded": "T.RandomCrop((40, 50), pad_if_needed=True)",
    "rotate": "T.RandomRotation(40, expand=True)",
    "affine": "T.RandomAffine(20, (0.1, 0.2), (0.7, 1.3), 10)",
    "perspective": "T.RandomPerspective(p=1.0, interpolation=0)",
    "iou_crop": "T.RandomIoUCrop()",
    "jitter": "T.ScaleJitter((30, 40), interpolation=0)",
    "shortest": "T.RandomShortestSize([20, 25], 40, interpolation=0)",
    "distort": "T.RandomPhotometricDistort()",
    "erase": "T.RandomErasing(1.0, value='random')",
    "order": "T.RandomOrder([T.RandomHorizontalFlip(0.5), T.RandomVerticalFlip(0.5)])",
    "choice": "T.RandomChoice([T.RandomHorizontalFlip(1.0), T.RandomVerticalFlip(1.0)], p=[0.3, 0.7])",
    "sanitize": "T.Compose([T.RandomCrop(30), T.ClampBoundingBoxes(), T.SanitizeBoundingBoxes(min_size=3)])",
}


def picture():
    """(H, W, 3), smooth, and not by way of the libraries under test."""
    y, x = np.mgrid[:37, :45]
    return np.stack([(x * 5 + y) % 256, (y * 6) % 256, (x * y) // 7 % 256], axis=-1).astype(np.uint8)


def total(value):
    array = np.asarray(value.detach().numpy() if hasattr(value, "detach") else value, np.float64)
    return [list(array.shape), round(float(array.sum()), 2)]


def sample(torch, tv):
    boxes = torch.tensor([[3.0, 4.0, 20.0, 30.0], [10.0, 2.0, 44.0, 20.0], [1.0, 1.0, 9.0, 9.0]])
    return {
        "image": Image.fromarray(picture()),
        "boxes": tv.BoundingBoxes(boxes, format="XYXY", canvas_size=(37, 45)),
        "mask": tv.Mask(torch.from_numpy((picture()[None, :, :, 1] > 99).astype(np.uint8))),
        "labels": torch.tensor([1, 2, 3]),
    }


def results(torch, transforms, tv):
    found = {}
    for name, text in FIRST.items():
        torch.manual_seed(5)
        transform = eval(text, {"T": transforms})
        found[name] = [total(transform(Image.fromarray(picture()))) for _ in range(12)] + [float(torch.rand(1))]
    for name, text in SECOND.items():
        torch.manual_seed(7)
        transform = eval(text, {"T": transforms.v2})
        samples = [transform(sample(torch, tv)) for _ in range(5)]
        found["v2_" + name] = [{k: total(v) for k, v in s.items()} for s in samples] + [float(torch.rand(1))]
    return found


if __name__ == "__main__":
    import torch
    from torchvision import transforms, tv_tensors
    from torchvision.transforms import v2

    warnings.simplefilter("ignore")
    transforms.v2 = v2
    path = Path(__file__).parent / "vision_augment.json"
    path.write_text(json.dumps(results(torch, transforms, tv_tensors), indent=1) + "\n")
