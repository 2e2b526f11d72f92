"""CIFAR-10 and CIFAR-100: 60,000 colour images of 32x32 pixels in 10 or 100 classes.

A. Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009. https://www.cs.toronto.edu/~kriz/cifar.html
"""

import os

import numpy as np

from rushlight_vision.datasets.download import check_integrity, download_and_extract_archive
from rushlight_vision.datasets.pickled import load_pickled
from rushlight_vision.datasets.vision import VisionDataset


class CIFAR10(VisionDataset):
    """CIFAR-10 from the folder `root/cifar-10-batches-py`.

    train=True gives the 50,000 training images, False the 10,000 test images. download=True fetches what is missing.
    An item is (image, target): a PIL image of mode RGB, or what `transform` makes of it, and the class's number, or
    what `target_transform` makes of it.

    Attributes: data, uint8 (N, 32, 32, 3); targets, list of int; classes, list of str; class_to_idx, dict.

    Raises RuntimeError if a file is missing or its MD5 is wrong, DownloadError and ArchiveError while downloading, and
    pickle.UnpicklingError for a file that asks for more than data.
    """

    base_folder = "cifar-10-batches-py"
    url = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    filename = "cifar-10-python.tar.gz"
    tgz_md5 = "c58f30108f718f92721af3b95e74349a"
    train_list = [
        ["data_batch_1", "c99cafc152244af753f735de768cd75f"],
        ["data_batch_2", "d4bba439e000b95fd0a9bffe97cbabec"],
        ["data_batch_3", "54ebc095f3ab1f0389bbae665268c751"],
        ["data_batch_4", "634d18415352ddfa80567beed471001a"],
        ["data_batch_5", "482c414d41f54cd18b22e5b47cb7c3cb"],
    ]
    test_list = [
        ["test_batch", "40351d587109b95175f43aff81a1287e"],
    ]
    meta = {
        "filename": "batches.meta",
        "key": "label_names",
        "md5": "5ff9c542aee3614f3951f8cda6e48888",
    }

    def __init__(self, root, train=True, transform=None, target_transform=None, download=False):
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        if download:
            self.download()
        if not self._check_integrity():
            raise RuntimeError("Dataset not found or corrupted. You can use download=True to download it")
        self.data, self.targets = self._load_batches()
        self.classes = self._load_meta()
        self.class_to_idx = {name: index for index, name in enumerate(self.classes)}

    def _load_batches(self):
        images, targets = [], []
        for filename, _ in self.train_list if self.train else self.test_list:
            path = self._path(filename)
            batch = load_pickled(path)
            rows, labels = _rows_and_labels(batch, path)
            images.append(rows.reshape(-1, 3, 32, 32))
            targets.extend(labels)
        return np.ascontiguousarray(np.concatenate(images).transpose(0, 2, 3, 1)), targets

    def _load_meta(self):
        path = self._path(self.meta["filename"])
        if not check_integrity(path, self.meta["md5"]):
            raise RuntimeError("Dataset metadata file not found or corrupted. You can use download=True to download it")
        return load_pickled(path)[self.meta["key"]]

    def __getitem__(self, index):
        from PIL import Image

        return self._transformed(Image.fromarray(self.data[index]), self.targets[index])

    def __len__(self):
        return len(self.data)

    def _path(self, filename):
        return os.path.join(self.root, self.base_folder, filename)

    def _check_integrity(self):
        return all(check_integrity(self._path(name), md5) for name, md5 in self.train_list + self.test_list)

    def download(self):
        """Fetch and unpack the archive unless the files are there and right."""
        if self._check_integrity():
            return
        download_and_extract_archive(self.url, self.root, filename=self.filename, md5=self.tgz_md5)

    def extra_repr(self):
        return f"Split: {'Train' if self.train is True else 'Test'}"


class CIFAR100(CIFAR10):
    """CIFAR-100 from the folder `root/cifar-100-python`, with its 100 fine classes; otherwise as CIFAR10."""

    base_folder = "cifar-100-python"
    url = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
    filename = "cifar-100-python.tar.gz"
    tgz_md5 = "eb9058c3a382ffc7106e4002c42a8d85"
    train_list = [
        ["train", "16019d7e3df5f24257cddd939b257f8d"],
    ]
    test_list = [
        ["test", "f0ef6b0ae62326f3e7ffdfab6717acfc"],
    ]
    meta = {
        "filename": "meta",
        "key": "fine_label_names",
        "md5": "7973b15100ade9c7d40fb424638fde48",
    }


def _rows_and_labels(batch, path):
    """Of one batch file: pixels, uint8 (N, 3072), channel after channel; the N class numbers."""
    rows = np.asarray(batch["data"])
    labels = batch["labels"] if "labels" in batch else batch["fine_labels"]
    if rows.dtype != np.uint8 or rows.shape != (len(labels), 3 * 32 * 32):
        raise RuntimeError(
            f"{path} holds {rows.dtype} data of shape {rows.shape} and {len(labels)} labels, where uint8 of shape "
            "(N, 3072) and N labels were expected"
        )
    return rows, labels
