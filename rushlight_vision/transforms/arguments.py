"""The forms in which sizes, angles, ranges and fill values may be given."""

import numbers
import warnings
from collections.abc import Sequence

from rushlight import Tensor
from rushlight_vision.transforms._functional_pil import is_number
from rushlight_vision.transforms.functional import get_dimensions


def size_pair(size, message="Please provide only two dimensions (h, w) for size."):
    """(h, w) from one number or a sequence of one or two; ValueError with `message` for more."""
    if is_number(size):
        return int(size), int(size)
    if isinstance(size, Sequence) and len(size) == 1:
        return size[0], size[0]
    if len(size) != 2:
        raise ValueError(message)
    return size


def check_length(value, name, lengths):
    """TypeError unless `value` is a sequence, ValueError unless its length is one of `lengths`."""
    message = f"{name} should be a sequence of length {' or '.join(map(str, lengths))}."
    if not isinstance(value, Sequence):
        raise TypeError(message)
    if len(value) not in lengths:
        raise ValueError(message)


def angle_range(value, name, lengths=(2,)):
    """A list of floats: [-value, value] for a number, else the sequence itself."""
    if is_number(value):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be positive.")
        value = [-value, value]
    else:
        check_length(value, name, lengths)
    return [float(angle) for angle in value]


def check_scale_and_ratio(scale, ratio):
    """TypeError unless both are sequences, and a warning for one that is not (min, max)."""
    if not isinstance(scale, Sequence):
        raise TypeError("Scale should be a sequence")
    if not isinstance(ratio, Sequence):
        raise TypeError("Ratio should be a sequence")
    if scale[0] > scale[1] or ratio[0] > ratio[1]:
        warnings.warn("Scale and ratio should be of kind (min, max)", stacklevel=3)


def fill_value(fill):
    """`fill` itself, 0 for None; TypeError unless a number or a sequence."""
    if fill is None:
        return 0
    if not isinstance(fill, (Sequence, numbers.Number)):
        raise TypeError("Fill should be either a sequence or a number.")
    return fill


def fill_for(img, fill):
    """The fill value as this kind of image takes it: for tensors a list with a float for each channel."""
    if not isinstance(img, Tensor):
        return fill
    return [float(fill)] * get_dimensions(img)[0] if isinstance(fill, (int, float)) else [float(f) for f in fill]
