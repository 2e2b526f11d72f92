"""Reading the pickle files of public image data sets without the power that pickle gives to whoever wrote the file.

The files hold dicts, lists, strings, numbers and NumPy arrays, so a few NumPy functions are all that may be called.
"""

import importlib
import io
import pickle
import re
import struct
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy._core import multiarray

numeric = importlib.import_module("numpy._core.numeric")  # stubs leave out what pickles name


def load_pickled(path):
    """The object in the pickle file `path`; strings written by Python 2 are read as latin-1.

    Raises pickle.UnpicklingError if the file is truncated or asks for anything but data.
    """
    with open(path, "rb") as file:
        content = file.read()
        try:
            return DataUnpickler(content).load()
        except (
            struct.error,
            EOFError,
            ValueError,
            LookupError,
            AttributeError,
            TypeError,
            OverflowError,
            RecursionError,
        ) as error:
            raise pickle.UnpicklingError(f"{path} is truncated or not a pickle file ({error})") from error


class DataUnpickler(pickle._Unpickler):
    """An unpickler for dict, list, tuple, str, bytes, numbers and NumPy arrays; other globals raise UnpicklingError.

    Python's own, not C's, since calls and states are checked: NumPy believes a dtype's state, and makes arrays of any size.
    A data set's pickle is a few large values.
    """

    dispatch: dict[int, Callable[..., None]] = dict(pickle._Unpickler.dispatch)
    stack: list[Any]  # these three are attributes of Python's own unpickler, which its stubs leave out
    read: Callable[[int], bytes]
    append: Callable[[object], None]

    def __init__(self, content):
        super().__init__(io.BytesIO(content), encoding="latin1")
        self._unbuilt = {}  # arrays and dtypes without their state, by id
        self._room = len(content) + (1 << 20)  # bytes that calls may copy

    def find_class(self, module, name):
        key = _today(module) if module.startswith("numpy.") else module, name
        if key in _ALLOWED:
            return _ALLOWED[key]
        raise pickle.UnpicklingError(
            f"global '{module}.{name}' is not allowed: data set files hold only dicts, lists, strings, numbers and "
            "NumPy arrays, and calling anything else could run code that was put into the file. Fetch the file "
            "again from its source."
        )

    def load_reduce(self):
        arguments = self.stack.pop()
        function = self.stack[-1]
        if not any(function is known for known in _CALLED) or type(arguments) is not tuple:
            raise pickle.UnpicklingError(f"a call of {type(function)} is not allowed in a data set's file")
        self._spend(sum(len(a) for a in arguments if isinstance(a, (str, bytes, bytearray))))
        self.stack[-1] = made = function(*arguments)
        if function is _dtype or function is _new_array:
            self._unbuilt[id(made)] = made

    def _spend(self, size):
        self._room -= size
        if self._room < 0:
            raise pickle.UnpicklingError("the file's calls make many times more data than it holds")

    def load_bytearray8(self):
        (size,) = struct.unpack("<Q", self.read(8))
        self.append(bytearray(self.read(size)))  # pickle allocates what the file claims

    dispatch[pickle.BYTEARRAY8[0]] = load_bytearray8

    dispatch[pickle.REDUCE[0]] = load_reduce

    def load_build(self):
        state = self.stack.pop()
        target = self.stack[-1]
        if self._unbuilt.pop(id(target), None) is not target:  # each gets its state once, before anything else uses it
            raise pickle.UnpicklingError(f"the state of a {type(target)} is not allowed in a data set's file")
        if type(target) is np.ndarray:
            _check_array(state)
            self._spend(len(state[-1]))
        else:
            _check_dtype(target, state)
        target.__setstate__(state)

    dispatch[pickle.BUILD[0]] = load_build

    for _opcode in (pickle.INST, pickle.OBJ, pickle.NEWOBJ, pickle.NEWOBJ_EX, pickle.EXT1, pickle.EXT2, pickle.EXT4):
        dispatch.pop(_opcode[0], None)
    del _opcode


def _dtype(name, *flags):
    """A new dtype of plain elements; `flags` ask for one that is not shared, which it always is not."""
    if not isinstance(name, str) or not _PLAIN.fullmatch(name):
        raise pickle.UnpicklingError(f"a dtype {name!r:.40} is not allowed in a data set's file")
    return np.dtype(name, False, True)


def _check_dtype(dtype, state):
    """A dtype's state may say the order of bytes, and what is so anyway. NumPy crashes on others."""
    sizes = ((-1, dtype.itemsize), (-1, dtype.alignment), (0, dtype.flags))
    if (
        type(state) is not tuple
        or len(state) != 8
        or state[0] != 3
        or type(state[1]) is not str
        or state[1] not in ("<", ">", "|", "=")
        or state[2:5] != (None, None, None)
        or not all(type(n) is int and n in known for n, known in zip(state[5:], sizes, strict=True))
    ):
        raise pickle.UnpicklingError("a dtype with parts is not allowed in a data set's file")


def _new_array(kind, shape, typecode):
    """What NumPy's pickles begin an array with; its state follows."""
    if kind is not np.ndarray or shape != (0,):
        raise pickle.UnpicklingError(f"an array of shape {shape!r:.40} without its elements")
    return np.ndarray.__new__(np.ndarray, (0,), np.int8)


def _check_array(state):
    """An array's state has to have as many bytes as its shape says."""
    if type(state) is not tuple or len(state) != 5 or state[0] != 1 or type(state[3]) not in (bool, int):
        raise pickle.UnpicklingError("an array's state is not of NumPy's form")
    _, shape, dtype, _, raw = state
    if not isinstance(dtype, np.dtype) or type(raw) not in (bytes, str):
        raise pickle.UnpicklingError("an array of objects is not allowed in a data set's file")
    if type(shape) is not tuple or not all(type(n) is int and n >= 0 for n in shape):
        raise pickle.UnpicklingError("an array's shape is not of integers")
    if prod(shape) * dtype.itemsize != len(raw) or not dtype.itemsize:
        raise pickle.UnpicklingError(
            f"an array of shape {shape!r:.60} and {dtype} is truncated: it has {len(raw)} bytes"
        )


def _scalar(dtype, raw):
    if not isinstance(dtype, np.dtype) or type(raw) not in (bytes, str) or len(raw) != dtype.itemsize:
        raise pickle.UnpicklingError("a NumPy scalar that does not fit its bytes")
    return multiarray.scalar(dtype, raw)


def _from_buffer(buffer, dtype, shape, order, *axes):
    if type(buffer) not in (bytes, bytearray) or not isinstance(dtype, np.dtype):
        raise pickle.UnpicklingError("an array that is made of no bytes")
    return numeric._frombuffer(buffer, dtype, shape, order, *axes)


def _today(module):
    """The module's name since NumPy 2, which calls `numpy.core` `numpy._core`."""
    return module.replace("numpy.core.", "numpy._core.", 1)


def _encoded(text, encoding):
    """How Python 3 writes bytes under pickle protocols 0 to 2: as latin-1 text."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"bytes are encoded as '{encoding}', where pickle only ever writes latin1")
    return text.encode("latin1")


# one letter and a size: no objects, no fields
_PLAIN = re.compile(r"[|<>=]?(\?|[biufc][0-9]{1,2}|[SU][0-9]{1,9})")
_ALLOWED = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): _dtype,
    ("numpy._core.multiarray", "_reconstruct"): _new_array,
    ("numpy._core.multiarray", "scalar"): _scalar,
    ("numpy._core.numeric", "_frombuffer"): _from_buffer,
    ("_codecs", "encode"): _encoded,
}
_CALLED = (_dtype, _new_array, _scalar, _from_buffer, _encoded)
