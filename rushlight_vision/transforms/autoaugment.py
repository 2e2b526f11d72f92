"""Augmentation by policies: AutoAugment (Cubuk et al., arXiv 1805.09501), RandAugment (1909.13719),
TrivialAugment (Müller and Hutter, 2103.10158) and AugMix (Hendrycks et al., 1912.02781).

The random draws come in torchvision's order.
"""

import math
from enum import Enum

import rushlight as torch
from rushlight import Tensor, int64, nn
from rushlight_vision.transforms import functional as F
from rushlight_vision.transforms.interpolation import InterpolationMode

__all__ = ["AugMix", "AutoAugment", "AutoAugmentPolicy", "RandAugment", "TrivialAugmentWide"]


def _shear(img, x, y, options):
    """Sheared by slopes, about the top left corner."""
    degrees = [math.degrees(math.atan(slope)) for slope in (x, y)]
    return F.affine(img, angle=0.0, translate=[0, 0], scale=1.0, shear=degrees, center=[0, 0], **options)


def _shift(img, x, y, options):
    return F.affine(img, angle=0.0, translate=[int(x), int(y)], scale=1.0, shear=[0.0, 0.0], **options)


# name -> function(image, magnitude, interpolation and fill)
_OPERATIONS = {
    "Identity": lambda img, m, options: img,
    "ShearX": lambda img, m, options: _shear(img, m, 0.0, options),
    "ShearY": lambda img, m, options: _shear(img, 0.0, m, options),
    "TranslateX": lambda img, m, options: _shift(img, m, 0, options),
    "TranslateY": lambda img, m, options: _shift(img, 0, m, options),
    "Rotate": lambda img, m, options: F.rotate(img, m, **options),
    "Brightness": lambda img, m, options: F.adjust_brightness(img, 1.0 + m),
    "Color": lambda img, m, options: F.adjust_saturation(img, 1.0 + m),
    "Contrast": lambda img, m, options: F.adjust_contrast(img, 1.0 + m),
    "Sharpness": lambda img, m, options: F.adjust_sharpness(img, 1.0 + m),
    "Posterize": lambda img, m, options: F.posterize(img, int(m)),
    "Solarize": lambda img, m, options: F.solarize(img, m),
    "AutoContrast": lambda img, m, options: F.autocontrast(img),
    "Equalize": lambda img, m, options: F.equalize(img),
    "Invert": lambda img, m, options: F.invert(img),
}


def _apply_op(img, op_name, magnitude, interpolation, fill):
    if op_name not in _OPERATIONS:
        raise ValueError(f"The provided operator {op_name} is not recognized.")
    return _OPERATIONS[op_name](img, magnitude, {"interpolation": interpolation, "fill": fill})


def _magnitudes(bins, shear, shift_x, shift_y, degrees, colour, bits_lost, bits=8):
    """What magnitudes the bins represent: name -> (tensor, whether its sign is random)."""
    steps = {
        "ShearX": shear,
        "ShearY": shear,
        "TranslateX": shift_x,
        "TranslateY": shift_y,
        "Rotate": degrees,
        "Brightness": colour,
        "Color": colour,
        "Contrast": colour,
        "Sharpness": colour,
    }
    space = {name: (torch.linspace(0.0, largest, bins), True) for name, largest in steps.items()}
    space["Posterize"] = (bits - (torch.arange(bins) / ((bins - 1) / bits_lost)).round().int(), False)
    space["Solarize"] = (torch.linspace(255.0, 0.0, bins), False)
    for name in ("AutoContrast", "Equalize"):
        space[name] = (torch.tensor(0.0), False)
    return space


def _fill(img, fill, channels):
    """The fill value as this kind of image takes it."""
    if fill is None or not isinstance(img, Tensor):
        return fill
    return [float(fill)] * channels if isinstance(fill, (int, float)) else [float(f) for f in fill]


def _drawn_sign(signed, magnitude):
    return -magnitude if signed and torch.randint(2, (1,)) else magnitude


class AutoAugmentPolicy(Enum):
    """The data sets for which policies were found."""

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


# two steps a line: operation, probability in tenths, magnitude's bin of 10
_POLICIES = {
    AutoAugmentPolicy.IMAGENET: """
        Posterize 4 8 Rotate 6 9
        Solarize 6 5 AutoContrast 6 -
        Equalize 8 - Equalize 6 -
        Posterize 6 7 Posterize 6 6
        Equalize 4 - Solarize 2 4
        Equalize 4 - Rotate 8 8
        Solarize 6 3 Equalize 6 -
        Posterize 8 5 Equalize 10 -
        Rotate 2 3 Solarize 6 8
        Equalize 6 - Posterize 4 6
        Rotate 8 8 Color 4 0
        Rotate 4 9 Equalize 6 -
        Equalize 0 - Equalize 8 -
        Invert 6 - Equalize 10 -
        Color 6 4 Contrast 10 8
        Rotate 8 8 Color 10 2
        Color 8 8 Solarize 8 7
        Sharpness 4 7 Invert 6 -
        ShearX 6 5 Equalize 10 -
        Color 4 0 Equalize 6 -
        Equalize 4 - Solarize 2 4
        Solarize 6 5 AutoContrast 6 -
        Invert 6 - Equalize 10 -
        Color 6 4 Contrast 10 8
        Equalize 8 - Equalize 6 -
    """,
    AutoAugmentPolicy.CIFAR10: """
        Invert 1 - Contrast 2 6
        Rotate 7 2 TranslateX 3 9
        Sharpness 8 1 Sharpness 9 3
        ShearY 5 8 TranslateY 7 9
        AutoContrast 5 - Equalize 9 -
        ShearY 2 7 Posterize 3 7
        Color 4 3 Brightness 6 7
        Sharpness 3 9 Brightness 7 9
        Equalize 6 - Equalize 5 -
        Contrast 6 7 Sharpness 6 5
        Color 7 7 TranslateX 5 8
        Equalize 3 - AutoContrast 4 -
        TranslateY 4 3 Sharpness 2 6
        Brightness 9 6 Color 2 8
        Solarize 5 2 Invert 0 -
        Equalize 2 - AutoContrast 6 -
        Equalize 2 - Equalize 6 -
        Color 9 9 Equalize 6 -
        AutoContrast 8 - Solarize 2 8
        Brightness 1 3 Color 7 0
        Solarize 4 5 AutoContrast 9 -
        TranslateY 9 9 TranslateY 7 9
        AutoContrast 9 - Solarize 8 3
        Equalize 8 - Invert 1 -
        TranslateY 7 9 AutoContrast 9 -
    """,
    AutoAugmentPolicy.SVHN: """
        ShearX 9 4 Invert 2 -
        ShearY 9 8 Invert 7 -
        Equalize 6 - Solarize 6 6
        Invert 9 - Equalize 6 -
        Equalize 6 - Rotate 9 3
        ShearX 9 4 AutoContrast 8 -
        ShearY 9 8 Invert 4 -
        ShearY 9 5 Solarize 2 6
        Invert 9 - AutoContrast 8 -
        Equalize 6 - Rotate 9 3
        ShearX 9 4 Solarize 3 3
        ShearY 8 8 Invert 7 -
        Equalize 9 - TranslateY 6 6
        Invert 9 - Equalize 6 -
        Contrast 3 3 Rotate 8 4
        Invert 8 - TranslateY 0 2
        ShearY 7 6 Solarize 4 8
        Invert 6 - Rotate 8 4
        ShearY 3 7 TranslateX 9 3
        ShearX 1 6 Invert 6 -
        Solarize 7 2 TranslateY 6 7
        ShearY 8 4 Invert 8 -
        ShearX 7 9 TranslateY 8 3
        ShearY 8 5 AutoContrast 7 -
        ShearX 7 2 Invert 1 -
    """,
}


def _parsed(line):
    words = line.split()
    steps = zip(words[::3], words[1::3], words[2::3], strict=True)
    return tuple((name, int(tenths) / 10, None if bin == "-" else int(bin)) for name, tenths, bin in steps)


class AutoAugment(nn.Module):
    """One of 25 pairs of operations, each of the two applied with its own probability.

    The image is a PIL image or a uint8 tensor (..., 1 or 3, H, W).

    Shape: (*, C, H, W) uint8 -> the same

    >>> AutoAugment()(zeros(3, 4, 4, dtype=uint8)).shape
    torch.Size([3, 4, 4])
    """

    def __init__(self, policy=AutoAugmentPolicy.IMAGENET, interpolation=InterpolationMode.NEAREST, fill=None):
        super().__init__()
        self.policy = policy
        self.interpolation = interpolation
        self.fill = fill
        self.policies = self._get_policies(policy)

    def _get_policies(self, policy):
        if policy not in _POLICIES:
            raise ValueError(f"The provided policy {policy} is not recognized.")
        return [_parsed(line) for line in _POLICIES[policy].strip().splitlines()]

    def _augmentation_space(self, num_bins, image_size):
        share = 150.0 / 331.0
        space = _magnitudes(num_bins, 0.3, share * image_size[1], share * image_size[0], 30.0, 0.9, 4)
        return {**space, "Invert": (torch.tensor(0.0), False)}

    @staticmethod
    def get_params(transform_num):
        """(index of the pair, two uniform numbers, two signs)."""
        return int(torch.randint(transform_num, (1,)).item()), torch.rand((2,)), torch.randint(2, (2,))

    def forward(self, img):
        channels, height, width = F.get_dimensions(img)
        fill = _fill(img, self.fill, channels)
        index, draws, signs = self.get_params(len(self.policies))
        space = self._augmentation_space(10, (height, width))
        for i, (name, p, bin) in enumerate(self.policies[index]):
            if draws[i] > p:
                continue
            magnitudes, signed = space[name]
            magnitude = 0.0 if bin is None else float(magnitudes[bin].item())
            if signed and signs[i] == 0:
                magnitude *= -1.0
            img = _apply_op(img, name, magnitude, self.interpolation, fill)
        return img

    def __repr__(self):
        return f"{type(self).__name__}(policy={self.policy}, fill={self.fill})"


class RandAugment(nn.Module):
    """`num_ops` random operations, all of the same magnitude, bin `magnitude` of `num_magnitude_bins`.

    The image is a PIL image or a uint8 tensor (..., 1 or 3, H, W).

    Shape: (*, C, H, W) uint8 -> the same

    >>> RandAugment()(zeros(3, 4, 4, dtype=uint8)).shape
    torch.Size([3, 4, 4])
    """

    def __init__(
        self,
        num_ops=2,
        magnitude=9,
        num_magnitude_bins=31,
        interpolation=InterpolationMode.NEAREST,
        fill=None,
    ):
        super().__init__()
        self.num_ops = num_ops
        self.magnitude = magnitude
        self.num_magnitude_bins = num_magnitude_bins
        self.interpolation = interpolation
        self.fill = fill

    def _augmentation_space(self, num_bins, image_size):
        share = 150.0 / 331.0
        space = _magnitudes(num_bins, 0.3, share * image_size[1], share * image_size[0], 30.0, 0.9, 4)
        return {"Identity": (torch.tensor(0.0), False), **space}

    def forward(self, img):
        channels, height, width = F.get_dimensions(img)
        fill = _fill(img, self.fill, channels)
        space = self._augmentation_space(self.num_magnitude_bins, (height, width))
        for _ in range(self.num_ops):
            name = list(space)[int(torch.randint(len(space), (1,)).item())]
            magnitudes, signed = space[name]
            magnitude = float(magnitudes[self.magnitude].item()) if magnitudes.ndim > 0 else 0.0
            img = _apply_op(img, name, _drawn_sign(signed, magnitude), self.interpolation, fill)
        return img

    def __repr__(self):
        names = ("num_ops", "magnitude", "num_magnitude_bins", "interpolation", "fill")
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)}' for name in names)})"


class TrivialAugmentWide(nn.Module):
    """One random operation of random magnitude.

    The image is a PIL image or a uint8 tensor (..., 1 or 3, H, W).

    Shape: (*, C, H, W) uint8 -> the same

    >>> TrivialAugmentWide()(zeros(3, 4, 4, dtype=uint8)).shape
    torch.Size([3, 4, 4])
    """

    def __init__(self, num_magnitude_bins=31, interpolation=InterpolationMode.NEAREST, fill=None):
        super().__init__()
        self.num_magnitude_bins = num_magnitude_bins
        self.interpolation = interpolation
        self.fill = fill

    def _augmentation_space(self, num_bins):
        return {"Identity": (torch.tensor(0.0), False), **_magnitudes(num_bins, 0.99, 32.0, 32.0, 135.0, 0.99, 6)}

    def forward(self, img):
        fill = _fill(img, self.fill, F.get_dimensions(img)[0])
        space = self._augmentation_space(self.num_magnitude_bins)
        name = list(space)[int(torch.randint(len(space), (1,)).item())]
        magnitudes, signed = space[name]
        magnitude = _random_magnitude(magnitudes, len(magnitudes) if magnitudes.ndim > 0 else 0)
        return _apply_op(img, name, _drawn_sign(signed, magnitude), self.interpolation, fill)

    def __repr__(self):
        names = ("num_magnitude_bins", "interpolation", "fill")
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)}' for name in names)})"


def _random_magnitude(magnitudes, bins):
    return float(magnitudes[torch.randint(bins, (1,), dtype=int64)].item()) if magnitudes.ndim > 0 else 0.0


class AugMix(nn.Module):
    """A random mixture of the image with `mixture_width` chains of random operations on it.

    severity: largest magnitude, 1 to 10. chain_depth: operations in a chain, -1 for 1 to 3 at random. alpha: parameter
    of the weights' Dirichlet distribution. The image is a PIL image or a uint8 tensor (..., 1 or 3, H, W).

    Shape: (*, C, H, W) uint8 -> the same
    Raises:
        ValueError: `severity` is outside 1 to 10, as in `AugMix(severity=11)`.

    >>> AugMix()(zeros(3, 4, 4, dtype=uint8)).shape
    torch.Size([3, 4, 4])
    """

    def __init__(
        self,
        severity=3,
        mixture_width=3,
        chain_depth=-1,
        alpha: float = 1.0,
        all_ops=True,
        interpolation=InterpolationMode.BILINEAR,
        fill=None,
    ):
        super().__init__()
        self._PARAMETER_MAX = 10
        if not (1 <= severity <= self._PARAMETER_MAX):
            raise ValueError(f"The severity must be between [1, {self._PARAMETER_MAX}]. Got {severity} instead.")
        self.severity = severity
        self.mixture_width = mixture_width
        self.chain_depth = chain_depth
        self.alpha = alpha
        self.all_ops = all_ops
        self.interpolation = interpolation
        self.fill = fill

    def _augmentation_space(self, num_bins, image_size):
        space = _magnitudes(num_bins, 0.3, image_size[1] / 3.0, image_size[0] / 3.0, 30.0, 0.9, 4, bits=4)
        colours = {name: space.pop(name) for name in ("Brightness", "Color", "Contrast", "Sharpness")}
        return {**space, **colours} if self.all_ops else space

    def _sample_dirichlet(self, params):
        return torch._sample_dirichlet(params)

    def forward(self, orig_img):
        channels, height, width = F.get_dimensions(orig_img)
        fill = _fill(orig_img, self.fill, channels)
        img = orig_img if isinstance(orig_img, Tensor) else F.pil_to_tensor(orig_img)
        space = self._augmentation_space(self._PARAMETER_MAX, (height, width))
        batch = img.view([1] * max(4 - img.ndim, 0) + list(img.shape))
        shape = [batch.size(0)] + [1] * (batch.ndim - 1)
        share = self._sample_dirichlet(torch.tensor([self.alpha, self.alpha]).expand(shape[0], -1))
        weights = self._sample_dirichlet(torch.tensor([self.alpha] * self.mixture_width).expand(shape[0], -1))
        weights = weights * share[:, 1].view([shape[0], -1])
        mix = share[:, 0].view(shape) * batch
        for i in range(self.mixture_width):
            mix.add_(weights[:, i].view(shape) * self._chain(batch, space, fill))
        mix = mix.view(img.shape).to(dtype=img.dtype)
        return mix if isinstance(orig_img, Tensor) else F.to_pil_image(mix)

    def _chain(self, img, space, fill):
        depth = self.chain_depth
        if depth <= 0:
            depth = int(torch.randint(low=1, high=4, size=(1,)).item())
        for _ in range(depth):
            name = list(space)[int(torch.randint(len(space), (1,)).item())]
            magnitudes, signed = space[name]
            magnitude = _drawn_sign(signed, _random_magnitude(magnitudes, self.severity))
            img = _apply_op(img, name, magnitude, self.interpolation, fill)
        return img

    def __repr__(self):
        names = ("severity", "mixture_width", "chain_depth", "alpha", "all_ops", "interpolation", "fill")
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)}' for name in names)})"
