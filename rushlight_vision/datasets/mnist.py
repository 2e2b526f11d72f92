"""MNIST and the data sets that share its file format: 70,000 grey images of 28x28 pixels in 10 classes.

The files are in the `idx` format of http://yann.lecun.com/exdb/mnist/: a magic number with type and number of
dimensions, the sizes, the values, all big-endian.
"""

import os

import numpy as np

from rushlight import from_numpy
from rushlight_vision.datasets.archive import extract_archive
from rushlight_vision.datasets.download import check_integrity, download_from_mirrors
from rushlight_vision.datasets.vision import VisionDataset


class MNIST(VisionDataset):
    """MNIST from the folder `root/MNIST/raw`.

    train=True gives the 60,000 training images, False the 10,000 test images. download=True fetches what is missing,
    from the first mirror that delivers. An item is (image, target): a PIL image of mode L, or what `transform` makes
    of it, and the class's number, or what `target_transform` makes of it.

    Attributes: data, uint8 tensor (N, 28, 28); targets, int64 tensor (N,); classes, list of str; class_to_idx, dict.

    Raises RuntimeError if a file is missing, DownloadError and ArchiveError while downloading, ValueError for a file
    that is not of the idx format.
    """

    mirrors = [
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "http://yann.lecun.com/exdb/mnist/",
    ]
    resources = [
        ("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        ("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"),
        ("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"),
        ("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"),
    ]
    classes = [
        "0 - zero",
        "1 - one",
        "2 - two",
        "3 - three",
        "4 - four",
        "5 - five",
        "6 - six",
        "7 - seven",
        "8 - eight",
        "9 - nine",
    ]

    def __init__(self, root, train=True, transform=None, target_transform=None, download=False):
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        if download:
            self.download()
        if not self._check_exists():
            raise RuntimeError("Dataset not found. You can use download=True to download it")
        self.data, self.targets = self._load_data()

    def _renamed(self, old, new):
        import warnings

        warnings.warn(f"{old} has been renamed {new}", stacklevel=3)
        return getattr(self, new)

    train_labels = property(lambda self: self._renamed("train_labels", "targets"))
    test_labels = property(lambda self: self._renamed("test_labels", "targets"))
    train_data = property(lambda self: self._renamed("train_data", "data"))
    test_data = property(lambda self: self._renamed("test_data", "data"))

    def _load_data(self):
        split = "train" if self.train else "t10k"
        images = os.path.join(self.raw_folder, f"{split}-images-idx3-ubyte")
        labels = os.path.join(self.raw_folder, f"{split}-labels-idx1-ubyte")
        return read_image_file(images), read_label_file(labels)

    def __getitem__(self, index):
        from PIL import Image

        return self._transformed(Image.fromarray(self.data[index].numpy()), int(self.targets[index]))

    def __len__(self):
        return len(self.data)

    @property
    def raw_folder(self):
        return os.path.join(self.root, type(self).__name__, "raw")

    @property
    def processed_folder(self):
        return os.path.join(self.root, type(self).__name__, "processed")

    @property
    def class_to_idx(self):
        return {name: index for index, name in enumerate(self.classes)}

    def _check_exists(self):
        return all(
            check_integrity(os.path.join(self.raw_folder, name.removesuffix(".gz"))) for name, _ in self.resources
        )

    def download(self):
        """Fetch and unpack the four files unless they are there."""
        if self._check_exists():
            return
        for name, md5 in self.resources:
            download_from_mirrors([mirror + name for mirror in self.mirrors], self.raw_folder, name, md5)
            extract_archive(os.path.join(self.raw_folder, name), self.raw_folder)

    def extra_repr(self):
        return f"Split: {'Train' if self.train is True else 'Test'}"


class FashionMNIST(MNIST):
    """Fashion-MNIST (Xiao, Rasul, Vollgraf, 2017) from the folder `root/FashionMNIST/raw`; otherwise as MNIST."""

    mirrors = ["http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"]
    resources = [
        ("train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
        ("train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe"),
        ("t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79"),
        ("t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310"),
    ]
    classes = ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]


class KMNIST(MNIST):
    """Kuzushiji-MNIST (Clanuwat et al., 2018) from the folder `root/KMNIST/raw`; otherwise as MNIST."""

    mirrors = ["http://codh.rois.ac.jp/kmnist/dataset/kmnist/"]
    resources = [
        ("train-images-idx3-ubyte.gz", "bdb82020997e1d708af4cf47b453dcf7"),
        ("train-labels-idx1-ubyte.gz", "e144d726b3acfaa3e44228e80efcd344"),
        ("t10k-images-idx3-ubyte.gz", "5c965bf0a639b31b8f53240b1b52f4d7"),
        ("t10k-labels-idx1-ubyte.gz", "7320c461ea6c1c855c0b718fb2a4b134"),
    ]
    classes = ["o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"]


def read_image_file(path):
    """The images of an idx file, uint8 (N, H, W)."""
    return from_numpy(_read_bytes(path, dims=3))


def read_label_file(path):
    """The labels of an idx file, int64 (N,)."""
    return from_numpy(_read_bytes(path, dims=1).astype(np.int64))


def _read_bytes(path, dims):
    """The unsigned bytes of an idx file with `dims` dimensions; ValueError if it is of another kind or size."""
    with open(path, "rb") as file:
        content = bytearray(file.read())
    header = 4 * (dims + 1)
    magic = bytes((0, 0, 0x08, dims))  # 0x08: unsigned byte
    if len(content) < header or content[:4] != magic:
        raise ValueError(
            f"{path} is not an idx file of unsigned bytes with {dims} dimension(s): it begins with "
            f"{bytes(content[:4])!r}, not {magic!r}"
        )
    shape = tuple(int(size) for size in np.frombuffer(content, ">u4", dims, offset=4))
    found = len(content) - header
    if found != int(np.prod(shape, dtype=np.int64)):
        raise ValueError(f"{path} announces shape {shape} but holds {found} values; it is truncated or corrupted")
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)
