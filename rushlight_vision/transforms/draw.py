"""The random draws of the transforms: from the default generator, in torchvision's forms, so that the streams agree."""

import math

import rushlight as torch


def chance(p):
    """True with probability p."""
    return bool(torch.rand(1) < p)


def uniform(low, high):
    """A float between low and high."""
    return torch.empty(1).uniform_(low, high).item()


def integer(low, high):
    """An int from low up to, but without, high."""
    return torch.randint(low, high, size=(1,)).item()


def sides(area, scale, ratio):
    """Up to ten pairs of lengths whose product is uniform in scale * area and whose quotient log-uniform in ratio."""
    low, high = torch.log(torch.tensor(ratio)).tolist()
    for _ in range(10):
        product = area * uniform(*scale)
        quotient = torch.exp(torch.empty(1).uniform_(low, high)).item()
        yield round(math.sqrt(product * quotient)), round(math.sqrt(product / quotient))
