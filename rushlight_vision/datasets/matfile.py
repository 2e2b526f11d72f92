"""MATLAB's level 5 files, as far as public image data sets use them: numeric arrays, compressed or not.

The format is described in MathWorks' "MAT-File Format"; cell arrays, structures and sparse matrices are not read.
"""

import struct
import zlib

import numpy as np

from rushlight_vision.datasets.archive import allowed_bytes, check_size

# numbers of data types in the file, and how they are stored
_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8", 16: "u1"}
_MATRIX, _COMPRESSED = 14, 15
# classes of arrays, and the type that they have in memory
_CLASSES = {4: "u2", 6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
_COMPLEX = 0x0800


def load_mat(path):
    """{name: array} of the numeric arrays in the file `path`, with at least two dimensions each, as MATLAB has them.

    Raises ValueError for a file that is not of level 5 or is truncated, NotImplementedError for other kinds of arrays.
    """
    with open(path, "rb") as file:
        content = file.read()
    if len(content) < 128 or content[126:128] not in (b"IM", b"MI"):
        raise ValueError(f"{path} is not a MATLAB level 5 file (HDF5 files of version 7.3 are not read)")
    order = "<" if content[126:128] == b"IM" else ">"
    arrays = {}
    try:
        for kind, data in _elements(memoryview(content)[128:], order):
            if kind == _COMPRESSED:
                ((kind, data),) = _elements(memoryview(_decompressed(data, path)), order)
            if kind == _MATRIX:
                name, array = _matrix(data, order, path)
                arrays[name] = array
    except (struct.error, zlib.error, IndexError) as error:
        raise ValueError(f"{path} is truncated or corrupted ({error})") from error
    return arrays


def _decompressed(data, path):
    """The bytes of a compressed element, of which there may not be too many; zlib.error for a truncated one."""
    unpacker = zlib.decompressobj()
    content = unpacker.decompress(data, allowed_bytes(len(data)) + 1)
    check_size(path, len(content), len(data))
    if not unpacker.eof:
        raise zlib.error("incomplete or truncated stream")
    return content


def _elements(data, order):
    """(type, bytes) of each element; small ones have their length in the upper half of the type's word."""
    position = 0
    while position < len(data):
        kind, size = struct.unpack_from(order + "II", data, position)
        if kind >> 16:
            kind, size = kind & 0xFFFF, kind >> 16
            start, step = position + 4, 8
        else:
            start = position + 8
            step = 8 + size + (0 if kind == _COMPRESSED else -size % 8)
        if start + size > len(data):
            raise IndexError(f"an element of {size} bytes where {len(data) - start} are left")
        yield kind, data[start : start + size]
        position += step


def _matrix(data, order, path):
    (_, flags), (_, shape), (_, name), *parts = _elements(data, order)
    word = struct.unpack_from(order + "I", flags)[0]
    name = bytes(name).decode("ascii")
    if word & 0xFF not in _CLASSES or word & _COMPLEX or len(parts) != 1:
        raise NotImplementedError(
            f"{path}: array {name!r} is a cell array, a structure, sparse, complex or not numeric, which is not read here"
        )
    kind, values = parts[0]
    shape = np.frombuffer(shape, order + "i4")
    array = np.frombuffer(values, order + _TYPES[kind]).astype(_CLASSES[word & 0xFF])
    return name, array.reshape(tuple(int(size) for size in shape), order="F")
