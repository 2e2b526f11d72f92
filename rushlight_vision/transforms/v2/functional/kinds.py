"""Which function treats which kind of input.

Images, films, plain tensors and PIL images go to the functions of `transforms.functional`; masks, boxes and points to
their own, if there is one.
"""

import functools
from collections.abc import Callable
from typing import Any, Protocol, cast

from rushlight import Tensor
from rushlight_vision import tv_tensors
from rushlight_vision.transforms import _functional_pil
from rushlight_vision.transforms.interpolation import InterpolationMode, as_mode

_REGISTRY = {}  # function -> {kind: kernel}


def is_pure_tensor(inpt):
    """Whether the input is a tensor of no particular kind."""
    return isinstance(inpt, Tensor) and not isinstance(inpt, tv_tensors.TVTensor)


def is_image(inpt):
    """Whether the input has pixels whose values are colours."""
    return (
        is_pure_tensor(inpt)
        or isinstance(inpt, (tv_tensors.Image, tv_tensors.Video))
        or _functional_pil.is_pil_image(inpt)
    )


def plain(inpt):
    """The tensor without its kind."""
    return inpt.as_subclass(Tensor) if isinstance(inpt, tv_tensors.TVTensor) else inpt


def like(out, inpt, **facts):
    """The result as the kind of the input."""
    return tv_tensors.wrap(out, like=inpt, **facts) if isinstance(inpt, tv_tensors.TVTensor) else out


def register_kernel(functional, tv_tensor_cls):
    """Decorator: the decorated function treats inputs of that class (a TVTensor's subclass) in `functional`."""
    if not (isinstance(tv_tensor_cls, type) and issubclass(tv_tensor_cls, tv_tensors.TVTensor)):
        raise ValueError(f"Kernels can only be registered for subclasses of TVTensor, but got {tv_tensor_cls}.")
    kernels = _REGISTRY.get(getattr(functional, "__name__", functional))
    if kernels is None:
        raise ValueError(f"{functional} is not a function of transforms.v2.functional")

    def enter(kernel):
        kernels[tv_tensor_cls] = kernel
        return kernel

    return enter


class _ByKind(Protocol):
    """A function of `transforms.v2.functional`, with what `by_kind` adds to it."""

    def __call__(self, inpt, *args, **kwargs) -> Any: ...

    def handles(self, inpt: Any) -> bool: ...

    def kernel(self, kind: type) -> Callable[[Callable[..., Any]], None]: ...


def by_kind(on_image) -> _ByKind:
    """Make a function on images into one on all kinds; `.kernel(kind)` registers another's."""
    kernels = _REGISTRY[on_image.__name__] = {}

    @functools.wraps(on_image)
    def function(inpt, *args, **kwargs):
        for kind in type(inpt).__mro__:
            if kind in kernels:
                return kernels[kind](inpt, *args, **kwargs)
        if not is_image(inpt):
            raise TypeError(
                f"Functional F.{on_image.__name__} supports inputs of type Image, Video, PIL.Image.Image, Tensor"
                f"{''.join(f', {kind.__name__}' for kind in kernels)}, but got {type(inpt)} instead."
            )
        out = on_image(plain(inpt), *args, **kwargs)
        return tuple(like(part, inpt) for part in out) if isinstance(out, tuple) else like(out, inpt)

    vars(function).update(
        handles=lambda inpt: is_image(inpt) or any(kind in kernels for kind in type(inpt).__mro__),
        kernel=lambda kind: functools.partial(kernels.__setitem__, kind),
    )
    return cast("_ByKind", function)


def mode(interpolation):
    """An InterpolationMode from itself, its value or Pillow's number."""
    return InterpolationMode(interpolation) if isinstance(interpolation, str) else as_mode(interpolation)
