"""What published weights want done to an image before a model sees it. These are made by `weights.transforms()`."""

from rushlight import Tensor, float32, nn
from rushlight_vision.transforms import functional as F
from rushlight_vision.transforms.interpolation import InterpolationMode

__all__ = ["ImageClassification", "ObjectDetection", "SemanticSegmentation"]

_MEAN = (0.485, 0.456, 0.406)  # of ImageNet's training images
_STD = (0.229, 0.224, 0.225)


class ObjectDetection(nn.Module):
    """A PIL image or tensor as a float tensor in [0, 1]."""

    def forward(self, img):
        return F.convert_image_dtype(img if isinstance(img, Tensor) else F.pil_to_tensor(img), float32)

    def __repr__(self):
        return f"{type(self).__name__}()"

    def describe(self):
        """In words."""
        return (
            "Accepts ``PIL.Image``, batched ``(B, C, H, W)`` and single ``(C, H, W)`` image ``torch.Tensor`` objects. "
            "The images are rescaled to ``[0.0, 1.0]``."
        )


class _Normalized(nn.Module):
    """Resized, made float, and normalized."""

    def __init__(self, resize_size, mean, std, interpolation, antialias):
        super().__init__()
        self.resize_size = resize_size
        self.mean = list(mean)
        self.std = list(std)
        self.interpolation = interpolation
        self.antialias = antialias

    def forward(self, img):
        img = self._sized(img)
        img = F.convert_image_dtype(img if isinstance(img, Tensor) else F.pil_to_tensor(img), float32)
        return F.normalize(img, mean=self.mean, std=self.std)

    def _resized(self, img):
        return F.resize(img, self.resize_size, interpolation=self.interpolation, antialias=self.antialias)

    def __repr__(self):
        names = ["crop_size"] * hasattr(self, "crop_size") + ["resize_size", "mean", "std", "interpolation"]
        return "\n".join([f"{type(self).__name__}(", *(f"    {n}={getattr(self, n)}" for n in names), ")"])

    def describe(self):
        """In words."""
        crop = f", followed by a central crop of ``crop_size={self.crop_size}``" if hasattr(self, "crop_size") else ""
        return (
            "Accepts ``PIL.Image``, batched ``(B, C, H, W)`` and single ``(C, H, W)`` image ``torch.Tensor`` objects. "
            f"The images are resized to ``resize_size={self.resize_size}`` using "
            f"``interpolation={self.interpolation}``{crop}. Finally the values are first rescaled to ``[0.0, 1.0]`` and "
            f"then normalized using ``mean={self.mean}`` and ``std={self.std}``."
        )


class ImageClassification(_Normalized):
    """Resized by the shorter edge, the middle cut out, made float and normalized."""

    def __init__(
        self,
        *,
        crop_size,
        resize_size=256,
        mean=_MEAN,
        std=_STD,
        interpolation=InterpolationMode.BILINEAR,
        antialias=True,
    ):
        super().__init__([resize_size], mean, std, interpolation, antialias)
        self.crop_size = [crop_size]

    def _sized(self, img):
        return F.center_crop(self._resized(img), self.crop_size)


class SemanticSegmentation(_Normalized):
    """Resized by the shorter edge unless resize_size is None, made float and normalized."""

    def __init__(self, *, resize_size, mean=_MEAN, std=_STD, interpolation=InterpolationMode.BILINEAR, antialias=True):
        sizes = None if resize_size is None else [resize_size]
        super().__init__(sizes, mean, std, interpolation, antialias)

    def _sized(self, img):
        return img if self.resize_size is None else self._resized(img)
