"""Relatives of MNIST in the same format: EMNIST (Cohen et al., 2017) and QMNIST (Yadav and Bottou, 2019)."""

import os
import shutil
import string

import numpy as np

from rushlight import from_numpy
from rushlight_vision.datasets.archive import extract_archive
from rushlight_vision.datasets.download import check_integrity, download_and_extract_archive
from rushlight_vision.datasets.mnist import MNIST, read_image_file, read_label_file
from rushlight_vision.datasets.validation import verify_str_arg

_MERGED = set("cijklmopsuvwxyz")  # lower-case letters that look like their upper-case ones
_ALL = set(string.digits + string.ascii_letters)


class _TwoFiles(MNIST):
    """One file of images and one of labels, which subclasses name `images_file` and `labels_file`."""

    @property
    def images_file(self) -> str:
        raise NotImplementedError

    @property
    def labels_file(self) -> str:
        raise NotImplementedError

    def _load_data(self):
        return read_image_file(self.images_file), read_label_file(self.labels_file)

    def _check_exists(self):
        return all(check_integrity(file) for file in (self.images_file, self.labels_file))


class EMNIST(_TwoFiles):
    """EMNIST from the folder `root/EMNIST/raw`: letters and digits, 28x28, lying on their side as in the files.

    split: 'byclass', 'bymerge', 'balanced', 'letters', 'digits' or 'mnist'; the other arguments are MNIST's.
    """

    url = "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip"
    md5 = "58c8d27c78d21e728a6bc7b3cc06412e"
    splits = ("byclass", "bymerge", "balanced", "letters", "digits", "mnist")
    classes_split_dict = {
        "byclass": sorted(_ALL),
        "bymerge": sorted(_ALL - _MERGED),
        "balanced": sorted(_ALL - _MERGED),
        "letters": ["N/A", *string.ascii_lowercase],
        "digits": list(string.digits),
        "mnist": list(string.digits),
    }

    def __init__(self, root, split, **kwargs):
        self.split = verify_str_arg(split, "split", self.splits)
        super().__init__(root, **kwargs)
        self.classes = self.classes_split_dict[self.split]

    @property
    def images_file(self):
        return os.path.join(self.raw_folder, f"{self._prefix()}-images-idx3-ubyte")

    @property
    def labels_file(self):
        return os.path.join(self.raw_folder, f"{self._prefix()}-labels-idx1-ubyte")

    def _prefix(self):
        return f"emnist-{self.split}-{'train' if self.train else 'test'}"

    def download(self):
        """Fetch and unpack the files of all splits unless this one's are there."""
        if self._check_exists():
            return
        download_and_extract_archive(self.url, self.raw_folder, md5=self.md5)
        folder = os.path.join(self.raw_folder, "gzip")
        for name in os.listdir(folder):
            if name.endswith(".gz"):
                extract_archive(os.path.join(folder, name), self.raw_folder)
        shutil.rmtree(folder)


_QMNIST = "https://raw.githubusercontent.com/facebookresearch/qmnist/master/"


class QMNIST(_TwoFiles):
    """QMNIST from the folder `root/QMNIST/raw`.

    what: 'train', 'test' (60,000 each), 'test10k' (MNIST's test set), 'test50k' (the rest) or 'nist' (402,953); by
    default what `train` says. compat=True gives the class's number as target, False the tensor of all eight numbers
    known of the digit.
    """

    subsets = {"train": "train", "test": "test", "test10k": "test", "test50k": "test", "nist": "nist"}
    resources = {
        "train": [
            (_QMNIST + "qmnist-train-images-idx3-ubyte.gz", "ed72d4157d28c017586c42bc6afe6370"),
            (_QMNIST + "qmnist-train-labels-idx2-int.gz", "0058f8dd561b90ffdd0f734c6a30e5e4"),
        ],
        "test": [
            (_QMNIST + "qmnist-test-images-idx3-ubyte.gz", "1394631089c404de565df7b7aeaf9412"),
            (_QMNIST + "qmnist-test-labels-idx2-int.gz", "5b5b05890a5e13444e108efe57b788aa"),
        ],
        "nist": [
            (_QMNIST + "xnist-images-idx3-ubyte.xz", "7f124b3b8ab81486c9d8c2749c17f834"),
            (_QMNIST + "xnist-labels-idx2-int.xz", "5ed0e788978e45d4a8bd4b7caec3d79d"),
        ],
    }

    def __init__(self, root, what=None, compat=True, train=True, **kwargs):
        if what is None:
            what = "train" if train else "test"
        self.what = verify_str_arg(what, "what", tuple(self.subsets))
        self.compat = compat
        super().__init__(root, train, **kwargs)

    def _file(self, which):
        url, _ = self.resources[self.subsets[self.what]][which]
        return os.path.join(self.raw_folder, os.path.splitext(os.path.basename(url))[0])

    @property
    def images_file(self):
        return self._file(0)

    @property
    def labels_file(self):
        return self._file(1)

    def _load_data(self):
        data, targets = read_image_file(self.images_file), _read_int_rows(self.labels_file)
        part = {"test10k": slice(0, 10000), "test50k": slice(10000, None)}.get(self.what, slice(None))
        return data[part].clone(), targets[part].clone()

    def download(self):
        """Fetch and unpack the two files unless they are there."""
        if self._check_exists():
            return
        for url, md5 in self.resources[self.subsets[self.what]]:
            download_and_extract_archive(url, self.raw_folder, md5=md5)

    def __getitem__(self, index):
        from PIL import Image

        target = self.targets[index]
        image = Image.fromarray(self.data[index].numpy())
        return self._transformed(image, int(target[0]) if self.compat else target)

    def extra_repr(self):
        return f"Split: {self.what}"


def _read_int_rows(path):
    """The labels of an idx file of 4-byte ints with two dimensions, int64 (N, 8)."""
    with open(path, "rb") as file:
        content = file.read()
    if content[:4] != bytes((0, 0, 0x0C, 2)):
        raise ValueError(f"{path} is not an idx file of 4-byte ints with 2 dimensions: it begins with {content[:4]!r}")
    rows, columns = (int(size) for size in np.frombuffer(content, ">u4", 2, offset=4))
    values = np.frombuffer(content, ">i4", offset=12)
    if values.size != rows * columns:
        raise ValueError(f"{path} announces {(rows, columns)} but holds {values.size} values; it is truncated")
    return from_numpy(values.reshape(rows, columns).astype(np.int64))
