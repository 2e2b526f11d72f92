"""Arrays for TensorBoard: from tensors, to pictures, grids of pictures and clips."""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight.core.tensor.dtype import bfloat16, float16
from rushlight.core.tensor.tensor import Tensor

__all__ = ["boxed", "figure_to_image", "frames_of", "gif", "grid", "make_np", "png", "to_bytes", "to_rows"]


def make_np(x: Any) -> np.ndarray:
    """A number, ndarray or tensor as an ndarray."""
    if isinstance(x, np.ndarray):
        return x
    if np.isscalar(x):
        return np.array([x])
    if isinstance(x, Tensor):
        x = x.detach()
        return (x.to(float16) if x.dtype is bfloat16 else x).numpy()  # type: ignore[attr-defined]
    raise NotImplementedError(f"Got {type(x)}, but numpy array or torch tensor are expected.")


def to_bytes(array: np.ndarray) -> np.ndarray:
    """Pixels from 0 to 255: bytes as they are, other types from 0 to 1."""
    scale = 1 if array.dtype == np.uint8 else 255
    return (array.astype(np.float32) * scale).clip(0, 255).astype(np.uint8)


def grid(images: np.ndarray, columns: int = 8) -> np.ndarray:
    """Pictures side by side. Shape: (N, 1 or 3, H, W) -> (3, rows H, columns W)"""
    if images.shape[1] == 1:
        images = np.repeat(images, 3, 1)
    if images.ndim != 4 or images.shape[1] != 3:
        raise AssertionError(f"Input should be a 4D numpy array with 3 channels, got shape {images.shape}")
    n, _, h, w = images.shape
    columns = min(n, columns)
    canvas = np.zeros((3, h * -(-n // columns), w * columns), images.dtype)
    for i, picture in enumerate(images):
        y, x = i // columns * h, i % columns * w
        canvas[:, y : y + h, x : x + w] = picture
    return canvas


def to_rows(array: np.ndarray, dataformats: str) -> np.ndarray:
    """A picture, or several in a grid, as (H, W, 3). `dataformats` names the array's dimensions, such as 'CHW'."""
    if len(set(dataformats)) != len(dataformats):
        raise AssertionError(f"You can not use the same dimension shorthand twice. input_format: {dataformats}")
    if array.ndim != len(dataformats):
        raise AssertionError(
            "size of input tensor and input format are different. "
            f"tensor shape: {array.shape}, input_format: {dataformats}"
        )
    letters = dataformats.upper()
    if len(letters) == 4:
        return grid(array.transpose([letters.find(c) for c in "NCHW"])).transpose(1, 2, 0)
    if len(letters) == 3:
        array = array.transpose([letters.find(c) for c in "HWC"])
        return np.repeat(array, 3, 2) if array.shape[2] == 1 else array
    array = array.transpose([letters.find(c) for c in "HW"])
    return np.stack([array] * 3, 2)


def png(pixels: np.ndarray, rescale: float = 1, boxes: Any = None, labels: Any = None) -> bytes:
    """A PNG file of (H, W, channels) bytes, with boxes drawn on it."""
    from io import BytesIO

    from PIL import Image

    height, width, _ = pixels.shape
    image = Image.fromarray(pixels)
    if boxes is not None:
        boxed(image, boxes, labels)
    image = image.resize((int(width * rescale), int(height * rescale)), Image.Resampling.LANCZOS)
    file = BytesIO()
    image.save(file, format="PNG")
    return file.getvalue()


def boxed(image: Any, boxes: np.ndarray, labels: Any = None) -> None:
    """Draw red boxes (left, top, right, bottom), each with its label, on a Pillow image."""
    from PIL import ImageDraw, ImageFont

    draw, font = ImageDraw.Draw(image), ImageFont.load_default()
    for i, (left, top, right, bottom) in enumerate(boxes[:, :4]):
        corners = [(left, top), (left, bottom), (right, bottom), (right, top), (left, top)]
        draw.line(corners, width=2, fill="Red")
        if labels is not None and labels[i]:
            x0, y0, x1, y1 = font.getbbox(labels[i])
            width, height = x1 - x0, y1 - y0
            margin = np.ceil(0.05 * height)
            draw.rectangle([(left, bottom - height - 2 * margin), (left + width, bottom)], fill="Red")
            draw.text((left + margin, bottom - height - margin), labels[i], fill="black", font=font)


def figure_to_image(figures: Any, close: bool = True) -> np.ndarray:
    """A Matplotlib figure as (3, H, W) bytes; a list of figures as (N, 3, H, W). `close` closes them."""
    if isinstance(figures, list):
        return np.stack([figure_to_image(figure, close) for figure in figures])
    import matplotlib.pyplot as plt
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figures)
    canvas.draw()
    width, height = figures.canvas.get_width_height()
    pixels = np.frombuffer(canvas.buffer_rgba(), np.uint8).reshape(height, width, 4)[:, :, :3]
    if close:
        plt.close(figures)
    return np.moveaxis(pixels, 2, 0)


def frames_of(clips: np.ndarray) -> np.ndarray:
    """Clips side by side, padded to a power of two. Shape: (B, T, C, H, W) -> (T, rows H, columns W, C)"""
    b, t, c, h, w = clips.shape
    if clips.dtype == np.uint8:
        clips = np.float32(clips) / 255.0  # type: ignore[assignment]
    padded = 1 << (b - 1).bit_length()
    if padded != b:
        clips = np.concatenate([clips, np.zeros((padded - b, t, c, h, w))])
    rows = 1 << (b.bit_length() - 1) // 2
    tiles = clips.reshape(rows, padded // rows, t, c, h, w).transpose(2, 0, 4, 1, 5, 3)
    return tiles.reshape(t, rows * h, padded // rows * w, c)


def gif(frames: np.ndarray, fps: float) -> bytes:
    """A moving picture that repeats. Shape: (T, H, W, C) bytes"""
    import io

    from PIL import Image

    first, *rest = [Image.fromarray(frame[:, :, 0] if frame.shape[2] == 1 else frame) for frame in frames]
    file = io.BytesIO()
    first.save(file, "GIF", save_all=True, append_images=rest, duration=1000 / fps, loop=0)
    return file.getvalue()
