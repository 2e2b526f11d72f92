"""make_grid and save_image."""

import io

import numpy as np
import pytest
from PIL import Image
from rushlight.vision.utils import make_grid, save_image

from rushlight.core.tensor.tensor import wrap


def images(*shape):
    return np.random.default_rng(0).random(shape).astype(np.float32)


def test_grid_places_every_image():
    batch = images(7, 3, 4, 5)
    grid = make_grid(wrap(batch), nrow=3, padding=2, pad_value=0.25).numpy()
    assert grid.shape == (3, 3 * 6 + 2, 3 * 7 + 2)
    expected = np.full_like(grid, 0.25)
    for number, image in enumerate(batch):
        row, column = divmod(number, 3)
        expected[:, 6 * row + 2 : 6 * row + 6, 7 * column + 2 : 7 * column + 7] = image
    np.testing.assert_array_equal(grid, expected)


@pytest.mark.parametrize("shape", [(4, 5), (1, 4, 5), (1, 1, 4, 5)])
def test_one_image_has_no_border_and_three_channels(shape):
    array = images(*shape)
    np.testing.assert_array_equal(make_grid(wrap(array)).numpy(), np.repeat(array.reshape(1, 4, 5), 3, axis=0))


def test_list_of_images():
    batch = images(3, 1, 2, 2)
    as_list = make_grid([wrap(image) for image in batch]).numpy()
    np.testing.assert_array_equal(as_list, make_grid(wrap(batch)).numpy())


@pytest.mark.parametrize("scale_each", [False, True])
def test_normalize(scale_each):
    batch = images(2, 3, 4, 5) * 7 - 2
    kept = batch.copy()
    grid = make_grid(wrap(batch), padding=0, normalize=True, scale_each=scale_each).numpy()
    np.testing.assert_array_equal(batch, kept)
    axes = (1, 2, 3) if scale_each else (0, 1, 2, 3)
    low, high = kept.min(axis=axes, keepdims=True), kept.max(axis=axes, keepdims=True)
    expected = (kept - low) / (high - low)
    np.testing.assert_allclose(grid, np.concatenate(list(expected), axis=2), rtol=1e-6, atol=1e-7)


def test_value_range():
    grid = make_grid(wrap(images(2, 3, 4, 5)), padding=0, normalize=True, value_range=(0.2, 0.6)).numpy()
    expected = (np.clip(np.concatenate(list(images(2, 3, 4, 5)), axis=2), 0.2, 0.6) - 0.2) / 0.4
    np.testing.assert_allclose(grid, expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(TypeError, match="value_range has to be a tuple"):
        make_grid(wrap(images(2, 3, 4, 5)), normalize=True, value_range=[0, 1])


@pytest.mark.parametrize("wrong", [np.zeros((3, 2, 2)), [np.zeros((3, 2, 2))], "x"])
def test_wrong_types(wrong):
    with pytest.raises(TypeError, match="tensor or list of tensors expected"):
        make_grid(wrong)


def test_saved_picture(tmp_path):
    array = images(3, 4, 5)
    save_image(wrap(array), tmp_path / "a.png")
    expected = np.clip(array * 255 + 0.5, 0, 255).astype(np.uint8).transpose(1, 2, 0)
    with Image.open(tmp_path / "a.png") as image:
        np.testing.assert_array_equal(np.asarray(image), expected)
    buffer = io.BytesIO()
    save_image(wrap(images(6, 3, 4, 5)), buffer, format="png", nrow=3, padding=1)
    with Image.open(buffer) as image:
        assert image.size == (3 * 6 + 1, 2 * 5 + 1)
