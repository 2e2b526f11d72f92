"""Image files to and from tensors, by way of Pillow."""

import contextlib
import io
from enum import Enum

import numpy as np

from rushlight import Tensor, from_numpy, uint8
from rushlight_vision.pixels import check_pixels

__all__ = [
    "ImageReadMode",
    "decode_avif",
    "decode_gif",
    "decode_heic",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_webp",
    "encode_jpeg",
    "encode_png",
    "read_file",
    "read_image",
    "write_file",
    "write_jpeg",
    "write_png",
]


class ImageReadMode(Enum):
    """What channels a decoded image should have."""

    UNCHANGED = 0
    GRAY = 1
    GRAY_ALPHA = 2
    RGB = 3
    RGB_ALPHA = 4
    RGBA = RGB_ALPHA


_PIL_MODES = {
    ImageReadMode.GRAY: "L",
    ImageReadMode.GRAY_ALPHA: "LA",
    ImageReadMode.RGB: "RGB",
    ImageReadMode.RGB_ALPHA: "RGBA",
}


def read_file(path):
    """The file's bytes, uint8 (N,)."""
    return from_numpy(np.fromfile(path, np.uint8))


def write_file(filename, data):
    """Write the bytes of a uint8 tensor (N,)."""
    if data.dtype != uint8 or data.ndim != 1:
        raise RuntimeError(f"Input data should be a 1-d uint8 tensor, got {data.dtype} of shape {tuple(data.shape)}")
    data.numpy().tofile(filename)


def decode_image(input, mode=ImageReadMode.UNCHANGED, apply_exif_orientation=False):
    """The image in a file's bytes, uint8 (N,), or in the file of that name: (C, H, W).

    Values are bytes, or uint16 for a PNG of 16 bits. RuntimeError for bytes that are no image.
    """
    content = _content(input)
    with _opened(content) as image:
        return _tensor(image, _mode(mode), apply_exif_orientation)


def read_image(path, mode=ImageReadMode.UNCHANGED, apply_exif_orientation=False):
    """The image in the file `path`: see `decode_image`."""
    return decode_image(read_file(path), mode, apply_exif_orientation)


def _content(input):
    data = input if isinstance(input, Tensor) else read_file(str(input))
    if data.dtype != uint8 or data.ndim != 1:
        raise RuntimeError(f"Expected a 1-d uint8 tensor of a file's bytes, got {data.dtype} {tuple(data.shape)}")
    return data.numpy().tobytes()


def _mode(mode):
    return ImageReadMode[mode.upper()] if isinstance(mode, str) else ImageReadMode(mode)


def _opened(content, formats=None):
    from PIL import Image, UnidentifiedImageError

    try:
        with _damage():
            return check_pixels(Image.open(io.BytesIO(content), formats=formats))
    except UnidentifiedImageError:
        wanted = "an image that Pillow knows" if formats is None else " or ".join(formats)
        raise RuntimeError(f"The bytes are not {wanted}: they begin with {content[:8]!r}") from None


@contextlib.contextmanager
def _damage():
    """RuntimeError for what Pillow's decoders raise about a broken file, each in its own way."""
    import struct
    import zlib

    from PIL import UnidentifiedImageError

    try:
        yield
    except UnidentifiedImageError:
        raise
    except (
        OSError,
        SyntaxError,
        ValueError,
        LookupError,
        TypeError,
        EOFError,
        OverflowError,
        struct.error,
        zlib.error,
    ) as e:
        raise RuntimeError(f"The image is truncated or corrupted: {e}") from e


def _tensor(image, mode, upright=False):
    from PIL import ImageOps

    with _damage():
        image.load()
    image = ImageOps.exif_transpose(image) if upright else image
    if mode is not ImageReadMode.UNCHANGED:
        image = image.convert(_PIL_MODES[mode])
    elif image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    elif image.mode == "1":
        image = image.convert("L")
    pixels = np.array(image, np.uint16 if image.mode.startswith("I;16") else np.uint8)
    pixels = pixels.reshape(image.size[1], image.size[0], -1)
    return from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1)))


def decode_png(input, mode=ImageReadMode.UNCHANGED, apply_exif_orientation=False):
    """`decode_image` of a PNG file's bytes."""
    return _tensor(_opened(_content(input), ["PNG"]), _mode(mode), apply_exif_orientation)


def decode_jpeg(input, mode=ImageReadMode.UNCHANGED, device="cpu", apply_exif_orientation=False):
    """`decode_image` of a JPEG file's bytes, or of a list of them."""
    if str(device) != "cpu":
        raise NotImplementedError(f"decode_jpeg: Rushlight decodes on the CPU only, not on {device}")
    if isinstance(input, (list, tuple)):
        if not input:
            raise ValueError("Input list must contain at least one element")
        return [decode_jpeg(one, mode, device, apply_exif_orientation) for one in input]
    return _tensor(_opened(_content(input), ["JPEG"]), _mode(mode), apply_exif_orientation)


def decode_webp(input, mode=ImageReadMode.UNCHANGED):
    """`decode_image` of a WebP file's bytes."""
    return _tensor(_opened(_content(input), ["WEBP"]), _mode(mode))


def decode_gif(input):
    """A GIF file's bytes as (3, H, W), or (frames, 3, H, W) if it has several."""
    image = _opened(_content(input), ["GIF"])
    frames = []
    with _damage():
        count = getattr(image, "n_frames", 1)
        check_pixels(image, count)
        for i in range(count):
            image.seek(i)
            frames.append(np.array(image.convert("RGB")).transpose(2, 0, 1))
    return from_numpy(np.stack(frames) if len(frames) > 1 else np.ascontiguousarray(frames[0]))


def decode_avif(input, mode=ImageReadMode.UNCHANGED):
    """Not implemented; Pillow's `decode_image` reads AVIF where it was built with it."""
    raise NotImplementedError("torchvision.io.decode_avif is not implemented in Rushlight")


def decode_heic(input, mode=ImageReadMode.UNCHANGED):
    """Not implemented."""
    raise NotImplementedError("torchvision.io.decode_heic is not implemented in Rushlight")


def _encoded(input, what, **options):
    from PIL import Image

    if input.dtype != uint8:
        raise RuntimeError(f"Input tensor dtype should be uint8, got {input.dtype}")
    if input.ndim != 3:
        raise RuntimeError(f"Input data should be a 3-dimensional tensor, got {input.ndim} dimensions")
    if input.shape[0] not in (1, 3):
        raise RuntimeError(f"The number of channels should be 1 or 3, got: {input.shape[0]}")
    pixels = input.permute(1, 2, 0).numpy()
    stream = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels.squeeze(-1) if pixels.shape[-1] == 1 else pixels)).save(
        stream, what, **options
    )
    return from_numpy(np.frombuffer(bytearray(stream.getvalue()), np.uint8))


def encode_png(input, compression_level=6):
    """The bytes of a PNG file, uint8 (N,), of the image uint8 (1 or 3, H, W)."""
    if not 0 <= compression_level <= 9:
        raise RuntimeError(f"Compression level should be between 0 and 9, got {compression_level}")
    return _encoded(input, "PNG", compress_level=compression_level)


def write_png(input, filename, compression_level=6):
    """Write the image uint8 (1 or 3, H, W) as a PNG file."""
    write_file(filename, encode_png(input, compression_level))


def encode_jpeg(input, quality=75):
    """The bytes of a JPEG file, uint8 (N,), of the image uint8 (1 or 3, H, W), or a list for a list."""
    if quality < 1 or quality > 100:
        raise ValueError("Image quality should be a positive number between 1 and 100")
    if isinstance(input, (list, tuple)):
        if not input:
            raise ValueError("encode_jpeg requires at least one input tensor when a list is passed")
        return [encode_jpeg(one, quality) for one in input]
    return _encoded(input, "JPEG", quality=quality)


def write_jpeg(input, filename, quality=75):
    """Write the image uint8 (1 or 3, H, W) as a JPEG file."""
    write_file(filename, encode_jpeg(input, quality))
