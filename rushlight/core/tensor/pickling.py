"""How a tensor travels: decomposed for pickle, `copy.deepcopy` and `save`, and rebuilt.

A tensor is decomposed into a `Memory` and the place of its elements in it (offset, size, stride). Tensors that alias
each other are decomposed into the same `Memory`, so that one pickle or one deepcopy keeps them aliases.
"""

from __future__ import annotations

import copy
import pickle
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any

import numpy as np

from ..device.backend import on_device
from ..device.buffer import Buffer, outline_of
from ..device.conjugated import is_conjugated, seen
from ..device.devices import CPU, backend, check
from ..dispatch.extension_points import namespace
from ..jit_switch import jit
from ..warn import warn
from . import dtype as dtypes
from .storage import Storage, address_of, storage_of
from .tensor import Tensor, alias, wrap

__all__ = [
    "Memory",
    "after_load",
    "as_torchs",
    "deepcopy_tensor",
    "memory_of",
    "rebuild_from_type_v2",
    "rebuild_meta_tensor",
    "rebuild_tensor_v2",
    "rebuild_tensor_v3",
    "reduce_tensor",
]


class _AfterLoad(threading.local):
    """Checks of loaded values. Within `with after_load:` they wait until it ends: an old file has its numbers at its end."""

    waiting: list[Callable[[], None]] | None = None

    def check(self, call: Callable[[], None]) -> None:
        if self.waiting is None:
            call()
        else:
            self.waiting.append(call)

    def __enter__(self) -> None:
        self.waiting = []

    def __exit__(self, kind: Any, *_: Any) -> None:
        waiting, self.waiting = self.waiting, None
        for call in waiting if kind is None and waiting else ():
            call()


after_load = _AfterLoad()

_ADDRESS_MAX = 2**63 - 1
_UNTYPED = (dtypes.uint16, dtypes.uint32, dtypes.uint64, *dtypes.FLOAT8)  # younger than torch's typed storages


class Memory:
    """The whole memory of a storage: a flat array of one dtype (on any device), and the record its tensors share once rebuilt."""

    __slots__ = ("__weakref__", "flat", "is_quantized", "owner", "storage")

    def __init__(self, flat: np.ndarray, owner: Any = None, is_quantized: bool = False):
        self.flat = flat
        self.is_quantized = is_quantized  # the numbers are levels of a quantized tensor
        self.owner = owner  # keeps the array alive by whose identity this memory was found
        self.storage: Storage | None = None

    @property
    def dtype(self) -> dtypes.dtype:
        kind = self.flat.dtype
        return dtypes.PAIRS if kind == dtypes.PAIRS.numpy else dtypes.from_numpy(kind)

    @property
    def device(self):
        return self.flat.backend.device if isinstance(self.flat, Buffer) else CPU

    @property
    def location(self) -> str:
        """torch's tag of the device in files."""
        return str(self.device)

    def nbytes(self) -> int:
        """The size in bytes."""
        return self.flat.nbytes

    def size(self) -> int:
        """The number of elements."""
        return self.flat.size

    __len__ = size

    def to(self, device: Any) -> Memory:
        """A copy on another device, the memory itself if it is there already."""
        where = backend(device)
        flat = self.flat
        own = flat.backend if isinstance(flat, Buffer) else None
        if own is where:
            return self
        return Memory(on_device(flat, where) if own is None else own.copy_to(flat, where, own))

    def cpu(self) -> Memory:
        """The memory on the CPU."""
        return self.to("cpu")

    def cuda(self, device: Any = None) -> Memory:
        """Raises: there is no CUDA device."""
        check("cuda" if device is None else f"cuda:{device}" if isinstance(device, int) else device)
        raise NotImplementedError("storages cannot be moved to a CUDA device")

    def bytes(self) -> np.ndarray:
        """The memory as a flat array of uint8 that shares it; of another device's memory a copy."""
        flat = self.flat
        return (flat.backend.to_host(flat) if isinstance(flat, Buffer) else flat).view(np.uint8)

    def shared_record(self) -> Storage:
        """The storage record of every tensor that is rebuilt on this memory."""
        if self.storage is None:
            self.storage = Storage()
            self.storage.root = self.flat
        return self.storage

    def __deepcopy__(self, memo: dict[int, Any]) -> Memory:
        return Memory(self.flat.copy())

    def __reduce_ex__(self, protocol: Any) -> tuple:
        if jit.for_torch and namespace.value is not None:
            return namespace.value.storage._reduce_memory(self)
        raw: Any = self.bytes()
        content = pickle.PickleBuffer(raw) if int(protocol) >= 5 else raw.tobytes()
        return _restore_memory, (self.dtype.name, content, *(() if self.location == "cpu" else (self.location,)))


def _restore_memory(dtype_name: str, buffer: Any, location: str = "cpu") -> Memory:
    """A memory over `buffer`: shared where the buffer can be written to, copied where it cannot, or is on another device."""
    flat = np.frombuffer(buffer, np.uint8)
    if not flat.flags.writeable:
        flat = flat.copy()
    return Memory(flat.view(dtypes._by_name(dtype_name).numpy)).to(location)


_known: weakref.WeakValueDictionary[tuple[int, int], Memory] = weakref.WeakValueDictionary()


def memory_of(tensor: Any) -> tuple[Memory, int, tuple[int, ...]]:
    """The memory of a tensor, its offset and its strides there, in elements.

    Where the tensor's array cannot be described so (a hole, a negative stride), its elements are copied out first.
    """
    array = own = outline_of(tensor._array)
    root = array if tensor._storage is None else tensor._storage.root
    flat = _flatten(root)
    if flat is None or not _lies_in(array, flat):
        root = array = array.copy().reshape(array.shape)
        flat = root.reshape(-1)
    memory = _known_memory(root, flat, array.dtype)
    if memory.storage is None and array is own:
        memory.storage = storage_of(tensor)  # for tensors that are rebuilt on this very memory
    if not array.size:
        return memory, 0, _contiguous_strides(array.shape)
    offset = (address_of(array) - address_of(memory.flat)) // array.itemsize
    return memory, offset, tuple(s // array.itemsize for s in array.strides)


def _contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """torch's strides of an empty tensor, where NumPy's are zero: as if no dimension were 0."""
    return tuple(prod(max(n, 1) for n in shape[axis + 1 :]) for axis in range(len(shape)))


def _known_memory(root: np.ndarray, flat: np.ndarray, element_type: np.dtype) -> Memory:
    key = (id(root), element_type.num)
    memory = _known.get(key)
    if memory is None or memory.owner is not root:
        memory = _known[key] = Memory(flat.view(dtypes.from_numpy(element_type).numpy), owner=root)
    return memory


def _flatten(array: np.ndarray) -> np.ndarray | None:
    """All of the array's memory in address order, or None where its elements do not fill it exactly."""
    if not array.flags.c_contiguous:
        array = array.transpose(sorted(range(array.ndim), key=lambda axis: -array.strides[axis]))
        if not array.flags.c_contiguous:
            return None
    return array.reshape(-1)


def _lies_in(array: np.ndarray, flat: np.ndarray) -> bool:
    size = array.itemsize
    if flat.nbytes % size or any(stride < 0 or stride % size for stride in array.strides):
        return False
    if not array.size:
        return True
    start = address_of(array) - address_of(flat)
    span = sum((n - 1) * stride for n, stride in zip(array.shape, array.strides, strict=True)) + size
    return start >= 0 and start % size == 0 and start + span <= flat.nbytes


def reduce_tensor(tensor: Any, protocol: Any = 2) -> tuple:
    """What `Tensor.__reduce_ex__` returns: torch's rebuild call, with a `Memory` in the place of torch's storage.

    History and hooks do not travel: a tensor that requires grad becomes a leaf, and a hook is warned about.
    """
    _warn_of_hooks(tensor)
    if jit.for_torch:
        _name_as_torchs()
    if tensor.is_meta and type(tensor) is Tensor and not tensor.__dict__:
        return rebuild_meta_tensor, (tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()), tensor.requires_grad)
    memory, offset, stride = memory_of(tensor)
    args = (memory, offset, tuple(tensor._array.shape), stride, tensor.requires_grad, OrderedDict())
    rebuild: Any = rebuild_tensor_v2
    if tensor.dtype in _UNTYPED:
        rebuild, args = rebuild_tensor_v3, (*args, tensor.dtype)
    if is_conjugated(tensor):
        args = (*args, {word: True for word in ("conj", "neg") if getattr(tensor._array, word)})
    if type(tensor) is Tensor and not tensor.__dict__:
        return rebuild, args
    own_state = type(tensor).__getstate__ is not object.__getstate__
    state = tensor.__getstate__() if own_state else dict(tensor.__dict__)
    return rebuild_from_type_v2, (rebuild, type(tensor), args, state)


def as_torchs(rebuild: Any, path: str) -> Any:
    """The function, which pickles name by this path of torch's from now on."""
    rebuild.__module__, _, rebuild.__qualname__ = path.rpartition(".")
    return rebuild


def _warn_of_hooks(tensor: Any) -> None:
    hooks = getattr(tensor._edge, "hooks", None)
    for hook in (hooks.tensor or {}).values() if hooks is not None else ():
        if not hasattr(hook, "__torch_unserializable__"):
            warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the "
                "function with @torch.utils.hooks.unserializable_hook to suppress this warning",
            )


def rebuild_tensor_v2(
    memory: Memory,
    storage_offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    requires_grad: bool = False,
    backward_hooks: Any = None,
    metadata: dict[str, bool] | None = None,
) -> Any:
    """The leaf tensor whose elements are in `memory` at `storage_offset` with `stride`.

    Raises RuntimeError when any element would be outside the memory. `metadata` marks values that torch had left to
    be conjugated or negated when they are read. `backward_hooks` is what torch's files carry there, always empty.
    """
    array = _view(memory.flat, storage_offset, size, stride)
    if metadata:
        array = _marked(array, **metadata)
    tensor = wrap(array)
    tensor._storage = memory.shared_record()
    if requires_grad:
        tensor.requires_grad_(True)
    return tensor


def rebuild_meta_tensor(
    dtype: dtypes.dtype, size: tuple[int, ...], stride: tuple[int, ...], requires_grad: bool
) -> Any:
    """A tensor of the meta device, which has no memory to be kept."""
    where = backend("meta")
    assert where is not None
    if not all(type(n) is int and 0 <= n < _ADDRESS_MAX for n in (*size, *stride)) or len(size) != len(stride):
        raise RuntimeError(f"a meta tensor of size {list(size)} and stride {list(stride)} cannot be made")
    if prod(size) * dtype.itemsize > _ADDRESS_MAX:
        raise RuntimeError(f"numel: integer multiplication overflow for sizes {list(size)}")
    tensor = wrap(where.buffer(tuple(size), dtype.numpy, tuple([n * dtype.itemsize for n in stride])))
    return tensor.requires_grad_(True) if requires_grad else tensor


def _marked(array: Any, conj: bool = False, neg: bool = False) -> Any:
    if type(array) is not np.ndarray:  # a device's
        array = np.conjugate(array) if conj else array
        return np.negative(array) if neg else array
    return seen(array, bool(conj) and array.dtype.kind == "c", bool(neg))


def rebuild_tensor_v3(
    memory: Memory,
    storage_offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    requires_grad: bool,
    backward_hooks: Any,
    dtype: dtypes.dtype,
    metadata: dict[str, bool] | None = None,
) -> Any:
    """As `rebuild_tensor_v2`, for a memory that is read as `dtype`."""
    if memory.nbytes() % dtype.itemsize:
        raise RuntimeError(f"a storage of {memory.nbytes()} bytes does not hold whole elements of {dtype}")
    typed = Memory(memory.flat.view(dtype.numpy))
    typed.storage = memory.shared_record()
    return rebuild_tensor_v2(typed, storage_offset, size, stride, requires_grad, backward_hooks, metadata)


def rebuild_from_type_v2(rebuild: Any, cls: type, args: tuple, state: Any) -> Any:
    """A tensor of class `cls` with the attributes `state`, from the call `rebuild(*args)`."""
    tensor = rebuild(*args)
    if not isinstance(tensor, Tensor):
        raise TypeError(f"rebuilding a {cls.__name__} gave {type(tensor).__name__} in place of a Tensor")
    if type(tensor) is not cls:
        tensor = _as_class(tensor, cls)
    set_state = getattr(tensor, "__setstate__", None)
    if set_state is not None:
        set_state(state)
        return tensor
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    for name, value in {**(attributes or {}), **(slots or {})}.items():
        setattr(tensor, name, value)
    return tensor


@cache
def _name_as_torchs() -> None:
    as_torchs(rebuild_tensor_v2, "torch._utils._rebuild_tensor_v2")
    as_torchs(rebuild_tensor_v3, "torch._utils._rebuild_tensor_v3")
    as_torchs(rebuild_meta_tensor, "torch._utils._rebuild_meta_tensor_no_storage")
    as_torchs(rebuild_from_type_v2, "torch._tensor._rebuild_from_type_v2")


def _as_class(tensor: Any, cls: type) -> Any:
    converted = alias(tensor, cls)
    if tensor.requires_grad:
        converted.requires_grad_(True)
    return converted


def _view(flat: np.ndarray, offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> np.ndarray:
    """The strided view of a flat array, after proof that it is inside."""
    if isinstance(flat, Buffer):
        return flat.backend.apply(_view, (flat, offset, size, stride), {})
    size, stride = tuple(size), tuple(stride)
    if not all(type(n) is int for n in (offset, *size, *stride)):
        kinds = sorted({type(n).__name__ for n in (offset, *size, *stride)})
        raise TypeError(f"a tensor's offset, size and stride must be ints, got {', '.join(kinds)}")
    if len(size) != len(stride):
        raise RuntimeError(f"unequal size length ({len(size)}) and stride length ({len(stride)})")
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    if any(n < 0 for n in size):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {list(size)}")
    if any(s < 0 for s in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    needed = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) + 1 if 0 not in size else 0
    if needed > flat.size:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize "
            f"{flat.itemsize} requiring a storage size of {needed * flat.itemsize} are out of bounds for storage of "
            f"size {flat.nbytes}"
        )
    return _strided(flat, offset, size, stride)


def _strided(flat: np.ndarray, offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> np.ndarray:
    if len(size) > 64 or prod(size) * flat.itemsize > _ADDRESS_MAX:
        raise RuntimeError(f"numel: integer multiplication overflow for sizes {list(size)}")
    if 0 in size:
        return np.empty(size, flat.dtype)
    raw_strides = tuple(min(s * flat.itemsize, _ADDRESS_MAX) for s in stride)  # only size-1 dimensions reach the cap
    return np.ndarray(size, flat.dtype, buffer=flat.view(np.uint8), offset=offset * flat.itemsize, strides=raw_strides)


def deepcopy_tensor(tensor: Any, memo: dict[int, Any]) -> Any:
    """What `Tensor.__deepcopy__` returns: a copy of the whole storage, which the copies of aliases share.

    Raises RuntimeError for a tensor with history.
    """
    if id(tensor) in memo:
        return memo[id(tensor)]
    if not tensor.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  "
            "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, "
            "see https://github.com/pytorch/pytorch/pull/103001"
        )
    if tensor.is_meta:
        copied = tensor.detach().clone()  # there is no memory to copy
    else:
        memory, offset, stride = memory_of(tensor)
        copied = rebuild_tensor_v2(copy.deepcopy(memory, memo), offset, tuple(tensor._array.shape), stride)
    if is_conjugated(tensor):
        copied = wrap(tensor._array.apply(copied._array))
    if type(copied) is not type(tensor):
        copied = _as_class(copied, type(tensor))
    memo[id(tensor)] = copied
    copied.requires_grad_(tensor.requires_grad)
    if tensor._grad is not None:
        copied._grad = copy.deepcopy(tensor._grad, memo)
    copied.__dict__.update(copy.deepcopy(tensor.__dict__, memo))
    return copied
