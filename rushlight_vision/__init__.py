"""Data sets, transforms, models, operators and utilities for images, under torchvision's names.

The packages load when they are first named.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rushlight_vision import datasets, io, models, ops, transforms, tv_tensors, utils

__version__ = "0.28.0+rushlight"  # the torchvision release whose behaviour this is
_PACKAGES = ("datasets", "io", "models", "ops", "transforms", "tv_tensors", "utils")
__all__ = ["datasets", "io", "models", "ops", "transforms", "tv_tensors", "utils"]


def __getattr__(name):
    if name in _PACKAGES:
        from importlib import import_module

        return import_module("." + name, __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_PACKAGES})


def get_image_backend():
    """'PIL', the only one."""
    return "PIL"


def set_image_backend(backend):
    """Choose what reads images; NotImplementedError for anything but 'PIL'."""
    if backend not in ("PIL", "accimage"):
        raise ValueError(f"Invalid backend '{backend}'. Options are 'PIL' and 'accimage'")
    if backend != "PIL":
        raise NotImplementedError("Rushlight reads images with Pillow only: image backend 'accimage' is not available")
