"""Reading the pickle files of public image data sets without the power that pickle gives to whoever wrote the file.

The files hold dicts, lists, strings, numbers and NumPy arrays, so a few NumPy functions are all that may be called.
"""

import pickle

import numpy as np


def load_pickled(path):
    """The object in the pickle file `path`; strings written by Python 2 are read as latin-1.

    Raises pickle.UnpicklingError if the file is truncated or asks for anything but data.
    """
    with open(path, "rb") as file:
        try:
            return DataUnpickler(file, encoding="latin1").load()
        except (EOFError, ValueError, IndexError, KeyError, AttributeError, TypeError) as error:
            raise pickle.UnpicklingError(f"{path} is truncated or not a pickle file ({error})") from error


class DataUnpickler(pickle.Unpickler):
    """An unpickler for dict, list, tuple, str, bytes, numbers and NumPy arrays; other globals raise UnpicklingError."""

    def find_class(self, module, name):
        if (module, name) in _ALLOWED:
            return _ALLOWED[module, name]
        if module.startswith("numpy.") and (_today(module), name) in _ALLOWED:
            return _ALLOWED[_today(module), name]
        raise pickle.UnpicklingError(
            f"global '{module}.{name}' is not allowed: data set files hold only dicts, lists, strings, numbers and "
            "NumPy arrays, and calling anything else could run code that somebody put into the file. Fetch the file "
            "again from its source."
        )


def _today(module):
    """The module's name since NumPy 2, which calls `numpy.core` `numpy._core`."""
    return module.replace("numpy.core.", "numpy._core.", 1)


def _encoded(text, encoding):
    """How Python 3 writes bytes under pickle protocols 0 to 2: as latin-1 text."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"bytes are encoded as '{encoding}', where pickle only ever writes latin1")
    return text.encode("latin1")


_ALLOWED = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("numpy._core.multiarray", "_reconstruct"): np._core.multiarray._reconstruct,
    ("numpy._core.multiarray", "scalar"): np._core.multiarray.scalar,
    ("numpy._core.numeric", "_frombuffer"): np._core.numeric._frombuffer,
    ("_codecs", "encode"): _encoded,
}
