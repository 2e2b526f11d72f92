"""Transforms between kinds and dtypes, of boxes' formats, and functions as transforms."""

import warnings

from rushlight import Tensor, float32
from rushlight import dtype as dtype_class
from rushlight_vision import tv_tensors
from rushlight_vision.transforms import _functional_pil, values
from rushlight_vision.transforms.v2 import functional as F
from rushlight_vision.transforms.v2.functional.kinds import is_image, is_pure_tensor, like, plain
from rushlight_vision.transforms.v2.transform import Transform, has_any


class Identity(Transform):
    """Nothing."""

    def transform(self, inpt, params):
        return inpt


class Lambda(Transform):
    """Any function, on the inputs that are of one of `types`, by default on all."""

    def __init__(self, lambd, *types):
        super().__init__()
        self.lambd = lambd
        self.types = types or (object,)

    def _handles(self, inpt):
        return True

    def _wanted(self, flat):
        return [True] * len(flat)

    def transform(self, inpt, params):
        return self.lambd(inpt) if isinstance(inpt, self.types) else inpt

    def extra_repr(self):
        name = getattr(self.lambd, "__name__", None)
        return ", ".join([*([name] if name else []), f"types={[kind.__name__ for kind in self.types]}"])


class ToImage(Transform):
    """Tensors, arrays and PIL images as tv_tensors.Image."""

    def _handles(self, inpt):
        import numpy as np

        return is_pure_tensor(inpt) or _functional_pil.is_pil_image(inpt) or isinstance(inpt, np.ndarray)

    def transform(self, inpt, params):
        return F.to_image(inpt)


class ToPILImage(Transform):
    """Tensors and arrays as PIL images."""

    def __init__(self, mode=None):
        super().__init__()
        self.mode = mode

    def _handles(self, inpt):
        import numpy as np

        return is_pure_tensor(inpt) or isinstance(inpt, (tv_tensors.Image, np.ndarray))

    def transform(self, inpt, params):
        return F.to_pil_image(inpt, self.mode)


class PILToTensor(Transform):
    """PIL images as tensors of their own values."""

    def _handles(self, inpt):
        return _functional_pil.is_pil_image(inpt)

    def transform(self, inpt, params):
        return F.pil_to_tensor(inpt)


class ToTensor(Transform):
    """Deprecated: `Compose([ToImage(), ToDtype(float32, scale=True)])` says it better."""

    def __init__(self):
        warnings.warn(
            "The transform `ToTensor()` is deprecated and will be removed in a future release. Instead, please use "
            "`v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])`."
            "Output is equivalent up to float precision.",
            stacklevel=2,
        )
        super().__init__()

    def _handles(self, inpt):
        import numpy as np

        return _functional_pil.is_pil_image(inpt) or isinstance(inpt, np.ndarray)

    def transform(self, inpt, params):
        return F.to_tensor(inpt)


class ToPureTensor(Transform):
    """Tensors without their kind."""

    def _handles(self, inpt):
        return isinstance(inpt, tv_tensors.TVTensor)

    def transform(self, inpt, params):
        return plain(inpt)


class ToDtype(Transform):
    """Images in another dtype; or {kind: dtype}, with 'others', where None leaves a kind as it is.

    scale=True brings the values of images to the new dtype's range.
    """

    def __init__(self, dtype, scale=False):
        super().__init__()
        if not isinstance(dtype, (dict, dtype_class)):
            raise ValueError(f"dtype must be a dict or a torch.dtype, got {type(dtype)} instead")
        self.dtype = dtype
        self.scale = scale

    def _handles(self, inpt):
        return isinstance(inpt, Tensor)

    def transform(self, inpt, params):
        if not isinstance(self.dtype, dict):
            return F.to_dtype(inpt, self.dtype, self.scale) if is_image(inpt) else inpt
        dtype = self.dtype.get(type(inpt), self.dtype.get("others", self))
        if dtype is self:
            raise ValueError(
                f"No dtype was specified for type {type(inpt)}. If you only need to convert the dtype of images or "
                "videos, you can just pass e.g. dtype=torch.float32. If you're passing a dict as dtype, you can use "
                '"others" as a catch-all key.'
            )
        if dtype is None:
            if self.scale and is_image(inpt):
                raise ValueError(
                    "scale was set to True but no dtype was specified for images or videos: scale=True needs one."
                )
            return inpt
        return F.to_dtype(inpt, dtype, self.scale)


class ConvertImageDtype(Transform):
    """Images in another dtype, scaled; ToDtype(dtype, scale=True) is the same."""

    def __init__(self, dtype=float32):
        super().__init__()
        self.dtype = dtype

    def transform(self, inpt, params):
        return F.to_dtype(inpt, self.dtype, True) if isinstance(inpt, Tensor) and is_image(inpt) else inpt


class _TensorsOnly(Transform):
    def check_inputs(self, flat_inputs):
        if has_any(flat_inputs, _functional_pil.is_pil_image):
            raise TypeError(f"{type(self).__name__}() does not support PIL images.")


class Normalize(_TensorsOnly):
    """(image - mean) / std, channel by channel."""

    def __init__(self, mean, std, inplace=False):
        super().__init__()
        self.mean = list(mean)
        self.std = list(std)
        self.inplace = inplace

    def transform(self, inpt, params):
        return self._call_kernel(F.normalize, inpt, self.mean, self.std, self.inplace)


class LinearTransformation(_TensorsOnly):
    """The flattened image, less `mean_vector`, times `transformation_matrix`."""

    def __init__(self, transformation_matrix, mean_vector):
        super().__init__()
        self._linear = values.LinearTransformation(transformation_matrix, mean_vector)
        self.transformation_matrix = transformation_matrix
        self.mean_vector = mean_vector

    def transform(self, inpt, params):
        return like(self._linear(plain(inpt)), inpt) if is_image(inpt) else inpt


class ConvertBoundingBoxFormat(Transform):
    """Boxes in another format."""

    def __init__(self, format):
        super().__init__()
        self.format = format

    def _handles(self, inpt):
        return isinstance(inpt, tv_tensors.BoundingBoxes)

    def transform(self, inpt, params):
        return F.convert_bounding_box_format(inpt, new_format=self.format)


class ClampBoundingBoxes(Transform):
    """Boxes cut off at the border."""

    def __init__(self, clamping_mode="auto"):
        super().__init__()
        self.clamping_mode = clamping_mode

    def _handles(self, inpt):
        return isinstance(inpt, tv_tensors.BoundingBoxes)

    def transform(self, inpt, params):
        return F.clamp_bounding_boxes(inpt, clamping_mode=self.clamping_mode)


class SetClampingMode(Transform):
    """How later transforms cut the boxes: 'soft', 'hard' or None."""

    def __init__(self, clamping_mode):
        super().__init__()
        if clamping_mode not in (None, "soft", "hard"):
            raise ValueError(f"clamping_mode must be soft, hard or None, got {clamping_mode}")
        self.clamping_mode = clamping_mode

    def _handles(self, inpt):
        return isinstance(inpt, tv_tensors.BoundingBoxes)

    def transform(self, inpt, params):
        return like(plain(inpt).clone(), inpt, clamping_mode=self.clamping_mode)


class ClampKeyPoints(Transform):
    """Points moved into the image."""

    def _handles(self, inpt):
        return isinstance(inpt, tv_tensors.KeyPoints)

    def transform(self, inpt, params):
        return F.clamp_keypoints(inpt)


class UniformTemporalSubsample(Transform):
    """`num_samples` frames of a film, at equal steps."""

    def __init__(self, num_samples):
        super().__init__()
        self.num_samples = num_samples

    def _handles(self, inpt):
        return is_pure_tensor(inpt) or isinstance(inpt, tv_tensors.Video)

    def transform(self, inpt, params):
        return F.uniform_temporal_subsample(inpt, self.num_samples)
