"""NumPy's .npy files, read without believing what the header claims."""

import io
from math import prod

import numpy as np

__all__ = ["load_npy"]


def load_npy(path):
    """The array in a .npy file. Raises ValueError for a file that is none, holds objects, or has another size."""
    with open(path, "rb") as file:
        content = io.BytesIO(file.read())  # which gives what there is; a file allocates what the header claims
    try:
        version = np.lib.format.read_magic(content)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"version {version}")
        shape, is_fortran, dtype = read(content)
    except Exception as error:  # Python's tokenizer and parser, which NumPy asks, have errors of their own
        raise ValueError(f"{path} is not a .npy file of version 1 or 2: {error}") from error
    raw = content.read()
    if dtype.hasobject or dtype.fields or dtype.subdtype or any(type(n) is not int or n < 0 for n in shape):
        raise ValueError(f"{path} holds no plain numbers, but shape {shape} of {dtype}")
    if prod(shape) * dtype.itemsize != len(raw) or not dtype.itemsize:
        raise ValueError(
            f"{path} announces shape {shape} of {dtype} but holds {len(raw)} bytes; it is truncated or corrupted"
        )
    flat = np.frombuffer(bytearray(raw), dtype)
    return flat.reshape(shape, order="F" if is_fortran else "C")
