"""As much of torchvision as examples/cifar10.py needs, over real torch, for make_examples.py where it is not installed."""

from . import datasets, transforms

__all__ = ["datasets", "transforms"]
