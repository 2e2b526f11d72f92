"""The collectives on tensors. Each writes into the tensors that it is given; async_op=True returns a `Work` instead of waiting.

Every process of the group has to make the same calls in the same order, with tensors of the same shape and type.
A process outside the group gets a warning and nothing happens, as in torch, except that `send` raises.
"""

from __future__ import annotations

import operator
import warnings
import zlib
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from ..core.dispatch.mode import emit_event, thread
from ..core.tensor.storage import storage_of
from ..core.tensor.tensor import Tensor, wrap
from ..sparse.coo import SparseTensor, assemble, replace
from ..sparse.entries import indices_of
from .captured import Collective
from .control.inbox import Request
from .process_group import ProcessGroup, described
from .reduce_op import ReduceOp, check_op
from .work import Receipt, Work
from .world import GroupMember, default_group, get_group_rank, group_of

__all__ = [
    "P2POp",
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_single",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "gather",
    "irecv",
    "isend",
    "monitored_barrier",
    "recv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "scatter",
    "send",
]


# ---------------------------------------------------------------------------------------------- arguments and results


def _array(tensor: Any, name: str) -> np.ndarray:
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(tensor)} instead."
        )
    if thread.state.level > 1:
        emit_event("left", _LEFT)
        emit_event("read", tensor, f"torch.distributed ({name})")
    return tensor._array


_LEFT = (
    "this torch.distributed call exchanges data with other processes, which the compiled program would not do (it does so in "
    "all_reduce, broadcast, all_gather_into_tensor and reduce_scatter_tensor)"
)


def _is_captured(tensor: Any) -> bool:
    """Whether a recorder may hear of a call on a tensor."""
    return thread.state.level > 1 and isinstance(tensor, Tensor)


def _arrays(tensors: Any, name: str) -> list[np.ndarray]:
    if not isinstance(tensors, list) or not all(isinstance(t, Tensor) for t in tensors):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
            f"             but got {type(tensors)} with elements of type {[type(t) for t in tensors or ()]}."
        )
    return [_array(t, name) for t in tensors]


def _write(tensor: Tensor, values: np.ndarray, name: str) -> None:
    if values is not tensor._array:
        np.copyto(tensor._array, values.reshape(tensor._array.shape))
    storage_of(tensor).wrote(f"torch.distributed.{name}()")


def _is_outside(group: Any, name: str) -> bool:
    if group is not GroupMember.NON_GROUP_MEMBER:
        return False
    rank = default_group().rank()
    warnings.warn(f"Running {name} on global rank {rank} which does not belong to the given group.", stacklevel=3)
    return True


def _rank_in(group: ProcessGroup, given: int | None, group_rank: int | None, what: str, call: str = "") -> int:
    """A process that is named, in a call, by its rank in the world, or by that in the group."""
    if (given is None) == (group_rank is None):
        raise ValueError(f"Must specify exactly one of {what} and group_{what}")
    if group_rank is not None:
        if not 0 <= group_rank < group.size():
            raise ValueError(f"Group rank {group_rank} is not part of group {group}")
        return group_rank
    if group is GroupMember.WORLD and not 0 <= given < group.size():  # type: ignore[operator]
        raise RuntimeError(f"ProcessGroupGloo::{call or what}: invalid root rank: {given}")
    return get_group_rank(group, given)  # type: ignore[arg-type]


def _finish(pg: ProcessGroup, task: Callable[[], None], async_op: bool, result: Any) -> Work | None:
    if async_op:
        return pg.start(task, result)
    pg.run(task)
    return None


def _check_types(*tensors: Tensor) -> None:
    """Raise ValueError for tensors of different types; complex numbers go with their parts."""
    first = tensors[0].dtype.to_real()
    for other in tensors[1:]:
        if other.dtype.to_real() != first:
            raise ValueError(
                f"Invalid usage of tensors with different dtypesFound {first} and  {other.dtype.to_real()}"
            )


def _check_same(arrays: list[np.ndarray], like: np.ndarray, name: str) -> None:
    for i, array in enumerate(arrays):
        if array.dtype != like.dtype:
            raise RuntimeError(f"{name}: invalid tensor type at index {i} (expected {like.dtype}, got {array.dtype})")
        if array.shape != like.shape:
            expected, got = (f"({', '.join(map(str, shape))})" for shape in (like.shape, array.shape))
            raise RuntimeError(f"{name}: invalid tensor size at index {i} (expected {expected}, got {got})")


def _check_one_each(arrays: list[np.ndarray], size: int, call: str, what: str) -> None:
    """Raise RuntimeError where a list has not an array for each process."""
    if len(arrays) != size:
        raise RuntimeError(
            f"ProcessGroupGloo::{call}: Incorrect {what} list size {len(arrays)}. {what.capitalize()} list size should be "
            f"{size}, same as size of the process group."
        )


_Call = TypeVar("_Call", bound=Callable[..., Any])
_PRIVATE = "is a private function and will be deprecated"


def older(
    function: _Call,
    name: str,
    what: str = "is deprecated",
    instead: str | None = None,
    package: str = "torch.distributed",
) -> _Call:
    """A function of a package under a name of which torch warns."""
    advice = instead or f"Please use `{package}.{function.__name__}` instead."

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(f"`{package}.{name}` {what}. {advice}", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    return cast(_Call, call)


def _discouraged(function: _Call, name: str) -> _Call:
    page = "https://pytorch.org/docs/main/distributed.html#collective-functions"
    advice = f"If you must use it, please revisit our documentation later at {page}"
    return older(function, name, "will be deprecated", advice)


# ---------------------------------------------------------------------------------------------- one tensor


def broadcast(
    tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Write the tensor of process `src` into that of every process."""
    if _is_outside(group, "broadcast"):
        return None
    if _is_captured(tensor):
        pg = group_of(group)
        root = _rank_in(pg, src, group_src, "src", "broadcast")
        name, writes = f"broadcast(src={pg.ranks[root]})", async_op or pg.rank() != root
        step = Collective(name, pg, lambda key, array: pg.broadcast_array(key, array, root), writes)
        if (work := step.on(tensor, async_op=async_op)) is not None:
            return work if async_op else None
    array, pg = _array(tensor, "tensor"), group_of(group)
    root, key = _rank_in(pg, src, group_src, "src", "broadcast"), pg.key()
    return _finish(pg, lambda: _write(tensor, pg.broadcast_array(key, array, root), "broadcast"), async_op, [tensor])


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Write the reduction over all processes into every one's tensor. A sparse one can be added up only; the sum is coalesced."""
    if _is_outside(group, "all_reduce"):
        return None
    if isinstance(tensor, SparseTensor):
        return _all_reduce_sparse(tensor, op, group_of(group), async_op)
    if _is_captured(tensor):
        pg = group_of(group)
        kind = check_op(op, tensor._array.dtype)
        step = Collective(f"all_reduce({kind.name})", pg, lambda key, array: pg.all_reduce(key, array, kind))
        if (work := step.on(tensor, async_op=async_op)) is not None:
            return work if async_op else None
    array, pg = _array(tensor, "tensor"), group_of(group)
    if pg.coalescing is not None:
        return _later(pg, all_reduce, op, tensor)
    kind, key = check_op(op, array.dtype), pg.key()
    return _finish(pg, lambda: _write(tensor, pg.all_reduce(key, array, kind), "all_reduce"), async_op, [tensor])


def _all_reduce_sparse(tensor: SparseTensor, op: Any, pg: ProcessGroup, async_op: bool) -> Work | None:
    if check_op(op, tensor._array.dtype) is not ReduceOp.SUM:
        raise RuntimeError(
            "ProcessGroupGloo::allreduce: unsupported reduction operation (allreduce of sparse tensors only works with "
            "ReduceOp.SUM)"
        )
    total = sparse_sum(pg, tensor)
    return _finish(pg, lambda: replace(tensor, total()), async_op, [tensor])


def sparse_sum(pg: ProcessGroup, tensor: SparseTensor) -> Callable[[], SparseTensor]:
    """What adds up the processes' sparse tensors, coalesced, when it is called: in the order of ranks, the same bits everywhere.

    It raises RuntimeError in all processes where sizes or types differ.
    """
    if thread.state.level > 1:
        emit_event("left", _LEFT)
    own, keys = tensor.coalesce(), [pg.key() for _ in range(3)]
    places, values, sizes = own._flat(), own._values()._array, own._sizes()
    shape = zlib.crc32(f"{values.dtype} {[*own.shape]} {len(sizes)}".encode())

    def total() -> SparseTensor:
        heads = pg.all_gather(keys[0], np.array([shape, len(places)], np.int64))
        if any(head[0] != shape for head in heads):
            raise RuntimeError(
                f"all_reduce: the sparse tensors of the processes have other types or sizes than {own.dtype} {[*own.shape]}"
            )
        counts = [int(head[1]) for head in heads]
        all_places, all_values = (
            pg.all_gather(key, _lengthened(array, max(counts)))
            for key, array in zip(keys[1:], (places, values), strict=True)
        )
        stacked, entries = (
            np.concatenate([array[:n] for array, n in zip(arrays, counts, strict=True)])
            for arrays in (all_places, all_values)
        )
        shape_of_all = tuple(own.shape)
        return assemble(wrap(indices_of(stacked, sizes)), wrap(entries), shape_of_all, False).coalesce()

    return total


def _lengthened(array: np.ndarray, rows: int) -> np.ndarray:
    """The array with zeros after it."""
    whole = np.zeros((rows, *array.shape[1:]), array.dtype)
    whole[: len(array)] = array
    return whole


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Write the reduction over all processes into the tensor of process `dst`."""
    if _is_outside(group, "reduce"):
        return None
    array, pg = _array(tensor, "tensor"), group_of(group)
    root, kind, key = _rank_in(pg, dst, group_dst, "dst", "reduce"), check_op(op, array.dtype, "reduce"), pg.key()

    def task() -> None:
        total = pg.reduce_array(key, array, root, kind)
        if total is not None:
            _write(tensor, total, "reduce")

    return _finish(pg, task, async_op, [tensor])


def reduce_several(
    tensors: list[Tensor], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """`all_reduce` of several tensors, by one message: `all_reduce_coalesced`, without its warning."""
    if _is_outside(group, "all_reduce_coalesced"):
        return None
    arrays, pg = _arrays(tensors, "tensors"), group_of(group)
    if not arrays:
        return _finish(pg, lambda: None, async_op, tensors)
    _check_types(*tensors)
    kind, key = check_op(op, arrays[0].dtype), pg.key()

    def task() -> None:
        total, at = pg.all_reduce(key, np.concatenate([array.reshape(-1) for array in arrays]), kind), 0
        for tensor, array in zip(tensors, arrays, strict=True):
            _write(tensor, total[at : at + array.size], "all_reduce_coalesced")
            at += array.size

    return _finish(pg, task, async_op, tensors)


all_reduce_coalesced = _discouraged(reduce_several, "all_reduce_coalesced")


def _later(pg: ProcessGroup, *call: Any) -> Work:
    """Leave a call to the end of `_coalescing_manager`; no work, since the manager has it."""
    assert pg.coalescing is not None
    pg.coalescing.append(call)
    return Work(lambda: None, None, lambda run: run())


# ---------------------------------------------------------------------------------------------- lists of tensors


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Write the tensors of all processes into the list, in the order of ranks."""
    if _is_outside(group, "all_gather"):
        return None
    outputs, array, pg = _arrays(tensor_list, "tensor_list"), _array(tensor, "tensor"), group_of(group)
    if len(outputs) != pg.size():
        raise RuntimeError(
            "ProcessGroupGloo::allgather: invalid output tensor list at index 0 "
            f"(expected length {pg.size()}, got {len(outputs)})"
        )
    _check_types(*tensor_list, tensor)
    _check_same(outputs, array, "ProcessGroupGloo::allgather")
    key = pg.key()
    return _finish(pg, lambda: _write_all(tensor_list, pg.all_gather(key, array), "all_gather"), async_op, tensor_list)


def _write_all(tensors: list[Tensor], arrays: list[np.ndarray], name: str) -> None:
    for tensor, array in zip(tensors, arrays, strict=True):
        _write(tensor, array, name)


def all_gather_single(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Write the tensors of all processes into one, one after the other along its first dimension."""
    if _is_outside(group, "all_gather_single"):
        return None
    pg = group_of(group)
    if _is_captured(output_tensor) and _is_captured(input_tensor) and _fits(output_tensor, input_tensor, pg):
        step = Collective("all_gather_into_tensor", pg, _gathered(pg), output=output_tensor)
        if (work := step.on(input_tensor, output_tensor, async_op)) is not None:
            return work if async_op else None
    output, array = _array(output_tensor, "output_tensor"), _array(input_tensor, "input_tensor")
    if output.size != array.size * pg.size() or output.dtype != array.dtype:
        raise RuntimeError(
            f"all_gather_into_tensor: the output has {output.size} elements of {output.dtype}, but {pg.size()} inputs of "
            f"{array.size} elements of {array.dtype} go into it"
        )
    if pg.coalescing is not None:
        return _later(pg, all_gather_single, None, output_tensor, input_tensor)
    key, call = pg.key(), _gathered(pg)

    def task() -> None:
        _write(output_tensor, call(key, array, output), "all_gather_into_tensor")

    return _finish(pg, task, async_op, [output_tensor])


def _fits(long: Tensor, short: Tensor, pg: ProcessGroup) -> bool:
    """Whether one tensor is as long as those of all processes together."""
    return long._array.size == short._array.size * pg.size() and long._array.dtype == short._array.dtype


def _gathered(pg: ProcessGroup) -> Callable[[bytes, np.ndarray, np.ndarray], np.ndarray]:
    """The call of `all_gather_single`."""

    def call(key: bytes, array: np.ndarray, out: np.ndarray) -> np.ndarray:
        if not out.flags.c_contiguous or np.may_share_memory(array, out):
            return np.stack(pg.all_gather(key, array))
        pg.all_gather(key, array, out.reshape(pg.size(), *array.shape))
        return out

    return call


all_gather_into_tensor = older(all_gather_single, "all_gather_into_tensor")
_all_gather_base = older(all_gather_single, "_all_gather_base", _PRIVATE)


def gather_several(
    output_tensor_lists: list[list[Tensor]], input_tensor_list: list[Tensor], group: Any = None, async_op: bool = False
) -> Work | None:
    """`all_gather` of several tensors (`all_gather_coalesced`, without its warning): `output_tensor_lists[rank][i]` is process `rank`'s tensor number i."""
    if _is_outside(group, "all_gather_coalesced"):
        return None
    arrays, pg = _arrays(input_tensor_list, "input_tensor_list"), group_of(group)
    for row in output_tensor_lists:
        if len(row) != len(arrays):
            text = f"invalid output size: (expected length {len(arrays)}, got {len(row)})"
            raise RuntimeError(f"ProcessGroupGloo::allgather_coalesced: {text}")
    keys = [pg.key() for _ in arrays]

    def task() -> None:
        for i, (key, array) in enumerate(zip(keys, arrays, strict=True)):
            _write_all([row[i] for row in output_tensor_lists], pg.all_gather(key, array), "all_gather_coalesced")

    return _finish(pg, task, async_op, output_tensor_lists)


all_gather_coalesced = _discouraged(gather_several, "all_gather_coalesced")


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Write the tensors of all processes into the list of process `dst` (0 where none is named)."""
    if _is_outside(group, "gather"):
        return None
    array, pg = _array(tensor, "tensor"), group_of(group)
    root = 0 if dst is None and group_dst is None else _rank_in(pg, dst, group_dst, "dst", "gather")
    if pg.rank() == root:
        if not gather_list:
            raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
        arrays = _arrays(gather_list, "gather_list")
        _check_types(tensor, *gather_list)
        _check_one_each(arrays, pg.size(), "gather", "output")
        _check_same(arrays, array, "ProcessGroupGloo::gather")
    elif gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    key = pg.key()

    def task() -> None:
        arrays = pg.gather_arrays(key, array, root)
        if arrays is not None:
            _write_all(gather_list, arrays, "gather")  # type: ignore[arg-type]

    return _finish(pg, task, async_op, gather_list)


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Write the tensor that process `src` (0 where none is named) has in its list for a process into that one's."""
    if _is_outside(group, "scatter"):
        return None
    array, pg = _array(tensor, "tensor"), group_of(group)
    root = 0 if src is None and group_src is None else _rank_in(pg, src, group_src, "src", "scatter")
    parts = None
    if pg.rank() == root:
        if not scatter_list:
            raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
        parts = _arrays(scatter_list, "scatter_list")
        _check_types(tensor, *scatter_list)
        _check_one_each(parts, pg.size(), "scatter", "input")
        _check_same(parts, array, "ProcessGroupGloo::scatter")
    elif scatter_list:
        raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
    key = pg.key()
    return _finish(
        pg, lambda: _write(tensor, pg.scatter_arrays(key, array, parts, root), "scatter"), async_op, [tensor]
    )


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Write the reduction of all processes' tensors number `rank` into the output of process `rank`."""
    if _is_outside(group, "reduce_scatter"):
        return None
    array, parts, pg = _array(output, "output"), _arrays(input_list, "input_list"), group_of(group)
    if len(parts) != pg.size():
        raise RuntimeError(f"reduce_scatter: requires {pg.size()} input tensors, got {len(parts)}")
    _check_types(output, *input_list)
    _check_same([parts[pg.rank()]], array, "reduce_scatter")
    kind, key = check_op(op, array.dtype, "reduce_scatter"), pg.key()
    return _finish(
        pg, lambda: _write(output, pg.reduce_scatter_arrays(key, parts, kind), "reduce_scatter"), async_op, [output]
    )


def reduce_scatter_single(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """`reduce_scatter` of the equal parts of one tensor along its first dimension."""
    if _is_outside(group, "reduce_scatter_single"):
        return None
    pg = group_of(group)
    if _is_captured(output) and _is_captured(input) and _fits(input, output, pg):
        kind = check_op(op, output._array.dtype, "reduce_scatter_tensor")
        call = lambda key, whole, out: pg.reduce_scatter_arrays(key, _equal_parts(whole, pg), kind)  # noqa: E731
        step = Collective(f"reduce_scatter_tensor({kind.name})", pg, call, output=output, is_alike=False)
        if (work := step.on(input, output, async_op)) is not None:
            return work if async_op else None
    array, whole = _array(output, "output"), _array(input, "input")
    if whole.dtype != array.dtype:
        raise RuntimeError(f"reduce_scatter_tensor: the output is of {array.dtype}, the input of {whole.dtype}")
    if whole.size != array.size * pg.size():
        raise RuntimeError(
            f"input tensor must be the same size as output size times world size: {whole.size}, {array.size}, {pg.size()}"
        )
    if pg.coalescing is not None:
        return _later(pg, reduce_scatter_single, op, output, input)
    kind, key = check_op(op, array.dtype, "reduce_scatter_tensor"), pg.key()
    parts = _equal_parts(whole, pg)

    def task() -> None:
        _write(output, pg.reduce_scatter_arrays(key, parts, kind), "reduce_scatter_tensor")

    return _finish(pg, task, async_op, [output])


def _equal_parts(whole: np.ndarray, pg: ProcessGroup) -> list[np.ndarray]:
    """The parts of an array for each process."""
    return np.split(np.ascontiguousarray(whole).reshape(-1), pg.size())


reduce_scatter_tensor = older(reduce_scatter_single, "reduce_scatter_tensor")
_reduce_scatter_base = older(reduce_scatter_single, "_reduce_scatter_base", _PRIVATE)


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = None, async_op: bool = False
) -> Work | None:
    """Write the tensor that process i has in its input list for this one into the output list's place i."""
    if _is_outside(group, "all_to_all"):
        return None
    outputs, inputs = _arrays(output_tensor_list, "output_tensor_list"), _arrays(input_tensor_list, "input_tensor_list")
    pg = group_of(group)
    if len(outputs) != pg.size() or len(inputs) != pg.size():
        raise RuntimeError(f"all_to_all: requires {pg.size()} tensors in each list, got {len(outputs)}, {len(inputs)}")
    _check_types(*output_tensor_list, *input_tensor_list)
    key = pg.key()

    def task() -> None:
        _write_all(output_tensor_list, pg.all_to_all(key, inputs, outputs), "all_to_all")

    return _finish(pg, task, async_op, output_tensor_list)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """`all_to_all` of the parts of one tensor along its first dimension, equal parts where no sizes are given."""
    if _is_outside(group, "all_to_all_single"):
        return None
    target, source, pg = _array(output, "output"), _array(input, "input"), group_of(group)
    _check_types(output, input)
    outgoing = _parts(source, input_split_sizes, pg.size())
    incoming = _parts(target, output_split_sizes, pg.size())
    key = pg.key()

    def task() -> None:
        received = pg.all_to_all(key, outgoing, incoming)
        _write(output, np.concatenate(received), "all_to_all_single")

    return _finish(pg, task, async_op, [output])


def _parts(array: np.ndarray, sizes: list[int] | None, n: int) -> list[np.ndarray]:
    if not sizes:
        if array.shape[0] % n:
            raise RuntimeError(f"Tensor's dim 0 does not divide equally across group size: {array.shape[0]}, {n}")
        return np.split(array, n)
    if len(sizes) != n or sum(sizes) != array.shape[0]:
        raise RuntimeError(f"Split sizes doesn't match total dim 0 size: {sizes}, {array.shape[0]}")
    return np.split(array, np.cumsum(sizes)[:-1])


# ---------------------------------------------------------------------------------------------- waiting, single messages


def barrier(
    group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: timedelta | None = None
) -> Work | None:
    """Wait until every process of the group has come here, at most `timeout` (None: as long as the group's calls wait).

    device_ids: a list of numbers of devices, of which the first one would be used. The backend 'gloo' has none; as in torch,
    what is no list does not count. Raises IndexError for an empty list, TypeError for what are no numbers.
    """
    if _is_outside(group, "barrier"):
        return None
    if isinstance(device_ids, list):
        for number in (device_ids[0], *device_ids):
            operator.index(number)
    pg = group_of(group)
    key = pg.key()
    return _finish(pg, lambda: pg.await_all(key, timeout), async_op, None)


def monitored_barrier(group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """`barrier` whose error at process 0 names the process that did not come, or, with wait_all_ranks, all of them.

    timeout: how long process 0 waits for the others, and they for it; None: as long as the group's calls wait.
    """
    if _is_outside(group, "monitored_barrier"):
        return
    pg = group_of(group)
    pg.await_all_monitored(pg.key(), pg.timeout if timeout is None else timeout, wait_all_ranks)


_SENT_AT_ONCE = 1 << 16  # bytes


def _point_key(pg: ProcessGroup, tag: int) -> bytes:
    return f"{pg.group_name}@{tag}".encode()


def _peer(pg: ProcessGroup, given: int | None, group_rank: int | None, what: str) -> int:
    rank = _rank_in(pg, given, group_rank, what)
    if rank == pg.rank():
        kind = "destination" if what == "dst" else "source"
        raise ValueError(f"Invalid {kind} rank: {kind} rank should not be the same as the rank of the current process.")
    return rank


def send(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send a tensor to process `dst`, which takes it by `recv` with the same tag. Raises ValueError in a process outside the group."""
    pg, act = _sending(tensor, dst, group, tag, group_dst)
    pg.messages.run(act)


def isend(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> Work | None:
    """`send` that returns a `Work`. A small message is sent at once, where none waits: it need not wait for the other process."""
    if _is_outside(group, "isend"):
        return None
    pg, act = _sending(tensor, dst, group, tag, group_dst)
    if tensor._array.nbytes > _SENT_AT_ONCE:
        return pg.messages.start(act, [tensor])
    pg.messages.run(act)
    return Work(lambda: None, [tensor], lambda run: run())


def _sending(
    tensor: Tensor, dst: int | None, group: Any, tag: int, group_dst: int | None
) -> tuple[ProcessGroup, Callable[[], None]]:
    """The group, and what sends the tensor."""
    pg, array = group_of(group), _array(tensor, "tensor")
    peer, key, note = _peer(pg, dst, group_dst, "dst"), _point_key(pg, tag), described(array).encode()
    return pg, lambda: pg.send_array(peer, key, array, note)


def recv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Write the tensor that process `src` (None: whichever) has sent into `tensor`; returns who sent it."""
    work = irecv(tensor, src, group, tag, group_src)
    return -1 if work is None else work.source_rank()


def irecv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> Receipt | None:
    """`recv` that returns a `Work`."""
    if _is_outside(group, "irecv"):
        return None
    pg, array = group_of(group), _array(tensor, "tensor")
    anyone = src is None and group_src is None
    peer = None if anyone else pg.ranks[_peer(pg, src, group_src, "src")]
    raw = array.reshape(-1).view(np.uint8) if array.flags.c_contiguous and array.flags.writeable else None
    request = pg.mesh.post(Request(peer, _point_key(pg, tag), raw, str(array.dtype).encode()))

    def take(timeout: timedelta | None) -> int:
        sender, note, message = pg.mesh.wait(request, timeout or pg.timeout)
        theirs = note.decode(errors="replace")
        if message.size != array.nbytes or theirs.partition(" ")[0] != str(array.dtype):
            raise RuntimeError(
                f"recv: process {sender} sent {theirs or 'an object'} ({message.size} bytes), the tensor is "
                f"{described(array)} ({array.nbytes} bytes)"
            )
        _write(tensor, array if message is raw else message.view(array.dtype), "recv")
        return sender

    return Receipt(lambda: request.message is not None, take)


class P2POp:
    """One of several messages for `batch_isend_irecv`: `op` is `isend` or `irecv`."""

    def __init__(
        self,
        op: Any,
        tensor: Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ):
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or ``torch.distributed.irecv``."
            )
        _array(tensor, "tensor")
        self.op, self.tensor, self.peer, self.group = op, tensor, peer, group
        self.tag, self.group_peer = tag, group_peer

    def __repr__(self) -> str:
        pg = group_of(self.group)
        other = _rank_in(pg, self.peer, self.group_peer, "peer")
        source, target = (pg.rank(), other) if self.op is isend else (other, pg.rank())
        ends = f"pg={pg.group_name}, group_src={source}, group_dst={target}"
        return f"P2POp({self.op.__name__} {ends},  {self.tensor.shape}, {self.tensor.dtype})"


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Any]:
    """Start all messages; returns their `Work`s.

    Raises ValueError where something else is in the list, or messages of several groups; IndexError for an empty list.
    """
    if not isinstance(p2p_op_list, list) or not all(isinstance(p, P2POp) for p in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    group = p2p_op_list[0].group
    if any(p.group is not group for p in p2p_op_list):
        raise ValueError("All ops need to use the same group.")
    works = [p.op(p.tensor, p.peer, p.group, p.tag, p.group_peer) for p in p2p_op_list]
    return [work for work in works if work is not None]  # None: outside of the group
