"""Base of the data sets that are a list of image files with a label each."""

from rushlight_vision.datasets.folder import default_loader
from rushlight_vision.datasets.vision import VisionDataset


class ListedImages(VisionDataset):
    """Items (image, label) from `_image_files` and `_labels`, which subclasses fill; images are read by `loader`."""

    def __init__(self, root, transform=None, target_transform=None, loader=default_loader):
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.loader = loader
        self._image_files = []
        self._labels = []

    def __len__(self):
        return len(self._image_files)

    def __getitem__(self, idx):
        return self._transformed(self.loader(self._image_files[idx]), self._labels[idx])


def numbered(names):
    """{name: its place in the list}."""
    return {name: index for index, name in enumerate(names)}
