"""Storages in a file: torch's names for typed memory, persistent ids, and where a loaded one may be placed."""

import functools
import pickle

import numpy as np

from rushlight.core.device.devices import device, is_known
from rushlight.core.tensor import dtype as dtypes
from rushlight.core.tensor.pickling import Memory

from .names import quantized_storage_name, storage_class_name, storage_dtype_name

__all__ = [
    "StorageType",
    "check_saved_id",
    "location_restorer",
    "same_dtype",
    "storage_type",
    "storage_type_of",
    "typed",
]


class StorageType:
    """Stand-in for one of torch's storage classes, such as `torch.FloatStorage`, inside a pickle."""

    def __init__(self, name):
        self.name = name
        self.dtype = dtypes._by_name(str(storage_dtype_name(name)))

    def __repr__(self):
        return f"StorageType(dtype={self.dtype})"


@functools.cache
def storage_type(name):
    """The one StorageType for torch's class name. Raises KeyError for a name that is none."""
    if storage_dtype_name(name) is None:
        raise KeyError(name)
    return StorageType(name)


def storage_type_of(memory):
    """The StorageType under which torch files keep a memory."""
    name_of = quantized_storage_name if memory.is_quantized else storage_class_name
    return storage_type(name_of(memory.dtype.name))


def check_saved_id(saved_id, length):
    """The fields of a storage's persistent id after its kind. Raises UnpicklingError when they are not such."""
    if type(saved_id) is not tuple or len(saved_id) != length or saved_id[0] not in ("storage", b"storage"):
        raise pickle.UnpicklingError("unknown kind of persistent id in the pickle")
    _, kind, key, location, numel, *more = saved_id
    location = location.decode("ascii") if isinstance(location, bytes) else location
    if (
        type(kind) is not StorageType
        or type(key) not in (str, bytes)
        or type(location) is not str
        or type(numel) is not int
        or numel < 0
    ):
        kinds = [type(part).__name__ for part in saved_id]
        raise pickle.UnpicklingError(f"malformed storage id in the pickle, of {kinds}")
    return kind, key.decode() if isinstance(key, bytes) else key, location, numel, *more


def same_dtype(memory, dtype, key):
    """`memory`, after proof that it was loaded as `dtype`."""
    if memory.dtype is not dtype:
        raise RuntimeError(f"storage {key!r} is used as {memory.dtype} and as {dtype}; the file is corrupted")
    return memory


def typed(raw, dtype, swapped=False):
    """Flat bytes as elements of `dtype`, in this machine's byte order; a bool is 0 or 1 whatever the file says."""
    flat = raw.view(dtype.numpy)
    if swapped and dtype.itemsize > 1:
        parts = flat.view(np.dtype(f"u{dtype.itemsize // (2 if dtype.is_complex else 1)}"))
        parts.byteswap(inplace=True)
    if dtype is dtypes.bool_ and raw.size and raw.max() > 1:
        np.not_equal(raw, 0, out=flat)
    return flat


def location_restorer(map_location):
    """A function (memory, location tag) -> memory for `load`'s argument `map_location`.

    None keeps the saved location; a string or device replaces it; a dict maps tags; a callable is asked first, and
    None from it means the saved location. A device that is not here raises RuntimeError.
    """
    if map_location is None:
        return _place
    if isinstance(map_location, dict):
        return lambda memory, location: _place(memory, map_location.get(location, location))
    if isinstance(map_location, (str, bytes)):
        tag = map_location.decode("ascii") if isinstance(map_location, bytes) else map_location
        return lambda memory, location: _place(memory, tag)
    if isinstance(map_location, device):
        return lambda memory, location: _place(memory, str(map_location))
    if not callable(map_location):
        raise TypeError(f"map_location must be None, a str, a device, a dict or a callable, got {map_location!r}")
    return functools.partial(_ask, map_location)


def _ask(map_location, memory, location):
    placed = map_location(memory, location)
    if placed is None:
        return _place(memory, location)
    if not isinstance(placed, Memory):
        raise TypeError(f"map_location must return a storage or None, got {type(placed).__name__}")
    return placed


def _place(memory, location):
    location = str(location)
    if location == "cpu":
        return memory.cpu()
    if location.partition(":")[0] == "cuda":
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are "
            "running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your "
            "storages to the CPU."
        )
    if is_known(location.partition(":")[0]):
        return memory.to(location)
    raise RuntimeError(
        f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with {location}); "
        "use map_location='cpu' to map your storages to the CPU"
    )
