"""SBD: outlines of the objects in 11,355 images of Pascal VOC (Hariharan et al., 2011). Needs SciPy."""

import os
import shutil

import numpy as np

from rushlight_vision.datasets.download import download_and_extract_archive, download_url
from rushlight_vision.datasets.image_files import opened
from rushlight_vision.datasets.validation import found_or_raise, needed, verify_str_arg
from rushlight_vision.datasets.vision import VisionDataset


class SBDataset(VisionDataset):
    """SBD from the folders `root/img` and `root/cls`.

    image_set: 'train', 'val' or 'train_noval' (without VOC's validation images). mode: 'segmentation' (a PIL image of
    class numbers) or 'boundaries' (an array (20, H, W)). An item is (PIL image of mode RGB, target), after
    `transforms`. ModuleNotFoundError without SciPy.
    """

    url = "https://www2.eecs.berkeley.edu/Research/Projects/CS/vision/grouping/semantic_contours/benchmark.tgz"
    md5 = "82b4d87ceb2ed10f6038a1cba92111cb"
    filename = "benchmark.tgz"
    voc_train_url = "https://www.cs.cornell.edu/~bharathh/train_noval.txt"
    voc_split_filename = "train_noval.txt"
    voc_split_md5 = "79bff800c5f0b1ec6b21080a3c066722"
    num_classes = 20

    def __init__(self, root, image_set="train", mode="boundaries", download=False, transforms=None):
        self._loadmat = needed("scipy.io", "scipy", "SBDataset").loadmat
        super().__init__(root, transforms)
        self.image_set = verify_str_arg(image_set, "image_set", ("train", "val", "train_noval"))
        self.mode = verify_str_arg(mode, "mode", ("segmentation", "boundaries"))
        if download:
            self._download()
        found_or_raise(os.path.isdir(self.root))
        with open(os.path.join(self.root, image_set + ".txt")) as file:
            names = [line.strip() for line in file]
        self.images = [os.path.join(self.root, "img", name + ".jpg") for name in names]
        self.masks = [os.path.join(self.root, "cls", name + ".mat") for name in names]

    def _download(self):
        download_and_extract_archive(self.url, self.root, filename=self.filename, md5=self.md5)
        for name in ("cls", "img", "inst", "train.txt", "val.txt"):
            shutil.move(os.path.join(self.root, "benchmark_RELEASE", "dataset", name), self.root)
        if self.image_set == "train_noval":
            download_url(self.voc_train_url, self.root, self.voc_split_filename, self.voc_split_md5)

    def __getitem__(self, index):
        from PIL import Image

        image = opened(self.images[index], "RGB")
        truth = self._loadmat(self.masks[index])["GTcls"][0]
        if self.mode == "segmentation":
            target = Image.fromarray(truth["Segmentation"][0])
        else:
            edges = truth["Boundaries"][0]
            target = np.stack([edges[i][0].toarray() for i in range(self.num_classes)])
        return (image, target) if self.transforms is None else self.transforms(image, target)

    def __len__(self):
        return len(self.images)

    def extra_repr(self):
        return f"Image set: {self.image_set}\nMode: {self.mode}"
