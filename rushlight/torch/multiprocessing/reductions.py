"""How tensors travel to another process: their memory becomes shared, and only its descriptor is sent."""

from __future__ import annotations

from multiprocessing import reduction
from pickle import HIGHEST_PROTOCOL
from typing import Any

from ...core.tensor import dtype as dtypes
from ...core.tensor.shared_memory import block_of, can_share, description, open_block, share_memory_, tensor_on
from ...core.tensor.tensor import Tensor
from ...core.warn import warn_once
from ...nn.parameter import Buffer, Parameter
from ...ops import empty

__all__ = ["init_reductions", "rebuild_tensor", "reduce_tensor"]


def rebuild_tensor(cls: type, descriptor: Any, place: tuple, requires_grad: bool, attributes: dict[str, Any]) -> Any:
    """The tensor of a `reduce_tensor`, in the other process."""
    size, dtype_name, offset, shape, strides = place
    if size:
        block = open_block(descriptor.detach(), size)
        tensor = tensor_on(block, dtype_name, offset, shape, strides, requires_grad and cls is Tensor)
    else:
        tensor = empty(shape, dtype=dtypes._by_name(dtype_name)).requires_grad_(requires_grad)
    if cls is not Tensor:
        tensor = Tensor._make_subclass(cls, tensor, requires_grad)
    tensor.__dict__.update(attributes)
    return tensor


def reduce_tensor(tensor: Tensor) -> tuple:
    """What a tensor is for another process. Raises RuntimeError for one with history."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing "
            "process boundaries.  If you just want to transfer the data, call detach() on the tensor before serializing "
            "(e.g., putting it on the queue)."
        )
    if not (can_share() and reduction.HAVE_SEND_HANDLE):
        warn_once(
            "This system has no anonymous memory files, so a tensor travels to another process as a copy: what one process "
            "writes into it the other does not see"
        )
        return tensor.__reduce_ex__(HIGHEST_PROTOCOL)
    share_memory_(tensor)
    block = block_of(tensor._array)
    arguments = (tensor.requires_grad, dict(tensor.__dict__))
    if block is None:  # without elements
        place = (0, tensor.dtype.name, 0, tuple(tensor.shape), tensor.stride())
        return rebuild_tensor, (type(tensor), None, place, *arguments)
    return rebuild_tensor, (type(tensor), reduction.DupFd(block.descriptor), description(tensor), *arguments)


def init_reductions() -> None:
    """Let queues, pipes and process arguments of `multiprocessing` send tensors through shared memory."""
    for cls in (Tensor, Parameter, Buffer):
        reduction.ForkingPickler.register(cls, reduce_tensor)


class _OneThreadForks:
    """A fork happens while native libraries use one thread: a child could never use a team of threads from before it."""

    limit: Any = None

    def before(self) -> None:
        from ...utils.data.native_threads import one_native_thread

        self.limit = one_native_thread()
        self.limit.__enter__()

    def after(self) -> None:
        if self.limit is not None:
            self.limit.__exit__(None, None, None)
            self.limit = None


def watch_forks() -> None:
    """See to it for every fork of this process from now on."""
    import os

    if hasattr(os, "register_at_fork"):
        forks = _OneThreadForks()
        os.register_at_fork(before=forks.before, after_in_parent=forks.after)
