"""Memory that several processes see: what `share_memory_()` moves a tensor into, and how it travels to another process.

A block is an anonymous memory file (Linux) mapped into this process. A forked process inherits the mapping; another one
gets the file's descriptor. The system frees the memory when the last process that maps it is gone: nothing is left in
the file system, whatever ends a process.
"""

from __future__ import annotations

import os
from typing import Any
from weakref import WeakValueDictionary, ref

import numpy as np

from ..warn import warn_once
from . import dtype as dtypes
from .pickling import Memory, rebuild_tensor_v2
from .resizing import move, whole
from .storage import address_of, storage_of
from .strides import element_strides
from .tensor import Tensor

__all__ = ["Block", "block_of", "can_share", "is_shared", "open_block", "share_memory_"]

_blocks: WeakValueDictionary[tuple[int, int], Block] = WeakValueDictionary()  # by the file's device and number


class Block:
    """A mapped memory file. Arrays over it keep it alive through their `base`; it keeps none of them."""

    def __init__(self, descriptor: int, size: int):
        from mmap import mmap
        from select import epoll

        self.descriptor, self.size, self.map = descriptor, size, mmap(descriptor, size)
        # It closes the descriptor when it goes, without Python: `__del__` would swallow a KeyboardInterrupt.
        self._closes = epoll.fromfd(descriptor)
        self._record: Any = lambda: None  # weakly, the storage record that all tensors here share
        status = os.fstat(descriptor)
        _blocks[status.st_dev, status.st_ino] = self

    @property
    def address(self) -> int:
        """Where the block begins in this process."""
        return address_of(np.frombuffer(self.map, np.uint8))

    def flat(self, kind: dtypes.dtype) -> np.ndarray:
        """The whole block as elements of one type."""
        raw = np.frombuffer(self.map, np.uint8).view(_Shared)
        raw.block = self
        return raw[: self.size - self.size % kind.itemsize].view(kind.numpy).view(np.ndarray)

    def memory(self, kind: dtypes.dtype) -> Memory:
        """The whole block as a memory of one type; every tensor that is rebuilt on it shares one record."""
        memory = Memory(self.flat(kind))
        known = self._record()
        if known is None:
            self.adopt(memory.shared_record())
        else:
            memory.storage = known
        return memory

    def adopt(self, storage: Any) -> None:
        """Let `storage` be the record of tensors here."""
        self._record = ref(storage)


class _Shared(np.ndarray):
    """The bytes of a block, by which arrays over it are known."""

    block: Any = None

    def __array_finalize__(self, source: Any) -> None:
        self.block = getattr(source, "block", None)


def can_share() -> bool:
    """Whether the system has the anonymous memory files that blocks are."""
    return hasattr(os, "memfd_create")


def new_block(size: int) -> Block:
    """A block of zeros. Raises NotImplementedError where the system has no anonymous memory files."""
    if not can_share():
        raise NotImplementedError("share_memory_() needs Linux's anonymous memory files, which this system lacks")
    descriptor = os.memfd_create("rushlight", os.MFD_CLOEXEC)
    os.ftruncate(descriptor, size)
    return Block(descriptor, size)


def open_block(descriptor: int, size: int) -> Block:
    """The block of a descriptor that came from another process; the one that this process has already, if it does."""
    status = os.fstat(descriptor)
    known = _blocks.get((status.st_dev, status.st_ino))
    if known is not None:
        os.close(descriptor)
        return known
    return Block(descriptor, size)


def block_of(array: Any) -> Block | None:
    """The block that holds an array, or None."""
    while array is not None:
        block = getattr(array, "block", None)
        if block is not None:
            return block
        array = getattr(array, "base", None)
    return None


def is_shared(self: Tensor) -> bool:
    """Whether the tensor's memory can be seen by other processes."""
    return block_of(self._array) is not None


def share_memory_(self: Tensor) -> Tensor:
    """Move the tensor's memory, with the views made of it, where other processes can see it. Returns the tensor.

    Nothing happens where it is there already. Arrays that were made before by `numpy()` keep the old memory.
    """
    if not self.is_cpu:
        raise RuntimeError("_share_fd_: only available on CPU")
    if is_shared(self) or not self._array.size:
        return self
    storage = storage_of(self)
    memory = whole(storage.root)
    block = new_block(memory.nbytes)
    fresh = block.flat(dtypes.uint8)
    np.copyto(fresh, memory)
    block.adopt(storage)
    move(storage, self, memory, fresh)
    storage.root, storage.resizable = block.flat(self.dtype), False
    return self


def description(t: Tensor) -> tuple:
    """What another process needs, besides the block's descriptor, to see the tensor."""
    block = block_of(t._array)
    assert block is not None
    a = t._array
    offset = (address_of(a) - block.address) // a.itemsize if a.size else 0
    return block.size, t.dtype.name, offset, tuple(a.shape), element_strides(a)


def tensor_on(block: Block, dtype_name: str, offset: int, shape: tuple, strides: tuple, requires_grad: bool) -> Tensor:
    """The tensor of a `description`."""
    return rebuild_tensor_v2(block.memory(dtypes._by_name(dtype_name)), offset, shape, strides, requires_grad)


def _storages() -> Any:
    from . import typed_storage  # loads when a program asks for storages, and imports this file

    return typed_storage


def untyped_storage(self: Tensor) -> Any:
    """The tensor's whole memory as bytes, shared with it."""
    return _storages().untyped_storage(self)


def _warn_deprecated() -> None:
    warn_once(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. This "
        "should only matter to you if you are using storages directly.  To access UntypedStorage directly, use "
        "tensor.untyped_storage() instead of tensor.storage()"
    )


def storage(self: Tensor) -> Any:
    """The tensor's whole memory as numbers of its type, shared with it. Deprecated, as in torch: `untyped_storage`."""
    _warn_deprecated()
    return _typed_storage(self)


def _typed_storage(self: Tensor) -> Any:
    return _storages().typed_storage(self)


def storage_type(self: Tensor) -> Any:
    """The class of the tensor's `storage()`."""
    _warn_deprecated()
    return getattr(_storages(), _storages()._NAMES[self.dtype])
