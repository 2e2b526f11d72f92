"""The transforms on PIL images. Pillow is imported at the first use."""

import numbers
from typing import TypeGuard, cast

import numpy as np


def check(img):
    """The PIL image itself; TypeError for anything else."""
    from PIL import Image

    if not isinstance(img, Image.Image):
        raise TypeError(f"img should be PIL Image. Got {type(img)}")
    return img


def is_pil_image(img):
    """Whether `img` is a PIL image; where Pillow was never imported, nothing is one."""
    import sys

    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(img, module.Image)


def image_from_array(array, mode):
    """The array's bytes, read as `mode`, without the conversions that `Image.fromarray` would choose by itself."""
    from PIL import Image

    return Image.frombytes(mode, (array.shape[1], array.shape[0]), np.ascontiguousarray(array).tobytes())


def get_dimensions(img):
    if not is_pil_image(img):
        raise TypeError(f"Unexpected type {type(img)}")
    width, height = img.size
    return [len(img.getbands()), height, width]


# Size and place


def resize(img, size, code):
    return check(img).resize((size[1], size[0]), code)


def crop(img, top, left, height, width):
    return check(img).crop((left, top, left + width, top + height))


def hflip(img):
    from PIL import Image

    return check(img).transpose(Image.Transpose.FLIP_LEFT_RIGHT)


def vflip(img):
    from PIL import Image

    return check(img).transpose(Image.Transpose.FLIP_TOP_BOTTOM)


def rotate(img, angle, code, expand, center, fill):
    return check(img).rotate(angle, code, expand, center, fillcolor=_fill(fill, img))


def transform(img, kind, coefficients, code, fill):
    from PIL import Image

    return check(img).transform(img.size, Image.Transform[kind], coefficients, code, fillcolor=_fill(fill, img))


def pad(img, padding, fill, padding_mode):
    check(img)
    left, top, right, bottom = padding_ltrb(padding, fill, padding_mode)
    if padding_mode == "constant":
        return _with_border(img, (left, top, right, bottom), fill)
    width, height = img.size
    cut = [max(-edge, 0) for edge in (left, top, right, bottom)]
    if any(cut):
        img = img.crop((cut[0], cut[1], width - cut[2], height - cut[3]))
    pixels = np.asarray(img)
    border = [(max(top, 0), max(bottom, 0)), (max(left, 0), max(right, 0)), (0, 0)][: pixels.ndim]
    return _like(img, np.pad(pixels, border, mode=padding_mode))


def _with_border(img, border, fill):
    from PIL import ImageOps

    image = ImageOps.expand(img, border=border, fill=_fill(fill, img))
    if img.mode == "P":
        image.putpalette(img.getpalette())
    return image


def _like(img, pixels):
    from PIL import Image

    image = Image.fromarray(pixels)
    if img.mode == "P":
        image.putpalette(img.getpalette())
    return image


def is_number(value) -> TypeGuard[float]:
    """Whether the value is a number of any type, NumPy's too."""
    return isinstance(value, numbers.Number)


def padding_ltrb(padding, fill, padding_mode) -> list[int]:
    """(left, top, right, bottom) from an int or 1, 2 or 4 of them; TypeError and ValueError for wrong arguments."""
    if not isinstance(padding, (numbers.Number, tuple, list)):
        raise TypeError("Got inappropriate padding arg")
    if fill is not None and not isinstance(fill, (numbers.Number, tuple, list)):
        raise TypeError("Got inappropriate fill arg")
    if not isinstance(padding_mode, str):
        raise TypeError("Got inappropriate padding_mode arg")
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")
    edges = list(padding) if isinstance(padding, (tuple, list)) else [cast(int, padding)]
    if len(edges) not in (1, 2, 4):
        raise ValueError(f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(edges)} element tuple")
    return edges * (4 // len(edges))


def _fill(fill, img):
    """The fill value in the form that Pillow wants for this image: one number, or one per channel."""
    channels = len(img.getbands())
    values = list(fill) if isinstance(fill, (list, tuple)) else [0 if fill is None else fill]
    if len(values) == 1:
        values *= channels
    elif len(values) != channels:
        raise ValueError(
            "The number of elements in 'fill' does not match the number of channels of the image "
            f"({len(values)} != {channels})"
        )
    if img.mode != "F":
        values = [int(value) for value in values]
    return tuple(values) if channels > 1 or isinstance(fill, (list, tuple)) else values[0]


# Colour


def adjust_brightness(img, factor):
    from PIL import ImageEnhance

    return ImageEnhance.Brightness(check(img)).enhance(factor)


def adjust_contrast(img, factor):
    from PIL import ImageEnhance

    return ImageEnhance.Contrast(check(img)).enhance(factor)


def adjust_saturation(img, factor):
    from PIL import ImageEnhance

    return ImageEnhance.Color(check(img)).enhance(factor)


def adjust_sharpness(img, factor):
    from PIL import ImageEnhance

    return ImageEnhance.Sharpness(check(img)).enhance(factor)


def adjust_hue(img, factor):
    from PIL import Image

    mode = check(img).mode
    if mode in ("L", "1", "I", "F"):
        return img
    hue, saturation, value = img.convert("HSV").split()
    turned = np.array(hue, np.uint8) + np.int32(factor * 255).astype(np.uint8)  # a circle: overflow is meant
    return Image.merge("HSV", (image_from_array(turned, "L"), saturation, value)).convert(mode)


def adjust_gamma(img, gamma, gain):
    mode = check(img).mode
    table = [int((255 + 1 - 1e-3) * gain * pow(value / 255.0, gamma)) for value in range(256)] * 3
    return img.convert("RGB").point(table).convert(mode)


def rgb_to_grayscale(img, num_output_channels):
    grey = check(img).convert("L")
    if num_output_channels == 1:
        return grey
    if num_output_channels == 3:
        return image_from_array(np.dstack([np.array(grey, np.uint8)] * 3), "RGB")
    raise ValueError("num_output_channels should be either 1 or 3")


def invert(img):
    from PIL import ImageOps

    return ImageOps.invert(check(img))


def posterize(img, bits):
    from PIL import ImageOps

    return ImageOps.posterize(check(img), bits)


def solarize(img, threshold):
    from PIL import ImageOps

    return ImageOps.solarize(check(img), threshold)


def autocontrast(img):
    from PIL import ImageOps

    return ImageOps.autocontrast(check(img))


def equalize(img):
    from PIL import ImageOps

    return ImageOps.equalize(check(img))
