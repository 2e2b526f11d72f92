"""Points in many dimensions, with labels and pictures, as files for TensorBoard's projector."""

# the package tensorboard is optional
# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from .images import grid, make_np

__all__ = ["describe", "write_points"]


def write_points(folder: str, points: np.ndarray, labels: Any, header: Any, images: Any) -> None:
    """The files of one set of points: tensors.tsv, metadata.tsv, sprite.png."""
    if labels is not None:
        if len(points) != len(labels):
            raise AssertionError("#labels should equal with #data points")
        _write(folder, "metadata.tsv", _table(labels, header))
    if images is not None:
        if len(points) != len(images):
            raise AssertionError("#images should equal with #data points")
        _write_sprite(images, os.path.join(folder, "sprite.png"))
    if points.ndim != 2:
        raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
    _write(folder, "tensors.tsv", "".join("\t".join(str(x.item()) for x in row) + "\n" for row in points))


def _table(labels: Any, header: Any) -> str:
    if not header:
        return "\n".join(map(str, labels)) + "\n"
    if len(header) != len(labels[0]):
        raise AssertionError("len of header must be equal to the number of columns in metadata")
    return "\n".join("\t".join(map(str, row)) for row in [header, *labels]) + "\n"


def _write(folder: str, name: str, text: str) -> None:
    with open(os.path.join(folder, name), "w", encoding="utf-8", newline="") as file:
        file.write(text)


def _write_sprite(images: Any, path: str) -> None:
    """All pictures in one square."""
    from PIL import Image

    joined = grid(make_np(images), columns=math.ceil(len(images) ** 0.5)).transpose(1, 2, 0)
    square = np.zeros((joined.shape[1], joined.shape[1], 3))
    square[: joined.shape[0]] = joined
    Image.fromarray(np.uint8((square * 255).clip(0, 255))).save(path, format="PNG")


def describe(labels: Any, images: Any, subfolder: str, step: Any, tag: str) -> Any:
    """The entry of one set of points in the projector's configuration."""
    from tensorboard.plugins.projector.projector_config_pb2 import EmbeddingInfo

    info = EmbeddingInfo(tensor_name=f"{tag}:{str(step).zfill(5)}", tensor_path=os.path.join(subfolder, "tensors.tsv"))
    if labels is not None:
        info.metadata_path = os.path.join(subfolder, "metadata.tsv")
    if images is not None:
        info.sprite.image_path = os.path.join(subfolder, "sprite.png")
        info.sprite.single_image_dim.extend([images.shape[3], images.shape[2]])
    return info
