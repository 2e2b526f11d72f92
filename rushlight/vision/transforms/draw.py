"""The random draws of the transforms: from the default generator, in torchvision's forms, so that the streams agree."""

import math

from rushlight import ops


def chance(p):
    """True with probability p."""
    return bool(ops.rand(1) < p)


def uniform(low, high):
    """A float between low and high."""
    return ops.empty(1).uniform_(low, high).item()


def integer(low, high):
    """An int from low up to, but without, high."""
    return ops.randint(low, high, size=(1,)).item()


def sides(area, scale, ratio):
    """Up to ten pairs of lengths whose product is uniform in scale * area and whose quotient log-uniform in ratio."""
    low, high = ops.log(ops.tensor(ratio)).tolist()
    for _ in range(10):
        product = area * uniform(*scale)
        quotient = ops.exp(ops.empty(1).uniform_(low, high)).item()
        yield round(math.sqrt(product * quotient)), round(math.sqrt(product / quotient))
