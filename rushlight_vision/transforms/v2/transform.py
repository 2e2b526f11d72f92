"""Transform, the base of `transforms.v2`: takes any nesting of dicts, lists and tuples and transforms what it knows."""

import enum

import rushlight as torch
from rushlight import Tensor, nn
from rushlight.utils._pytree import tree_flatten, tree_unflatten
from rushlight_vision import tv_tensors
from rushlight_vision.transforms import _functional_pil
from rushlight_vision.transforms.v2 import functional as F
from rushlight_vision.transforms.v2.functional.kinds import is_pure_tensor


class Transform(nn.Module):
    """Base of all. Subclasses define `transform(inpt, params)` and, for random ones, `make_params(flat_inputs)`.

    A sample is an image, or any nesting with images, films, masks, boxes and points in it; a plain tensor counts as an
    image only if it is the first and there is no image of another kind.
    """

    _function = None  # the function of `functional` that does it, where that is all

    def check_inputs(self, flat_inputs):
        """Raise for samples that the transform is not for."""

    def make_params(self, flat_inputs):
        """The random numbers, once for the whole sample."""
        return {}

    def transform(self, inpt, params):
        """One input, transformed."""
        raise NotImplementedError

    def _handles(self, inpt):
        return isinstance(inpt, Tensor) or _functional_pil.is_pil_image(inpt)

    def _call_kernel(self, functional, inpt, *args, **kwargs):
        """The function's result, or the input itself where the function is not for its kind."""
        handles = getattr(functional, "handles", None)
        return functional(inpt, *args, **kwargs) if handles is None or handles(inpt) else inpt

    def forward(self, *inputs):
        sample = inputs if inputs[1:] else inputs[0]
        flat, spec = tree_flatten(sample)
        self.check_inputs(flat)
        return self._applied(flat, spec)

    def _applied(self, flat, spec):
        wanted = self._wanted(flat)
        params = self.make_params([inpt for inpt, takes in zip(flat, wanted) if takes])
        done = [self.transform(inpt, params) if takes else inpt for inpt, takes in zip(flat, wanted)]
        return tree_unflatten(done, spec)

    def _wanted(self, flat):
        plain_counts = not has_any(flat, tv_tensors.Image, tv_tensors.Video, _functional_pil.is_pil_image)
        wanted = []
        for inpt in flat:
            takes = self._handles(inpt)
            if takes and is_pure_tensor(inpt):
                takes, plain_counts = plain_counts, False
            wanted.append(takes)
        return wanted

    def extra_repr(self):
        kinds = (bool, int, float, str, tuple, list, enum.Enum)
        shown = {
            name: value
            for name, value in self.__dict__.items()
            if not name.startswith("_") and name != "training" and isinstance(value, kinds)
        }
        return ", ".join(f"{name}={value}" for name, value in shown.items())


class RandomTransform(Transform):
    """A transform that happens with probability `p`."""

    def __init__(self, p=0.5):
        if not (0.0 <= p <= 1.0):
            raise ValueError("`p` should be a floating point value in the interval [0.0, 1.0].")
        super().__init__()
        self.p = p

    def forward(self, *inputs):
        sample = inputs if inputs[1:] else inputs[0]
        flat, spec = tree_flatten(sample)
        self.check_inputs(flat)
        return sample if torch.rand(1) >= self.p else self._applied(flat, spec)


# Questions about samples


def check_type(obj, types_or_checks):
    """Whether one of the types is the object's or one of the predicates is true of it."""
    return any(isinstance(obj, t) if isinstance(t, type) else t(obj) for t in types_or_checks)


def has_any(flat_inputs, *types_or_checks):
    """Whether one of the inputs passes `check_type`."""
    return any(check_type(inpt, types_or_checks) for inpt in flat_inputs)


def has_all(flat_inputs, *types_or_checks):
    """Whether each of the types is found among the inputs."""
    return all(has_any(flat_inputs, kind) for kind in types_or_checks)


_IMAGES = (is_pure_tensor, tv_tensors.Image, _functional_pil.is_pil_image, tv_tensors.Video)


def query_chw(flat_inputs):
    """(C, H, W) of the images; TypeError if there is none, ValueError if they differ."""
    found = {tuple(F.get_dimensions(inpt)) for inpt in flat_inputs if check_type(inpt, _IMAGES)}
    if not found:
        raise TypeError("No image or video was found in the sample")
    if len(found) > 1:
        raise ValueError(f"Found multiple CxHxW dimensions in the sample: {sorted(found)}")
    return found.pop()


def query_size(flat_inputs):
    """(H, W) of all that has a size; TypeError if nothing has, ValueError if they differ."""
    kinds = (*_IMAGES, tv_tensors.Mask, tv_tensors.BoundingBoxes, tv_tensors.KeyPoints)
    found = {tuple(F.get_size(inpt)) for inpt in flat_inputs if check_type(inpt, kinds)}
    if not found:
        raise TypeError("No image, video, mask, bounding box of keypoint was found in the sample")
    if len(found) > 1:
        raise ValueError(f"Found multiple HxW dimensions in the sample: {sorted(found)}")
    return found.pop()


def get_bounding_boxes(flat_inputs):
    """The first boxes of the sample; ValueError if there are none."""
    for inpt in flat_inputs:
        if isinstance(inpt, tv_tensors.BoundingBoxes):
            return inpt
    raise ValueError("No bounding boxes were found in the sample")


def get_keypoints(flat_inputs):
    """The first points of the sample; ValueError if there are none."""
    for inpt in flat_inputs:
        if isinstance(inpt, tv_tensors.KeyPoints):
            return inpt
    raise ValueError("No keypoints were found in the sample")


# Arguments


def fills(fill):
    """{kind or 'others': fill value} from one value or such a dict."""
    if not isinstance(fill, dict):
        fill = {"others": fill}
    for value in fill.values():
        if value is not None and not isinstance(value, (int, float, tuple, list)):
            raise TypeError("Got inappropriate fill arg, only Numbers, tuples, lists and dicts are allowed.")
    return {
        kind: [float(v) for v in value] if isinstance(value, (tuple, list)) else value for kind, value in fill.items()
    }


def fill_for(fill, inpt):
    """The fill value for that kind of input."""
    value = fill.get(type(inpt), fill.get("others"))
    if isinstance(inpt, Tensor) and isinstance(value, (int, float)) and not isinstance(inpt, tv_tensors.Mask):
        return value
    return value
