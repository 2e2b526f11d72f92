"""Data sets whose classes are folders: EuroSAT, Country211, Rendered SST2 and GTSRB."""

import csv
import os
from pathlib import Path

from rushlight_vision.datasets.download import download_and_extract_archive
from rushlight_vision.datasets.folder import ImageFolder, default_loader, make_dataset
from rushlight_vision.datasets.validation import NOT_FOUND, found_or_raise, verify_str_arg
from rushlight_vision.datasets.vision import VisionDataset


class EuroSAT(ImageFolder):
    """27,000 satellite images of ten kinds of land (Helber et al., 2019) from the folder `root/eurosat/2750`.

    Raises RuntimeError if the folder is missing.
    """

    _URL = (
        "https://huggingface.co/datasets/torchgeo/eurosat/resolve/c877bcd43f099cd0196738f714544e355477f3fd/EuroSAT.zip"
    )
    _MD5 = "c8fa014336c82ac7804f0398fcb19387"

    def __init__(self, root, transform=None, target_transform=None, download=False, loader=default_loader):
        root = os.path.expanduser(root)
        self._base_folder = os.path.join(root, "eurosat")
        self._data_folder = os.path.join(self._base_folder, "2750")
        if download:
            self.download()
        found_or_raise(os.path.exists(self._data_folder), NOT_FOUND)
        super().__init__(self._data_folder, transform=transform, target_transform=target_transform, loader=loader)
        self.root = root

    def download(self):
        """Fetch and unpack the archive unless its folder is there."""
        if not os.path.exists(self._data_folder):
            download_and_extract_archive(self._URL, self._base_folder, md5=self._MD5)


class Country211(ImageFolder):
    """Photographs from 211 countries (Radford et al., 2021) from the folder `root/country211`.

    split: 'train', 'valid' or 'test'. Raises RuntimeError if the folder is missing.
    """

    _URL = "https://openaipublic.azureedge.net/clip/data/country211.tgz"
    _MD5 = "84988d7644798601126c29e9877aab6a"

    def __init__(
        self, root, split="train", transform=None, target_transform=None, download=False, loader=default_loader
    ):
        self._split = verify_str_arg(split, "split", ("train", "valid", "test"))
        root = os.path.expanduser(root)
        self._base_folder = Path(root) / "country211"
        if download and not self._base_folder.is_dir():
            download_and_extract_archive(self._URL, root, md5=self._MD5)
        found_or_raise(self._base_folder.is_dir(), NOT_FOUND)
        folder = str(self._base_folder / split)
        super().__init__(folder, transform=transform, target_transform=target_transform, loader=loader)
        self.root = str(root)


class _Pathed(VisionDataset):
    """Items from `_samples`, a list of (path, label)."""

    def __init__(self, root, transform, target_transform, loader):
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.loader = loader
        self._samples = []

    def __len__(self):
        return len(self._samples)

    def __getitem__(self, idx):
        path, label = self._samples[idx]
        return self._transformed(self.loader(path), label)


class RenderedSST2(_Pathed):
    """Pictures of sentences from film reviews (Radford et al., 2021) from the folder `root/rendered-sst2`.

    split: 'train', 'val' or 'test'. Labels: 0 negative, 1 positive. Raises RuntimeError if a folder is missing.
    """

    _URL = "https://openaipublic.azureedge.net/clip/data/rendered-sst2.tgz"
    _MD5 = "2384d08e9dcfa4bd55b324e610496ee5"

    def __init__(
        self, root, split="train", transform=None, target_transform=None, download=False, loader=default_loader
    ):
        super().__init__(root, transform, target_transform, loader)
        self._split = verify_str_arg(split, "split", ("train", "val", "test"))
        self._folder = Path(self.root) / "rendered-sst2" / {"val": "valid"}.get(split, split)
        self.classes = ["negative", "positive"]
        self.class_to_idx = {"negative": 0, "positive": 1}
        if download and not self._check_exists():
            download_and_extract_archive(self._URL, self.root, md5=self._MD5)
        found_or_raise(self._check_exists(), NOT_FOUND)
        self._samples = make_dataset(str(self._folder), extensions=("png",))

    def _check_exists(self):
        return all((self._folder / name).is_dir() for name in self.classes)

    def extra_repr(self):
        return f"split={self._split}"


class GTSRB(_Pathed):
    """German traffic signs of 43 kinds (Stallkamp et al., 2012) from the folder `root/gtsrb`.

    split: 'train' (26,640 images) or 'test' (12,630). Raises RuntimeError if the folder is missing.
    """

    _SITE = "https://sid.erda.dk/public/archives/daaeac0d7ce1152aea9b61d9f1e19370/"
    _ARCHIVES = {
        "train": [("GTSRB-Training_fixed.zip", "513f3c79a4c5141765e10e952eaa2478")],
        "test": [
            ("GTSRB_Final_Test_Images.zip", "c7e4e6327067d32654124b0fe9e82185"),
            ("GTSRB_Final_Test_GT.zip", "fe31e9c9270bbcd7b84b7f21a9d9d9e5"),
        ],
    }

    def __init__(self, root, split="train", transform=None, target_transform=None, download=False):
        super().__init__(root, transform, target_transform, default_loader)
        self._split = verify_str_arg(split, "split", ("train", "test"))
        self._base_folder = Path(self.root) / "gtsrb"
        inner = "Training" if split == "train" else "Final_Test/Images"
        self._target_folder = self._base_folder / "GTSRB" / inner
        if download:
            self.download()
        found_or_raise(self._target_folder.is_dir(), NOT_FOUND)
        if split == "train":
            self._samples = make_dataset(str(self._target_folder), extensions=(".ppm",))
            return
        with open(self._base_folder / "GT-final_test.csv") as file:
            for row in csv.DictReader(file, delimiter=";", skipinitialspace=True):
                self._samples.append((str(self._target_folder / row["Filename"]), int(row["ClassId"])))

    def download(self):
        """Fetch and unpack the archives unless their folder is there."""
        if self._target_folder.is_dir():
            return
        for name, md5 in self._ARCHIVES[self._split]:
            download_and_extract_archive(self._SITE + name, str(self._base_folder), md5=md5)
