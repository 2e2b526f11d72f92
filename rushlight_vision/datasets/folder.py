"""Data sets whose classes are folders: `root/<class>/<any depth>/<file>`."""

import os
from functools import partial

from rushlight_vision.datasets.vision import VisionDataset
from rushlight_vision.pixels import check_pixels

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def has_file_allowed_extension(filename, extensions):
    """Whether the name ends, in any case, with one of `extensions` (a str or a tuple of str, lower case)."""
    return filename.lower().endswith(extensions if isinstance(extensions, str) else tuple(extensions))


def is_image_file(filename):
    """Whether the name has an ending of an image file."""
    return has_file_allowed_extension(filename, IMG_EXTENSIONS)


def pil_loader(path):
    """The image at `path` as a PIL image of mode RGB."""
    from PIL import Image

    with open(path, "rb") as file:
        return check_pixels(Image.open(file)).convert("RGB")


def default_loader(path):
    """How ImageFolder reads a file: `pil_loader`."""
    return pil_loader(path)


def find_classes(directory):
    """(class names, sorted; dict from name to number) for the folders in `directory`."""
    classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
    if not classes:
        raise FileNotFoundError(f"Couldn't find any class folder in {directory}.")
    return classes, {name: index for index, name in enumerate(classes)}


def make_dataset(directory, class_to_idx=None, extensions=None, is_valid_file=None, allow_empty=False):
    """The list of (path, class number) below `directory`, classes and paths in sorted order.

    Files are chosen by `extensions` or by the predicate `is_valid_file`, exactly one of which is given. Raises
    FileNotFoundError if a class has no file, unless `allow_empty`.
    """
    directory = os.path.expanduser(directory)
    if class_to_idx is None:
        _, class_to_idx = find_classes(directory)
    elif not class_to_idx:
        raise ValueError("'class_to_index' must have at least one entry to collect any samples.")
    if (extensions is None) == (is_valid_file is None):
        raise ValueError("Both extensions and is_valid_file cannot be None or not None at the same time")
    valid = partial(has_file_allowed_extension, extensions=extensions) if is_valid_file is None else is_valid_file
    found = {
        name: [path for path in _files_below(os.path.join(directory, name)) if valid(path)]
        for name in sorted(class_to_idx)
    }
    empty = [name for name, paths in found.items() if not paths]
    if empty and not allow_empty:
        message = f"Found no valid file for the classes {', '.join(empty)}. "
        if extensions is not None:
            listed = extensions if isinstance(extensions, str) else ", ".join(extensions)
            message += f"Supported extensions are: {listed}"
        raise FileNotFoundError(message)
    return [(path, class_to_idx[name]) for name, paths in found.items() for path in paths]


def _files_below(folder):
    for root, _, names in sorted(os.walk(folder, followlinks=True)):
        for name in sorted(names):
            yield os.path.join(root, name)


class DatasetFolder(VisionDataset):
    """Samples of any kind from folders named after their classes, read by `loader(path)`.

    An item is (sample, class number), after `transform` and `target_transform`. `find_classes` and `make_dataset` may
    be overridden.

    Attributes: classes, sorted list of str; class_to_idx, dict; samples, list of (path, class number); targets, list
    of class numbers. Raises as `make_dataset` does.
    """

    def __init__(
        self,
        root,
        loader,
        extensions=None,
        transform=None,
        target_transform=None,
        is_valid_file=None,
        allow_empty=False,
    ):
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.loader = loader
        self.extensions = extensions
        self.classes, self.class_to_idx = self.find_classes(self.root)
        self.samples = self.make_dataset(
            self.root,
            class_to_idx=self.class_to_idx,
            extensions=extensions,
            is_valid_file=is_valid_file,
            allow_empty=allow_empty,
        )
        self.targets = [target for _, target in self.samples]

    @staticmethod
    def make_dataset(directory, class_to_idx, extensions=None, is_valid_file=None, allow_empty=False):
        if class_to_idx is None:
            raise ValueError("The class_to_idx parameter cannot be None.")
        return make_dataset(directory, class_to_idx, extensions, is_valid_file, allow_empty)

    def find_classes(self, directory):
        return find_classes(directory)

    def __getitem__(self, index):
        path, target = self.samples[index]
        return self._transformed(self.loader(path), target)

    def __len__(self):
        return len(self.samples)


class ImageFolder(DatasetFolder):
    """Images from folders named after their classes; otherwise as DatasetFolder. `imgs` is another name for samples."""

    def __init__(
        self,
        root,
        transform=None,
        target_transform=None,
        loader=default_loader,
        is_valid_file=None,
        allow_empty=False,
    ):
        extensions = IMG_EXTENSIONS if is_valid_file is None else None
        super().__init__(root, loader, extensions, transform, target_transform, is_valid_file, allow_empty)
        self.imgs = self.samples
