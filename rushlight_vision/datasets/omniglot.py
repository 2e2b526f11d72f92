"""Omniglot: 1,623 handwritten characters of 50 alphabets, each by 20 people (Lake et al., 2015)."""

import os

from rushlight_vision.datasets.download import check_integrity, download_and_extract_archive
from rushlight_vision.datasets.validation import found_or_raise
from rushlight_vision.datasets.vision import VisionDataset
from rushlight_vision.pixels import check_pixels


class Omniglot(VisionDataset):
    """Omniglot from the folder `root/omniglot-py`.

    background=True gives the 30 alphabets for training, False the 20 for evaluation. An item is (image, target): a PIL
    image of mode L, or what `loader(path)` and `transform` make of it, and the character's number. Folders and files
    are taken in the order in which the file system lists them, as torchvision does.

    Raises RuntimeError if the archive is missing or its MD5 is wrong.
    """

    folder = "omniglot-py"
    download_url_prefix = "https://raw.githubusercontent.com/brendenlake/omniglot/master/python"
    zips_md5 = {
        "images_background": "68d2efa1b9178cc56df9314c21c6e718",
        "images_evaluation": "6b91aef0f799c5bb55b94e3f2daec811",
    }

    def __init__(self, root, background=True, transform=None, target_transform=None, download=False, loader=None):
        super().__init__(os.path.join(root, self.folder), transform=transform, target_transform=target_transform)
        self.background = background
        self.loader = loader
        if download:
            self.download()
        found_or_raise(self._check_integrity())
        self.target_folder = os.path.join(self.root, self._get_target_folder())
        self._alphabets = _folders(self.target_folder)
        self._characters = [
            os.path.join(alphabet, character)
            for alphabet in self._alphabets
            for character in _folders(os.path.join(self.target_folder, alphabet))
        ]
        self._character_images = [
            [(name, index) for name in _images(os.path.join(self.target_folder, character))]
            for index, character in enumerate(self._characters)
        ]
        self._flat_character_images = [pair for pairs in self._character_images for pair in pairs]

    def __len__(self):
        return len(self._flat_character_images)

    def __getitem__(self, index):
        from PIL import Image

        name, character = self._flat_character_images[index]
        path = os.path.join(self.target_folder, self._characters[character], name)
        if self.loader is not None:
            return self._transformed(self.loader(path), character)
        with Image.open(path) as image:
            return self._transformed(check_pixels(image).convert("L"), character)

    def _check_integrity(self):
        name = self._get_target_folder()
        return check_integrity(os.path.join(self.root, name + ".zip"), self.zips_md5[name])

    def download(self):
        """Fetch and unpack the archive unless it is there and right."""
        if self._check_integrity():
            return
        name = self._get_target_folder()
        url = f"{self.download_url_prefix}/{name}.zip"
        download_and_extract_archive(url, self.root, filename=name + ".zip", md5=self.zips_md5[name])

    def _get_target_folder(self):
        return "images_background" if self.background else "images_evaluation"


def _folders(path):
    return [name for name in os.listdir(path) if os.path.isdir(os.path.join(path, name))]


def _images(path):
    return [name for name in os.listdir(path) if name.endswith(".png") and os.path.isfile(os.path.join(path, name))]
