"""Image data sets, under torchvision's names."""

from rushlight.vision.datasets.cifar import CIFAR10, CIFAR100
from rushlight.vision.datasets.fakedata import FakeData
from rushlight.vision.datasets.folder import DatasetFolder, ImageFolder
from rushlight.vision.datasets.mnist import KMNIST, MNIST, FashionMNIST
from rushlight.vision.datasets.vision import VisionDataset

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "KMNIST",
    "MNIST",
    "DatasetFolder",
    "FakeData",
    "FashionMNIST",
    "ImageFolder",
    "VisionDataset",
]
