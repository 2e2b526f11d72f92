"""The pickler of `save`: torch's class paths, and storages kept out of the pickle."""

import pickle
from types import FunctionType
from typing import Any

from rushlight.core.tensor.dtype import dtype
from rushlight.core.tensor.layout import qscheme
from rushlight.core.tensor.pickling import Memory

from .names import to_torch
from .storages import StorageType, storage_type_of

__all__ = ["SavedStorages", "pickler_class", "write_global"]


class SavedStorages:
    """The storages met while pickling, and the persistent ids that represent them there."""

    def __init__(self, *extra_fields):
        self.memories = {}  # key -> memory, in the order met
        self._keys = {}  # id of the memory's owner -> (key, dtype)
        self._extra_fields = extra_fields

    @property
    def size_bytes(self):
        """Of all memories."""
        return sum(memory.nbytes() for memory in self.memories.values())

    def persistent_id(self, obj):
        """torch's persistent id of a memory, None for anything else. Raises RuntimeError for a second dtype."""
        if type(obj) is not Memory:
            return None
        identity = id(obj if obj.owner is None else obj.owner)
        key, first_dtype = self._keys.setdefault(identity, (str(len(self._keys)), obj.dtype))
        if first_dtype is not obj.dtype:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        self.memories.setdefault(key, obj)
        kind = storage_type_of(obj)
        return ("storage", kind, key, obj.location, obj.nbytes() // kind.dtype.itemsize, *self._extra_fields)


def pickler_class(pickle_module, storages):
    """A pickler class of `pickle_module` that hands storages to `storages` and writes torch's class paths.

    Paths can be translated only where the module's pickler is written in Python (pickle's own is chosen so, dill's is).
    With another one the file names Rushlight's classes, which only Rushlight can load.
    """
    base = getattr(pickle_module, "_Pickler", None) or pickle_module.Pickler
    members = {"persistent_id": storages.persistent_id}
    if issubclass(base, pickle._Pickler):
        members |= {"save_global": _save_global, "dispatch": _dispatch_for(base)}
    return type("TorchPickler", (base,), members)


def _save_global(pickler, obj, name=None):
    path = name or getattr(obj, "__qualname__", None) or getattr(obj, "__name__", "")
    theirs = to_torch(getattr(obj, "__module__", None) or "", path)
    if theirs is None:
        above: Any = super(type(pickler), pickler)
        try:
            above.save_global(obj, name)
        except pickle.PicklingError as error:
            refused = error
        else:
            return
        if isinstance(obj, (type, FunctionType)):
            pickle.dumps(obj, pickler.proto)  # raises what the pickler written in C, which torch uses, says of it
        raise refused
    else:
        write_global(pickler, obj, *theirs)


def write_global(pickler, obj, module, name):
    """Write the path of a class or function, which `obj` is from then on."""
    if pickler.proto >= 4:
        pickler.save(module)
        pickler.save(name)
        pickler.write(pickle.STACK_GLOBAL)
    else:
        pickler.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
    pickler.memoize(obj)


def _save_by_name(pickler, obj):
    write_global(pickler, obj, "torch", obj.name)


def _save_storage_type(pickler, obj):
    write_global(pickler, obj, "torch.storage" if obj.name == "UntypedStorage" else "torch", obj.name)


def _dispatch_for(base):
    """The base's table of writers by type, with ours where a path may need translation."""
    written_in_python: Any = pickle._Pickler
    table = dict(base.dispatch)
    for kind, writer in base.dispatch.items():
        if writer is written_in_python.save_global:
            table[kind] = _save_global
    return {**table, dtype: _save_by_name, qscheme: _save_by_name, StorageType: _save_storage_type}
