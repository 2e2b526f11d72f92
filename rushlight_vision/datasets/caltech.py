"""Caltech 101 and Caltech 256: photographs of objects in 101 and 257 classes (Fei-Fei et al., 2004; Griffin, 2007)."""

import os
import shutil

from rushlight_vision.datasets.archive import extract_archive
from rushlight_vision.datasets.download import download_and_extract_archive
from rushlight_vision.datasets.image_files import opened
from rushlight_vision.datasets.validation import found_or_raise, needed, verify_str_arg
from rushlight_vision.datasets.vision import VisionDataset

# classes whose folder of annotations has another name
_ANNOTATIONS = {
    "Faces": "Faces_2",
    "Faces_easy": "Faces_3",
    "Motorbikes": "Motorbikes_16",
    "airplanes": "Airplanes_Side_2",
}


class _Caltech(VisionDataset):
    """Images numbered within the folders of their classes."""

    _images = ""

    def __init__(self, root, transform, target_transform, download):
        super().__init__(root, transform=transform, target_transform=target_transform)
        os.makedirs(self.root, exist_ok=True)
        if download:
            self.download()
        found_or_raise(self._check_integrity())
        self.categories = sorted(os.listdir(os.path.join(self.root, self._images)))

    def _number(self, counted):
        """index: the number of each image within its class; y: its class."""
        self.index, self.y = [], []
        for label, category in enumerate(self.categories):
            names = os.listdir(os.path.join(self.root, self._images, category))
            count = sum(1 for name in names if counted(name))
            self.index.extend(range(1, count + 1))
            self.y.extend([label] * count)

    def _open(self, index, name):
        return opened(os.path.join(self.root, self._images, self.categories[self.y[index]], name))

    def download(self):
        """Fetch the images; subclasses define it."""
        raise NotImplementedError

    def _check_integrity(self):
        return os.path.exists(os.path.join(self.root, self._images))

    def __len__(self):
        return len(self.index)


class Caltech101(_Caltech):
    """Caltech 101 from the folder `root/caltech101`.

    target_type: 'category' (the class's number), 'annotation' (the object's outline; needs SciPy), or a list of both.
    An item is (PIL image, target or tuple of targets), after the transforms.
    """

    _images = "101_ObjectCategories"

    def __init__(
        self, root, target_type: str | list[str] = "category", transform=None, target_transform=None, download=False
    ):
        types = [target_type] if isinstance(target_type, str) else target_type
        self.target_type = [verify_str_arg(t, "target_type", ("category", "annotation")) for t in types]
        super().__init__(os.path.join(root, "caltech101"), transform, target_transform, download)
        self.categories.remove("BACKGROUND_Google")
        self.annotation_categories = [_ANNOTATIONS.get(name, name) for name in self.categories]
        self._number(lambda name: True)

    def __getitem__(self, index):
        targets = [self.y[index] if kind == "category" else self._outline(index) for kind in self.target_type]
        target = tuple(targets) if len(targets) > 1 else targets[0]
        return self._transformed(self._open(index, f"image_{self.index[index]:04d}.jpg"), target)

    def _outline(self, index):
        loadmat = needed("scipy.io", "scipy", "Caltech101's annotations").loadmat
        folder = os.path.join(self.root, "Annotations", self.annotation_categories[self.y[index]])
        return loadmat(os.path.join(folder, f"annotation_{self.index[index]:04d}.mat"))["obj_contour"]

    def download(self):
        """Fetch and unpack the archive unless its folder is there."""
        if self._check_integrity():
            return
        url = "https://data.caltech.edu/records/mzrjq-6wc02/files/caltech-101.zip"
        name = "caltech-101.zip"
        download_and_extract_archive(url, self.root, filename=name, md5="3138e1922a9193bfa496528edbbc45d0")
        folder = os.path.join(self.root, "caltech-101")
        for inner in os.listdir(folder):
            if inner.endswith(".gz"):
                extract_archive(os.path.join(folder, inner), self.root)
        shutil.rmtree(folder)
        os.remove(os.path.join(self.root, name))

    def extra_repr(self):
        return f"Target type: {self.target_type}"


class Caltech256(_Caltech):
    """Caltech 256 from the folder `root/caltech256`. An item is (PIL image, the class's number), after transforms."""

    _images = "256_ObjectCategories"

    def __init__(self, root, transform=None, target_transform=None, download=False):
        super().__init__(os.path.join(root, "caltech256"), transform, target_transform, download)
        self._number(lambda name: name.endswith(".jpg"))

    def __getitem__(self, index):
        label = self.y[index]
        return self._transformed(self._open(index, f"{label + 1:03d}_{self.index[index]:04d}.jpg"), label)

    def download(self):
        """Fetch and unpack the archive unless its folder is there."""
        if self._check_integrity():
            return
        url = "https://data.caltech.edu/records/nyy15-4j048/files/256_ObjectCategories.tar"
        name = "256_ObjectCategories.tar"
        download_and_extract_archive(url, self.root, filename=name, md5="67b4f42ca05d46448c6bb8ecd2220f6d")
