"""Data sets whose lists of images and labels are text files next to the images: DTD, FGVC-Aircraft, Food-101, SUN397,
CLEVR and Flickr's captions.
"""

import json
import os
from collections import defaultdict
from pathlib import Path

from rushlight_vision.datasets.download import download_and_extract_archive
from rushlight_vision.datasets.folder import default_loader
from rushlight_vision.datasets.image_list import ListedImages, numbered
from rushlight_vision.datasets.validation import NOT_FOUND, found_or_raise, verify_str_arg


class DTD(ListedImages):
    """Describable Textures (Cimpoi et al., 2014) from the folder `root/dtd/dtd`.

    split: 'train', 'val' or 'test' of partition 1 to 10. Raises RuntimeError if the folder is missing.
    """

    _URL = "https://www.robots.ox.ac.uk/~vgg/data/dtd/download/dtd-r1.0.1.tar.gz"
    _MD5 = "fff73e5086ae6bdbea199a49dfb8a4c1"

    def __init__(
        self,
        root,
        split="train",
        partition=1,
        transform=None,
        target_transform=None,
        download=False,
        loader=default_loader,
    ):
        self._split = verify_str_arg(split, "split", ("train", "val", "test"))
        if not isinstance(partition, int) or not (1 <= partition <= 10):
            raise ValueError(
                f"Parameter 'partition' should be an integer with `1 <= partition <= 10`, but got {partition} instead"
            )
        self._partition = partition
        super().__init__(root, transform, target_transform, loader)
        self._base_folder = Path(self.root) / type(self).__name__.lower()
        self._data_folder = self._base_folder / "dtd"
        if download and not self._data_folder.is_dir():
            download_and_extract_archive(self._URL, str(self._base_folder), md5=self._MD5)
        found_or_raise(self._data_folder.is_dir(), NOT_FOUND)
        listing = self._data_folder / "labels" / f"{split}{partition}.txt"
        pairs = [line.strip().split("/") for line in listing.read_text().splitlines()]
        self.classes = sorted({name for name, _ in pairs})
        self.class_to_idx = numbered(self.classes)
        self._image_files = [self._data_folder / "images" / name / file for name, file in pairs]
        self._labels = [self.class_to_idx[name] for name, _ in pairs]

    def extra_repr(self):
        return f"split={self._split}, partition={self._partition}"


class FGVCAircraft(ListedImages):
    """Photographs of aircraft (Maji et al., 2013) from the folder `root/fgvc-aircraft-2013b`.

    split: 'train', 'val', 'trainval' or 'test'. annotation_level: 'variant', 'family' or 'manufacturer'. Raises
    RuntimeError if the folder is missing.
    """

    _URL = "https://www.robots.ox.ac.uk/~vgg/data/fgvc-aircraft/archives/fgvc-aircraft-2013b.tar.gz"
    _LISTS = {"variant": "variants.txt", "family": "families.txt", "manufacturer": "manufacturers.txt"}

    def __init__(
        self,
        root,
        split="trainval",
        annotation_level="variant",
        transform=None,
        target_transform=None,
        download=False,
        loader=default_loader,
    ):
        super().__init__(root, transform, target_transform, loader)
        self._split = verify_str_arg(split, "split", ("train", "val", "trainval", "test"))
        self._annotation_level = verify_str_arg(annotation_level, "annotation_level", tuple(self._LISTS))
        self._data_path = os.path.join(self.root, "fgvc-aircraft-2013b")
        if download and not os.path.isdir(self._data_path):
            download_and_extract_archive(self._URL, self.root)
        found_or_raise(os.path.isdir(self._data_path), NOT_FOUND)
        data = Path(self._data_path) / "data"
        self.classes = [line.strip() for line in (data / self._LISTS[annotation_level]).read_text().splitlines()]
        self.class_to_idx = numbered(self.classes)
        listing = data / f"images_{annotation_level}_{split}.txt"
        pairs = [line.strip().split(" ", 1) for line in listing.read_text().splitlines()]
        self._image_files = [str(data / "images" / f"{name}.jpg") for name, _ in pairs]
        self._labels = [self.class_to_idx[label] for _, label in pairs]


class Food101(ListedImages):
    """Photographs of 101 dishes (Bossard et al., 2014) from the folder `root/food-101`.

    split: 'train' (75,750 images) or 'test' (25,250). Raises RuntimeError if a folder is missing.
    """

    _URL = "http://data.vision.ee.ethz.ch/cvl/food-101.tar.gz"
    _MD5 = "85eeb15f3717b99a5da872d97d918f87"

    def __init__(
        self, root, split="train", transform=None, target_transform=None, download=False, loader=default_loader
    ):
        super().__init__(root, transform, target_transform, loader)
        self._split = verify_str_arg(split, "split", ("train", "test"))
        self._base_folder = Path(self.root) / "food-101"
        if download and not self._check_exists():
            download_and_extract_archive(self._URL, self.root, md5=self._MD5)
        found_or_raise(self._check_exists(), NOT_FOUND)
        names = json.loads((self._base_folder / "meta" / f"{split}.json").read_text())
        self.classes = sorted(names)
        self.class_to_idx = numbered(self.classes)
        for label, files in names.items():
            self._labels += [self.class_to_idx[label]] * len(files)
            self._image_files += [self._base_folder / "images" / f"{file}.jpg" for file in files]

    def _check_exists(self):
        return all((self._base_folder / name).is_dir() for name in ("meta", "images"))

    def extra_repr(self):
        return f"split={self._split}"


class SUN397(ListedImages):
    """108,754 photographs of 397 kinds of scenes (Xiao et al., 2010) from the folder `root/SUN397`.

    Raises RuntimeError if the folder is missing.
    """

    _DATASET_URL = "http://vision.princeton.edu/projects/2010/SUN/SUN397.tar.gz"
    _DATASET_MD5 = "8ca2778205c41d23104230ba66911c7a"

    def __init__(self, root, transform=None, target_transform=None, download=False, loader=default_loader):
        super().__init__(root, transform, target_transform, loader)
        self._data_dir = Path(self.root) / "SUN397"
        if download and not self._data_dir.is_dir():
            download_and_extract_archive(self._DATASET_URL, self.root, md5=self._DATASET_MD5)
        found_or_raise(self._data_dir.is_dir(), NOT_FOUND)
        lines = (self._data_dir / "ClassName.txt").read_text().splitlines()
        self.classes = [line[3:].strip() for line in lines]  # without "/<first letter>/"
        self.class_to_idx = numbered(self.classes)
        self._image_files = list(self._data_dir.rglob("sun_*.jpg"))
        places = (path.relative_to(self._data_dir).parts[1:-1] for path in self._image_files)
        self._labels = [self.class_to_idx["/".join(parts)] for parts in places]


class CLEVRClassification(ListedImages):
    """Rendered scenes (Johnson et al., 2017) from the folder `root/clevr/CLEVR_v1.0`; the label is their objects' number.

    split: 'train', 'val' or 'test', whose labels are None. Raises RuntimeError if the folder is missing.
    """

    _URL = "https://dl.fbaipublicfiles.com/clevr/CLEVR_v1.0.zip"
    _MD5 = "b11922020e72d0cd9154779b2d3d07d2"

    def __init__(
        self, root, split="train", transform=None, target_transform=None, download=False, loader=default_loader
    ):
        self._split = verify_str_arg(split, "split", ("train", "val", "test"))
        super().__init__(root, transform, target_transform, loader)
        self._base_folder = Path(self.root) / "clevr"
        self._data_folder = self._base_folder / "CLEVR_v1.0"
        if download and not self._data_folder.is_dir():
            download_and_extract_archive(self._URL, str(self._base_folder), md5=self._MD5)
        found_or_raise(self._data_folder.is_dir())
        self._image_files = sorted((self._data_folder / "images" / split).glob("*"))
        self._labels = [None] * len(self._image_files)
        if split != "test":
            scenes = json.loads((self._data_folder / "scenes" / f"CLEVR_{split}_scenes.json").read_text())["scenes"]
            counts = {scene["image_filename"]: len(scene["objects"]) for scene in scenes}
            self._labels = [counts[file.name] for file in self._image_files]

    def extra_repr(self):
        return f"split={self._split}"


class _Captioned(ListedImages):
    """Images and the list of each one's captions. Attributes: annotations, dict; ids, its sorted keys."""

    def _caption(self, annotations):
        self.annotations = annotations
        self.ids = sorted(annotations)
        self._image_files = [os.path.join(self.root, name) for name in self.ids]
        self._labels = [annotations[name] for name in self.ids]


class Flickr8k(_Captioned):
    """Photographs of `root` with captions from the HTML page `ann_file` (Hodosh et al., 2013)."""

    def __init__(self, root, ann_file, transform=None, target_transform=None, loader=default_loader):
        super().__init__(root, transform, target_transform, loader)
        self.ann_file = os.path.expanduser(ann_file)
        self._caption(_flickr8k(self.root, Path(self.ann_file).read_text()))


class Flickr30k(_Captioned):
    """Photographs of `root` with captions from the file `ann_file`, lines of name#number<tab>caption (Young, 2014)."""

    def __init__(self, root, ann_file, transform=None, target_transform=None, loader=default_loader):
        super().__init__(root, transform, target_transform, loader)
        self.ann_file = os.path.expanduser(ann_file)
        annotations = defaultdict(list)
        for line in Path(self.ann_file).read_text().splitlines():
            name, caption = line.strip().split("\t")
            annotations[name[:-2]].append(caption)
        self._caption(annotations)


def _flickr8k(root, page):
    """{path: captions} from the page's table: a link to each image, then a list of its captions."""
    import glob
    from html.parser import HTMLParser

    annotations = {}

    class Table(HTMLParser):
        inside, tag, image = False, None, None

        def handle_starttag(self, tag, attrs):
            self.tag = tag
            self.inside |= tag == "table"

        def handle_endtag(self, tag):
            self.tag = None
            self.inside &= tag != "table"

        def handle_data(self, data):
            if not self.inside:
                return
            if data == "Image Not Found":
                self.image = None
            elif self.tag == "a":
                pattern = os.path.join(glob.escape(str(root)), data.split("/")[-2] + "_*.jpg")
                self.image = glob.glob(pattern)[0]
                annotations[self.image] = []
            elif self.tag == "li" and self.image:
                annotations[self.image].append(data.strip())

    Table().feed(page)
    return annotations
