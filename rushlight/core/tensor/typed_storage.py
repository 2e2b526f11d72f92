"""`torch.storage`: the memory behind tensors, as bytes (`UntypedStorage`) or as numbers of one type (`TypedStorage`).

`tensor.untyped_storage()` and `tensor.storage()` share the tensor's memory. `FloatStorage` and its like make a
`TypedStorage` of their type. A storage keeps its size: `resize_` to another one raises NotImplementedError.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..device.backend import on_device
from ..device.buffer import Buffer
from ..device.devices import CPU, backend, check, device
from ..dispatch.mode import emit_event, thread
from . import dtype as dtypes
from .layout import strided
from .pickling import memory_of
from .resizing import HOLDERS
from .shared_memory import block_of, share_memory_
from .storage import address_of, expose, shared_storage
from .tensor import Tensor, wrap

__all__ = ["TypedStorage", "UntypedStorage", "from_file", "is_storage"]


class _Storage:
    """What both kinds have. `_flat`: the memory as an array of one dimension."""

    _flat: np.ndarray
    is_cuda = is_hpu = is_sparse = False

    def moved(self, memory: np.ndarray) -> None:
        """Show the memory that has taken the place of the one before."""
        self._flat = (
            memory.reshape(-1)
            .view(np.uint8)[: memory.nbytes // self._flat.itemsize * self._flat.itemsize]
            .view(self._flat.dtype)
        )

    @property
    def device(self) -> device:
        return self._flat.backend.device if isinstance(self._flat, Buffer) else CPU

    def data_ptr(self) -> int:
        """The address of the memory."""
        if thread.state.level > 1:
            emit_event("left", "the address of a tensor's memory, which differs in the next call")
        return address_of(self._flat) if self._flat.size and self.device.type != "meta" else 0

    def nbytes(self) -> int:
        """The size in bytes."""
        return self._flat.nbytes

    def size(self) -> int:
        """The number of elements (bytes of an untyped storage)."""
        return self._flat.size

    def __len__(self) -> int:
        return self._flat.size

    def element_size(self) -> int:
        """The size of an element in bytes."""
        return self._flat.itemsize

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        return wrap(self._flat).tolist()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._like(self._flat[index])
        return wrap(np.asarray(self._flat[index])).item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._flat[index] = value

    def fill_(self, value: Any) -> Any:
        """Write a number into every element."""
        self._flat[...] = value
        return self

    def copy_(self, source: Any, non_blocking: bool = False) -> Any:
        """Write the elements of another storage of the same size."""
        if source.nbytes() != self.nbytes():
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes"
            )
        self._flat[...] = source._flat
        return self

    def clone(self) -> Any:
        """A copy."""
        return self._like(self._flat.copy())

    def cpu(self) -> Any:
        """The storage on the CPU: itself if it is there."""
        return self if not isinstance(self._flat, Buffer) else self._like(self._flat.backend.to_host(self._flat))

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Any:
        """Raises: there is no CUDA device."""
        check("cuda")

    def is_shared(self) -> bool:
        """Whether other processes can see the memory."""
        return block_of(self._flat) is not None

    def __sizeof__(self) -> int:
        """The bytes of the object and of its memory."""
        return object.__sizeof__(self) + self.nbytes()

    def is_pinned(self, device: Any = None) -> bool:
        """Whether the memory is locked for a device: False."""
        return False

    def share_memory_(self) -> Any:
        """Move the memory where other processes can see it: that of a storage of its own, not of a tensor."""
        if not self.is_shared():
            if getattr(self, "_tensor", None) is not None:
                share_memory_(self._tensor)  # type: ignore[attr-defined]
                self._flat = memory_of(self._tensor)[0].flat.view(self._flat.dtype)  # type: ignore[attr-defined]
            else:
                self._flat = share_memory_(wrap(self._flat))._array
        return self

    def resize_(self, size: int) -> Any:
        """Change the size. Raises NotImplementedError unless it stays."""
        if size != self.size():
            raise NotImplementedError(f"{type(self).__name__}.resize_ to another size is not implemented")
        return self

    def _like(self, flat: np.ndarray) -> Any:
        fresh = object.__new__(type(self))
        fresh._flat = flat
        return fresh

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and (self.data_ptr(), self.nbytes()) == (other.data_ptr(), other.nbytes())

    def __hash__(self) -> int:
        return hash((self.data_ptr(), self.nbytes()))

    def __repr__(self) -> str:
        lines = "..." if self.device.type == "meta" else "\n".join(f" {value}" for value in self.tolist())
        return f"{lines}\n[torch.storage.{self._description()} of size {len(self)}]"

    def _description(self) -> str:
        return f"{type(self).__name__}(device={self.device})"


def mapped_file(filename: str, shared: bool, nbytes: int) -> np.ndarray:
    """A file's first bytes as an array of uint8 over its memory map."""
    import mmap

    with _opened(filename, shared) as file:
        size = os.fstat(file.fileno()).st_size
        if nbytes > size:
            if not shared:
                raise RuntimeError(
                    f"file <{filename}> size <{size}> is smaller than the required mapping size <{nbytes}>"
                )
            file.truncate(nbytes)
        if nbytes == 0:
            return np.zeros(0, np.uint8)
        access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
        return np.frombuffer(mmap.mmap(file.fileno(), nbytes, access=access), np.uint8)


def _opened(filename: str, shared: bool) -> Any:
    try:
        return os.fdopen(
            os.open(filename, os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY, 0o600), "r+b" if shared else "rb"
        )
    except OSError as error:
        mode = "read-write" if shared else "read-only"
        raise RuntimeError(
            f"unable to open file <{filename}> in {mode} mode: {os.strerror(error.errno or 0)} ({error.errno})"
        ) from None


def from_file(
    filename: str,
    shared: bool | None = None,
    size: int = 0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A 1-D tensor on the first bytes of a file, which are read when they are needed.

    Args:
        shared: whether what is written goes to the file, which is made, or grows, as needed.
        size: the number of elements.
        dtype: of the numbers in the file; the default float type by default.
    Shape: bytes (*) -> (size)
    Raises:
        RuntimeError: there is no such file, as in `from_file("/no/such/file", size=2)`, or it is too short.
    """
    if not isinstance(filename, str):
        raise TypeError(f"from_file(): argument 'filename' (position 1) must be str, not {type(filename).__name__}")
    if check(device) is not CPU or layout not in (None, strided) or pin_memory:
        raise NotImplementedError("from_file() makes tensors on the CPU only, strided and not pinned")
    if size < 0:
        raise RuntimeError(f"from_file(): the size is {size}, and must not be negative")
    kind = dtypes.get_default_dtype() if dtype is None else dtype
    flat = mapped_file(filename, bool(shared), size * kind.itemsize)
    return wrap(flat.view(kind.numpy)).requires_grad_(requires_grad)


HOLDERS.append(_Storage)


class UntypedStorage(_Storage):
    """Memory as bytes: `UntypedStorage(n)` of n bytes, `UntypedStorage([...])` of these."""

    def __init__(self, *args: Any, device: Any = None):
        source = args[0] if args else 0
        flat = np.zeros(source, np.uint8) if isinstance(source, int) else np.array(source, np.uint8)
        self._flat = on_device(flat, backend(device))
        self._tensor: Tensor | None = None

    filename: str | None = None  # of the file that `from_file` shares

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The first `nbytes` bytes of a file as memory, read when they are needed.

        shared: what is written goes to the file, which grows to `nbytes`. Raises RuntimeError for a file that is smaller.
        """
        storage = cls(0)
        storage._flat = mapped_file(filename, shared, nbytes)
        storage.filename = filename if shared else None
        return storage

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self


class _TypedKind(type):
    """The class of `TypedStorage` and of `FloatStorage` and its like, which have no instances of their own."""

    dtype: Any

    def __instancecheck__(cls, value: object) -> bool:
        kind = cls.__dict__.get("dtype")
        is_typed = type.__instancecheck__(TypedStorage, value)
        return is_typed and (not isinstance(kind, dtypes.dtype) or value.dtype is kind)  # type: ignore[attr-defined]


class TypedStorage(_Storage, metaclass=_TypedKind):
    """Memory as numbers of one type: `TypedStorage([...], dtype=...)`, or over an untyped one (`wrap_storage=`)."""

    def __init__(
        self, *args: Any, wrap_storage: Any = None, dtype: Any = None, device: Any = None, _internal: Any = None
    ):
        kind = dtypes.get_default_dtype() if dtype is None else dtype
        self._tensor = getattr(wrap_storage, "_tensor", None)
        if wrap_storage is not None:
            self._flat = wrap_storage._flat.view(kind.numpy)
            return
        source = args[0] if args else 0
        flat = np.zeros(source, kind.numpy) if isinstance(source, int) else np.array(source).astype(kind.numpy)
        self._flat = on_device(flat, backend(device))

    @property
    def dtype(self) -> dtypes.dtype:
        return dtypes.from_numpy(self._flat.dtype)

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        fresh = object.__new__(UntypedStorage)
        fresh._flat, fresh._tensor = self._flat.view(np.uint8), self._tensor
        return fresh

    _untyped_storage = property(untyped)

    def to(self, *, device: Any = None, non_blocking: bool = False) -> TypedStorage:
        """The storage on a device: itself if it is there."""
        where = backend(device)
        own = self._flat.backend if isinstance(self._flat, Buffer) else None
        if own is where:
            return self
        return self._like(on_device(self._flat if own is None else own.to_host(self._flat), where))

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The old name of the type, 'torch.FloatStorage'; or the numbers as another type."""
        if dtype is None:
            return f"torch.{_NAMES[self.dtype]}"
        return self._like(self._flat.astype(dtype.numpy))

    def _description(self) -> str:
        return f"TypedStorage(dtype={self.dtype}, device={self.device})"


def _converter(kind: dtypes.dtype) -> Any:
    def convert(self: TypedStorage) -> TypedStorage:
        return self.type(kind)

    convert.__doc__ = f"The numbers as {kind}."
    return convert


for _method, _kind in {
    "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16, "bfloat16": dtypes.bfloat16,
    "int": dtypes.int32, "long": dtypes.int64, "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8,
    "bool": dtypes.bool_,
}.items():  # fmt: skip
    setattr(TypedStorage, _method, _converter(_kind))


_NAMES = {
    dtypes.float32: "FloatStorage", dtypes.float64: "DoubleStorage", dtypes.float16: "HalfStorage",
    dtypes.bfloat16: "BFloat16Storage", dtypes.uint8: "ByteStorage", dtypes.int8: "CharStorage",
    dtypes.int16: "ShortStorage", dtypes.int32: "IntStorage", dtypes.int64: "LongStorage", dtypes.bool_: "BoolStorage",
    dtypes.complex64: "ComplexFloatStorage", dtypes.complex128: "ComplexDoubleStorage",
}  # fmt: skip


def _typed_class(kind: dtypes.dtype, name: str) -> Any:
    def new(cls: Any, *args: Any, **options: Any) -> TypedStorage:
        return TypedStorage(*args, dtype=kind, **options)

    members = {"__new__": new, "__module__": "torch", "dtype": kind, "__doc__": f"A `TypedStorage` of {kind}."}
    return _TypedKind(name, (), members)


(
    FloatStorage, DoubleStorage, HalfStorage, BFloat16Storage, ByteStorage, CharStorage, ShortStorage, IntStorage,
    LongStorage, BoolStorage, ComplexFloatStorage, ComplexDoubleStorage,
) = (_typed_class(kind, name) for kind, name in _NAMES.items())  # fmt: skip


def is_storage(obj: Any) -> bool:
    """Whether `obj` is a storage."""
    return isinstance(obj, _Storage)


def untyped_storage(self: Tensor) -> UntypedStorage:
    """The tensor's whole memory as bytes, shared with it."""
    expose(self)
    shared_storage(self)
    fresh = object.__new__(UntypedStorage)
    fresh._flat, fresh._tensor = memory_of(self)[0].flat.view(np.uint8), self
    return fresh


def typed_storage(self: Tensor) -> TypedStorage:
    """The tensor's whole memory as numbers of its type, shared with it."""
    return TypedStorage(wrap_storage=untyped_storage(self), dtype=self.dtype)
