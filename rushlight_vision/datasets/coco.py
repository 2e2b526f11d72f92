"""MS COCO: photographs with boxes, outlines and captions (Lin et al., 2014). Needs the package `pycocotools`."""

import os

from rushlight_vision.datasets.image_files import opened
from rushlight_vision.datasets.validation import needed
from rushlight_vision.datasets.vision import VisionDataset


class CocoDetection(VisionDataset):
    """COCO from the images in `root` and the annotations in `annFile`.

    An item is (PIL image of mode RGB, list of the image's annotations), after the transforms. ModuleNotFoundError
    without the package `pycocotools`.
    """

    def __init__(self, root, annFile, transform=None, target_transform=None, transforms=None):
        super().__init__(root, transforms, transform, target_transform)
        self.coco = needed("pycocotools.coco", "pycocotools", type(self).__name__).COCO(annFile)
        self.ids = sorted(self.coco.imgs.keys())

    def _load_image(self, id):
        return opened(os.path.join(self.root, self.coco.loadImgs(id)[0]["file_name"]), "RGB")

    def _load_target(self, id):
        return self.coco.loadAnns(self.coco.getAnnIds(id))

    def __getitem__(self, index):
        if not isinstance(index, int):
            raise ValueError(f"Index must be of type integer, got {type(index)} instead.")
        image, target = self._load_image(self.ids[index]), self._load_target(self.ids[index])
        return (image, target) if self.transforms is None else self.transforms(image, target)

    def __len__(self):
        return len(self.ids)


class CocoCaptions(CocoDetection):
    """COCO with captions: an item is (PIL image of mode RGB, list of str), after the transforms."""

    def _load_target(self, id):
        return [annotation["caption"] for annotation in super()._load_target(id)]
