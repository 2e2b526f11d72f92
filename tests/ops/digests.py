"""Numbers that follow from a seed by whole numbers alone, and digests of results' bits, to compare with torch's."""

import math

import numpy as np

UNSIGNED = {"float32": np.uint32, "float64": np.uint64}


def values(shape, seed):
    """Numbers between -1 and 1 that follow from the seed by whole numbers alone."""
    i = np.arange(math.prod(shape), dtype=np.uint64) + np.uint64(seed * 7919)
    i = (i * np.uint64(2654435761)) % np.uint64(1 << 32)
    i ^= i >> np.uint64(13)
    i = (i * np.uint64(1597334677)) % np.uint64(1 << 32)
    return (i.astype(np.float64) / 2**31 - 1).reshape(shape)


def digest(bits):
    h = 0
    for b in bits:
        h = (h * 1000003 + b) % (1 << 61)
    return h
