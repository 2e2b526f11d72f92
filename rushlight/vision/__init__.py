"""Data sets, transforms and utilities for images, under torchvision's names."""

from rushlight.vision import datasets, transforms, utils

__all__ = ["datasets", "transforms", "utils"]

__version__ = "0.28.0+rushlight"  # the torchvision release whose behaviour this is
