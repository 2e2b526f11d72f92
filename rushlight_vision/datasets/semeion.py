"""SEMEION: 1,593 black and white images of 16x16 pixels of digits."""

import os

import numpy as np

from rushlight_vision.datasets.download import check_integrity, download_url
from rushlight_vision.datasets.validation import found_or_raise
from rushlight_vision.datasets.vision import VisionDataset


class SEMEION(VisionDataset):
    """SEMEION from the file `root/semeion.data`.

    An item is (image, target): a PIL image of mode L, or what `transform` makes of it, and the digit. Raises
    RuntimeError if the file is missing or its MD5 is wrong.
    """

    url = "http://archive.ics.uci.edu/ml/machine-learning-databases/semeion/semeion.data"
    filename = "semeion.data"
    md5_checksum = "cb545d371d2ce14ec121470795a77432"

    def __init__(self, root, transform=None, target_transform=None, download=True):
        super().__init__(root, transform=transform, target_transform=target_transform)
        if download:
            self.download()
        found_or_raise(self._check_integrity())
        rows = np.loadtxt(os.path.join(self.root, self.filename))
        self.data = (rows[:, :256] * 255).astype(np.uint8).reshape(-1, 16, 16)
        self.labels = np.nonzero(rows[:, 256:])[1]

    def __getitem__(self, index):
        from PIL import Image

        return self._transformed(Image.fromarray(self.data[index]), int(self.labels[index]))

    def __len__(self):
        return len(self.data)

    def _check_integrity(self):
        return check_integrity(os.path.join(self.root, self.filename), self.md5_checksum)

    def download(self):
        """Fetch the file unless it is there and right."""
        download_url(self.url, self.root, self.filename, self.md5_checksum)
