"""CelebA: 202,599 photographs of faces with 40 attributes each (Liu et al., 2015)."""

import csv
import os
from collections import namedtuple

import rushlight as torch
from rushlight_vision.datasets.archive import extract_archive
from rushlight_vision.datasets.download import check_integrity
from rushlight_vision.datasets.drive import download_file_from_google_drive
from rushlight_vision.datasets.image_files import opened
from rushlight_vision.datasets.validation import found_or_raise, verify_str_arg
from rushlight_vision.datasets.vision import VisionDataset

CSV = namedtuple("CSV", ["header", "index", "data"])
_SPLITS = {"train": 0, "valid": 1, "test": 2, "all": None}


class CelebA(VisionDataset):
    """CelebA from the folder `root/celeba`.

    split: 'train', 'valid', 'test' or 'all'. target_type: 'attr' (40 zeros and ones), 'identity', 'bbox' (x, y, width,
    height), 'landmarks' (x and y of eyes, nose and corners of the mouth), or a list of these; for an empty list the
    target is None. An item is (PIL image, target or tuple of targets), after the transforms.

    Raises RuntimeError if a file is missing or its MD5 is wrong. The download needs the package `gdown`.
    """

    base_folder = "celeba"
    file_list = [
        ("0B7EVK8r0v71pZjFTYXZWM3FlRnM", "00d2c5bc6d35e252742224ab0c1e8fcb", "img_align_celeba.zip"),
        ("0B7EVK8r0v71pblRyaVFSWGxPY0U", "75e246fa4810816ffd6ee81facbd244c", "list_attr_celeba.txt"),
        ("1_ee_0u7vcNLOfNLegJRHmolfH5ICW-XS", "32bd1bd63d3c78cd57e08160ec5ed1e2", "identity_CelebA.txt"),
        ("0B7EVK8r0v71pbThiMVRxWXZ4dU0", "00566efa6fedff7a56946cd1c10f1c16", "list_bbox_celeba.txt"),
        ("0B7EVK8r0v71pd0FJY3Blby1HUTQ", "cc24ecafdb5b50baae59b03474781f8c", "list_landmarks_align_celeba.txt"),
        ("0B7EVK8r0v71pY0NSMzRuSXJEVkk", "d32c9cbf5e040fd4025c592c306e6668", "list_eval_partition.txt"),
    ]

    def __init__(
        self,
        root,
        split="train",
        target_type: str | list[str] = "attr",
        transform=None,
        target_transform=None,
        download=False,
    ):
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = split
        self.target_type = target_type if isinstance(target_type, list) else [target_type]
        if not self.target_type and self.target_transform is not None:
            raise RuntimeError("target_transform is specified but target_type is empty")
        if download:
            self.download()
        found_or_raise(self._check_integrity())
        name = split.lower() if isinstance(split, str) else split
        number = _SPLITS[verify_str_arg(name, "split", tuple(_SPLITS))]
        splits = self._load_csv("list_eval_partition.txt")
        chosen = [i for i, row in enumerate(splits.data[:, 0].tolist()) if number is None or row == number]
        self.filename = [splits.index[i] for i in chosen]
        attr = self._load_csv("list_attr_celeba.txt", header=1)
        self.identity = self._load_csv("identity_CelebA.txt").data[chosen]
        self.bbox = self._load_csv("list_bbox_celeba.txt", header=1).data[chosen]
        self.landmarks_align = self._load_csv("list_landmarks_align_celeba.txt", header=1).data[chosen]
        self.attr = torch.div(attr.data[chosen] + 1, 2, rounding_mode="floor")  # the file has -1 and 1
        self.attr_names = attr.header

    def _load_csv(self, filename, header=None):
        """(names of the columns, names of the images, int64 tensor); `header` is the line with the names."""
        with open(os.path.join(self.root, self.base_folder, filename)) as file:
            rows = list(csv.reader(file, delimiter=" ", skipinitialspace=True))
        names = [] if header is None else rows[header]
        rows = rows if header is None else rows[header + 1 :]
        return CSV(names, [row[0] for row in rows], torch.tensor([[int(v) for v in row[1:]] for row in rows]))

    def _check_integrity(self):
        folder = os.path.join(self.root, self.base_folder)
        texts = ((name, md5) for _, md5, name in self.file_list if name.endswith(".txt"))
        return all(check_integrity(os.path.join(folder, name), md5) for name, md5 in texts) and os.path.isdir(
            os.path.join(folder, "img_align_celeba")
        )

    def download(self):
        """Fetch and unpack what is missing."""
        if self._check_integrity():
            return
        folder = os.path.join(self.root, self.base_folder)
        for number, md5, name in self.file_list:
            download_file_from_google_drive(number, folder, name, md5)
        extract_archive(os.path.join(folder, "img_align_celeba.zip"))

    def __getitem__(self, index):
        image = opened(os.path.join(self.root, self.base_folder, "img_align_celeba", self.filename[index]))
        targets = [self._target(kind, index) for kind in self.target_type]
        if self.transform is not None:
            image = self.transform(image)
        if not targets:
            return image, None
        target = tuple(targets) if len(targets) > 1 else targets[0]
        return image, target if self.target_transform is None else self.target_transform(target)

    def _target(self, kind, index):
        if kind == "attr":
            return self.attr[index, :]
        if kind == "identity":
            return self.identity[index, 0]
        if kind == "bbox":
            return self.bbox[index, :]
        if kind == "landmarks":
            return self.landmarks_align[index, :]
        raise ValueError(f'Target type "{kind}" is not recognized.')

    def __len__(self):
        return len(self.attr)

    def extra_repr(self):
        return f"Target type: {self.target_type}\nSplit: {self.split}"
