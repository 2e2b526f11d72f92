"""Moving MNIST: 10,000 films of 20 frames of 64x64 pixels with two moving digits (Srivastava et al., 2015)."""

import os

from rushlight import from_numpy
from rushlight_vision.datasets.arrayfile import load_npy
from rushlight_vision.datasets.download import check_integrity, download_url
from rushlight_vision.datasets.validation import found_or_raise, verify_str_arg
from rushlight_vision.datasets.vision import VisionDataset


class MovingMNIST(VisionDataset):
    """Moving MNIST from the file `root/MovingMNIST/mnist_test_seq.npy`.

    split: None for whole films, 'train' for their first `split_ratio` frames, 'test' for the others. An item is a uint8
    tensor (frames, 1, 64, 64), or what `transform` makes of it.

    Raises RuntimeError if the file is missing.
    """

    _URL = "http://www.cs.toronto.edu/~nitish/unsupervised_video/mnist_test_seq.npy"

    def __init__(self, root, split=None, split_ratio=10, download=False, transform=None):
        super().__init__(root, transform=transform)
        self._base_folder = os.path.join(self.root, type(self).__name__)
        self._filename = os.path.basename(self._URL)
        if split is not None:
            verify_str_arg(split, "split", ("train", "test"))
        self.split = split
        if not isinstance(split_ratio, int):
            raise TypeError(f"`split_ratio` should be an integer, but got {type(split_ratio)}")
        if not (1 <= split_ratio <= 19):
            raise ValueError(f"`split_ratio` should be `1 <= split_ratio <= 19`, but got {split_ratio} instead.")
        self.split_ratio = split_ratio
        if download:
            self.download()
        found_or_raise(self._check_exists(), "Dataset not found. You can use download=True to download it.")
        frames = load_npy(os.path.join(self._base_folder, self._filename))
        part = {None: slice(None), "train": slice(split_ratio), "test": slice(split_ratio, None)}[split]
        self.data = from_numpy(frames[part]).transpose(0, 1).unsqueeze(2).contiguous()

    def __getitem__(self, idx):
        film = self.data[idx]
        return film if self.transform is None else self.transform(film)

    def __len__(self):
        return len(self.data)

    def _check_exists(self):
        return check_integrity(os.path.join(self._base_folder, self._filename))

    def download(self):
        """Fetch the file unless it is there."""
        if not self._check_exists():
            download_url(self._URL, self._base_folder, self._filename, md5="be083ec986bfe91a449d63653c411eb2")
