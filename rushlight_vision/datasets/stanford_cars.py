"""Stanford Cars: photographs of 196 models of cars (Krause et al., 2013). Needs SciPy."""

from pathlib import Path

from rushlight_vision.datasets.folder import default_loader
from rushlight_vision.datasets.image_list import ListedImages, numbered
from rushlight_vision.datasets.validation import found_or_raise, needed, verify_str_arg


class StanfordCars(ListedImages):
    """Stanford Cars from the folder `root/stanford_cars`, which can no longer be fetched.

    split: 'train' or 'test'. An item is (image, the class's number). Raises RuntimeError if a file is missing,
    ValueError for download=True, ModuleNotFoundError without SciPy.
    """

    def __init__(
        self, root, split="train", transform=None, target_transform=None, download=False, loader=default_loader
    ):
        loadmat = needed("scipy.io", "scipy", "StanfordCars").loadmat
        super().__init__(root, transform, target_transform, loader)
        self._split = verify_str_arg(split, "split", ("train", "test"))
        folder = Path(self.root) / "stanford_cars"
        devkit = folder / "devkit"
        listing = devkit / "cars_train_annos.mat" if split == "train" else folder / "cars_test_annos_withlabels.mat"
        images = folder / f"cars_{split}"
        if download:
            raise ValueError("The original URL is broken so the StanfordCars dataset cannot be downloaded anymore.")
        found_or_raise(devkit.is_dir() and listing.exists() and images.is_dir(), "Dataset not found.")
        rows = loadmat(listing, squeeze_me=True)["annotations"]
        self._image_files = [str(images / row["fname"]) for row in rows]
        self._labels = [row["class"] - 1 for row in rows]
        self.classes = loadmat(str(devkit / "cars_meta.mat"), squeeze_me=True)["class_names"].tolist()
        self.class_to_idx = numbered(self.classes)
