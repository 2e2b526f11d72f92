"""Transforms of an image's colours and sharpness; masks, boxes and points stay as they are."""

import rushlight as torch
from rushlight_vision.transforms import color as v1
from rushlight_vision.transforms import draw
from rushlight_vision.transforms.arguments import size_pair
from rushlight_vision.transforms.v2 import functional as F
from rushlight_vision.transforms.v2.transform import RandomTransform, Transform, query_chw


class Grayscale(Transform):
    """In grey, of 1 channel or of 3 equal ones."""

    def __init__(self, num_output_channels=1):
        super().__init__()
        self.num_output_channels = num_output_channels

    def transform(self, inpt, params):
        return self._call_kernel(F.rgb_to_grayscale, inpt, self.num_output_channels)


class RandomGrayscale(RandomTransform):
    """With probability `p` in grey, with as many channels as before."""

    def __init__(self, p=0.1):
        super().__init__(p=p)

    def make_params(self, flat_inputs):
        return {"channels": query_chw(flat_inputs)[0]}

    def transform(self, inpt, params):
        return self._call_kernel(F.rgb_to_grayscale, inpt, params["channels"])


class RGB(Transform):
    """With three channels."""

    def transform(self, inpt, params):
        return self._call_kernel(F.grayscale_to_rgb, inpt)


_ADJUSTMENTS = (F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue)


class ColorJitter(Transform):
    """Brightness, contrast, saturation and hue changed at random and in random order; see the first version's."""

    def __init__(self, brightness=None, contrast=None, saturation=None, hue=None):
        super().__init__()
        checked = v1.ColorJitter(*(0 if value is None else value for value in (brightness, contrast, saturation, hue)))
        self.brightness = checked.brightness
        self.contrast = checked.contrast
        self.saturation = checked.saturation
        self.hue = checked.hue

    def make_params(self, flat_inputs):
        order, *factors = v1.ColorJitter.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        return {"order": order.tolist(), "factors": factors}

    def transform(self, inpt, params):
        for index in params["order"]:
            if params["factors"][index] is not None:
                inpt = self._call_kernel(_ADJUSTMENTS[index], inpt, params["factors"][index])
        return inpt


class RandomChannelPermutation(Transform):
    """The channels in random order."""

    def make_params(self, flat_inputs):
        return {"permutation": torch.randperm(query_chw(flat_inputs)[0])}

    def transform(self, inpt, params):
        return self._call_kernel(F.permute_channels, inpt, params["permutation"])


class RandomPhotometricDistort(Transform):
    """Each of brightness, contrast, saturation, hue and channel order changed with probability `p`."""

    def __init__(
        self,
        brightness=(0.875, 1.125),
        contrast=(0.5, 1.5),
        saturation=(0.5, 1.5),
        hue=(-0.05, 0.05),
        p=0.5,
    ):
        super().__init__()
        self.brightness = brightness
        self.contrast = contrast
        self.hue = hue
        self.saturation = saturation
        self.p = p

    def make_params(self, flat_inputs):
        channels = query_chw(flat_inputs)[0]
        ranges = (self.brightness, self.contrast, self.saturation, self.hue)
        factors = [draw.uniform(*limits) if torch.rand(1) < self.p else None for limits in ranges]
        early = bool(torch.rand(()) < 0.5)
        order = (0, 1, 2, 3) if early else (0, 2, 3, 1)
        permutation = torch.randperm(channels) if torch.rand(1) < self.p else None
        return {"factors": factors, "order": order, "permutation": permutation}

    def transform(self, inpt, params):
        for index in params["order"]:
            if params["factors"][index] is not None:
                inpt = self._call_kernel(_ADJUSTMENTS[index], inpt, params["factors"][index])
        if params["permutation"] is not None:
            inpt = self._call_kernel(F.permute_channels, inpt, params["permutation"])
        return inpt


class RandomEqualize(RandomTransform):
    """With probability `p`, the values of each channel about equally frequent."""

    def transform(self, inpt, params):
        return self._call_kernel(F.equalize, inpt)


class RandomInvert(RandomTransform):
    """Colours inverted with probability `p`."""

    def transform(self, inpt, params):
        return self._call_kernel(F.invert, inpt)


class RandomAutocontrast(RandomTransform):
    """With probability `p`, the range of each channel stretched to the full one."""

    def transform(self, inpt, params):
        return self._call_kernel(F.autocontrast, inpt)


class RandomPosterize(RandomTransform):
    """With probability `p`, values with their upper `bits` bits alone."""

    def __init__(self, bits, p=0.5):
        super().__init__(p=p)
        self.bits = bits

    def transform(self, inpt, params):
        return self._call_kernel(F.posterize, inpt, self.bits)


class RandomSolarize(RandomTransform):
    """With probability `p`, values from `threshold` on inverted."""

    def __init__(self, threshold, p=0.5):
        super().__init__(p=p)
        self.threshold = threshold

    def transform(self, inpt, params):
        return self._call_kernel(F.solarize, inpt, self.threshold)


class RandomAdjustSharpness(RandomTransform):
    """With probability `p`, sharper or softer by `sharpness_factor`."""

    def __init__(self, sharpness_factor, p=0.5):
        super().__init__(p=p)
        self.sharpness_factor = sharpness_factor

    def transform(self, inpt, params):
        return self._call_kernel(F.adjust_sharpness, inpt, self.sharpness_factor)


class GaussianBlur(Transform):
    """Blurred, with a standard deviation drawn from `sigma`."""

    def __init__(self, kernel_size, sigma=(0.1, 2.0)):
        super().__init__()
        checked = v1.GaussianBlur(kernel_size, sigma)
        self.kernel_size = size_pair(kernel_size)
        self.sigma = list(checked.sigma)

    def make_params(self, flat_inputs):
        sigma = draw.uniform(*self.sigma)
        return {"sigma": [sigma, sigma]}

    def transform(self, inpt, params):
        return self._call_kernel(F.gaussian_blur, inpt, self.kernel_size, params["sigma"])


class GaussianNoise(Transform):
    """With normal noise of that deviation added."""

    def __init__(self, mean: float = 0.0, sigma: float = 0.1, clip=True):
        super().__init__()
        self.mean = mean
        self.sigma = sigma
        self.clip = clip

    def transform(self, inpt, params):
        return self._call_kernel(F.gaussian_noise, inpt, self.mean, self.sigma, self.clip)
