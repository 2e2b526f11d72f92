"""Image files as tensors, and drawing."""

import io
import warnings

import numpy as np
import pytest
from PIL import Image
from rushlight.vision import io as vio
from rushlight.vision import utils

import rushlight as torch
from rushlight import vision


def pixels(*shape):
    return torch.from_numpy(np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8))


@pytest.mark.parametrize("channels", [1, 3])
def test_png_keeps_every_value(tmp_path, channels):
    image = pixels(channels, 9, 7)
    path = str(tmp_path / "a.png")
    vio.write_png(image, path)
    assert (vio.read_image(path) == image).all()
    assert (vio.decode_png(vio.encode_png(image)) == image).all()
    assert vio.read_image(path, vio.ImageReadMode.RGB_ALPHA).shape == (4, 9, 7)
    assert vio.read_image(path, "gray").shape == (1, 9, 7)


def test_jpeg_is_pillows(tmp_path):
    image = pixels(3, 16, 16)
    path = tmp_path / "a.jpg"
    vio.write_jpeg(image, str(path), quality=90)
    expected = np.asarray(Image.open(path)).transpose(2, 0, 1)
    assert (vio.read_image(str(path)).numpy() == expected).all()
    with pytest.raises(RuntimeError, match="begin with"):
        vio.decode_jpeg(vio.encode_png(image))
    with pytest.raises(ValueError, match="between 1 and 100"):
        vio.encode_jpeg(image, 0)


def test_gif_frames():
    stream = io.BytesIO()
    frames = [Image.new("RGB", (4, 4), color) for color in ("red", "blue")]
    frames[0].save(stream, "GIF", save_all=True, append_images=frames[1:])
    out = vio.decode_gif(torch.from_numpy(np.frombuffer(bytearray(stream.getvalue()), np.uint8)))
    assert out.shape == (2, 3, 4, 4) and out[1, :, 0, 0].tolist() == [0, 0, 255]


def test_video_raises_by_name():
    with pytest.raises(NotImplementedError, match=r"torchvision\.io\.read_video"):
        vio.read_video("film.mp4")


def test_bounding_boxes_are_pillows():
    from PIL import ImageDraw

    image = pixels(3, 40, 50)
    out = utils.draw_bounding_boxes(image, torch.tensor([[5, 6, 30, 35]]), colors="red", width=2)
    canvas = Image.fromarray(image.permute(1, 2, 0).numpy().copy())
    ImageDraw.Draw(canvas).rectangle([5, 6, 30, 35], width=2, outline=(255, 0, 0))
    assert (out.permute(1, 2, 0).numpy() == np.asarray(canvas)).all()
    assert utils.draw_bounding_boxes(image[:1], torch.tensor([[5, 6, 30, 35]]), labels=["x"], fill=True).shape[0] == 3
    assert utils.draw_bounding_boxes(image / 255, torch.tensor([[5, 6, 30, 35]])).dtype == torch.float32
    with pytest.raises(ValueError, match="xmin, ymin, xmax, ymax"):
        utils.draw_bounding_boxes(image, torch.tensor([[30, 6, 5, 35]]))
    with pytest.warns(UserWarning, match="No box was drawn"):
        assert utils.draw_bounding_boxes(image, torch.zeros(0, 4)) is image


def test_masks_and_keypoints():
    image = torch.full((3, 8, 8), 100, dtype=torch.uint8)
    masks = torch.zeros(2, 8, 8, dtype=torch.bool)
    masks[0, :4], masks[1, 3:6] = True, True
    out = utils.draw_segmentation_masks(image, masks, alpha=0.5, colors=["red", (0, 0, 255)])
    assert out[:, 0, 0].tolist() == [177, 50, 50] and out[:, 5, 0].tolist() == [50, 50, 177]
    assert out[:, 3, 0].tolist() == [50, 50, 50] and out[:, 7, 0].tolist() == [100, 100, 100]
    points = torch.tensor([[[4.0, 4.0], [1.0, 1.0]]])
    seen = torch.tensor([[True, False]])
    drawn = utils.draw_keypoints(image, points, colors="red", radius=1, visibility=seen)
    assert drawn[:, 4, 4].tolist() == [255, 0, 0] and drawn[:, 1, 1].tolist() == [100, 100, 100]


def test_flow_has_the_hue_of_its_direction():
    flow = torch.zeros(2, 1, 4)
    flow[0] = torch.tensor([[1.0, -1.0, 0.0, 0.0]])
    out = utils.flow_to_image(flow)
    assert out[:, 0, 0].tolist()[0] == 255 and out[:, 0, 2].tolist() == [255, 255, 255]
    assert out[:, 0, 0].tolist() != out[:, 0, 1].tolist()


def test_packages_load_when_named():
    assert {"models", "ops", "io", "transforms"} <= set(dir(vision))
    assert vision.get_image_backend() == "PIL"
    with pytest.raises(NotImplementedError, match="accimage"):
        vision.set_image_backend("accimage")


def test_an_image_that_claims_too_many_pixels_is_an_error(tmp_path, monkeypatch):
    """Pillow warns beyond its limit, and decodes; each way to open a file raises instead."""
    from rushlight.vision.datasets.folder import pil_loader
    from rushlight.vision.datasets.image_files import opened

    path = tmp_path / "image.png"
    Image.new("L", (100, 90)).save(path)
    film = tmp_path / "film.gif"
    Image.new("L", (40, 40)).save(film, save_all=True, append_images=[Image.new("L", (40, 40), i) for i in range(1, 5)])
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 7000)
    for read in (pil_loader, opened, vio.read_image, lambda p: vio.decode_png(vio.read_file(p))):
        with (
            warnings.catch_warnings(action="ignore", category=Image.DecompressionBombWarning),
            pytest.raises(Image.DecompressionBombError, match="100 x 90 pixels, more than the 7000"),
        ):
            read(str(path))
    with pytest.raises(Image.DecompressionBombError, match="5 frames of 40 x 40"):
        vio.decode_gif(vio.read_file(str(film)))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
    assert vio.read_image(str(path)).shape == (1, 90, 100) and len(vio.decode_gif(vio.read_file(str(film)))) == 5
