"""ImageNet 2012: 1.28 million photographs in 1,000 classes (Russakovsky et al., 2015)."""

import os
import shutil
from typing import cast

import rushlight as torch
from rushlight_vision.datasets.archive import extract_archive
from rushlight_vision.datasets.download import check_integrity
from rushlight_vision.datasets.folder import ImageFolder
from rushlight_vision.datasets.validation import needed, verify_str_arg

META_FILE = "meta.bin"
ARCHIVE_META = {
    "train": ("ILSVRC2012_img_train.tar", "1d675b47d978889d74fa0da5fadfb00e"),
    "val": ("ILSVRC2012_img_val.tar", "29b22e2961454d5413ddabcf34fc5622"),
    "devkit": ("ILSVRC2012_devkit_t12.tar.gz", "fa75699e90414af021442c21a62c3abf"),
}


class ImageNet(ImageFolder):
    """ImageNet 2012 from the folders `root/train` or `root/val`, one folder a class.

    Where they are missing they are unpacked from ILSVRC2012's archives in `root`, which cannot be fetched without an
    account; the class names come from `root/meta.bin` or, with SciPy, from the development kit's archive. An item is
    (image, the class's number). The other arguments are ImageFolder's.

    Attributes: classes, list of tuples of names; class_to_idx, from every name; wnids, WordNet's numbers of the
    classes; wnid_to_idx.
    """

    def __init__(self, root, split="train", **kwargs):
        root = self.root = os.path.expanduser(root)
        self.split = verify_str_arg(split, "split", ("train", "val"))
        self.parse_archives()
        names = load_meta_file(self.root)[0]
        super().__init__(self.split_folder, **kwargs)
        self.root = root
        self.wnids = self.classes
        self.wnid_to_idx = self.class_to_idx
        self.classes = [names[wnid] for wnid in self.wnids]
        self.class_to_idx = {name: index for index, group in enumerate(self.classes) for name in group}

    def parse_archives(self):
        """Unpack what is missing."""
        if not check_integrity(os.path.join(self.root, META_FILE)):
            parse_devkit_archive(self.root)
        if not os.path.isdir(self.split_folder):
            (parse_train_archive if self.split == "train" else parse_val_archive)(self.root)

    @property
    def split_folder(self):
        return os.path.join(self.root, self.split)

    def extra_repr(self):
        return f"Split: {self.split}"


def load_meta_file(root, file=None) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """({WordNet number: names}, WordNet numbers of the validation images)."""
    path = os.path.join(root, file or META_FILE)
    if not check_integrity(path):
        raise RuntimeError(
            f"The meta file {path} is not present in the root directory or is corrupted. "
            "This file is automatically created by the ImageNet dataset."
        )
    return cast("tuple[dict[str, tuple[str, ...]], list[str]]", torch.load(path, weights_only=True))


def _verified(root, which, file):
    """The path of an archive; RuntimeError unless it is there with the right MD5."""
    name, md5 = ARCHIVE_META[which]
    path = os.path.join(root, file or name)
    if not check_integrity(path, md5):
        raise RuntimeError(
            f"The archive {file or name} is not present in the root directory or is corrupted. "
            f"You need to download it externally and place it in {root}."
        )
    return path


def parse_devkit_archive(root, file=None):
    """Write `meta.bin` from the development kit's archive. Needs SciPy."""
    import tempfile

    archive = _verified(root, "devkit", file)
    loadmat = needed("scipy.io", "scipy", "ImageNet's development kit").loadmat
    with tempfile.TemporaryDirectory() as folder:
        extract_archive(archive, folder)
        data = os.path.join(folder, "ILSVRC2012_devkit_t12", "data")
        synsets = loadmat(os.path.join(data, "meta.mat"), squeeze_me=True)["synsets"]
        leaves = [synset for synset in synsets if synset[4] == 0]
        by_number = {synset[0]: synset[1] for synset in leaves}
        names = {synset[1]: tuple(synset[2].split(", ")) for synset in leaves}
        with open(os.path.join(data, "ILSVRC2012_validation_ground_truth.txt")) as lines:
            wnids = [by_number[int(line)] for line in lines]
    torch.save((names, wnids), os.path.join(root, META_FILE))


def parse_train_archive(root, file=None, folder="train"):
    """Unpack the training images into `root/train/<class>`."""
    target = os.path.join(root, folder)
    extract_archive(_verified(root, "train", file), target)
    for name in os.listdir(target):
        path = os.path.join(target, name)
        extract_archive(path, os.path.splitext(path)[0], remove_finished=True)


def parse_val_archive(root, file=None, wnids=None, folder="val"):
    """Unpack the validation images into `root/val/<class>`."""
    wnids = load_meta_file(root)[1] if wnids is None else wnids
    target = os.path.join(root, folder)
    extract_archive(_verified(root, "val", file), target)
    images = sorted(os.listdir(target))
    for wnid in set(wnids):
        os.mkdir(os.path.join(target, wnid))
    for wnid, name in zip(wnids, images):
        shutil.move(os.path.join(target, name), os.path.join(target, wnid, name))
