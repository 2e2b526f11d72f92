"""What a weights-only load may name: the classes and functions that files of plain tensors need, and the user's own."""

from __future__ import annotations

import functools
from collections import Counter, OrderedDict
from pickle import UnpicklingError
from typing import Any

from rushlight.core.device.devices import device
from rushlight.core.tensor import dtype as dtypes
from rushlight.core.tensor.layout import (
    get_layout,
    per_channel_affine,
    per_channel_affine_float_qparams,
    per_tensor_affine,
)
from rushlight.core.tensor.pickling import (
    Memory,
    rebuild_from_type_v2,
    rebuild_meta_tensor,
    rebuild_tensor_v2,
    rebuild_tensor_v3,
)
from rushlight.core.tensor.size import Size
from rushlight.core.tensor.tensor import Tensor
from rushlight.ops.quantized.tensor import rebuild as rebuild_quantized

from .names import storage_class_name, to_torch
from .storages import storage_type

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "safe_globals"]

BLOCKED_MODULES = ("sys", "os", "posix", "nt")

_added = set()


def add_safe_globals(safe_globals):
    """Let weights-only loads use these classes and functions: call them, make instances, set their state.

    Each entry is a class or function, or a pair of one and the full path under which files name it.

    >>> class Settings: pass
    >>> add_safe_globals([Settings])
    """
    _added.update(safe_globals)


def get_safe_globals():
    """The entries that `add_safe_globals` has added."""
    return list(_added)


def clear_safe_globals():
    """Forget all that `add_safe_globals` has added."""
    _added.clear()


class safe_globals:
    """Context manager: `add_safe_globals` for the length of a block."""

    def __init__(self, safe_globals):
        self.safe_globals = safe_globals

    def __enter__(self):
        add_safe_globals(self.safe_globals)

    def __exit__(self, *exc_info):
        _added.difference_update(self.safe_globals)


def find_safe(path):
    """(object, what may be called in its place or None) for a full path in torch's naming; None when it is not safe."""
    return _built_in().get(path) or _added_by_path().get(path)


def is_added(cls):
    """Whether the user declared the class safe."""
    return any(cls is known for known, _ in _added_by_path().values())


def _added_by_path():
    table = {}
    for entry in _added:
        obj, path = _object_and_path(entry)
        table[path] = (obj, obj)
        module, _, name = path.rpartition(".")
        theirs = to_torch(module, name)
        if theirs is not None:
            table[".".join(theirs)] = (obj, obj)
    return table


def _object_and_path(entry):
    if not isinstance(entry, tuple):
        return entry, f"{entry.__module__}.{entry.__qualname__}"
    if len(entry) != 2:
        raise ValueError(
            f"Expected tuple of length 2 (global, str of callable full path), but got tuple of length: {len(entry)}"
        )
    if type(entry[1]) is not str:
        raise TypeError(f"Expected second item in tuple to be str of callable full path, but got: {type(entry[1])}")
    return entry


@functools.cache
def _parameter_module():
    """Loaded by the first file that is read, not with `load`: all layers come with it."""
    from rushlight.nn import parameter

    return parameter


@functools.cache
def _built_in():
    parameter = _parameter_module()
    table = {
        "collections.OrderedDict": (OrderedDict, _ordered_dict),
        "collections.Counter": (Counter, _counter),
        "torch.nn.parameter.Parameter": (parameter.Parameter, _new_parameter),
        "torch.Size": (Size, _size),
        "torch.Tensor": (Tensor, None),
        "torch.device": (device, device),
        "_codecs.encode": (_encode, _encode),
        "builtins.bytearray": (_bytearray, _bytearray),
        "builtins.bytes": (bytes, lambda: b""),  # protocol 2 spells empty bytes so
        "builtins.set": (set, _set),
        "builtins.complex": (complex, complex),
        "torch._utils._rebuild_tensor": (rebuild_tensor_v2, _tensor_v2),
        "torch._utils._rebuild_tensor_v2": (rebuild_tensor_v2, _tensor_v2),
        "torch._utils._rebuild_tensor_v3": (rebuild_tensor_v3, _tensor_v3),
        "torch._utils._rebuild_meta_tensor_no_storage": (rebuild_meta_tensor, _meta_tensor),
        "torch._utils._rebuild_parameter": (parameter._rebuild_parameter, _parameter),
        "torch._utils._rebuild_parameter_with_state": (parameter._rebuild_parameter_with_state, _parameter_with_state),
        "torch._tensor._rebuild_from_type_v2": (rebuild_from_type_v2, _from_type),
        "torch._utils._rebuild_sparse_tensor": (_sparse_tensor, _sparse_tensor),
        "torch._utils._rebuild_qtensor": (_quantized_tensor, _quantized_tensor),
        "torch.per_tensor_affine": (per_tensor_affine, None),
        "torch.per_channel_affine": (per_channel_affine, None),
        "torch.per_channel_affine_float_qparams": (per_channel_affine_float_qparams, None),
        "torch.serialization._get_layout": (get_layout, get_layout),
    }
    table |= {f"torch.{d.name}": (d, None) for d in (*dtypes.ALL, *dtypes.QUANTIZED)}
    for d in dtypes.ALL:
        name = storage_class_name(d.name)
        table[f"torch.{name}"] = table[f"torch.storage.{name}"] = (storage_type(name), None)
    for name in ("QInt8Storage", "QUInt8Storage", "QInt32Storage", "QUInt4x2Storage"):
        table[f"torch.{name}"] = (storage_type(name), None)
    return table


# torch's files may name these; Rushlight has nothing to make of them.
NOT_IMPLEMENTED = {
    "torch._utils._rebuild_nested_tensor": "nested tensors",
    "torch._utils._rebuild_wrapper_subclass": "wrapper subclasses",
    "torch._utils._rebuild_device_tensor_from_numpy": "tensors of devices without storages",
    "torch._utils._rebuild_device_tensor_from_cpu_tensor": "tensors of devices without storages",
    "torch.QUInt2x4Storage": "quantized tensors of 2 bits",
}
NOT_IMPLEMENTED["torch.complex32"] = "the dtype torch.complex32"


_ENCODINGS = ("latin1", "latin-1", "ascii", "utf-8")  # others can take long or make the text grow


def _encode(text, encoding="latin1"):
    """`_codecs.encode` as pickles of bytes use it."""
    if encoding not in _ENCODINGS:
        raise UnpicklingError("this encoding of a text is not allowed in a weights-only load")
    return text.encode(encoding)


def simple_key(key, room=1000):
    """`key`, after proof that hashing it is quick: a tuple of tuples of one tuple, and so on, can take forever."""
    pending = [key]
    while pending:
        part = pending.pop()
        if isinstance(part, (tuple, frozenset)):
            pending.extend(part)
            room -= len(part)
        if room < 0:
            raise UnpicklingError("a key of a dict or set is too large a tuple")
    return key


def _set(items=()):
    return set(map(simple_key, items))


def _ordered_dict(pairs=()):
    return OrderedDict((simple_key(key), value) for key, value in pairs)


def _counter(counts=None):
    if counts is not None and type(counts) is not dict:
        raise UnpicklingError(f"a Counter is made from a dict, not from {type(counts)}")
    if not all(type(n) in (int, float) for n in (counts or {}).values()):
        raise UnpicklingError("a Counter of a weights-only load counts in numbers only")
    return Counter(counts)


def _size(sizes=()):
    if type(sizes) not in (tuple, list) or not all(type(n) is int and n >= 0 for n in sizes):
        raise UnpicklingError("a torch.Size is made of integers that are not negative")
    return Size(sizes)


def _bytearray(source=b"", *encoding):
    """`bytearray` of given contents; a mere size would let a short file claim any amount of memory."""
    if type(source) not in (bytes, str) or not all(name in _ENCODINGS for name in encoding):
        raise UnpicklingError("a bytearray of a weights-only load is made of bytes, or of a text in a plain encoding")
    return bytearray(source, *encoding)


# ---------------------------------------------------------------- tensors


def _tensor_v2(memory, *rest):
    return rebuild_tensor_v2(_memory(memory), *rest)


def _tensor_v3(memory, *rest):
    return rebuild_tensor_v3(_memory(memory), *rest)


def _meta_tensor(kind, size, stride, requires_grad):
    if (
        type(kind) is not dtypes.dtype
        or type(size) is not tuple
        and type(size) is not Size
        or type(requires_grad) is not bool
    ):
        raise UnpicklingError("a meta tensor is made of a dtype, sizes, strides and a bool")
    return rebuild_meta_tensor(kind, size, stride, requires_grad)


def _memory(value):
    """A storage; any other object with the names of one could lead elsewhere."""
    if type(value) is not Memory:
        raise UnpicklingError(f"a tensor is rebuilt on a storage, not on {type(value)}")
    return value


def _tensor(value):
    if not isinstance(value, Tensor):
        raise UnpicklingError(f"a parameter is made of a tensor, not of {type(value)}")
    return value


def _new_parameter(*args):
    arguments: list[Any] = [*map(_tensor, args[:1]), *args[1:]]
    return _parameter_module().Parameter(*arguments)


def _parameter(data, requires_grad, backward_hooks):
    return _parameter_module()._rebuild_parameter(_tensor(data), requires_grad, backward_hooks)


def _parameter_with_state(data, requires_grad, backward_hooks, state):
    parameter = _parameter_module()
    _check_attributes(state, parameter.Parameter)
    return parameter._rebuild_parameter_with_state(_tensor(data), requires_grad, backward_hooks, state)


def _from_type(rebuild, cls, args, state):
    allowed = {
        id(known): call for path, (known, call) in _built_in().items() if path.startswith("torch._utils._rebuild_")
    }
    if id(rebuild) not in allowed:
        raise UnpicklingError("the function that should rebuild a tensor is none that does")
    if cls is not Tensor and not is_added(cls):
        raise UnpicklingError("the class of a tensor was not declared safe")
    if type(args) is not tuple:
        raise UnpicklingError(f"a tensor is rebuilt from a tuple of arguments, not from {type(args)}")
    _check_attributes(state, cls)
    return rebuild_from_type_v2(allowed[id(rebuild)], cls, args, state)


def _quantized_tensor(memory, *rest):
    return rebuild_quantized(_memory(memory), *rest)


def _sparse_tensor(layout, data):
    from rushlight.sparse.coo import rebuild

    if type(data) is not tuple or not all(isinstance(part, Tensor) for part in data[:2]):
        raise UnpicklingError("a sparse tensor is made of a tuple that begins with its tensors")
    return rebuild(layout, data)


# ---------------------------------------------------------------- attributes

# What libraries put on parameters; every other name that begins so may mean something to Python, NumPy or Rushlight.
_PRIVATE = ("_is_hf_initialized", "_is_param", "_is_buffer", "_no_weight_decay", "_optim")


def _check_attributes(state, cls):
    """A file may add attributes to a tensor; it may not replace what a tensor is or does."""
    for part in state if isinstance(state, tuple) else (state,):
        if part is not None and not isinstance(part, dict):
            raise UnpicklingError(f"the attributes of a tensor are a dict, not {type(part)}")
        for name in part or ():
            check_name(name, "a tensor", _PRIVATE)
            if hasattr(Tensor, name) or callable(getattr(cls, name, None)):
                raise UnpicklingError(f"a file may not set this attribute of a tensor: {name}")


def check_name(name, owner, private=()):
    """Raise where `name` is no plain name of an attribute: no identifier, or with an underscore in front."""
    if type(name) is not str or not name.isidentifier() or (name[0] == "_" and name not in private):
        shown = repr(name[:60]) if type(name) is str else f"a {type(name).__name__}"
        raise UnpicklingError(f"a file may not set this attribute of {owner}: {shown}")
