"""Imagenette: ten easily told classes of ImageNet (fast.ai, 2019)."""

from pathlib import Path

from rushlight_vision.datasets.download import download_and_extract_archive
from rushlight_vision.datasets.folder import default_loader, find_classes, make_dataset
from rushlight_vision.datasets.validation import found_or_raise, verify_str_arg
from rushlight_vision.datasets.vision import VisionDataset

_SITE = "https://s3.amazonaws.com/fast-ai-imageclas/"


class Imagenette(VisionDataset):
    """Imagenette from the folder `root/imagenette2` (size 'full'), `...-320` ('320px') or `...-160` ('160px').

    split: 'train' or 'val'. An item is (image, the class's number). Attributes: classes, list of tuples of names;
    class_to_idx, from every name; wnids; wnid_to_idx. Raises RuntimeError if the folder is missing.
    """

    _ARCHIVES = {
        "full": (_SITE + "imagenette2.tgz", "fe2fc210e6bb7c5664d602c3cd71e612"),
        "320px": (_SITE + "imagenette2-320.tgz", "3df6f0d01a2c9592104656642f5e78a3"),
        "160px": (_SITE + "imagenette2-160.tgz", "e793b78cc4c9e9a4ccc0c1155377a412"),
    }
    _WNID_TO_CLASS = {
        "n01440764": ("tench", "Tinca tinca"),
        "n02102040": ("English springer", "English springer spaniel"),
        "n02979186": ("cassette player",),
        "n03000684": ("chain saw", "chainsaw"),
        "n03028079": ("church", "church building"),
        "n03394916": ("French horn", "horn"),
        "n03417042": ("garbage truck", "dustcart"),
        "n03425413": ("gas pump", "gasoline pump", "petrol pump", "island dispenser"),
        "n03445777": ("golf ball",),
        "n03888257": ("parachute", "chute"),
    }

    def __init__(
        self,
        root,
        split="train",
        size="full",
        download=False,
        transform=None,
        target_transform=None,
        loader=default_loader,
    ):
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._split = verify_str_arg(split, "split", ["train", "val"])
        self._size = verify_str_arg(size, "size", ["full", "320px", "160px"])
        self._url, self._md5 = self._ARCHIVES[self._size]
        self._size_root = Path(self.root) / Path(self._url).stem
        self._image_root = str(self._size_root / self._split)
        if download and not self._size_root.exists():
            download_and_extract_archive(self._url, self.root, md5=self._md5)
        found_or_raise(self._size_root.exists(), "Dataset not found. You can use download=True to download it.")
        self.wnids, self.wnid_to_idx = find_classes(self._image_root)
        self.classes = [self._WNID_TO_CLASS[wnid] for wnid in self.wnids]
        self.class_to_idx = {name: index for index, names in enumerate(self.classes) for name in names}
        self._samples = make_dataset(self._image_root, self.wnid_to_idx, extensions=".jpeg")
        self.loader = loader

    def __getitem__(self, idx):
        path, label = self._samples[idx]
        return self._transformed(self.loader(path), label)

    def __len__(self):
        return len(self._samples)
