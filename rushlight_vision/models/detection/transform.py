"""Images and objects to the sizes and values that a detector works on, and what it found back to the images."""

import math

import rushlight as torch
from rushlight import Tensor, float32, nn
from rushlight.nn import functional as F
from rushlight_vision.models.detection.image_list import ImageList
from rushlight_vision.models.detection.masks import paste_masks_in_image

__all__ = ["GeneralizedRCNNTransform", "resize_boxes", "resize_keypoints"]


class GeneralizedRCNNTransform(nn.Module):
    """Normalizes and resizes each image (3, H, W), and pads them to one batch.

    min_size: the shorter side afterwards, or several, of which training chooses one at random; max_size bounds the
    longer side. size_divisible: of the batch. fixed_size: (width, height) in place of all that.
    """

    def __init__(self, min_size, max_size, image_mean, image_std, size_divisible=32, fixed_size=None, **kwargs):
        super().__init__()
        self.min_size = min_size if isinstance(min_size, (list, tuple)) else (min_size,)
        self.max_size = max_size
        self.image_mean = image_mean
        self.image_std = image_std
        self.size_divisible = size_divisible
        self.fixed_size = fixed_size
        self._skip_resize = kwargs.pop("_skip_resize", False)

    def forward(self, images, targets=None):
        """A list of images (3, H, W) and perhaps of targets -> (ImageList, list of targets or None)."""
        images = list(images)
        targets = None if targets is None else [dict(target) for target in targets]
        for i, image in enumerate(images):
            if image.dim() != 3:
                raise ValueError(f"images is expected to be a list of 3d tensors of shape [C, H, W], got {image.shape}")
            target = None if targets is None else targets[i]
            images[i], target = self.resize(self.normalize(image), target)
            if targets is not None and target is not None:
                targets[i] = target
        sizes = [(image.shape[-2], image.shape[-1]) for image in images]
        return ImageList(self.batch_images(images, size_divisible=self.size_divisible), sizes), targets

    def normalize(self, image):
        """(image - mean) / std of each channel; TypeError for integers."""
        if not image.is_floating_point():
            raise TypeError(
                f"Expected input images to be of floating type (in range [0, 1]), but found type {image.dtype} instead"
            )
        mean, std = (
            torch.as_tensor(values, dtype=image.dtype, device=image.device)[:, None, None]
            for values in (self.image_mean, self.image_std)
        )
        return (image - mean) / std

    def torch_choice(self, k):
        """One element of `k`, by the generator of tensors."""
        return k[int(torch.empty(1).uniform_(0.0, float(len(k))).item())]

    def resize(self, image, target=None):
        """The image, and its target's boxes, masks and keypoints, to the size wanted."""
        before = image.shape[-2:]
        if self.training and self._skip_resize:
            return image, target
        size = self.torch_choice(self.min_size) if self.training else self.min_size[-1]
        image, target = _resize_image_and_masks(image, size, self.max_size, target, self.fixed_size)
        if target is None:
            return image, target
        target["boxes"] = resize_boxes(target["boxes"], before, image.shape[-2:])
        if "keypoints" in target:
            target["keypoints"] = resize_keypoints(target["keypoints"], before, image.shape[-2:])
        return image, target

    def max_by_axis(self, the_list):
        """The greatest of each position."""
        return [max(values) for values in zip(*the_list)]

    def batch_images(self, images, size_divisible=32):
        """Images (C, H, W) -> (N, C, H', W'), zero where an image is smaller; H' and W' are multiples."""
        channels, *sides = self.max_by_axis([list(image.shape) for image in images])
        sides = [int(math.ceil(side / size_divisible) * size_divisible) for side in sides]
        batch = images[0].new_full([len(images), channels, *sides], 0)
        for place, image in zip(batch, images):
            place[: image.shape[0], : image.shape[1], : image.shape[2]].copy_(image)
        return batch

    def postprocess(self, result, image_shapes, original_image_sizes):
        """What was found in the resized images, in the original ones; in training as it is."""
        if self.training:
            return result
        for found, size, original in zip(result, image_shapes, original_image_sizes):
            found["boxes"] = resize_boxes(found["boxes"], size, original)
            if "masks" in found:
                found["masks"] = paste_masks_in_image(found["masks"], found["boxes"], original)
            if "keypoints" in found:
                found["keypoints"] = resize_keypoints(found["keypoints"], size, original)
        return result

    def __repr__(self):
        return (
            f"{type(self).__name__}(\n    Normalize(mean={self.image_mean}, std={self.image_std})\n"
            f"    Resize(min_size={self.min_size}, max_size={self.max_size}, mode='bilinear')\n)"
        )


def _resize_image_and_masks(image, self_min_size, self_max_size, target=None, fixed_size=None):
    height, width = image.shape[-2:]
    options: dict = (
        {"size": (fixed_size[1], fixed_size[0])}
        if fixed_size is not None
        else {
            "scale_factor": min(self_min_size / min(height, width), self_max_size / max(height, width)),
            "recompute_scale_factor": True,
        }
    )
    image = F.interpolate(image[None], mode="bilinear", align_corners=False, **options)[0]
    if target is not None and "masks" in target:
        target["masks"] = F.interpolate(target["masks"][:, None].float(), **options)[:, 0].byte()
    return image, target


def _ratios(original_size, new_size, device):
    """Of heights and of widths, as float32 tensors."""
    return [_float(new, device) / _float(old, device) for new, old in zip(new_size, original_size)]


def _float(size, device):
    """A size as a tensor; in a trace it is one."""
    return size.to(float32) if isinstance(size, Tensor) else torch.tensor(size, dtype=float32, device=device)


def resize_keypoints(keypoints, original_size, new_size):
    """Keypoints (K, points, 3: x, y, visible) of an image of one (height, width) in one of another."""
    down, across = _ratios(original_size, new_size, keypoints.device)
    resized = keypoints.clone()
    resized[..., 0] *= across
    resized[..., 1] *= down
    return resized


def resize_boxes(boxes, original_size, new_size):
    """Boxes (K, 4) of an image of one (height, width) in one of another."""
    down, across = _ratios(original_size, new_size, boxes.device)
    x1, y1, x2, y2 = boxes.unbind(1)
    return torch.stack((x1 * across, y1 * down, x2 * across, y2 * down), dim=1)
