"""VisionDataset, the base of every data set here, and the pair of transforms that it applies."""

import os
from typing import cast

from rushlight.utils.data import Dataset


class VisionDataset(Dataset):
    """A data set of images in a folder. Subclasses define `__getitem__` and `__len__`.

    Either `transforms` (called with image and target, returns both) or `transform` (image) and `target_transform`
    (target) may be given; ValueError if both are.
    """

    _repr_indent = 4

    def __init__(self, root=None, transforms=None, transform=None, target_transform=None):
        # None only in FakeData, which reads no file
        self.root = os.path.expanduser(root) if isinstance(root, str) else cast("str | os.PathLike[str]", root)
        separate = transform is not None or target_transform is not None
        if transforms is not None and separate:
            raise ValueError("Only transforms or transform/target_transform can be passed as argument")
        self.transform = transform
        self.target_transform = target_transform
        self.transforms = StandardTransform(transform, target_transform) if separate else transforms

    def __getitem__(self, index):
        raise NotImplementedError

    def __len__(self):
        raise NotImplementedError

    def extra_repr(self):
        """Lines that a subclass adds to its repr."""
        return ""

    def __repr__(self):
        body = [f"Number of datapoints: {len(self)}"]
        if self.root is not None:
            body.append(f"Root location: {self.root}")
        body += self.extra_repr().splitlines()
        if getattr(self, "transforms", None) is not None:
            body.append(repr(self.transforms))
        indent = " " * self._repr_indent
        return "\n".join([f"Dataset {type(self).__name__}", *(indent + line for line in body)])

    def _transformed(self, image, target):
        return StandardTransform(self.transform, self.target_transform)(image, target)


class StandardTransform:
    """`transform` for the image and `target_transform` for the target, either of which may be None."""

    def __init__(self, transform=None, target_transform=None):
        self.transform = transform
        self.target_transform = target_transform

    def __call__(self, input, target):
        if self.transform is not None:
            input = self.transform(input)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return input, target

    def __repr__(self):
        lines = [type(self).__name__]
        if self.transform is not None:
            lines += _labelled("Transform: ", self.transform)
        if self.target_transform is not None:
            lines += _labelled("Target transform: ", self.target_transform)
        return "\n".join(lines)


def _labelled(label, transform):
    """The transform's repr with `label` before its first line and the others indented as far."""
    first, *rest = repr(transform).splitlines()
    return [label + first, *(" " * len(label) + line for line in rest)]
