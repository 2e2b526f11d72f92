"""Oxford-IIIT Pet: 7,349 photographs of cats and dogs of 37 breeds, with outlines (Parkhi et al., 2012)."""

from pathlib import Path

from rushlight_vision.datasets.download import download_and_extract_archive
from rushlight_vision.datasets.image_files import opened
from rushlight_vision.datasets.validation import NOT_FOUND, found_or_raise, verify_str_arg
from rushlight_vision.datasets.vision import VisionDataset


class OxfordIIITPet(VisionDataset):
    """Oxford-IIIT Pet from the folder `root/oxford-iiit-pet`.

    split: 'trainval' or 'test'. target_types: 'category' (the breed's number), 'binary-category' (0 cat, 1 dog),
    'segmentation' (a PIL image of 1 pet, 2 background, 3 border), or a list of these. An item is (PIL image of mode
    RGB, target or tuple of targets), after the transforms. Raises RuntimeError if a folder is missing.
    """

    _RESOURCES = (
        ("https://www.robots.ox.ac.uk/~vgg/data/pets/data/images.tar.gz", "5c4f3ee8e5d25df40f4fd59a7f44e54c"),
        ("https://www.robots.ox.ac.uk/~vgg/data/pets/data/annotations.tar.gz", "95a8c909bbe2e81eed6a22bccdf3f68f"),
    )
    _VALID_TARGET_TYPES = ("category", "binary-category", "segmentation")

    def __init__(
        self,
        root,
        split="trainval",
        target_types: str | list[str] = "category",
        transforms=None,
        transform=None,
        target_transform=None,
        download=False,
    ):
        self._split = verify_str_arg(split, "split", ("trainval", "test"))
        kinds = [target_types] if isinstance(target_types, str) else target_types
        self._target_types = [verify_str_arg(kind, "target_types", self._VALID_TARGET_TYPES) for kind in kinds]
        super().__init__(root, transforms=transforms, transform=transform, target_transform=target_transform)
        self._base_folder = Path(self.root) / "oxford-iiit-pet"
        self._images_folder = self._base_folder / "images"
        self._anns_folder = self._base_folder / "annotations"
        self._segs_folder = self._anns_folder / "trimaps"
        if download:
            self._download()
        found_or_raise(self._check_exists(), NOT_FOUND)
        lines = (self._anns_folder / f"{self._split}.txt").read_text().splitlines()
        names, labels, kinds = zip(*(line.split()[:3] for line in lines))
        self._labels = [int(label) - 1 for label in labels]
        self._bin_labels = [int(kind) - 1 for kind in kinds]
        breeds = {label: name.rsplit("_", 1)[0] for name, label in zip(names, self._labels)}
        self.bin_classes = ["Cat", "Dog"]
        self.classes = [" ".join(word.title() for word in breeds[label].split("_")) for label in sorted(breeds)]
        self.bin_class_to_idx = {name: i for i, name in enumerate(self.bin_classes)}
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}
        self._images = [self._images_folder / f"{name}.jpg" for name in names]
        self._segs = [self._segs_folder / f"{name}.png" for name in names]

    def __len__(self):
        return len(self._images)

    def __getitem__(self, idx):
        image = opened(self._images[idx], "RGB")
        targets = tuple(self._target(kind, idx) for kind in self._target_types)
        target = targets[0] if len(targets) == 1 else targets or None
        return (image, target) if self.transforms is None else self.transforms(image, target)

    def _target(self, kind, idx):
        if kind == "category":
            return self._labels[idx]
        return self._bin_labels[idx] if kind == "binary-category" else opened(self._segs[idx])

    def _check_exists(self):
        return self._images_folder.is_dir() and self._anns_folder.is_dir()

    def _download(self):
        if self._check_exists():
            return
        for url, md5 in self._RESOURCES:
            download_and_extract_archive(url, str(self._base_folder), md5=md5)
