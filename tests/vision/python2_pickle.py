"""Pickles as Python 2 and the NumPy of its time wrote them, protocol 2, as the files of CIFAR-10 and CIFAR-100 are.

Today's pickle module cannot write them: strings were bytes (opcodes U and T), and NumPy's functions had other modules.
"""

import struct

import numpy as np


def python2_pickle(value):
    return b"\x80\x02" + _written(value) + b"."


def _written(value):
    if isinstance(value, str):
        return _string(value.encode("latin1"))
    if isinstance(value, bytes):
        return _string(value)
    if isinstance(value, int):
        return b"J" + struct.pack("<i", value)
    if isinstance(value, list):
        return b"](" + b"".join(map(_written, value)) + b"e"
    if isinstance(value, tuple):
        return b"(" + b"".join(map(_written, value)) + b"t"
    if isinstance(value, dict):
        return b"}(" + b"".join(_written(part) for item in value.items() for part in item) + b"u"
    if isinstance(value, np.ndarray):
        return _array(value)
    raise TypeError(type(value))


def _string(raw):
    return (b"U" + bytes([len(raw)]) if len(raw) < 256 else b"T" + struct.pack("<i", len(raw))) + raw


def _array(array):
    """_reconstruct(ndarray, (0,), 'b'), then its state: version, shape, dtype, Fortran order, bytes."""
    kind = array.dtype.str[1:]
    dtype = b"cnumpy\ndtype\n" + _written((kind, 0, 1)) + b"R"
    dtype += b"(" + _written(3) + _string(b"|") + b"NNN" + _written(-1) + _written(-1) + _written(0) + b"tb"
    made = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n" + _written((0,)) + _string(b"b") + b"tR"
    return made + b"(" + _written(1) + _written(array.shape) + dtype + b"\x89" + _string(array.tobytes()) + b"tb"
