"""`as_image`: tensors that hold pictures, as a PNG."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from ...core.tensor.tensor import Tensor

__all__ = ["Image", "as_image"]

_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
_GAP = 2  # pixels between pictures
_LEAST_SIDE = 96  # small pictures are enlarged to about this many pixels


class Image:
    """What `as_image` returns: in a notebook it shows itself.

    pixels: the picture, or all of them side by side, before they are enlarged. Shape: (H, W, C), uint8.
    scale: how many pixels of the screen each of them is wide and high.
    """

    def __init__(self, pixels: np.ndarray, scale: int, shape: tuple[int, ...]):
        self.pixels, self.scale, self.shape = pixels, scale, shape

    def __repr__(self) -> str:
        height, width = (n * self.scale for n in self.pixels.shape[:2])
        return f"<image of a tensor {list(self.shape)}, {width} x {height} pixels>"

    def _pillow(self) -> Any:
        from PIL import Image as Pillow

        large = self.pixels.repeat(self.scale, 0).repeat(self.scale, 1)
        return Pillow.fromarray(large[:, :, 0] if large.shape[2] == 1 else large, _mode(large))

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self._pillow().save(file, "PNG")
        return file.getvalue()

    def save(self, path: Any) -> None:
        """Write it to a file, in the form of its name's ending. Raises ValueError for one that Pillow does not know."""
        self._pillow().save(path)


def _mode(pixels: np.ndarray) -> str:
    return _MODES[pixels.shape[2]]


def as_image(
    tensor: Tensor, *, value_range: tuple[float, float] | None = None, columns: int = 8, scale: int | None = None
) -> Image:
    """The picture, or pictures, that a tensor holds: a notebook shows it, and `save("a.png")` writes it.

    Args:
        tensor: bytes (uint8) from 0 to 255, bools, or numbers from 0 to 1.
        value_range: the numbers that are black and white, for others; what is outside is black or white. "auto": the least
            and the greatest of all.
        columns: how many pictures there are in a row.
        scale: how many pixels wide and high each pixel is; by default as many as make small pictures 96 pixels large.
    Shape: (H, W), (C, H, W) or (N, C, H, W), with C 1 (grey), 3 (RGB) or 4 (RGB and opacity)
    Raises:
        ValueError: another shape, no pictures, numbers outside [0, 1] without a `value_range`, or NaN, as in
            `as_image(ones(2, 5, 5))` and `as_image(2 * ones(5, 5))`.
        TypeError: what is no tensor, complex numbers, or integers other than uint8 without a `value_range`, as in
            `as_image(1)`.

    >>> from rushlight import rand
    >>> from rushlight.utils.display import as_image
    >>> as_image(rand(10, 3, 32, 32))
    <image of a tensor [10, 3, 32, 32], 810 x 198 pixels>
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"as_image: expected a tensor, not {type(tensor).__name__}")
    if columns < 1 or (scale is not None and scale < 1):
        raise ValueError(f"as_image: columns and scale have to be at least 1, not {columns} and {scale}")
    pictures = _stacked(_bytes_of(tensor, value_range))
    if scale is None:
        scale = max(1, _LEAST_SIDE // max(pictures.shape[1:3]))
    return Image(_in_rows(pictures, columns), scale, tuple(tensor.shape))


def _bytes_of(tensor: Tensor, value_range: Any) -> np.ndarray:
    kind = str(tensor.dtype).removeprefix("torch.")
    if tensor.dtype.is_complex:
        raise TypeError(f"as_image: {kind} has no brightness; show its abs() or angle()")
    values = tensor.detach().cpu()
    if value_range is None and kind == "uint8":
        return values.numpy()
    if value_range is None and not (tensor.dtype.is_floating_point or kind == "bool"):
        raise TypeError(
            f"as_image: {kind} has no black and white: give value_range=(black, white), or convert to uint8"
        )
    numbers = values.double().numpy()
    if not numbers.size:
        return numbers.astype(np.uint8)
    least, most = float(numbers.min()), float(numbers.max())
    if least != least:
        raise ValueError("as_image: the tensor has NaN: nan_to_num() replaces them")
    if value_range is None and (least < 0 or most > 1):
        raise ValueError(
            f"as_image: the numbers are from {least:g} to {most:g}, not from 0 to 1: give value_range=(black, white), "
            'or value_range="auto"'
        )
    black, white = (0.0, 1.0) if value_range is None else (least, most) if value_range == "auto" else value_range
    shares = (numbers - black) / (white - black) if white != black else np.zeros_like(numbers)
    return np.rint(shares.clip(0, 1) * 255).astype(np.uint8)


def _stacked(pixels: np.ndarray) -> np.ndarray:
    """(N, H, W, C) of each shape that a picture can have."""
    shape = pixels.shape
    if pixels.ndim == 2:
        pixels = pixels[None]
    if pixels.ndim == 3:
        pixels = pixels[None]
    if pixels.ndim != 4 or pixels.shape[1] not in _MODES:
        advice = ""
        if pixels.ndim == 4 and shape[-1] in _MODES:
            advice = "; for channels at the end use permute"
        elif pixels.ndim == 4 and len(shape) == 3:
            advice = "; for grey pictures use unsqueeze(1)"
        raise ValueError(
            f"as_image: the shape {list(shape)} is none of (H, W), (C, H, W) and (N, C, H, W) with C 1, 3 or 4{advice}"
        )
    if not pixels.size:
        raise ValueError(f"as_image: the shape {list(shape)} has no pixels")
    return pixels.transpose(0, 2, 3, 1)


def _in_rows(pictures: np.ndarray, columns: int) -> np.ndarray:
    count, height, width, channels = pictures.shape
    columns = min(columns, count)
    rows = -(-count // columns)
    whole = np.full((rows * (height + _GAP) - _GAP, columns * (width + _GAP) - _GAP, channels), 255, np.uint8)
    if channels == 4:
        whole[:, :, 3] = 0  # between the pictures it is transparent
    for n, picture in enumerate(pictures):
        top, left = n // columns * (height + _GAP), n % columns * (width + _GAP)
        whole[top : top + height, left : left + width] = picture
    return whole
