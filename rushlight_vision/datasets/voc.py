"""Pascal VOC, 2007 to 2012: photographs with boxes or outlines of objects in 20 classes (Everingham et al.)."""

import os
from collections import defaultdict

from rushlight_vision.datasets.download import download_and_extract_archive
from rushlight_vision.datasets.image_files import opened
from rushlight_vision.datasets.validation import found_or_raise, verify_str_arg
from rushlight_vision.datasets.vision import VisionDataset

_SITE = "https://thor.robots.ox.ac.uk/pascal/VOC/"
# name of the archive on the site, MD5, folder in it
_YEARS = {
    "2012": ("voc2012/VOCtrainval_11-May-2012.tar", "6cd6e144f989b92b3379bac3b3de84fd", "VOCdevkit/VOC2012"),
    "2011": ("voc2011/VOCtrainval_25-May-2011.tar", "6c3384ef61512963050cb5d687e5bf1e", "TrainVal/VOCdevkit/VOC2011"),
    "2010": ("voc2010/VOCtrainval_03-May-2010.tar", "da459979d0c395079b5c75ee67908abb", "VOCdevkit/VOC2010"),
    "2009": ("voc2009/VOCtrainval_11-May-2009.tar", "a3e00b113cfcfebf17e343f59da3caa1", "VOCdevkit/VOC2009"),
    "2008": ("voc2008/VOCtrainval_14-Jul-2008.tar", "2629fa636546599198acfcfbfcf1904a", "VOCdevkit/VOC2008"),
    "2007": ("voc2007/VOCtrainval_06-Nov-2007.tar", "c52e279531787c972589f7e41ab4ae64", "VOCdevkit/VOC2007"),
    "2007-test": ("voc2007/VOCtest_06-Nov-2007.tar", "b6e924de25625d8de591ea690078ad9f", "VOCdevkit/VOC2007"),
}


class _VOC(VisionDataset):
    """The images of a list in ImageSets, and the file of each one's target."""

    _SPLITS_DIR = ""
    _TARGET_DIR = ""
    _TARGET_FILE_EXT = ""

    def __init__(
        self,
        root,
        year="2012",
        image_set="train",
        download=False,
        transform=None,
        target_transform=None,
        transforms=None,
    ):
        super().__init__(root, transforms, transform, target_transform)
        self.year = verify_str_arg(year, "year", [str(y) for y in range(2007, 2013)])
        sets = ["train", "trainval", "val", *(["test"] if year == "2007" else [])]
        self.image_set = verify_str_arg(image_set, "image_set", sets)
        archive, self.md5, folder = _YEARS["2007-test" if (year, image_set) == ("2007", "test") else year]
        self.url = _SITE + archive
        self.filename = os.path.basename(archive)
        if download:
            download_and_extract_archive(self.url, self.root, filename=self.filename, md5=self.md5)
        voc = os.path.join(self.root, *folder.split("/"))
        found_or_raise(os.path.isdir(voc))
        with open(os.path.join(voc, "ImageSets", self._SPLITS_DIR, image_set + ".txt")) as file:
            names = [line.strip() for line in file]
        self.images = [os.path.join(voc, "JPEGImages", name + ".jpg") for name in names]
        self.targets = [os.path.join(voc, self._TARGET_DIR, name + self._TARGET_FILE_EXT) for name in names]

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image = opened(self.images[index], "RGB")
        target = self._target(self.targets[index])
        return (image, target) if self.transforms is None else self.transforms(image, target)

    def _target(self, path):
        raise NotImplementedError


class VOCSegmentation(_VOC):
    """Pascal VOC from `root`, with outlines: an item is (PIL image of mode RGB, PIL image of class numbers).

    year: '2007' to '2012'. image_set: 'train', 'trainval', 'val', for 2007 also 'test'. Raises RuntimeError if the
    folder is missing.
    """

    _SPLITS_DIR = "Segmentation"
    _TARGET_DIR = "SegmentationClass"
    _TARGET_FILE_EXT = ".png"

    @property
    def masks(self):
        return self.targets

    def _target(self, path):
        return opened(path)


class VOCDetection(_VOC):
    """Pascal VOC from `root`, with boxes: an item is (PIL image of mode RGB, the annotation file as a dict).

    The arguments are VOCSegmentation's.
    """

    _SPLITS_DIR = "Main"
    _TARGET_DIR = "Annotations"
    _TARGET_FILE_EXT = ".xml"

    @property
    def annotations(self):
        return self.targets

    def _target(self, path):
        from xml.etree.ElementTree import parse

        return self.parse_voc_xml(parse(path).getroot())

    @staticmethod
    def parse_voc_xml(node):
        """{tag: text or dict of its children}; several children of one tag are a list, and `object` always is."""
        children = list(node)
        if not children:
            return {node.tag: node.text.strip()} if node.text else {}
        values = defaultdict(list)
        for child in children:
            for tag, value in VOCDetection.parse_voc_xml(child).items():
                values[tag].append(value)
        if node.tag == "annotation":
            values["object"] = [values["object"]]
        return {node.tag: {tag: found[0] if len(found) == 1 else found for tag, found in values.items()}}
