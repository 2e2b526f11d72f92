"""How pixels between pixels are found."""

from enum import Enum


class InterpolationMode(Enum):
    """Names of interpolation methods. Tensors take the first four, PIL images all."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


# Pillow's numbers, Image.Resampling
PIL_CODES = {
    InterpolationMode.NEAREST: 0,
    InterpolationMode.NEAREST_EXACT: 0,
    InterpolationMode.LANCZOS: 1,
    InterpolationMode.BILINEAR: 2,
    InterpolationMode.BICUBIC: 3,
    InterpolationMode.BOX: 4,
    InterpolationMode.HAMMING: 5,
}
_BY_CODE = {code: mode for mode, code in PIL_CODES.items() if mode is not InterpolationMode.NEAREST_EXACT}


def as_mode(interpolation):
    """The InterpolationMode for itself or for Pillow's number; TypeError for anything else."""
    if isinstance(interpolation, InterpolationMode):
        return interpolation
    if isinstance(interpolation, int):
        return _BY_CODE[interpolation]
    raise TypeError("Argument interpolation should be a InterpolationMode or a corresponding Pillow integer constant")
