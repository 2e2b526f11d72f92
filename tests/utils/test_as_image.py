"""`as_image`: the pixels that come out of the PNG, and the tensors that are refused."""

import io

import numpy as np
import pytest
from PIL import Image

import rushlight as torch
from rushlight.utils.display import as_image


def shown(image):
    """The pixels of its PNG."""
    with Image.open(io.BytesIO(image._repr_png_())) as read:
        assert read.format == "PNG"
        return read.mode, np.array(read)


def test_shapes_and_types():
    grey = torch.tensor([[0, 51], [102, 255]], dtype=torch.uint8)
    rgb = torch.stack([grey, 255 - grey, grey // 2])
    for t, mode, expected in (
        (grey, "L", grey.numpy()),
        (grey[None], "L", grey.numpy()),
        (rgb, "RGB", rgb.numpy().transpose(1, 2, 0)),
        (torch.cat([rgb, grey[None]]), "RGBA", torch.cat([rgb, grey[None]]).numpy().transpose(1, 2, 0)),
        (rgb[None], "RGB", rgb.numpy().transpose(1, 2, 0)),
        (grey / 255, "L", grey.numpy()),
        ((rgb / 255).double().requires_grad_() * 1, "RGB", rgb.numpy().transpose(1, 2, 0)),
        (grey.to(torch.bfloat16) / 255, "L", grey.numpy()),
        (grey > 60, "L", np.array([[0, 0], [255, 255]])),
    ):
        found, pixels = shown(as_image(t, scale=1))
        assert found == mode and np.array_equal(pixels, expected)


def test_range():
    t = torch.tensor([[-1.0, 0.0], [1.0, 3.0]])
    assert shown(as_image(t, value_range=(-1, 1), scale=1))[1].tolist() == [[0, 128], [255, 255]]
    assert shown(as_image(t, value_range="auto", scale=1))[1].tolist() == [[0, 64], [128, 255]]
    counts = torch.tensor([[0, 5], [10, 10]])
    assert shown(as_image(counts, value_range=(0, 10), scale=1))[1].tolist() == [[0, 128], [255, 255]]
    assert shown(as_image(torch.full((2, 2), 7.0), value_range="auto", scale=1))[1].tolist() == [[0, 0], [0, 0]]


def test_rows():
    t = torch.arange(5, dtype=torch.uint8).reshape(5, 1, 1, 1).expand(5, 1, 2, 3)
    _, pixels = shown(as_image(t, columns=3, scale=1))
    assert pixels.shape == (6, 13)
    assert pixels[0].tolist() == [0, 0, 0, 255, 255, 1, 1, 1, 255, 255, 2, 2, 2]
    assert pixels[5].tolist() == [3, 3, 3, 255, 255, 4, 4, 4, 255, 255, 255, 255, 255]
    _, clear = shown(as_image(torch.ones(2, 4, 2, 2), scale=1))
    assert clear[:, 2:4, 3].max() == 0 and clear[:, :2, 3].min() == 255


def test_small_pictures_are_enlarged():
    t = torch.tensor([[0, 255]], dtype=torch.uint8)
    assert shown(as_image(t, scale=2))[1].tolist() == [[0, 0, 255, 255]] * 2
    assert shown(as_image(torch.zeros(28, 28)))[1].shape == (84, 84)
    assert shown(as_image(torch.zeros(3, 100, 300)))[1].shape == (100, 300, 3)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: 3, TypeError, "not int"),
        (lambda: torch.ones(3), ValueError, r"\[3\] is none"),
        (lambda: torch.ones(5, 6, 6), ValueError, r"unsqueeze\(1\)"),
        (lambda: torch.ones(6, 6, 3), ValueError, "permute"),
        (lambda: torch.ones(2, 2, 6, 6), ValueError, "with C 1, 3 or 4$"),
        (lambda: torch.ones(0, 3, 6, 6), ValueError, "no pixels"),
        (lambda: torch.ones(4, 4) * 2, ValueError, "from 2 to 2"),
        (lambda: torch.tensor([[float("nan"), 0.5]]), ValueError, "NaN"),
        (lambda: torch.ones(4, 4, dtype=torch.int64), TypeError, "int64 has no black and white"),
        (lambda: torch.ones(4, 4, dtype=torch.complex64), TypeError, "complex64"),
    ],
)
def test_refused(make, error, words):
    with pytest.raises(error, match=words):
        as_image(make())


def test_settings_are_checked():
    for wrong in ({"columns": 0}, {"scale": 0}):
        with pytest.raises(ValueError, match="at least 1"):
            as_image(torch.ones(4, 4), **wrong)


def test_file(tmp_path):
    image = as_image(torch.zeros(3, 4, 5), scale=1)
    image.save(tmp_path / "a.png")
    with Image.open(tmp_path / "a.png") as read:
        assert read.size == (5, 4)
    with pytest.raises(ValueError, match="unknown file extension"):
        image.save(tmp_path / "a.nothing")
    assert repr(image) == "<image of a tensor [3, 4, 5], 5 x 4 pixels>"


def test_a_notebook_shows_it():
    formatters = pytest.importorskip("IPython.core.formatters")
    data, _ = formatters.DisplayFormatter().format(as_image(torch.zeros(3, 4, 5)))
    assert data["image/png"].startswith(b"\x89PNG") and "image of a tensor" in data["text/plain"]
    data, _ = formatters.DisplayFormatter().format(torch.zeros(3, 4, 5))
    assert "image/png" not in data  # a tensor is shown so only when asked
