"""SVHN: colour images of 32x32 pixels of house numbers' digits (Netzer et al., 2011)."""

import os

import numpy as np

from rushlight_vision.datasets.download import check_integrity, download_url
from rushlight_vision.datasets.matfile import load_mat
from rushlight_vision.datasets.validation import found_or_raise, verify_str_arg
from rushlight_vision.datasets.vision import VisionDataset


class SVHN(VisionDataset):
    """SVHN from the MATLAB file in `root`, which is read without SciPy.

    split: 'train' (73,257 images), 'test' (26,032) or 'extra' (531,131). An item is (image, target): a PIL image of
    mode RGB, or what `transform` makes of it, and the digit (the file's 10 is 0).

    Attributes: data, uint8 (N, 3, 32, 32); labels, int64 (N,). Raises RuntimeError if the file is missing or its MD5 is
    wrong.
    """

    split_list = {
        "train": [
            "http://ufldl.stanford.edu/housenumbers/train_32x32.mat",
            "train_32x32.mat",
            "e26dedcc434d2e4c54c9b2d4a06d8373",
        ],
        "test": [
            "http://ufldl.stanford.edu/housenumbers/test_32x32.mat",
            "test_32x32.mat",
            "eb5a983be6a315427106f1b164d9cef3",
        ],
        "extra": [
            "http://ufldl.stanford.edu/housenumbers/extra_32x32.mat",
            "extra_32x32.mat",
            "a93ce644f1a588dc4d68dda5feec44a7",
        ],
    }

    def __init__(self, root, split="train", transform=None, target_transform=None, download=False):
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = verify_str_arg(split, "split", tuple(self.split_list))
        self.url, self.filename, self.file_md5 = self.split_list[split]
        if download:
            self.download()
        found_or_raise(self._check_integrity())
        arrays = load_mat(os.path.join(self.root, self.filename))
        self.labels = arrays["y"].astype(np.int64).squeeze()
        self.labels[self.labels == 10] = 0
        self.data = arrays["X"].transpose(3, 2, 0, 1)

    def __getitem__(self, index):
        from PIL import Image

        pixels = np.ascontiguousarray(self.data[index].transpose(1, 2, 0))
        return self._transformed(Image.fromarray(pixels), int(self.labels[index]))

    def __len__(self):
        return len(self.data)

    def _check_integrity(self):
        return check_integrity(os.path.join(self.root, self.filename), self.split_list[self.split][2])

    def download(self):
        """Fetch the file unless it is there and right."""
        download_url(self.url, self.root, self.filename, self.split_list[self.split][2])

    def extra_repr(self):
        return f"Split: {self.split}"
