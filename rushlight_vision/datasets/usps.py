"""USPS: 9,298 grey images of 16x16 pixels of postal digits (Hull, 1994)."""

import os

import numpy as np

from rushlight_vision.datasets.archive import Measured
from rushlight_vision.datasets.download import download_url
from rushlight_vision.datasets.vision import VisionDataset


class USPS(VisionDataset):
    """USPS from the file in LIBSVM's format in `root`.

    train=True gives 7,291 images, False 2,007. An item is (image, target): a PIL image of mode L, or what `transform`
    makes of it, and the digit. Raises FileNotFoundError if the file is missing.
    """

    split_list = {
        "train": [
            "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/usps.bz2",
            "usps.bz2",
            "ec16c51db3855ca6c91edd34d0e9b197",
        ],
        "test": [
            "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/usps.t.bz2",
            "usps.t.bz2",
            "8ea070ee2aca1ac39742fdd1ef5ed118",
        ],
    }

    def __init__(self, root, train=True, transform=None, target_transform=None, download=False):
        import bz2

        super().__init__(root, transform=transform, target_transform=target_transform)
        url, filename, md5 = self.split_list["train" if train else "test"]
        path = os.path.join(self.root, filename)
        if download and not os.path.exists(path):
            download_url(url, self.root, filename, md5=md5)
        with Measured(bz2.open(path, "rb"), path, os.path.getsize(path)) as file:
            rows = [line.split() for line in file.read().decode().splitlines()]
        values = np.array([[pair.rpartition(":")[2] for pair in row[1:]] for row in rows], np.float32)
        self.data = ((values.reshape(-1, 16, 16) + 1) / 2 * 255).astype(np.uint8)
        self.targets = [int(row[0]) - 1 for row in rows]

    def __getitem__(self, index):
        from PIL import Image

        return self._transformed(Image.fromarray(self.data[index]), int(self.targets[index]))

    def __len__(self):
        return len(self.data)
