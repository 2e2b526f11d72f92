"""FER2013: grey images of 48x48 pixels of faces with one of seven expressions (Goodfellow et al., 2013)."""

import csv
from pathlib import Path

import numpy as np

from rushlight_vision.datasets.download import check_integrity
from rushlight_vision.datasets.validation import verify_str_arg
from rushlight_vision.datasets.vision import VisionDataset


class FER2013(VisionDataset):
    """FER2013 from a CSV file in the folder `root/fer2013`: fer2013.csv, icml_face_data.csv, or train.csv and test.csv.

    split: 'train' or 'test'. An item is (PIL image of mode L, the expression's number, None from test.csv), after the
    transforms. Raises RuntimeError if no file is there or its MD5 is wrong.
    """

    _RESOURCES = {
        "train": ("train.csv", "3f0dfb3d3fd99c811a1299cb947e3131"),
        "test": ("test.csv", "b02c2298636a634e8c2faabbf3ea9a23"),
        "fer": ("fer2013.csv", "f8428a1edbd21e88f42c73edd2a14f95"),
        "icml": ("icml_face_data.csv", "b114b9e04e6949e5fe8b6a98b3892b1d"),
    }

    def __init__(self, root, split="train", transform=None, target_transform=None):
        self._split = verify_str_arg(split, "split", ("train", "test"))
        super().__init__(root, transform=transform, target_transform=target_transform)
        folder = Path(self.root) / "fer2013"
        whole = next((which for which in ("fer", "icml") if (folder / self._RESOURCES[which][0]).exists()), None)
        name, md5 = self._RESOURCES[whole or split]
        if not check_integrity(str(folder / name), md5=md5):
            raise RuntimeError(
                f"{name} not found in {folder} or corrupted. You can download it from "
                "https://www.kaggle.com/c/challenges-in-representation-learning-facial-expression-recognition-challenge"
            )
        wanted = ("Training",) if split == "train" else ("PublicTest", "PrivateTest")
        self._samples = []
        with open(folder / name, newline="") as file:
            for row in csv.DictReader(file, skipinitialspace=True):
                if whole is None or row["Usage"] in wanted:
                    pixels = np.array(row["pixels"].split(), np.uint8).reshape(48, 48)
                    self._samples.append((pixels, int(row["emotion"]) if whole or split == "train" else None))

    def __len__(self):
        return len(self._samples)

    def __getitem__(self, idx):
        from PIL import Image

        pixels, label = self._samples[idx]
        return self._transformed(Image.fromarray(pixels), label)

    def extra_repr(self):
        return f"split={self._split}"
