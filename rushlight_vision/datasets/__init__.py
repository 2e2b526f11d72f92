"""Image data sets, under torchvision's names."""

from rushlight_vision.datasets.absent import (
    HD1K,
    HMDB51,
    PCAM,
    SBU,
    UCF101,
    CarlaStereo,
    Cityscapes,
    CREStereo,
    ETH3DStereo,
    FallingThingsStereo,
    FlyingChairs,
    FlyingThings3D,
    INaturalist,
    InStereo2k,
    Kinetics,
    Kitti,
    Kitti2012Stereo,
    Kitti2015Stereo,
    KittiFlow,
    LFWPairs,
    LFWPeople,
    Middlebury2014Stereo,
    PhotoTour,
    SceneFlowStereo,
    Sintel,
    SintelStereo,
    WIDERFace,
)
from rushlight_vision.datasets.annotations import (
    DTD,
    SUN397,
    CLEVRClassification,
    FGVCAircraft,
    Flickr8k,
    Flickr30k,
    Food101,
)
from rushlight_vision.datasets.caltech import Caltech101, Caltech256
from rushlight_vision.datasets.celeba import CelebA
from rushlight_vision.datasets.cifar import CIFAR10, CIFAR100
from rushlight_vision.datasets.class_folders import GTSRB, Country211, EuroSAT, RenderedSST2
from rushlight_vision.datasets.coco import CocoCaptions, CocoDetection
from rushlight_vision.datasets.emnist import EMNIST, QMNIST
from rushlight_vision.datasets.fakedata import FakeData
from rushlight_vision.datasets.fer2013 import FER2013
from rushlight_vision.datasets.flowers102 import Flowers102
from rushlight_vision.datasets.folder import DatasetFolder, ImageFolder
from rushlight_vision.datasets.imagenet import ImageNet
from rushlight_vision.datasets.imagenette import Imagenette
from rushlight_vision.datasets.lsun import LSUN, LSUNClass
from rushlight_vision.datasets.mnist import KMNIST, MNIST, FashionMNIST
from rushlight_vision.datasets.moving_mnist import MovingMNIST
from rushlight_vision.datasets.omniglot import Omniglot
from rushlight_vision.datasets.oxford_iiit_pet import OxfordIIITPet
from rushlight_vision.datasets.places365 import Places365
from rushlight_vision.datasets.sbd import SBDataset
from rushlight_vision.datasets.semeion import SEMEION
from rushlight_vision.datasets.stanford_cars import StanfordCars
from rushlight_vision.datasets.stl10 import STL10
from rushlight_vision.datasets.svhn import SVHN
from rushlight_vision.datasets.usps import USPS
from rushlight_vision.datasets.vision import VisionDataset
from rushlight_vision.datasets.voc import VOCDetection, VOCSegmentation

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "DTD",
    "EMNIST",
    "FER2013",
    "GTSRB",
    "HD1K",
    "HMDB51",
    "KMNIST",
    "LSUN",
    "MNIST",
    "PCAM",
    "QMNIST",
    "SBU",
    "SEMEION",
    "STL10",
    "SUN397",
    "SVHN",
    "UCF101",
    "USPS",
    "CLEVRClassification",
    "CREStereo",
    "Caltech101",
    "Caltech256",
    "CarlaStereo",
    "CelebA",
    "Cityscapes",
    "CocoCaptions",
    "CocoDetection",
    "Country211",
    "DatasetFolder",
    "ETH3DStereo",
    "EuroSAT",
    "FGVCAircraft",
    "FakeData",
    "FallingThingsStereo",
    "FashionMNIST",
    "Flickr8k",
    "Flickr30k",
    "Flowers102",
    "FlyingChairs",
    "FlyingThings3D",
    "Food101",
    "INaturalist",
    "ImageFolder",
    "ImageNet",
    "Imagenette",
    "InStereo2k",
    "Kinetics",
    "Kitti",
    "Kitti2012Stereo",
    "Kitti2015Stereo",
    "KittiFlow",
    "LFWPairs",
    "LFWPeople",
    "LSUNClass",
    "Middlebury2014Stereo",
    "MovingMNIST",
    "Omniglot",
    "OxfordIIITPet",
    "PhotoTour",
    "Places365",
    "RenderedSST2",
    "SBDataset",
    "SceneFlowStereo",
    "Sintel",
    "SintelStereo",
    "StanfordCars",
    "VOCDetection",
    "VOCSegmentation",
    "VisionDataset",
    "WIDERFace",
]
