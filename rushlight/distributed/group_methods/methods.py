"""The collectives as methods of a process group, on lists of tensors: `group.allreduce([tensor]).wait()`.

Each returns a `Work`. Ranks are those in the group. As with torch's gloo, a process gives a list of one
tensor. Where options can be given, `opts` may also be the first argument of the form for one tensor (a reduction, a rank).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from ...core.device import device
from ...core.tensor.tensor import Tensor
from .. import collectives
from ..process_group import ProcessGroup
from ..reduce_op import RedOpType, ReduceOp
from ..store import PrefixStore, Store
from ..work import Receipt, Work, all_of
from ..world import default_store, is_there
from . import options as kinds

__all__: list[str] = []


def _one(tensors: Any, name: str) -> Tensor:
    """The tensor of a list of one, or a tensor by itself."""
    if isinstance(tensors, Tensor):
        return tensors
    if not isinstance(tensors, Sequence) or not all(isinstance(t, Tensor) for t in tensors):
        raise TypeError(
            f"{name}(): incompatible function arguments: expected a tensor or a list of tensors, got {tensors!r}"
        )
    if len(tensors) != 1:
        raise RuntimeError(f"ProcessGroupGloo::{name}: requires a single-element tensor list")
    return tensors[0]


def _row(lists: Any, name: str, what: str) -> list[Tensor]:
    """The one list of a list of lists, or a list of tensors by itself."""
    if lists and all(isinstance(t, Tensor) for t in lists):
        return list(lists)
    if len(lists) != 1:
        raise RuntimeError(f"ProcessGroupGloo::{name}: requires a single-element {what} list")
    return list(lists[0])


def _read(opts: Any, kind: type, name: str, field: str = "") -> tuple[Any, timedelta | None]:
    """What a call's options say: the value of a field, and the limit of waiting. opts: options, or that value by itself."""
    opts = kind() if opts is None else opts
    if isinstance(opts, kind):
        value = getattr(opts, field) if field else None
        limit = opts.timeout  # type: ignore[attr-defined]
        return value, limit if limit > timedelta(0) else None
    is_op = isinstance(opts, RedOpType)
    if not field or is_op != (field == "reduceOp") or not isinstance(opts, int):
        raise TypeError(f"{name}(): incompatible function arguments: expected {kind.__name__}, got {opts!r}")
    return opts, None


def _limited(work: Any, limit: timedelta | None) -> Work:
    if limit is not None:
        work.limit = limit
    return work


def allreduce(
    self: ProcessGroup, tensors: Any, opts: Any = None, timeout: timedelta | None = None, *, op: Any = None
) -> Work:
    """Write the reduction over all processes into the tensor. opts: `AllreduceOptions`, or a `ReduceOp`."""
    kind, limit = _read(opts if op is None else op, kinds.AllreduceOptions, "allreduce", "reduceOp")
    return _limited(collectives.all_reduce(_one(tensors, "allreduce"), kind, self, True), timeout or limit)


def allreduce_coalesced(self: ProcessGroup, tensors: list[Tensor], opts: Any = None) -> Work:
    """`allreduce` of several tensors."""
    kind, limit = _read(opts, kinds.AllreduceCoalescedOptions, "allreduce_coalesced", "reduceOp")
    return _limited(collectives.reduce_several(list(tensors), kind, self, True), limit)


def broadcast(
    self: ProcessGroup, tensors: Any, opts: Any = None, timeout: timedelta | None = None, *, root: int | None = None
) -> Work:
    """Write the root's tensor into that of every process. opts: `BroadcastOptions`, or the root's rank."""
    rank, limit = _read(opts if root is None else root, kinds.BroadcastOptions, "broadcast", "rootRank")
    _check_root(self, rank, "broadcast")
    work = collectives.broadcast(_one(tensors, "broadcast"), None, self, True, group_src=rank)
    return _limited(work, timeout or limit)


def _check_root(group: ProcessGroup, rank: int, name: str) -> None:
    if not 0 <= rank < group.size():
        raise RuntimeError(f"ProcessGroupGloo::{name}: invalid root rank: {rank}")


def reduce(
    self: ProcessGroup,
    tensors: Any,
    opts: Any = None,
    op: Any = ReduceOp.SUM,
    timeout: timedelta | None = None,
    *,
    root: int | None = None,
) -> Work:
    """Write the reduction over all processes into the root's tensor. opts: `ReduceOptions`, or the root's rank."""
    rank, limit = _read(opts if root is None else root, kinds.ReduceOptions, "reduce", "rootRank")
    kind = opts.reduceOp if isinstance(opts, kinds.ReduceOptions) else op
    _check_root(self, rank, "reduce")
    work = collectives.reduce(_one(tensors, "reduce"), None, kind, self, True, group_dst=rank)
    return _limited(work, timeout or limit)


def allgather(
    self: ProcessGroup, output_tensors: Any, input_tensors: Any, opts: Any = None, timeout: timedelta | None = None
) -> Work:
    """Write the tensors of all processes into the one list of `output_tensors`."""
    _, limit = _read(opts, kinds.AllgatherOptions, "allgather")
    outputs = _row(output_tensors, "allgather", "output tensor")
    if len(outputs) != self.size():
        raise RuntimeError(
            f"ProcessGroupGloo::allgather: invalid output tensor list at index 0 (expected length {self.size()}, got {len(outputs)})"
        )
    work = collectives.all_gather(outputs, _one(input_tensors, "allgather"), self, True)
    return _limited(work, timeout or limit)


def allgather_coalesced(self: ProcessGroup, output_lists: Any, input_list: list[Tensor], opts: Any = None) -> Work:
    """`allgather` of several tensors: `output_lists[rank][i]` is rank `rank`'s tensor number i."""
    _, limit = _read(opts, kinds.AllgatherOptions, "allgather_coalesced")
    return _limited(collectives.gather_several(output_lists, list(input_list), self, True), limit)


def all_gather_single(self: ProcessGroup, output: Tensor, input: Tensor, opts: Any = None) -> Work:
    """Write the tensors of all processes into one, one after the other."""
    _, limit = _read(opts, kinds.AllgatherOptions, "all_gather_single")
    return _limited(collectives.all_gather_single(output, input, self, True), limit)


def allgather_into_tensor_coalesced(
    self: ProcessGroup, outputs: list[Tensor], inputs: list[Tensor], opts: Any = None
) -> Work:
    """`all_gather_single` of several tensors."""
    works = [all_gather_single(self, whole, part, opts) for whole, part in zip(outputs, inputs, strict=True)]
    return all_of(works, list(outputs))


def gather(
    self: ProcessGroup,
    output_tensors: Any,
    input_tensors: Any,
    opts: Any = None,
    timeout: timedelta | None = None,
    *,
    root: int | None = None,
) -> Work:
    """Write the tensors of all processes into the one list of `output_tensors` of the root, the others' are empty."""
    rank, limit = _read(opts if root is None else root, kinds.GatherOptions, "gather", "rootRank")
    _check_root(self, rank, "gather")
    outputs = _row(output_tensors, "gather", "output") if output_tensors else None
    if self.rank() == rank and len(outputs or ()) != self.size():
        raise RuntimeError(
            f"ProcessGroupGloo::gather: requires a single-element output list containing a list with {self.size()} tensors."
        )
    work = collectives.gather(_one(input_tensors, "gather"), outputs, None, self, True, group_dst=rank)
    return _limited(work, timeout or limit)


def scatter(
    self: ProcessGroup,
    output_tensors: Any,
    input_tensors: Any,
    opts: Any = None,
    timeout: timedelta | None = None,
    *,
    root: int | None = None,
) -> Work:
    """Write what the one list of the root's `input_tensors` has for a process into that one's tensor."""
    rank, limit = _read(opts if root is None else root, kinds.ScatterOptions, "scatter", "rootRank")
    _check_root(self, rank, "scatter")
    inputs = _row(input_tensors, "scatter", "input") if input_tensors else None
    work = collectives.scatter(_one(output_tensors, "scatter"), inputs, None, self, True, group_src=rank)
    return _limited(work, timeout or limit)


def reduce_scatter(
    self: ProcessGroup,
    output_tensors: Any,
    input_tensors: Any,
    opts: Any = None,
    timeout: timedelta | None = None,
    *,
    op: Any = None,
) -> Work:
    """Write the reduction of all processes' tensors number `rank` into the output of that rank."""
    kind, limit = _read(opts if op is None else op, kinds.ReduceScatterOptions, "reduce_scatter", "reduceOp")
    inputs = _row(input_tensors, "reduce_scatter", "input tensor")
    if len(inputs) != self.size():
        raise RuntimeError("invalid input tensor list size, must be world size")
    work = collectives.reduce_scatter(_one(output_tensors, "reduce_scatter"), inputs, kind, self, True)
    return _limited(work, timeout or limit)


def reduce_scatter_single(self: ProcessGroup, outputTensor: Tensor, inputTensor: Tensor, opts: Any = None) -> Work:
    """`reduce_scatter` of the equal parts of one tensor."""
    kind, limit = _read(opts, kinds.ReduceScatterOptions, "reduce_scatter_single", "reduceOp")
    return _limited(collectives.reduce_scatter_single(outputTensor, inputTensor, kind, self, True), limit)


def reduce_scatter_tensor_coalesced(
    self: ProcessGroup, outputs: list[Tensor], inputs: list[Tensor], opts: Any = None
) -> Work:
    """`reduce_scatter_single` of several tensors."""
    works = [reduce_scatter_single(self, part, whole, opts) for part, whole in zip(outputs, inputs, strict=True)]
    return all_of(works, list(outputs))


def alltoall(self: ProcessGroup, output_tensors: list[Tensor], input_tensors: list[Tensor], opts: Any = None) -> Work:
    """Write the tensor that rank i has in its input list for this one into the output list's place i."""
    _, limit = _read(opts, kinds.AllToAllOptions, "alltoall")
    return _limited(collectives.all_to_all(list(output_tensors), list(input_tensors), self, True), limit)


def all_to_all_single(
    self: ProcessGroup,
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int],
    input_split_sizes: Sequence[int],
    opts: Any = None,
    timeout: timedelta | None = None,
) -> Work:
    """`alltoall` of the parts of one tensor along its first dimension, equal parts where the sizes are empty."""
    _, limit = _read(opts, kinds.AllToAllOptions, "all_to_all_single")
    sizes = list(output_split_sizes), list(input_split_sizes)
    return _limited(collectives.all_to_all_single(output, input, *sizes, self, True), timeout or limit)


def barrier(self: ProcessGroup, opts: Any = None, timeout: timedelta | None = None) -> Work:
    """Wait until every process of the group has come here. opts: `BarrierOptions`, or how long."""
    if isinstance(opts, timedelta):
        opts, timeout = None, opts
    _, limit = _read(opts, kinds.BarrierOptions, "barrier")
    return collectives.barrier(self, True, timeout=timeout or limit)  # type: ignore[return-value]


def monitored_barrier(self: ProcessGroup, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """`barrier` whose error at rank 0 names who did not come; see `torch.distributed.monitored_barrier`."""
    collectives.monitored_barrier(self, timeout, wait_all_ranks)


def send(self: ProcessGroup, tensors: Any, dstRank: int, tag: int) -> Work:
    """Send a tensor to a rank."""
    return collectives.isend(_one(tensors, "send"), None, self, tag, group_dst=dstRank)  # type: ignore[return-value]


def recv(self: ProcessGroup, tensors: Any, srcRank: int, tag: int) -> Receipt:
    """Write the tensor that a rank sends into this one."""
    return collectives.irecv(_one(tensors, "recv"), None, self, tag, group_src=srcRank)  # type: ignore[return-value]


def recv_anysource(self: ProcessGroup, tensors: Any, tag: int) -> Receipt:
    """Write the tensor that any rank sends into this one."""
    return collectives.irecv(_one(tensors, "recv"), None, self, tag)  # type: ignore[return-value]


# ---------------------------------------------------------------------------------------------- the group itself


def set_timeout(self: ProcessGroup, timeout: timedelta) -> None:
    """How long calls wait that begin from now on."""
    self.timeout = timeout


def shutdown(self: ProcessGroup) -> None:
    """Nothing: `destroy_process_group` ends a group, as with torch's gloo."""


def get_group_store(self: ProcessGroup) -> Store:
    """A part of the store through which the processes have met, for this group's keys."""
    return PrefixStore(f"group/{self.group_name}", default_store())


def _get_backend(self: ProcessGroup, device: Any) -> ProcessGroup:
    """What makes the group's calls on tensors of a device: the group. Raises RuntimeError for a destroyed group."""
    if not is_there(self):
        raise RuntimeError(f"the process group {self.group_name} has been destroyed")
    return self


def _get_backend_name(self: ProcessGroup) -> str:
    """The backend's name."""
    return self.name()


_METHODS = {
    name: value
    for name, value in vars().copy().items()
    if getattr(value, "__module__", "") == __name__ and callable(value)
}
for _name, _method in _METHODS.items():
    if not _name.startswith("_") or _name.startswith("_get_backend"):
        setattr(ProcessGroup, _name, _method)
ProcessGroup._device_types = property(lambda self: [device("cpu")])  # type: ignore[attr-defined]
ProcessGroup.alltoall_base = all_to_all_single  # type: ignore[attr-defined]
ProcessGroup._allgather_base = all_gather_single  # type: ignore[attr-defined]
ProcessGroup._reduce_scatter_base = reduce_scatter_single  # type: ignore[attr-defined]
