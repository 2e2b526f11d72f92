"""Transforms made of transforms."""

import random
from collections.abc import Sequence

import rushlight as torch
from rushlight import nn


class Compose:
    """The transforms, one after the other.

    Shape: (*) -> (*), as the transforms change it

    >>> Compose([Lambda(lambda x: x + 1), Lambda(lambda x: x * 2)])(tensor([1.0]))
    tensor([4.])
    """

    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, img):
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self):
        return _listing(self, self.transforms)


class Lambda:
    """Any function as a transform; TypeError if it cannot be called.

    Shape: (*) -> (*), as the function changes it
    Raises:
        TypeError: it cannot be called, as in `Lambda(1)`.

    >>> Lambda(lambda x: x + 1)(tensor([1.0]))
    tensor([2.])
    """

    def __init__(self, lambd):
        if not callable(lambd):
            raise TypeError(f"Argument lambd should be callable, got {type(lambd).__name__!r}")
        self.lambd = lambd

    def __call__(self, img):
        return self.lambd(img)

    def __repr__(self):
        return f"{type(self).__name__}()"


class RandomTransforms:
    """Base of the transforms that choose among others; these come as a sequence."""

    def __init__(self, transforms):
        if not isinstance(transforms, Sequence):
            raise TypeError("Argument transforms should be a sequence")
        self.transforms = transforms

    def __call__(self, *args, **kwargs):
        raise NotImplementedError

    def __repr__(self):
        return _listing(self, self.transforms)


class RandomApply(nn.Module):
    """All the transforms with probability `p`, else none.

    Shape: (*) -> (*), as the transforms change it

    >>> RandomApply([Lambda(lambda x: x + 1)], p=0.0)(tensor([1.0]))
    tensor([1.])
    """

    def __init__(self, transforms, p=0.5):
        super().__init__()
        self.transforms = transforms
        self.p = p

    def forward(self, img):
        if self.p < torch.rand(1):
            return img
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self):
        return _listing(self, [f"p={self.p}", *self.transforms])


class RandomOrder(RandomTransforms):
    """All the transforms in a random order, drawn from Python's `random` as torchvision draws it.

    Shape: (*) -> (*), as the transforms change it

    >>> RandomOrder([Lambda(lambda x: x + 1)])(tensor([1.0]))
    tensor([2.])
    """

    def __call__(self, img):
        order = list(range(len(self.transforms)))
        random.shuffle(order)
        for index in order:
            img = self.transforms[index](img)
        return img


class RandomChoice(RandomTransforms):
    """One of the transforms, chosen with weights `p` (equal by default) by Python's `random`.

    Shape: (*) -> (*), as the transforms change it

    >>> RandomChoice([Lambda(lambda x: x + 1)])(tensor([1.0]))
    tensor([2.])
    """

    def __init__(self, transforms, p=None):
        super().__init__(transforms)
        if p is not None and not isinstance(p, Sequence):
            raise TypeError("Argument p should be a sequence")
        self.p = p

    def __call__(self, *args):
        return random.choices(self.transforms, weights=self.p)[0](*args)

    def __repr__(self):
        return f"{super().__repr__()}(p={self.p})"


def _listing(owner, lines):
    return "\n".join([f"{type(owner).__name__}(", *(f"    {line}" for line in lines), ")"])
