"""Image data sets, under torchvision's names."""

from rushlight.vision.datasets.absent import (
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
from rushlight.vision.datasets.caltech import Caltech101, Caltech256
from rushlight.vision.datasets.celeba import CelebA
from rushlight.vision.datasets.cifar import CIFAR10, CIFAR100
from rushlight.vision.datasets.coco import CocoCaptions, CocoDetection
from rushlight.vision.datasets.described import (
    DTD,
    SUN397,
    CLEVRClassification,
    FGVCAircraft,
    Flickr8k,
    Flickr30k,
    Food101,
)
from rushlight.vision.datasets.emnist import EMNIST, QMNIST
from rushlight.vision.datasets.fakedata import FakeData
from rushlight.vision.datasets.fer2013 import FER2013
from rushlight.vision.datasets.flowers102 import Flowers102
from rushlight.vision.datasets.folder import DatasetFolder, ImageFolder
from rushlight.vision.datasets.foldered import GTSRB, Country211, EuroSAT, RenderedSST2
from rushlight.vision.datasets.imagenet import ImageNet
from rushlight.vision.datasets.imagenette import Imagenette
from rushlight.vision.datasets.lsun import LSUN, LSUNClass
from rushlight.vision.datasets.mnist import KMNIST, MNIST, FashionMNIST
from rushlight.vision.datasets.moving_mnist import MovingMNIST
from rushlight.vision.datasets.omniglot import Omniglot
from rushlight.vision.datasets.oxford_iiit_pet import OxfordIIITPet
from rushlight.vision.datasets.places365 import Places365
from rushlight.vision.datasets.sbd import SBDataset
from rushlight.vision.datasets.semeion import SEMEION
from rushlight.vision.datasets.stanford_cars import StanfordCars
from rushlight.vision.datasets.stl10 import STL10
from rushlight.vision.datasets.svhn import SVHN
from rushlight.vision.datasets.usps import USPS
from rushlight.vision.datasets.vision import VisionDataset
from rushlight.vision.datasets.voc import VOCDetection, VOCSegmentation

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
