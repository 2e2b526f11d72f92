"""Between PIL images, arrays and tensors: ToTensor, PILToTensor, ToPILImage, and the functions behind them."""

import sys

import numpy as np

from rushlight import Tensor, from_numpy, get_default_dtype
from rushlight_vision.transforms import _functional_pil

_SHORT = "I;16" if sys.byteorder == "little" else "I;16B"
_ARRAY_TYPES = {"I": np.int32, _SHORT: np.int16, "F": np.float32}  # of modes that are not bytes


def to_tensor(pic):
    """The PIL image or array as a tensor: bytes become floats of the default type in [0, 1], other values stay.

    Shape: (H, W) or (H, W, C) -> (C, H, W)
    Raises:
        TypeError: `pic` is neither image nor array, as in `to_tensor(ones(1, 2, 2))`.

    >>> import numpy as np
    >>> to_tensor(np.zeros((4, 5, 3), np.uint8)).shape
    torch.Size([3, 4, 5])
    """
    if isinstance(pic, np.ndarray):
        if pic.ndim not in (2, 3):
            raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
        pixels = pic if pic.ndim == 3 else pic[:, :, None]
    elif _functional_pil.is_pil_image(pic):
        pixels = _pixels(pic, _ARRAY_TYPES.get(pic.mode, np.uint8))
        if pic.mode == "1":
            pixels *= 255
    else:
        raise TypeError(f"pic should be PIL Image or ndarray. Got {type(pic)}")
    channels_first = pixels.transpose(2, 0, 1)
    if pixels.dtype == np.uint8:
        kind = get_default_dtype().numpy
        return from_numpy(np.divide(channels_first, kind.type(255), dtype=kind, order="C"))
    return from_numpy(np.ascontiguousarray(channels_first))


def pil_to_tensor(pic):
    """The PIL image as a tensor of its own values, copied.

    Shape: a PIL image (H, W) -> (C, H, W)
    Raises:
        TypeError: `pic` is no PIL image, as in `pil_to_tensor(ones(1, 2, 2))`.
    """
    if not _functional_pil.is_pil_image(pic):
        raise TypeError(f"pic should be PIL Image. Got {type(pic)}")
    return from_numpy(_pixels(pic, None)).permute(2, 0, 1)


def _pixels(pic, dtype):
    """A copy of the image's values, (H, W, C)."""
    return np.array(pic, dtype).reshape(pic.size[1], pic.size[0], len(pic.getbands()))


def to_pil_image(pic, mode=None):
    """The tensor or array as a PIL image.

    Floats are taken to be in [0, 1] and become bytes, except under mode "F".

    Args:
        pic: a tensor (C, H, W), an array (H, W, C), or either as (H, W).
        mode: by default from the number of channels and the type: L, I;16, I, F for one channel, LA for two, RGB for
            three, RGBA for four.
    Shape: (C, H, W) -> a PIL image of size (W, H)
    Raises:
        TypeError: `pic` is neither tensor nor array, as in `to_pil_image([1])`.
        ValueError: there are too many dimensions, as in `to_pil_image(ones(1, 1, 2, 2))`.

    >>> to_pil_image(ones(3, 4, 5)).size
    (5, 4)
    """
    if isinstance(pic, Tensor):
        pixels = (pic.permute(1, 2, 0) if pic.ndim == 3 else pic).numpy(force=True)
    elif isinstance(pic, np.ndarray):
        pixels = pic
    else:
        raise TypeError(f"pic should be Tensor or ndarray. Got {type(pic)}.")
    if pixels.ndim not in (2, 3):
        raise ValueError(f"pic should be 2/3 dimensional. Got {pixels.ndim} dimensions.")
    if pixels.ndim == 3 and pixels.shape[2] > 4:
        raise ValueError(f"pic should not have > 4 channels. Got {pixels.shape[2]} channels.")
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    if np.issubdtype(pixels.dtype, np.floating) and mode != "F":
        pixels = (pixels * 255).astype(np.uint8)
    return _functional_pil.image_from_array(pixels, _mode(pixels, mode))


def _mode(pixels, mode):
    """The PIL mode for these pixels: the one asked for, if they can have it, or the usual one."""
    if pixels.ndim == 2:
        usual = {np.uint8: "L", np.int16: _SHORT, np.int32: "I", np.float32: "F"}.get(pixels.dtype.type)
        if mode is not None and mode != usual:
            raise ValueError(f"Incorrect mode ({mode}) supplied for input type {pixels.dtype}. Should be {usual}")
    else:
        channels = pixels.shape[2]
        permitted = {2: ["LA"], 3: ["RGB", "YCbCr", "HSV"], 4: ["RGBA", "CMYK", "RGBX"]}[channels]
        if mode is not None and mode not in permitted:
            raise ValueError(f"Only modes {permitted} are supported for {channels}D inputs")
        usual = mode or (permitted[0] if pixels.dtype == np.uint8 else None)
    if usual is None:
        raise TypeError(f"Input type {pixels.dtype} is not supported")
    return usual


class ToTensor:
    """A PIL image or array (H, W, C) as a tensor (C, H, W); bytes become floats in [0, 1].

    Shape: (H, W, C) or (H, W) -> (C, H, W)
    Raises:
        TypeError: it is neither image nor array, as in `ToTensor()(ones(1, 2, 2))`.

    >>> import numpy as np
    >>> ToTensor()(np.zeros((4, 5, 3), np.uint8)).shape
    torch.Size([3, 4, 5])
    """

    def __call__(self, pic):
        return to_tensor(pic)

    def __repr__(self):
        return f"{type(self).__name__}()"


class PILToTensor:
    """A PIL image as a tensor (C, H, W) of its own values.

    Shape: a PIL image (H, W) -> (C, H, W)
    Raises:
        TypeError: it is no PIL image, as in `PILToTensor()(ones(1, 2, 2))`.
    """

    def __call__(self, pic):
        return pil_to_tensor(pic)

    def __repr__(self):
        return f"{type(self).__name__}()"


class ToPILImage:
    """A tensor (C, H, W) or array (H, W, C) as a PIL image, of `mode` or the one that follows from its values.

    Shape: (C, H, W) -> a PIL image of size (W, H)
    Raises:
        TypeError: it is neither tensor nor array, as in `ToPILImage()([1])`.

    >>> ToPILImage()(ones(3, 4, 5)).size
    (5, 4)
    """

    def __init__(self, mode=None):
        self.mode = mode

    def __call__(self, pic):
        return to_pil_image(pic, self.mode)

    def __repr__(self):
        return f"{type(self).__name__}({'' if self.mode is None else f'mode={self.mode}'})"
