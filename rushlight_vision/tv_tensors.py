"""Tensors that know what they are: images, films, masks, boxes and points, which `transforms.v2` treats accordingly.

An operator gives a plain tensor, except that clone, to, detach and requires_grad_ keep the kind; `wrap` gives it back.
"""

import contextlib
from enum import Enum

import rushlight as torch
from rushlight import Tensor
from rushlight.torch._C import DisableTorchFunctionSubclass
from rushlight_vision.transforms import _functional_pil

__all__ = [
    "BoundingBoxFormat",
    "BoundingBoxes",
    "Image",
    "KeyPoints",
    "Mask",
    "TVTensor",
    "Video",
    "is_rotated_bounding_format",
    "set_return_type",
    "wrap",
]

_KEEPING = {"clone", "to", "detach", "requires_grad_"}
_return_kind = False


class TVTensor(Tensor):
    """Base of the kinds. Their attributes besides the values are named in `_facts`."""

    _facts: tuple[str, ...] = ()

    @staticmethod
    def _to_tensor(data, dtype=None, device=None, requires_grad=None):
        if _functional_pil.is_pil_image(data):
            from rushlight_vision.transforms.convert import pil_to_tensor

            data = pil_to_tensor(data)
        if requires_grad is None:
            requires_grad = data.requires_grad if isinstance(data, Tensor) else False
        return torch.as_tensor(data, dtype=dtype, device=device).requires_grad_(requires_grad)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if not all(issubclass(cls, kind) for kind in types):
            return NotImplemented
        with DisableTorchFunctionSubclass():
            output = func(*args, **(kwargs or {}))
        keeps = _return_kind or (getattr(func, "__name__", "") in _KEEPING and isinstance(args[0], cls))
        if keeps:
            like = next(part for part in _flat(args) if isinstance(part, cls))
            return _kept(output, like)
        if isinstance(output, cls) and not any(output is arg for arg in args):
            return output.as_subclass(Tensor)
        return output

    @classmethod
    def wrap(cls, tensor, like, **kwargs):
        """`tensor` as this kind, with the attributes of `like` except those given."""
        made = tensor.as_subclass(cls)
        for name in cls._facts:
            setattr(made, name, kwargs.get(name, getattr(like, name)))
        return made

    def __repr__(self, *, tensor_contents=None):
        facts = ", ".join(f"{name}={getattr(self, name)}" for name in self._facts)
        return f"{super().__repr__()[:-1]}, {facts})"

    def __deepcopy__(self, memo):
        return self.detach().clone().requires_grad_(self.requires_grad)


def _flat(values):
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flat(value)
        else:
            yield value


def _kept(output, like):
    if isinstance(output, Tensor):
        return type(like).wrap(output, like)
    if isinstance(output, (list, tuple)):
        return type(output)(_kept(part, like) for part in output)
    return output


class Image(TVTensor):
    """An image (..., C, H, W) from a tensor, array, PIL image or nested lists; (H, W) becomes (1, H, W)."""

    def __new__(cls, data, *, dtype=None, device=None, requires_grad=None):
        tensor = cls._to_tensor(data, dtype, device, requires_grad)
        if tensor.ndim < 2:
            raise ValueError(f"Tensor must be 2D or higher, got {tensor.ndim}D tensor.")
        return (tensor.unsqueeze(0) if tensor.ndim == 2 else tensor).as_subclass(cls)


class Video(TVTensor):
    """A film (..., T, C, H, W)."""

    def __new__(cls, data, *, dtype=None, device=None, requires_grad=None):
        tensor = cls._to_tensor(data, dtype, device, requires_grad)
        if tensor.ndim < 4:
            raise ValueError(f"Expected a 4D tensor or higher, got {tensor.ndim}D")
        return tensor.as_subclass(cls)


class Mask(TVTensor):
    """Labels of pixels, (..., H, W)."""

    def __new__(cls, data, *, dtype=None, device=None, requires_grad=None):
        return cls._to_tensor(data, dtype, device, requires_grad).as_subclass(cls)


class BoundingBoxFormat(Enum):
    """What the numbers of a box are; see `ops.box_convert`."""

    XYXY = "XYXY"
    XYWH = "XYWH"
    CXCYWH = "CXCYWH"
    XYWHR = "XYWHR"
    CXCYWHR = "CXCYWHR"
    XYXYXYXY = "XYXYXYXY"


def is_rotated_bounding_format(format):
    """Whether boxes of that format may be turned."""
    if not isinstance(format, (BoundingBoxFormat, str)):
        raise ValueError(f"format should be str or BoundingBoxFormat, got {type(format)}")
    name = format.value if isinstance(format, BoundingBoxFormat) else format
    return name in ("XYWHR", "CXCYWHR", "XYXYXYXY")


class BoundingBoxes(TVTensor):
    """Boxes (N, 4), or (N, 5) and (N, 8) rotated, in an image of size `canvas_size` (height, width).

    clamping_mode: how transforms cut boxes at the border, 'soft', 'hard' or None for not at all.
    """

    _facts = ("format", "canvas_size", "clamping_mode")
    format: BoundingBoxFormat
    canvas_size: tuple[int, int]
    clamping_mode: str | None

    def __new__(
        cls,
        data,
        *,
        format,
        canvas_size,
        clamping_mode="soft",
        dtype=None,
        device=None,
        requires_grad=None,
    ):
        tensor = cls._to_tensor(data, dtype, device, requires_grad)
        if not tensor.is_floating_point() and is_rotated_bounding_format(format):
            raise ValueError(f"Rotated bounding boxes should be floating point tensors, got {tensor.dtype}.")
        if tensor.ndim not in (1, 2):
            raise ValueError(f"Expected a 1D or 2D tensor, got {tensor.ndim}D")
        if clamping_mode is not None and clamping_mode not in ("hard", "soft"):
            raise ValueError(f"clamping_mode must be None, hard or soft, got {clamping_mode}.")
        made = (tensor.unsqueeze(0) if tensor.ndim == 1 else tensor).as_subclass(cls)
        made.format = BoundingBoxFormat[format.upper()] if isinstance(format, str) else format
        made.canvas_size = canvas_size
        made.clamping_mode = clamping_mode
        return made


class KeyPoints(TVTensor):
    """Points (..., 2), each (x, y), in an image of size `canvas_size` (height, width)."""

    _facts = ("canvas_size",)
    canvas_size: tuple[int, int]

    def __new__(cls, data, *, canvas_size, dtype=None, device=None, requires_grad=None):
        tensor = cls._to_tensor(data, dtype, device, requires_grad)
        if tensor.ndim == 1:
            tensor = tensor.unsqueeze(0)
        if tensor.shape[-1] != 2:
            raise ValueError(f"Expected a tensor of shape (..., 2), not {tuple(tensor.shape)}")
        made = tensor.as_subclass(cls)
        made.canvas_size = canvas_size
        return made


def wrap(wrappee, *, like, **kwargs):
    """The tensor as the kind that `like` is, with its attributes except those given."""
    return type(like).wrap(wrappee, like, **kwargs) if isinstance(like, TVTensor) else wrappee.as_subclass(type(like))


class set_return_type(contextlib.ContextDecorator):
    """Whether operators return 'Tensor' (the default) or keep the 'TVTensor' kind; a call, or a context manager."""

    def __init__(self, return_type):
        global _return_kind
        self._before = _return_kind
        _return_kind = {"Tensor": False, "TVTensor": True}[return_type]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        global _return_kind
        _return_kind = self._before
