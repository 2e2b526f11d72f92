"""Image transforms, under torchvision's names."""

from rushlight_vision.transforms import functional
from rushlight_vision.transforms.autoaugment import (
    AugMix,
    AutoAugment,
    AutoAugmentPolicy,
    RandAugment,
    TrivialAugmentWide,
)
from rushlight_vision.transforms.color import (
    ColorJitter,
    GaussianBlur,
    Grayscale,
    RandomAdjustSharpness,
    RandomAutocontrast,
    RandomEqualize,
    RandomGrayscale,
    RandomInvert,
    RandomPosterize,
    RandomSolarize,
)
from rushlight_vision.transforms.container import Compose, Lambda, RandomApply, RandomChoice, RandomOrder
from rushlight_vision.transforms.convert import PILToTensor, ToPILImage, ToTensor
from rushlight_vision.transforms.elastic import ElasticTransform
from rushlight_vision.transforms.geometry import (
    CenterCrop,
    FiveCrop,
    Pad,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
    Resize,
    TenCrop,
)
from rushlight_vision.transforms.interpolation import InterpolationMode
from rushlight_vision.transforms.rotation import RandomAffine, RandomPerspective, RandomRotation
from rushlight_vision.transforms.values import ConvertImageDtype, LinearTransformation, Normalize, RandomErasing

__all__ = [
    "AugMix",
    "AutoAugment",
    "AutoAugmentPolicy",
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "ConvertImageDtype",
    "ElasticTransform",
    "FiveCrop",
    "GaussianBlur",
    "Grayscale",
    "InterpolationMode",
    "Lambda",
    "LinearTransformation",
    "Normalize",
    "PILToTensor",
    "Pad",
    "RandAugment",
    "RandomAdjustSharpness",
    "RandomAffine",
    "RandomApply",
    "RandomAutocontrast",
    "RandomChoice",
    "RandomCrop",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomOrder",
    "RandomPerspective",
    "RandomPosterize",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSolarize",
    "RandomVerticalFlip",
    "Resize",
    "TenCrop",
    "ToPILImage",
    "ToTensor",
    "TrivialAugmentWide",
    "functional",
    "v2",
]


def __getattr__(name):
    if name == "v2":  # loads on first use
        from importlib import import_module

        return import_module(".v2", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
