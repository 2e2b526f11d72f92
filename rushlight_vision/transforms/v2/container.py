"""Transforms made of transforms, for samples of any nesting."""

from collections.abc import Sequence

import rushlight as torch
from rushlight import nn
from rushlight_vision.transforms.v2.transform import Transform


def _checked(transforms, kinds: type | tuple[type, ...] = Sequence):
    if not isinstance(transforms, kinds):
        raise TypeError("Argument transforms should be a sequence of callables")
    if not transforms:
        raise ValueError("Pass at least one transform")
    return transforms


class _Container(Transform):
    def _run(self, transforms, inputs):
        several = len(inputs) > 1
        for transform in transforms:
            outputs = transform(*inputs)
            inputs = outputs if several else (outputs,)
        return inputs if several else inputs[0]

    def extra_repr(self):
        return "\n".join(f"    {transform}" for transform in self.transforms)


class Compose(_Container):
    """The transforms, one after the other."""

    def __init__(self, transforms):
        super().__init__()
        self.transforms = _checked(transforms)

    def forward(self, *inputs):
        return self._run(self.transforms, inputs)


class RandomApply(_Container):
    """All the transforms with probability `p`, else none."""

    def __init__(self, transforms, p=0.5):
        super().__init__()
        self.transforms = _checked(transforms, (Sequence, nn.ModuleList))
        if not (0.0 <= p <= 1.0):
            raise ValueError("`p` should be a floating point value in the interval [0.0, 1.0].")
        self.p = p

    def forward(self, *inputs):
        return self._run(() if torch.rand(1) >= self.p else self.transforms, inputs)


class RandomChoice(_Container):
    """One of the transforms, chosen with weights `p`, equal by default."""

    def __init__(self, transforms, p=None):
        super().__init__()
        self.transforms = _checked(transforms)
        p = [1] * len(transforms) if p is None else p
        if len(p) != len(transforms):
            raise ValueError(f"Length of p doesn't match the number of transforms: {len(p)} != {len(transforms)}")
        self.p = [weight / sum(p) for weight in p]

    def forward(self, *inputs):
        return self.transforms[int(torch.multinomial(torch.tensor(self.p), 1))](*inputs)


class RandomOrder(_Container):
    """All the transforms in a random order."""

    def __init__(self, transforms):
        super().__init__()
        self.transforms = _checked(transforms)

    def forward(self, *inputs):
        return self._run([self.transforms[int(i)] for i in torch.randperm(len(self.transforms))], inputs)
