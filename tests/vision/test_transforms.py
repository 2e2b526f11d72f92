"""Transforms against what torchvision returned, printed and drew (tests/golden/make_vision.py), and their arguments."""

import json
import random
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from rushlight.vision import transforms as T
from rushlight.vision.transforms import functional as F

from rushlight import ops
from rushlight.core.random import manual_seed
from rushlight.core.tensor.dtype import float32, float64, int32, uint8
from rushlight.core.tensor.tensor import Tensor, wrap

GOLDEN = Path(__file__).parents[1] / "golden"
FACTS = json.loads((GOLDEN / "vision.json").read_text())["cases"]


@pytest.fixture(scope="module")
def arrays():
    with np.load(GOLDEN / "vision.npz") as file:
        return dict(file)


@pytest.fixture(scope="module")
def inputs(arrays):
    a = {name[3:]: array for name, array in arrays.items() if name.startswith("in_")}
    image = Image.fromarray
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
        "bytes": wrap(a["colour"].transpose(2, 0, 1).copy()),
        "floats": wrap(a["floats"]),
        "onefloat": wrap(a["floats"][:1]),
        "batch": wrap(a["batch"]),
        "longs": wrap(a["numbers"])[None],
    }


def parts(result):
    if isinstance(result, tuple):
        return [part for one in result for part in parts(one)]
    if isinstance(result, Image.Image):
        return [(result.mode, np.asarray(result))]
    return [("tensor", result.numpy())]


ERRORS = {"TypeError": TypeError, "ValueError": ValueError, "RuntimeError": RuntimeError}


def ran(fact, source):
    """(parts of the result, or None after the error that torchvision raises; the next number of the generator)."""
    transform = eval(fact["transform"], {"T": T, "float32": float32, "uint8": uint8, "int32": int32})
    assert repr(transform) == fact["repr"]
    manual_seed(fact["seed"])
    random.seed(fact["seed"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        source = source.clone() if isinstance(source, Tensor) else source
        if "error" in fact:
            with pytest.raises(ERRORS[fact["error"]]):
                transform(source)
            result = None
        else:
            result = parts(transform(source))
    return result, ops.rand(1).item()


@pytest.mark.parametrize("number", range(len(FACTS)), ids=lambda n: "{transform} {input} {seed}".format(**FACTS[n]))
def test_like_torchvision(number, arrays, inputs):
    fact = FACTS[number]
    result, following = ran(fact, inputs[fact["input"]])
    if result is not None:
        assert [kind for kind, _ in result] == fact["kinds"]
        for index, (kind, found) in enumerate(result):
            check(kind, found, arrays[f"{number}_{index}"], fact["transform"])
    assert following == fact["next"]


# where torch sums in another order, a tensor's bytes may round the other way
ROUNDED = ("Resize", "Affine", "Rotation", "Perspective", "Blur", "Jitter", "Gray")


def check(kind, found, expected, transform):
    assert found.dtype == expected.dtype
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)
    elif kind == "tensor" and any(word in transform for word in ROUNDED):
        difference = np.abs(found.astype(int) - expected)
        assert difference.max() <= 1
        assert (difference > 0).mean() < 0.02
    else:
        np.testing.assert_array_equal(found, expected)


# Conversion


def test_to_tensor_scales_bytes_alone():
    assert T.ToTensor()(np.full((2, 3, 1), 255, np.uint8)).tolist() == [[[1.0] * 3] * 2]
    for kind in (np.float32, np.float64, np.int32, np.int64, np.bool_):
        array = np.ones((2, 3, 4), kind)
        tensor = T.ToTensor()(array)
        assert tuple(tensor.shape) == (4, 2, 3)
        np.testing.assert_array_equal(tensor.numpy(), array.transpose(2, 0, 1), strict=True)


@pytest.mark.parametrize(
    ("pic", "error", "message"),
    [
        ([[1]], TypeError, "pic should be PIL Image or ndarray. Got <class 'list'>"),
        (np.zeros(3), ValueError, "pic should be 2/3 dimensional. Got 1 dimensions."),
        (np.zeros((1, 1, 1, 1)), ValueError, "pic should be 2/3 dimensional. Got 4 dimensions."),
    ],
)
def test_to_tensor_errors(pic, error, message):
    with pytest.raises(error, match=message):
        T.ToTensor()(pic)


@pytest.mark.parametrize(
    ("pic", "mode", "error", "message"),
    [
        ("x", None, TypeError, "pic should be Tensor or ndarray"),
        (np.zeros((1, 2, 3, 4)), None, ValueError, "2/3 dimensional"),
        (np.zeros((2, 2, 5), np.uint8), None, ValueError, "should not have > 4 channels. Got 5"),
        (np.zeros((2, 2), np.int64), None, TypeError, "Input type int64 is not supported"),
        (np.zeros((2, 2), np.uint8), "I", ValueError, r"Incorrect mode \(I\) supplied.*Should be L"),
        (np.zeros((2, 2, 3), np.uint8), "RGBA", ValueError, "are supported for 3D inputs"),
    ],
)
def test_to_pil_image_errors(pic, mode, error, message):
    with pytest.raises(error, match=message):
        T.ToPILImage(mode)(pic)


def test_round_trip():
    pixels = np.random.default_rng(0).integers(0, 256, (6, 5, 3), dtype=np.uint8)
    image = F.to_pil_image(F.to_tensor(pixels))
    np.testing.assert_array_equal(np.asarray(image), pixels)
    np.testing.assert_array_equal(F.pil_to_tensor(image).numpy(), pixels.transpose(2, 0, 1))


# Normalize


def test_normalize_in_place_and_not():
    image = wrap(np.ones((3, 2, 2), np.float32))
    result = T.Normalize([0.5] * 3, [0.5] * 3)(image)
    assert result.tolist() == np.ones((3, 2, 2)).tolist()
    image = wrap(np.full((1, 2, 2), 4.0, np.float32))
    assert T.Normalize([2.0], [0.5], inplace=True)(image) is image
    assert image.tolist() == np.full((1, 2, 2), 4.0).tolist()


def test_normalize_errors():
    normalize = T.Normalize([0.5], [0.5])
    for source, error, message in (
        (np.zeros((1, 2, 2)), TypeError, "img should be Tensor Image. Got <class 'numpy.ndarray'>"),
        (wrap(np.zeros((1, 2, 2), np.uint8)), TypeError, "Input tensor should be a float tensor. Got torch.uint8."),
        (wrap(np.zeros((2, 2))), ValueError, r"Expected tensor to be a tensor image of size \(\.\.\., C, H, W\)"),
    ):
        with pytest.raises(error, match=message):
            normalize(source)
    with pytest.raises(ValueError, match=r"std evaluated to zero after conversion to torch.float32"):
        T.Normalize([0.0], [1e-60])(wrap(np.zeros((1, 2, 2), np.float32)))


# Arguments

WRONG = [
    (lambda: T.Resize(1.5), TypeError, "Size should be int or sequence"),
    (lambda: T.Resize((1, 2, 3)), ValueError, "it should have 1 or 2 values"),
    (lambda: T.CenterCrop((1, 2, 3)), ValueError, "only two dimensions"),
    (lambda: T.Pad("1"), TypeError, "inappropriate padding arg"),
    (lambda: T.Pad(1, fill="red"), TypeError, "inappropriate fill arg"),
    (lambda: T.Pad(1, padding_mode="wrap"), ValueError, "Padding mode should be either"),
    (lambda: T.Pad((1, 2, 3)), ValueError, "not a 3 element tuple"),
    (lambda: T.Lambda(3), TypeError, "should be callable, got 'int'"),
    (lambda: T.RandomOrder(3), TypeError, "transforms should be a sequence"),
    (lambda: T.RandomChoice([], p=1), TypeError, "p should be a sequence"),
    (lambda: T.RandomResizedCrop(3, scale=1), TypeError, "Scale should be a sequence"),
    (lambda: T.RandomRotation(-1), ValueError, "If degrees is a single number, it must be positive"),
    (lambda: T.RandomRotation((1, 2, 3)), ValueError, "degrees should be a sequence of length 2"),
    (lambda: T.RandomRotation(1, fill={}), TypeError, "Fill should be either"),
    (lambda: T.RandomAffine(1, translate=(1, 2)), ValueError, "between 0 and 1"),
    (lambda: T.RandomAffine(1, scale=(0, 2)), ValueError, "scale values should be positive"),
    (lambda: T.RandomAffine(1, shear=(0, 2, 3)), ValueError, "length 2 or 4"),
    (lambda: T.ColorJitter(-1), ValueError, "If brightness is a single number, it must be non negative"),
    (lambda: T.ColorJitter(hue=0.6), ValueError, "hue values should be between"),
    (lambda: T.ColorJitter("x"), TypeError, "brightness should be a single number"),
    (lambda: T.RandomErasing(value="x"), ValueError, "it should be 'random'"),
    (lambda: T.RandomErasing(p=2), ValueError, "probability should be between 0 and 1"),
    (lambda: T.RandomErasing(scale=(0, 2)), ValueError, "Scale should be between 0 and 1"),
    (lambda: T.GaussianBlur(4), ValueError, "odd and positive"),
    (lambda: T.GaussianBlur(3, sigma=-1), ValueError, "must be positive"),
    (lambda: F.resize(wrap(np.zeros((1, 2, 2))), 3, "bilinear"), TypeError, "should be a InterpolationMode"),
    (lambda: F.hflip(np.zeros((2, 2))), TypeError, "img should be PIL Image. Got <class 'numpy.ndarray'>"),
    (lambda: F.adjust_hue(wrap(np.zeros((3, 2, 2))), 0.7), ValueError, r"hue_factor \(0.7\) is not in"),
    (lambda: F.adjust_contrast(wrap(np.zeros((2, 2, 2))), 1.0), TypeError, "permitted channel values"),
    (lambda: F.pad(wrap(np.zeros((1, 2, 2))), 2, padding_mode="reflect"), RuntimeError, "Padding size should be less"),
    (lambda: F.erase(np.zeros((1, 2, 2)), 0, 0, 1, 1, 0), TypeError, "img should be Tensor Image"),
    (lambda: F.perspective(None, [[0, 0]], [[0, 0]]), ValueError, "exactly four corners"),
    (lambda: F.five_crop(wrap(np.zeros((1, 4, 4))), 5), ValueError, "is bigger than input size"),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_wrong_arguments(case):
    call, error, message = WRONG[case]
    with pytest.raises(error, match=message):
        call()


def test_warnings():
    with pytest.warns(UserWarning, match="kind .min, max."):
        T.RandomResizedCrop(3, scale=(1, 0))
    with pytest.warns(UserWarning, match="Anti-alias option is always applied for PIL Image"):
        T.Resize(3, antialias=False)(Image.new("L", (9, 9)))


# Gradients reach the image


@pytest.mark.parametrize(
    "transform",
    [
        T.Resize(5),
        T.Resize(20, antialias=False),
        T.RandomRotation((20, 20), interpolation=T.InterpolationMode.BILINEAR),
        T.Pad(2, padding_mode="reflect"),
        T.RandomCrop(4, padding=1),
        T.Grayscale(),
        T.GaussianBlur(3, sigma=1.0),
        T.Normalize([0.5] * 3, [0.5] * 3),
    ],
    ids=repr,
)
def test_gradients(transform):
    """The transforms are linear in the pixels: the gradient's product with the image is the sum, less the shift."""
    pixels = np.random.default_rng(0).random((3, 9, 8))
    image = wrap(pixels.copy()).requires_grad_()
    manual_seed(3)
    transform(image).sum().backward()
    gradient = image.grad.numpy()
    moved = pixels + np.random.default_rng(1).random(pixels.shape)
    manual_seed(3)
    before = transform(wrap(pixels)).sum().item()
    manual_seed(3)
    after = transform(wrap(moved)).sum().item()
    assert image.dtype == float64
    np.testing.assert_allclose((gradient * (moved - pixels)).sum(), after - before, rtol=1e-6)


def test_optional_libraries_are_imported_at_their_first_use():
    code = (
        "import sys; from rushlight.vision import datasets, transforms, utils\n"
        "print(*{'PIL', 'tqdm', 'tarfile', 'urllib.request', 'ssl', 'multiprocessing'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "\n"
