"""Transforms of an image's colours and sharpness."""

from collections.abc import Sequence

import rushlight as torch
from rushlight import nn
from rushlight_vision.transforms import draw
from rushlight_vision.transforms import functional as F
from rushlight_vision.transforms._functional_pil import is_number
from rushlight_vision.transforms.arguments import size_pair


class ColorJitter(nn.Module):
    """Brightness, contrast, saturation and hue changed at random and in random order.

    Each is a number d, for factors uniform in [max(0, 1 - d), 1 + d] (hue: [-d, d]), or the range (min, max) itself.

    Shape: (*, C, H, W) -> the same
    Raises:
        ValueError: a number is negative, as in `ColorJitter(brightness=-1)`.
        ValueError: the hue's range leaves [-0.5, 0.5], as in `ColorJitter(hue=0.6)`.

    >>> ColorJitter(brightness=0.5)(ones(3, 2, 2)).shape
    torch.Size([3, 2, 2])
    """

    def __init__(
        self,
        brightness: float | Sequence[float] = 0,
        contrast: float | Sequence[float] = 0,
        saturation: float | Sequence[float] = 0,
        hue: float | Sequence[float] = 0,
    ):
        super().__init__()
        self.brightness = _factor_range(brightness, "brightness")
        self.contrast = _factor_range(contrast, "contrast")
        self.saturation = _factor_range(saturation, "saturation")
        self.hue = _factor_range(hue, "hue", center=0, bound=(-0.5, 0.5))

    @staticmethod
    def get_params(brightness, contrast, saturation, hue):
        """(order, four factors, None where there is no range): order is a tensor, a permutation of 0 to 3."""
        order = torch.randperm(4)
        ranges = (brightness, contrast, saturation, hue)
        return order, *(None if limits is None else draw.uniform(*limits) for limits in ranges)

    def forward(self, img):
        order, *factors = self.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        adjustments = (F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue)
        for index in order.tolist():
            if factors[index] is not None:
                img = adjustments[index](img, factors[index])
        return img

    def __repr__(self):
        return (
            f"{type(self).__name__}(brightness={self.brightness}, contrast={self.contrast}, "
            f"saturation={self.saturation}, hue={self.hue})"
        )


def _factor_range(value, name, center=1, bound=(0, float("inf"))):
    """(min, max), or None if that leaves the image as it is."""
    if is_number(value):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be non negative.")
        low, high = center - float(value), center + float(value)
        limits = [max(low, 0.0) if center == 1 else low, high]
    elif isinstance(value, (tuple, list)) and len(value) == 2:
        limits = [float(value[0]), float(value[1])]
    else:
        raise TypeError(f"{name} should be a single number or a list/tuple with length 2.")
    if not bound[0] <= limits[0] <= limits[1] <= bound[1]:
        raise ValueError(f"{name} values should be between {bound}, but got {limits}.")
    return None if limits[0] == limits[1] == center else tuple(limits)


class Grayscale(nn.Module):
    """The image in grey, of 1 channel or of 3 equal ones.

    Shape: (*, 3, H, W) -> (*, 1, H, W) or (*, 3, H, W)

    >>> Grayscale()(ones(3, 2, 2)).shape
    torch.Size([1, 2, 2])
    """

    def __init__(self, num_output_channels=1):
        super().__init__()
        self.num_output_channels = num_output_channels

    def forward(self, img):
        return F.rgb_to_grayscale(img, num_output_channels=self.num_output_channels)

    def __repr__(self):
        return f"{type(self).__name__}(num_output_channels={self.num_output_channels})"


class RandomGrayscale(nn.Module):
    """With probability `p` the image in grey, with as many channels as before.

    Shape: (*, C, H, W) -> the same

    >>> RandomGrayscale(1.0)(ones(3, 2, 2)).shape
    torch.Size([3, 2, 2])
    """

    def __init__(self, p=0.1):
        super().__init__()
        self.p = p

    def forward(self, img):
        channels = F.get_image_num_channels(img)
        return F.rgb_to_grayscale(img, num_output_channels=channels) if draw.chance(self.p) else img

    def __repr__(self):
        return f"{type(self).__name__}(p={self.p})"


class GaussianBlur(nn.Module):
    """The image blurred, with a standard deviation of `sigma`, or uniform in `sigma` = (min, max).

    Shape: (*, C, H, W) -> the same
    Raises:
        ValueError: the size is even, as in `GaussianBlur(2)`.

    >>> GaussianBlur(3)(ones(1, 4, 4)).shape
    torch.Size([1, 4, 4])
    """

    def __init__(self, kernel_size, sigma=(0.1, 2.0)):
        super().__init__()
        self.kernel_size = size_pair(kernel_size, "Kernel size should be a tuple/list of two integers")
        if any(size <= 0 or size % 2 == 0 for size in self.kernel_size):
            raise ValueError("Kernel size value should be an odd and positive number.")
        if is_number(sigma):
            if sigma <= 0:
                raise ValueError("If sigma is a single number, it must be positive.")
            sigma = (sigma, sigma)
        elif not (isinstance(sigma, Sequence) and len(sigma) == 2):
            raise ValueError("sigma should be a single number or a list/tuple with length 2.")
        elif not 0.0 < sigma[0] <= sigma[1]:
            raise ValueError("sigma values should be positive and of the form (min, max).")
        self.sigma = sigma

    @staticmethod
    def get_params(sigma_min, sigma_max):
        """A random standard deviation."""
        return draw.uniform(sigma_min, sigma_max)

    def forward(self, img):
        sigma = self.get_params(*self.sigma)
        return F.gaussian_blur(img, self.kernel_size, [sigma, sigma])

    def __repr__(self):
        return f"{type(self).__name__}(kernel_size={self.kernel_size}, sigma={self.sigma})"


class RandomInvert(nn.Module):
    """Colours inverted with probability `p`.

    Shape: (*, C, H, W) -> the same

    >>> RandomInvert(1.0)(tensor([[[0.25, 1.0]]]))
    tensor([[[0.7500, 0.0000]]])
    """

    def __init__(self, p=0.5):
        super().__init__()
        self.p = p

    def forward(self, img):
        return F.invert(img) if torch.rand(1).item() < self.p else img

    def __repr__(self):
        return f"{type(self).__name__}(p={self.p})"


class RandomPosterize(nn.Module):
    """With probability `p`, values with their upper `bits` bits alone.

    Shape: (*, C, H, W) uint8 -> the same

    >>> RandomPosterize(1, p=1.0)(tensor([[[255, 100]]], dtype=uint8))
    tensor([[[128,   0]]], dtype=torch.uint8)
    """

    def __init__(self, bits, p=0.5):
        super().__init__()
        self.bits = bits
        self.p = p

    def forward(self, img):
        return F.posterize(img, self.bits) if torch.rand(1).item() < self.p else img

    def __repr__(self):
        return f"{type(self).__name__}(bits={self.bits},p={self.p})"


class RandomSolarize(nn.Module):
    """With probability `p`, values from `threshold` on inverted.

    Shape: (*, C, H, W) -> the same

    >>> RandomSolarize(0.5, p=1.0)(tensor([[[0.25, 0.75]]]))
    tensor([[[0.2500, 0.2500]]])
    """

    def __init__(self, threshold, p=0.5):
        super().__init__()
        self.threshold = threshold
        self.p = p

    def forward(self, img):
        return F.solarize(img, self.threshold) if torch.rand(1).item() < self.p else img

    def __repr__(self):
        return f"{type(self).__name__}(threshold={self.threshold},p={self.p})"


class RandomAdjustSharpness(nn.Module):
    """With probability `p`, the image sharper or softer by `sharpness_factor`.

    Shape: (*, C, H, W) -> the same

    >>> RandomAdjustSharpness(2.0)(ones(3, 4, 4)).shape
    torch.Size([3, 4, 4])
    """

    def __init__(self, sharpness_factor, p=0.5):
        super().__init__()
        self.sharpness_factor = sharpness_factor
        self.p = p

    def forward(self, img):
        return F.adjust_sharpness(img, self.sharpness_factor) if torch.rand(1).item() < self.p else img

    def __repr__(self):
        return f"{type(self).__name__}(sharpness_factor={self.sharpness_factor},p={self.p})"


class RandomAutocontrast(nn.Module):
    """With probability `p`, the range of each channel stretched to the full one.

    Shape: (*, C, H, W) -> the same

    >>> RandomAutocontrast(1.0)(tensor([[[0.25, 0.5]]]))
    tensor([[[0., 1.]]])
    """

    def __init__(self, p=0.5):
        super().__init__()
        self.p = p

    def forward(self, img):
        return F.autocontrast(img) if torch.rand(1).item() < self.p else img

    def __repr__(self):
        return f"{type(self).__name__}(p={self.p})"


class RandomEqualize(nn.Module):
    """With probability `p`, the values of each channel spread to be about equally frequent.

    Shape: (*, C, H, W) uint8 -> the same
    Raises:
        TypeError: a tensor is of another type, as in `RandomEqualize(1.0)(ones(1, 2, 2))`.

    >>> RandomEqualize(1.0)(tensor([[[10, 20]]], dtype=uint8))
    tensor([[[10, 20]]], dtype=torch.uint8)
    """

    def __init__(self, p=0.5):
        super().__init__()
        self.p = p

    def forward(self, img):
        return F.equalize(img) if torch.rand(1).item() < self.p else img

    def __repr__(self):
        return f"{type(self).__name__}(p={self.p})"
