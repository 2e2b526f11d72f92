"""Erasing, mixing of images and labels, JPEG, automatic augmentation, and the removal of degenerate boxes."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import rushlight as torch
from rushlight import Tensor, float32
from rushlight import bool as bool_
from rushlight.nn import functional as nnF
from rushlight.utils._pytree import tree_flatten, tree_unflatten
from rushlight_vision import tv_tensors
from rushlight_vision.transforms import _functional_pil, autoaugment, values
from rushlight_vision.transforms.v2 import functional as F
from rushlight_vision.transforms.v2.functional.kinds import is_image, is_pure_tensor, like, plain
from rushlight_vision.transforms.v2.transform import (
    RandomTransform,
    Transform,
    get_bounding_boxes,
    has_any,
    query_chw,
    query_size,
)


class RandomErasing(RandomTransform):
    """With probability `p`, a random rectangle overwritten; see the first version's."""

    def __init__(
        self, p=0.5, scale=(0.02, 0.33), ratio=(0.3, 3.3), value: float | str | Sequence[float] = 0.0, inplace=False
    ):
        super().__init__(p=p)
        values.RandomErasing(p, scale, ratio, value)
        self.scale = scale
        self.ratio = ratio
        if isinstance(value, (int, float)):
            self.value = [float(value)]
        else:
            self.value = None if isinstance(value, str) else [float(v) for v in value]
        self.inplace = inplace

    def make_params(self, flat_inputs):
        channels, height, width = query_chw(flat_inputs)
        if self.value is not None and len(self.value) not in (1, channels):
            raise ValueError(
                f"If value is a sequence, it should have either a single value or {channels} (number of inpt channels)"
            )
        canvas = torch.empty(channels, height, width)
        place = values.RandomErasing.get_params(canvas, self.scale, self.ratio, self.value)
        return {"place": None if place[-1] is canvas else place}

    def transform(self, inpt, params):
        if params["place"] is None:
            return inpt
        return self._call_kernel(F.erase, inpt, *params["place"], inplace=self.inplace)


# Mixing


def _find_labels(sample):
    """The second of a pair, or the entry of a dict whose key is or contains 'label'."""
    if isinstance(sample, (tuple, list)):
        sample = sample[1]
    if is_pure_tensor(sample):
        return sample
    if not isinstance(sample, Mapping):
        raise ValueError(
            "When using the default labels_getter, the input passed to forward must be a dictionary or a two-tuple "
            f"whose second item is a dictionary or a tensor, but got {sample} instead."
        )
    for fits in (lambda key: key.lower() == "labels", lambda key: "label" in key.lower()):
        for key in sample:
            if fits(key):
                return sample[key]
    raise ValueError(
        "Could not infer where the labels are in the sample. Try passing a callable as the labels_getter parameter?"
        "If there are no labels in the sample by design, pass labels_getter=None."
    )


def _labels_getter(labels_getter):
    if labels_getter == "default":
        return _find_labels
    if callable(labels_getter):
        return labels_getter
    if labels_getter is None:
        return lambda sample: None
    raise ValueError(f"labels_getter should either be 'default', a callable, or None, but got {labels_getter}.")


class _Mixing(Transform):
    """Mixes each image of a batch and its label with the one before it."""

    def __init__(self, *, alpha: float = 1.0, num_classes=None, labels_getter: Any = "default"):
        from rushlight.distributions import Beta

        super().__init__()
        self.alpha = float(alpha)
        self._dist = Beta(torch.tensor([alpha]), torch.tensor([alpha]))
        self.num_classes = num_classes
        self._labels_getter = _labels_getter(labels_getter)

    def forward(self, *inputs):
        sample = inputs if inputs[1:] else inputs[0]
        flat, spec = tree_flatten(sample)
        wanted = self._wanted(flat)
        unfit = (_functional_pil.is_pil_image, tv_tensors.BoundingBoxes, tv_tensors.Mask, tv_tensors.KeyPoints)
        if has_any(flat, *unfit):
            raise ValueError(
                f"{type(self).__name__}() does not support PIL images, bounding boxes, keypoints and masks."
            )
        labels = self._checked(self._labels_getter(sample))
        drawn = self.make_params([inpt for inpt, takes in zip(flat, wanted) if takes])
        done = []
        for inpt, takes in zip(flat, wanted):
            if inpt is labels:
                done.append(self._mixed_labels(inpt, drawn["lam"]))
            elif takes and is_image(inpt):
                self._check_batch(inpt, labels.shape[0])
                done.append(like(self._mixed(plain(inpt), drawn), inpt))
            else:
                done.append(inpt)
        return tree_unflatten(done, spec)

    def _checked(self, labels):
        if not isinstance(labels, Tensor):
            raise ValueError(f"The labels must be a tensor, but got {type(labels)} instead.")
        if labels.ndim not in (1, 2):
            raise ValueError(
                "labels should be index based with shape (batch_size,) or probability based with shape (batch_size, "
                f"num_classes), but got a tensor of shape {labels.shape} instead."
            )
        if labels.ndim == 2 and self.num_classes is not None and labels.shape[-1] != self.num_classes:
            raise ValueError(
                "When passing 2D labels, the number of elements in last dimension must match num_classes: "
                f"{labels.shape[-1]} != {self.num_classes}. You can Leave num_classes to None."
            )
        if labels.ndim == 1 and self.num_classes is None:
            raise ValueError("num_classes must be passed if the labels are index-based (1D)")
        return labels

    def _check_batch(self, inpt, count):
        dims = 5 if isinstance(inpt, tv_tensors.Video) else 4
        if inpt.ndim != dims:
            raise ValueError(f"Expected a batched input with {dims} dims, but got {inpt.ndim} dimensions instead.")
        if inpt.shape[0] != count:
            raise ValueError(
                "The batch size of the image or video does not match the batch size of the labels: "
                f"{inpt.shape[0]} != {count}."
            )

    def _mixed_labels(self, labels, lam):
        if labels.ndim == 1 and self.num_classes is not None:  # not None, as `_checked` says
            labels = nnF.one_hot(labels, num_classes=self.num_classes)
        labels = labels if labels.is_floating_point() else labels.to(float32)
        return labels.roll(1, 0).mul_(1.0 - lam).add_(labels.mul(lam))


class MixUp(_Mixing):
    """Weighted means of each image with the one before it (Zhang et al., arXiv 1710.09412), and of the labels.

    For batches (N, C, H, W) with labels (N,) or (N, num_classes); the weight is from Beta(alpha, alpha).
    """

    def make_params(self, flat_inputs):
        return {"lam": float(self._dist.sample(()))}

    def _mixed(self, images, drawn):
        return images.roll(1, 0).mul_(1.0 - drawn["lam"]).add_(images.mul(drawn["lam"]))


class CutMix(_Mixing):
    """A rectangle of the image before it pasted into each (Yun et al., arXiv 1905.04899), the labels by its area.

    For batches (N, C, H, W) with labels (N,) or (N, num_classes).
    """

    def make_params(self, flat_inputs):
        lam = float(self._dist.sample(()))
        height, width = query_size(flat_inputs)
        x, y = int(torch.randint(width, size=(1,))), int(torch.randint(height, size=(1,)))
        half = 0.5 * math.sqrt(1.0 - lam)
        wide, high = int(half * width), int(half * height)
        left, right = max(x - wide, 0), min(x + wide, width)
        top, bottom = max(y - high, 0), min(y + high, height)
        area = (right - left) * (bottom - top)
        return {"box": (left, top, right, bottom), "lam": float(1.0 - area / (width * height))}

    def _mixed(self, images, drawn):
        left, top, right, bottom = drawn["box"]
        out = images.clone()
        out[..., top:bottom, left:right] = images.roll(1, 0)[..., top:bottom, left:right]
        return out


class JPEG(Transform):
    """What a JPEG file of a quality, or one drawn from (min, max), leaves of the image."""

    def __init__(self, quality):
        super().__init__()
        if isinstance(quality, bool):
            raise TypeError("quality can't be bool")
        quality = [quality, quality] if isinstance(quality, int) else quality
        if (
            len(quality) != 2
            or not all(isinstance(q, int) for q in quality)
            or not (1 <= quality[0] <= quality[1] <= 100)
        ):
            raise ValueError(f"quality must be an integer from 1 to 100, got quality ={quality!r}")
        self.quality = quality

    def make_params(self, flat_inputs):
        return {"quality": torch.randint(self.quality[0], self.quality[1] + 1, ()).item()}

    def transform(self, inpt, params):
        return self._call_kernel(F.jpeg, inpt, params["quality"])


# Automatic augmentation: the first version's operations, with draws in the second version's order


class _Automatic(Transform):
    """One image of a sample, augmented; the rest stays as it is."""

    _first: Callable[..., Any]

    def __init__(self, *args, **kwargs):
        super().__init__()
        self._policy = self._first(*args, **kwargs)
        for name, value in vars(self._policy).items():
            if not name.startswith("_") and name not in ("training", "policies"):
                setattr(self, name, value)

    def check_inputs(self, flat_inputs):
        for kind in (tv_tensors.BoundingBoxes, tv_tensors.Mask, tv_tensors.KeyPoints):
            if has_any(flat_inputs, kind):
                raise TypeError(f"Inputs of type {kind.__name__} are not supported by {type(self).__name__}()")

    def _operate(self, inpt, name, magnitude):
        if name == "Solarize":  # the second version counts thresholds in shares of the range, where rounding differs
            bound = 1.0 if isinstance(inpt, Tensor) and inpt.is_floating_point() else 255.0
            return self._call_kernel(F.solarize, inpt, bound * magnitude)
        if name == "AutoContrast":
            return self._call_kernel(F.autocontrast, inpt)
        channels = F.get_dimensions(inpt)[0]
        fill = autoaugment._fill(plain(inpt), self.fill, channels)
        return like(autoaugment._apply_op(plain(inpt), name, magnitude, self.interpolation, fill), inpt)

    def _space(self, bins, *size):
        space = self._policy._augmentation_space(bins, *size)
        space["Solarize"] = (torch.linspace(1.0, 0.0, bins), False)
        return space

    def _signed(self, signed, magnitude):
        return -magnitude if signed and torch.rand(()) <= 0.5 else magnitude


class RandAugment(_Automatic):
    """`num_ops` random operations of one magnitude; see the first version's."""

    _first = autoaugment.RandAugment

    def transform(self, inpt, params):
        space = self._space(self.num_magnitude_bins, F.get_size(inpt))
        for _ in range(self.num_ops):
            name = list(space)[int(torch.randint(len(space), ()))]
            magnitudes, signed = space[name]
            magnitude = float(magnitudes[self.magnitude]) if magnitudes.ndim else 0.0
            inpt = self._operate(inpt, name, self._signed(signed, magnitude))
        return inpt


class TrivialAugmentWide(_Automatic):
    """One random operation of random magnitude; see the first version's."""

    _first = autoaugment.TrivialAugmentWide

    def transform(self, inpt, params):
        space = self._space(self.num_magnitude_bins)
        name = list(space)[int(torch.randint(len(space), ()))]
        magnitudes, signed = space[name]
        magnitude = float(magnitudes[int(torch.randint(self.num_magnitude_bins, ()))]) if magnitudes.ndim else 0.0
        return self._operate(inpt, name, self._signed(signed, magnitude))


class AutoAugment(_Automatic):
    """One of 25 pairs of operations; see the first version's."""

    _first = autoaugment.AutoAugment

    def transform(self, inpt, params):
        policies = self._policy.policies
        space = self._space(10, F.get_size(inpt))
        for name, probability, bin in policies[int(torch.randint(len(policies), ()))]:
            if not torch.rand(()) <= probability:
                continue
            magnitudes, signed = space[name]
            magnitude = 0.0 if bin is None else self._signed(signed, float(magnitudes[bin]))
            inpt = self._operate(inpt, name, magnitude)
        return inpt


class AugMix(_Automatic):
    """A mixture of chains of operations. Not implemented in this version; `transforms.AugMix` is the first one's."""

    _first = autoaugment.AugMix

    def transform(self, inpt, params):
        raise NotImplementedError("transforms.v2.AugMix is not implemented in Rushlight; transforms.AugMix is")


# Degenerate boxes


class SanitizeBoundingBoxes(Transform):
    """Boxes without area or partly outside the image removed, and with them their labels and masks.

    min_size, min_area: smallest side and area that stay. labels_getter: 'default', a callable from the sample to a
    tensor or a tuple of tensors, or None.
    """

    def __init__(self, min_size=1.0, min_area=1.0, labels_getter: Any = "default"):
        super().__init__()
        if min_size < 1:
            raise ValueError(f"min_size must be >= 1, got {min_size}.")
        if min_area < 1:
            raise ValueError(f"min_area must be >= 1, got {min_area}.")
        self.min_size = min_size
        self.min_area = min_area
        self.labels_getter = labels_getter
        self._labels_getter = _labels_getter(labels_getter)

    def forward(self, *inputs):
        sample = inputs if inputs[1:] else inputs[0]
        labels = self._labels_getter(sample)
        labels = labels if isinstance(labels, (tuple, list)) else () if labels is None else (labels,)
        flat, spec = tree_flatten(sample)
        boxes = get_bounding_boxes(flat)
        for part in labels:
            if not isinstance(part, Tensor):
                raise ValueError(f"The labels in the input to forward() must be a tensor or None, got {type(part)}.")
            if part.shape[0] != boxes.shape[0]:
                raise ValueError(
                    f"Number of boxes (shape={boxes.shape}) and must match the number of labels."
                    f"Found labels with shape={part.shape})."
                )
        valid = _valid_boxes(boxes, self.min_size, self.min_area)
        done = [like(plain(inpt)[valid], inpt) if self._belongs(inpt, labels, len(valid)) else inpt for inpt in flat]
        return tree_unflatten(done, spec)

    def _belongs(self, inpt, labels, count):
        if isinstance(inpt, tv_tensors.Mask):
            return inpt.ndim > 2 and inpt.shape[0] == count
        return isinstance(inpt, tv_tensors.BoundingBoxes) or any(inpt is part for part in labels)


def _valid_boxes(boxes, min_size, min_area):
    """bool (N,): which boxes are large enough and inside the image."""
    format = tv_tensors.BoundingBoxFormat.XYXY
    corners = F.convert_bounding_box_format(plain(boxes), boxes.format, format)
    width, height = corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1]
    valid = (width >= min_size) & (height >= min_size) & (width * height >= min_area) & (corners >= 0).all(dim=-1)
    high, wide = boxes.canvas_size
    return (valid & (corners[:, 2] <= wide) & (corners[:, 3] <= high)).to(bool_)


class SanitizeKeyPoints(Transform):
    """Not implemented."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("transforms.v2.SanitizeKeyPoints is not implemented in Rushlight")
