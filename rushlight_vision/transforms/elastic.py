"""Transforms that warp the image in all places differently."""

from collections.abc import Sequence

import rushlight as torch
from rushlight import nn
from rushlight_vision.transforms import functional as F
from rushlight_vision.transforms.interpolation import InterpolationMode, as_mode


class ElasticTransform(nn.Module):
    """The image warped by smooth random displacements (Simard et al., 2003).

    alpha: size of the displacements in pixels before smoothing, a float or (x, y). sigma: width of the smoothing.
    fill: the value outside the image, one or one per channel.

    Shape: (*, C, H, W) -> the same
    Raises:
        ValueError: `alpha` is no number or pair, as in `ElasticTransform(alpha=(1.0, 2.0, 3.0))`.

    >>> ElasticTransform()(ones(1, 32, 32)).shape
    torch.Size([1, 32, 32])
    """

    def __init__(
        self,
        alpha: float | Sequence[float] = 50.0,
        sigma: float | Sequence[float] = 5.0,
        interpolation=InterpolationMode.BILINEAR,
        fill: float | Sequence[float] = 0,
    ):
        super().__init__()
        self.alpha = _pair(alpha, "alpha")
        self.sigma = _pair(sigma, "sigma")
        self.interpolation = as_mode(interpolation) if isinstance(interpolation, int) else interpolation
        if not isinstance(fill, (int, float, list, tuple)):
            raise TypeError(f"fill should be int or float or a list or tuple of them. Got {type(fill)}")
        self.fill = [float(fill)] if isinstance(fill, (int, float)) else [float(f) for f in fill]

    @staticmethod
    def get_params(alpha, sigma, size):
        """Displacements (1, H, W, 2) in halves of the size, for an image of size [H, W]."""
        height, width = size
        across = _smooth(size, sigma[0], sigma) * alpha[0] / width
        down = _smooth(size, sigma[1], sigma) * alpha[1] / height
        return torch.cat([across, down], 1).permute([0, 2, 3, 1])

    def forward(self, tensor):
        _, height, width = F.get_dimensions(tensor)
        displacement = self.get_params(self.alpha, self.sigma, [height, width])
        return F.elastic_transform(tensor, displacement, self.interpolation, self.fill)

    def __repr__(self):
        names = ("alpha", "sigma", "interpolation", "fill")
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)}' for name in names)})"


def _smooth(size, own_sigma, sigma):
    """Uniform noise (1, 1, H, W) in [-1, 1], blurred."""
    noise = torch.rand([1, 1, *size]) * 2 - 1
    if own_sigma <= 0.0:
        return noise
    window = int(8 * own_sigma + 1) | 1
    return F.gaussian_blur(noise, [window, window], sigma)


def _pair(value, name):
    if not isinstance(value, (float, Sequence)):
        raise TypeError(f"{name} should be float or a sequence of floats. Got {type(value)}")
    if isinstance(value, float):
        return [value, value]
    if len(value) != 2:
        raise ValueError(f"If {name} is a sequence its length should be 2. Got {len(value)}")
    for element in value:
        if not isinstance(element, float):
            raise TypeError(f"{name} should be a sequence of floats. Got {type(element)}")
    return value
