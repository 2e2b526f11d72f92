"""STL-10: 13,000 labelled and 100,000 unlabelled colour images of 96x96 pixels (Coates, Lee, Ng, 2011)."""

import os

import numpy as np

from rushlight_vision.datasets.download import check_integrity, download_and_extract_archive
from rushlight_vision.datasets.validation import found_or_raise, verify_str_arg
from rushlight_vision.datasets.vision import VisionDataset


class STL10(VisionDataset):
    """STL-10 from the folder `root/stl10_binary`.

    split: 'train', 'test', 'unlabeled' or 'train+unlabeled'. folds: 0 to 9 for one of the ten training subsets of 1,000
    images, None for all. An item is (image, target): a PIL image of mode RGB, or what `transform` makes of it, and the
    class's number, -1 for an unlabelled image.

    Attributes: data, uint8 (N, 3, 96, 96); labels, array (N,); classes, list of str.

    Raises RuntimeError if a file is missing or its MD5 is wrong.
    """

    base_folder = "stl10_binary"
    url = "http://ai.stanford.edu/~acoates/stl10/stl10_binary.tar.gz"
    filename = "stl10_binary.tar.gz"
    tgz_md5 = "91f7769df0f17e558f3565bffb0c7dfb"
    class_names_file = "class_names.txt"
    folds_list_file = "fold_indices.txt"
    train_list = [
        ["train_X.bin", "918c2871b30a85fa023e0c44e0bee87f"],
        ["train_y.bin", "5a34089d4802c674881badbb80307741"],
        ["unlabeled_X.bin", "5242ba1fed5e4be9e1e742405eb56ca4"],
    ]
    test_list = [["test_X.bin", "7f263ba9f9e0b06b93213547f721ac82"], ["test_y.bin", "36f9794fa4beb8a2c72628de14fa638e"]]
    splits = ("train", "train+unlabeled", "unlabeled", "test")

    def __init__(self, root, split="train", folds=None, transform=None, target_transform=None, download=False):
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = verify_str_arg(split, "split", self.splits)
        self.folds = self._verify_folds(folds)
        if download:
            self.download()
        else:
            found_or_raise(self._check_integrity())
        self.data, self.labels = self._load()
        names = self._path(self.class_names_file)
        if os.path.isfile(names):
            with open(names) as file:
                self.classes = file.read().splitlines()

    def _verify_folds(self, folds):
        if folds is None or (isinstance(folds, int) and folds in range(10)):
            return folds
        if isinstance(folds, int):
            raise ValueError(f"Value for argument folds should be in the range [0, 10), but got {folds}.")
        raise ValueError(f"Expected type None or int for argument folds, but got type {type(folds)}.")

    def _load(self):
        if self.split == "test":
            return self._images("test_X.bin"), self._labels("test_y.bin")
        parts = []
        if self.split != "unlabeled":
            images, labels = self._images("train_X.bin"), self._labels("train_y.bin")
            if self.folds is not None:
                chosen = self._fold(self.folds)
                images, labels = images[chosen], labels[chosen]
            parts.append((images, labels))
        if self.split != "train":
            images = self._images("unlabeled_X.bin")
            parts.append((images, np.full(len(images), -1)))
        if len(parts) == 1:
            return parts[0]
        return tuple(np.concatenate(both) for both in zip(*parts, strict=True))

    def _images(self, name):
        """(N, 3, 96, 96): the file has each channel column by column."""
        return np.fromfile(self._path(name), np.uint8).reshape(-1, 3, 96, 96).transpose(0, 1, 3, 2)

    def _labels(self, name):
        return np.fromfile(self._path(name), np.uint8) - 1

    def _fold(self, number):
        with open(self._path(self.folds_list_file)) as file:
            return np.array(file.read().splitlines()[number].split(), np.int64)

    def __getitem__(self, index):
        from PIL import Image

        target = None if self.labels is None else int(self.labels[index])
        return self._transformed(Image.fromarray(self.data[index].transpose(1, 2, 0)), target)

    def __len__(self):
        return self.data.shape[0]

    def _path(self, name):
        return os.path.join(self.root, self.base_folder, name)

    def _check_integrity(self):
        return all(check_integrity(self._path(name), md5) for name, md5 in self.train_list + self.test_list)

    def download(self):
        """Fetch and unpack the archive unless the files are there and right."""
        if not self._check_integrity():
            download_and_extract_archive(self.url, self.root, filename=self.filename, md5=self.tgz_md5)

    def extra_repr(self):
        return f"Split: {self.split}"
