"""LSUN: millions of images of scenes in LMDB databases (Yu et al., 2015). Needs the package `lmdb`."""

import io
import os
import pickle
import string
from collections.abc import Iterable

from rushlight_vision.datasets.validation import iterable_to_str, needed, verify_str_arg
from rushlight_vision.datasets.vision import VisionDataset
from rushlight_vision.pixels import check_pixels

_CATEGORIES = [
    "bedroom",
    "bridge",
    "church_outdoor",
    "classroom",
    "conference_room",
    "dining_room",
    "kitchen",
    "living_room",
    "restaurant",
    "tower",
]
_SPLITS = ["train", "val", "test"]


class LSUNClass(VisionDataset):
    """The images of one LMDB database, as (PIL image of mode RGB, None).

    The keys are kept in a file `_cache_...` in the working folder. ModuleNotFoundError without the package `lmdb`.
    """

    def __init__(self, root, transform=None, target_transform=None):
        lmdb = needed("lmdb", "lmdb", "LSUN")
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.env = lmdb.open(root, max_readers=1, readonly=True, lock=False, readahead=False, meminit=False)
        with self.env.begin(write=False) as transaction:
            self.length = transaction.stat()["entries"]
        self.keys = self._keys("_cache_" + "".join(c for c in root if c in string.ascii_letters))

    def _keys(self, cache):
        if os.path.isfile(cache):
            with open(cache, "rb") as file:
                return _BytesUnpickler(file).load()
        with self.env.begin(write=False) as transaction:
            keys = list(transaction.cursor().iternext(keys=True, values=False))
        with open(cache, "wb") as file:
            pickle.dump(keys, file)
        return keys

    def __getitem__(self, index):
        from PIL import Image

        with self.env.begin(write=False) as transaction:
            content = transaction.get(self.keys[index])
        return self._transformed(check_pixels(Image.open(io.BytesIO(content))).convert("RGB"), None)

    def __len__(self):
        return self.length


class _BytesUnpickler(pickle.Unpickler):
    """For the cache of keys: a list of bytes needs no classes."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"a cache of LSUN's keys holds bytes only, not {module}.{name}; delete it")


class LSUN(VisionDataset):
    """LSUN from the databases `root/<class>_lmdb`.

    classes: 'train', 'val' or 'test' for all categories, or a list such as ['bedroom_train', 'church_outdoor_val']. An
    item is (image, the class's place in that list).
    """

    def __init__(self, root, classes: "str | list[str]" = "train", transform=None, target_transform=None):
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.classes = self._verify_classes(classes)
        self.dbs = [LSUNClass(os.path.join(root, f"{name}_lmdb"), transform=transform) for name in self.classes]
        self.indices = []
        self.length = 0
        for db in self.dbs:
            self.length += len(db)
            self.indices.append(self.length)

    def _verify_classes(self, classes):
        if isinstance(classes, str):
            verify_str_arg(classes, "classes", _SPLITS)
            return [classes] if classes == "test" else [f"{category}_{classes}" for category in _CATEGORIES]
        if not isinstance(classes, Iterable):
            raise ValueError(f"Expected type str or Iterable for argument classes, but got type {type(classes)}.")
        classes = list(classes)
        for name in classes:
            if not isinstance(name, str):
                raise ValueError(f"Expected type str for elements in argument classes, but got type {type(name)}.")
            category, _, split = name.rpartition("_")
            for value, what, valid in ((category, "LSUN class", _CATEGORIES), (split, "postfix", _SPLITS)):
                message = f"Unknown value '{value}' for {what}. Valid values are {{{iterable_to_str(valid)}}}."
                verify_str_arg(value, valid_values=valid, custom_msg=message)
        return classes

    def __getitem__(self, index):
        target = next((i for i, end in enumerate(self.indices) if index < end), len(self.indices))
        start = self.indices[target - 1] if target else 0
        image, _ = self.dbs[target][index - start]
        return image, target if self.target_transform is None else self.target_transform(target)

    def __len__(self):
        return self.length

    def extra_repr(self):
        return f"Classes: {self.classes}"
