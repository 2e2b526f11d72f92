"""Make vision.json and vision.npz: what torchvision's transforms print, draw and return.

Run with torch 2.13 and torchvision 0.28 installed: python tests/golden/make_vision.py. Each case is an expression over
T (torchvision.transforms), an input and a seed; kept are the transform's repr, the result (or the error's type), and
the next number of torch's generator.
"""

import json
import random
import warnings
from pathlib import Path

import numpy as np
import torch
import torchvision
from PIL import Image
from torchvision import transforms as T

HERE = Path(__file__).parent

PICTURES = ("rgb", "grey", "rgba", "palette", "bytes", "floats")
NO_PALETTE = ("rgb", "grey", "bytes", "floats")
CASES = {
    "T.ToTensor()": ("rgb", "grey", "rgba", "palette", "bilevel", "int", "float", "short", "array", "array2"),
    "T.PILToTensor()": ("rgb", "grey", "rgba", "palette", "bilevel", "int", "float", "array"),
    "T.ToPILImage()": ("bytes", "floats", "onefloat", "array", "array2", "float_array"),
    "T.ToPILImage(mode='F')": ("onefloat", "grey"),
    "T.ToPILImage(mode='HSV')": ("bytes", "onefloat"),
    "T.Normalize((0.5, 0.4, 0.3), (0.1, 0.2, 0.3))": ("floats", "batch", "bytes", "rgb"),
    "T.Normalize([0.5], [0.25])": ("floats", "onefloat"),
    "T.Normalize(0.5, 0.0)": ("floats",),
    "T.Resize(7)": PICTURES,
    "T.Resize((20, 9))": PICTURES,
    "T.Resize(9, max_size=10)": ("rgb", "floats"),
    "T.Resize(9, max_size=9)": ("rgb", "floats"),
    "T.Resize((20, 9), interpolation=T.InterpolationMode.BICUBIC)": ("rgb", "floats", "bytes"),
    "T.Resize((8, 9), interpolation=T.InterpolationMode.NEAREST)": ("rgb", "floats", "bytes"),
    "T.Resize((8, 20), interpolation=T.InterpolationMode.NEAREST_EXACT)": ("floats", "bytes"),
    "T.Resize((8, 9), interpolation=2, antialias=None)": ("floats", "rgb"),
    "T.CenterCrop(8)": PICTURES,
    "T.CenterCrop((20, 5))": PICTURES,
    "T.Pad(3)": PICTURES,
    "T.Pad((1, 2), fill=7)": PICTURES,
    "T.Pad((1, 2, 3, 4), fill=(1, 2, 3))": ("rgb", "grey", "bytes"),
    "T.Pad((1, 2, 3, 4), padding_mode='reflect')": PICTURES,
    "T.Pad([1, 2, 3, 4], padding_mode='edge')": PICTURES,
    "T.Pad(5, padding_mode='symmetric')": PICTURES,
    "T.Pad((-1, 2, -3, 4), padding_mode='symmetric')": ("rgb", "floats"),
    "T.RandomCrop(8)": PICTURES,
    "T.RandomCrop((12, 10), padding=4)": NO_PALETTE,
    "T.RandomCrop((30, 20), pad_if_needed=True, padding_mode='reflect')": ("rgb", "floats"),
    "T.RandomCrop(40)": ("rgb", "floats"),
    "T.RandomHorizontalFlip()": PICTURES,
    "T.RandomHorizontalFlip(p=0.1)": ("rgb", "floats"),
    "T.RandomVerticalFlip(0.8)": PICTURES,
    "T.RandomResizedCrop(6)": NO_PALETTE,
    "T.RandomResizedCrop((6, 10), scale=(0.5, 1), ratio=(0.5, 3))": NO_PALETTE,
    "T.RandomResizedCrop(6, scale=(3, 4))": ("rgb", "floats"),
    "T.FiveCrop(6)": ("rgb", "floats"),
    "T.TenCrop((4, 6), vertical_flip=True)": ("rgb", "floats"),
    "T.RandomRotation(30)": PICTURES,
    "T.RandomRotation((10, 80), expand=True, fill=9)": ("rgb", "grey"),
    "T.RandomRotation(30, interpolation=T.InterpolationMode.BILINEAR, center=(3, 5), fill=(1,))": ("rgb", "floats"),
    "T.RandomAffine(20, (0.1, 0.2), (0.7, 1.3), 10)": NO_PALETTE,
    "T.RandomAffine(20, shear=(1, 2, 3, 4), interpolation=2, fill=3, center=(5, 6))": ("rgb", "floats"),
    "T.RandomPerspective(p=1.0)": ("rgb", "floats"),
    "T.ColorJitter(0.4, 0.4, 0.4, 0.1)": NO_PALETTE,
    "T.ColorJitter(brightness=(0.5, 2), hue=0.5)": NO_PALETTE,
    "T.Grayscale()": PICTURES,
    "T.Grayscale(3)": PICTURES,
    "T.RandomGrayscale(0.6)": NO_PALETTE,
    "T.RandomErasing()": ("floats", "bytes", "batch"),
    "T.RandomErasing(1.0, value=(0.1, 0.2, 0.3))": ("floats", "onefloat"),
    "T.RandomErasing(1.0, value='random')": ("floats",),
    "T.RandomApply([T.Pad(1), T.RandomCrop(9)], p=0.4)": ("rgb", "floats"),
    "T.RandomChoice([T.Pad(1), T.Pad(2)], p=[1, 3])": ("rgb", "floats"),
    "T.RandomOrder([T.Pad(1), T.CenterCrop(9)])": ("rgb", "floats"),
    "T.Compose([T.RandomCrop(9, padding=2), T.RandomHorizontalFlip(), T.ToTensor()])": ("rgb",),
    "T.ConvertImageDtype(float32)": ("floats", "bytes", "longs"),
    "T.ConvertImageDtype(uint8)": ("floats", "bytes", "longs"),
    "T.ConvertImageDtype(int32)": ("floats", "bytes", "longs"),
    "T.GaussianBlur(5)": NO_PALETTE,
    "T.GaussianBlur((3, 7), sigma=1.5)": NO_PALETTE,
    "T.RandomInvert(1.0)": NO_PALETTE,
    "T.RandomPosterize(3, p=1.0)": NO_PALETTE,
    "T.RandomSolarize(100, p=1.0)": NO_PALETTE,
    "T.RandomAdjustSharpness(2, p=1.0)": NO_PALETTE,
    "T.RandomAutocontrast(p=1.0)": NO_PALETTE,
    "T.RandomEqualize(p=1.0)": NO_PALETTE,
}


def seeds(expression):
    return (0, 1) if "Random" in expression or "Jitter" in expression else (0,)


def arrays():
    rng = np.random.default_rng(0)
    colour = rng.integers(0, 256, (17, 13, 3), dtype=np.uint8)
    return {
        "colour": colour,
        "transparent": rng.integers(0, 256, (11, 14, 4), dtype=np.uint8),
        "floats": rng.random((3, 17, 13), dtype=np.float32),
        "batch": rng.random((2, 3, 17, 13)),
        "numbers": rng.integers(-30000, 30000, (9, 8)),
    }


def inputs(a):
    """Inputs by name, from the arrays; the test builds the same ones."""
    image, tensor = Image.fromarray, torch.from_numpy
    palette = image(a["colour"][:, :, 0] % 17)
    palette.putpalette(a["colour"].reshape(-1)[: 17 * 3].tolist())
    return {
        "rgb": image(a["colour"]),
        "grey": image(a["colour"][:, :, 0]),
        "rgba": image(a["transparent"]),
        "palette": palette,
        "bilevel": image(a["colour"][:, :, 0]).convert("1"),
        "int": image(a["numbers"].astype(np.int32)),
        "float": image(a["numbers"].astype(np.float32)),
        "short": image(a["numbers"].astype(np.uint16)),
        "array": a["colour"],
        "array2": a["colour"][:, :, 1],
        "float_array": a["floats"].transpose(1, 2, 0),
        "bytes": tensor(a["colour"].transpose(2, 0, 1).copy()),
        "floats": tensor(a["floats"]),
        "onefloat": tensor(a["floats"][:1]),
        "batch": tensor(a["batch"]),
        "longs": tensor(a["numbers"])[None],
    }


def parts(result):
    """(kind, array) for each image of the result."""
    if isinstance(result, tuple):
        return [part for one in result for part in parts(one)]
    if isinstance(result, Image.Image):
        return [(result.mode, np.asarray(result))]
    return [("tensor", result.numpy())]


def main():
    data, facts = arrays(), []
    given = inputs(data)
    kept = {f"in_{name}": array for name, array in data.items()}
    names = {"T": T, **{name: getattr(torch, name) for name in ("float32", "uint8", "int32")}}
    for expression, pictures in CASES.items():
        transform = eval(expression, names)
        for picture in pictures:
            for seed in seeds(expression):
                torch.manual_seed(seed)
                random.seed(seed)
                fact = {"transform": expression, "repr": repr(transform), "input": picture, "seed": seed}
                source = given[picture]
                try:
                    found = parts(transform(source.clone() if isinstance(source, torch.Tensor) else source))
                    fact["kinds"] = [kind for kind, _ in found]
                    for number, (_, array) in enumerate(found):
                        kept[f"{len(facts)}_{number}"] = array
                except Exception as error:
                    fact["error"] = type(error).__name__
                fact["next"] = torch.rand(1).item()
                facts.append(fact)
    (HERE / "vision.json").write_text(json.dumps({"torchvision": torchvision.__version__, "cases": facts}, indent=0))
    np.savez_compressed(HERE / "vision.npz", **kept)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
