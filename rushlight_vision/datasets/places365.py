"""Places365: photographs of 365 kinds of places (Zhou et al., 2017)."""

import os

from rushlight_vision.datasets.download import check_integrity, download_and_extract_archive
from rushlight_vision.datasets.folder import default_loader
from rushlight_vision.datasets.validation import verify_str_arg
from rushlight_vision.datasets.vision import VisionDataset


class Places365(VisionDataset):
    """Places365 from the folder `root`.

    split: 'train-standard', 'train-challenge', 'val' or 'test'. small=True takes the images of 256x256. An item is
    (image, the class's number, None in the test set), after the transforms.

    Raises RuntimeError if a list is missing or its MD5 is wrong.
    """

    _SPLITS = ("train-standard", "train-challenge", "val", "test")
    _BASE_URL = "http://data.csail.mit.edu/places/places365/"
    _DEVKIT_META = {
        "standard": ("filelist_places365-standard.tar", "35a0585fee1fa656440f3ab298f8479c"),
        "challenge": ("filelist_places365-challenge.tar", "70a8307e459c3de41690a7c76c931734"),
    }
    _CATEGORIES_META = ("categories_places365.txt", "06c963b85866bd0649f97cb43dd16673")
    _FILE_LIST_META = {
        "train-standard": ("places365_train_standard.txt", "30f37515461640559006b8329efbed1a"),
        "train-challenge": ("places365_train_challenge.txt", "b2931dc997b8c33c27e7329c073a6b57"),
        "val": ("places365_val.txt", "e9f2fd57bfd9d07630173f4e8708e4b1"),
        "test": ("places365_test.txt", "2fce8233fe493576d724142e45d93653"),
    }
    _IMAGES_META = {
        ("train-standard", False): ("train_large_places365standard.tar", "67e186b496a84c929568076ed01a8aa1"),
        ("train-challenge", False): ("train_large_places365challenge.tar", "605f18e68e510c82b958664ea134545f"),
        ("val", False): ("val_large.tar", "9b71c4993ad89d2d8bcbdc4aef38042f"),
        ("test", False): ("test_large.tar", "41a4b6b724b1d2cd862fb3871ed59913"),
        ("train-standard", True): ("train_256_places365standard.tar", "53ca1c756c3d1e7809517cc47c5561c5"),
        ("train-challenge", True): ("train_256_places365challenge.tar", "741915038a5e3471ec7332404dfb64ef"),
        ("val", True): ("val_256.tar", "e27b17d8d44f4af9a78502beb927f808"),
        ("test", True): ("test_256.tar", "f532f6ad7b582262a2ec8009075e186b"),
    }

    def __init__(
        self,
        root,
        split="train-standard",
        small=False,
        download=False,
        transform=None,
        target_transform=None,
        loader=default_loader,
    ):
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = verify_str_arg(split, "split", self._SPLITS)
        self.small = small
        self.loader = loader
        self.class_to_idx = {name: int(number) for name, number in self._lines(*self._CATEGORIES_META, download)}
        self.classes = sorted(self.class_to_idx)
        rows = self._lines(*self._FILE_LIST_META[split], download)
        self.imgs = [(self._path(row[0]), int(row[1]) if len(row) > 1 else None) for row in rows]
        self.targets = [target for _, target in self.imgs]
        if download:
            self.download_images()

    def _lines(self, name, md5, download):
        """The words of each line of a list, fetched first if need be."""
        path = os.path.join(self.root, name)
        if not check_integrity(path, md5):
            if not download:
                raise RuntimeError(
                    f"The file {path} does not exist or is corrupted. You can set download=True to download it."
                )
            self.download_devkit()
        with open(path) as file:
            return [line.split() for line in file]

    def _path(self, name):
        return os.path.join(self.images_dir, *name.lstrip("/").split("/"))

    def __getitem__(self, index):
        path, target = self.imgs[index]
        image = self.loader(path)
        return (image, target) if self.transforms is None else self.transforms(image, target)

    def __len__(self):
        return len(self.imgs)

    @property
    def variant(self):
        return "challenge" if "challenge" in self.split else "standard"

    @property
    def images_dir(self):
        size = "256" if self.small else "large"
        folder = f"data_{size}_{self.variant}" if self.split.startswith("train") else f"{self.split}_{size}"
        return os.path.join(self.root, folder)

    def download_devkit(self):
        """Fetch and unpack the lists."""
        name, md5 = self._DEVKIT_META[self.variant]
        download_and_extract_archive(self._BASE_URL + name, self.root, md5=md5)

    def download_images(self):
        """Fetch and unpack the images unless their folder is there."""
        if os.path.exists(self.images_dir):
            return
        name, md5 = self._IMAGES_META[self.split, self.small]
        download_and_extract_archive(self._BASE_URL + name, self.root, md5=md5)
        if self.split.startswith("train"):
            os.rename(self.images_dir.rsplit("_", 1)[0], self.images_dir)

    def extra_repr(self):
        return f"Split: {self.split}\nSmall: {self.small}"
