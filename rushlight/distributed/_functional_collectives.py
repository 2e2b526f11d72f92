"""Collectives as functions: they leave their arguments alone and return new tensors, through which gradients flow.

Results are there when a function returns; `wait_tensor` is for programs that were written for torch, where they may not be.

group: a process group, its name, the ranks of an existing one, a mesh of one dimension, or (mesh, number of a dimension).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.function import Function
from ..core.tensor.tensor import Tensor
from ..ops import cat
from . import collectives as c
from .device_mesh import DeviceMesh
from .nn import functional
from .nn.functional import _AllGatherBase, _AllToAllSingle
from .process_group import ProcessGroup
from .reduce_op import RedOpType, ReduceOp
from .world import existing_group, get_rank, get_world_size

__all__ = [
    "all_gather_into_tensor_coalesced", "all_gather_single", "all_gather_single_autograd", "all_gather_single_coalesced",
    "all_gather_tensor", "all_gather_tensor_autograd", "all_reduce", "all_reduce_coalesced", "all_to_all_single",
    "all_to_all_single_autograd", "broadcast", "permute_tensor", "reduce_scatter_single", "reduce_scatter_single_autograd",
    "reduce_scatter_single_coalesced", "reduce_scatter_tensor", "reduce_scatter_tensor_autograd",
    "reduce_scatter_tensor_coalesced", "wait_tensor",
]  # fmt: skip


def _op(name: str) -> RedOpType:
    kinds = {op.name.lower(): op for op in RedOpType}
    if name.lower() not in kinds:
        raise RuntimeError(f"Unrecognized reduce_op: {name} (known: {', '.join(sorted(kinds))})")
    return kinds[name.lower()]


def _group(group: Any, tag: str) -> ProcessGroup:
    if isinstance(group, DeviceMesh):
        if group.ndim != 1:
            raise AssertionError("Only 1D mesh is supported, pass in (DeviceMesh, int) together if mesh > 1D")
        return group.get_group(0)
    if isinstance(group, tuple):
        if len(group) != 2 or not isinstance(group[0], DeviceMesh) or not isinstance(group[1], int):
            raise ValueError(f"Invalid tuple for group must be (DeviceMesh, int). Instead got {group}")
        return group[0].get_group(group[1])
    return existing_group(group, tag)


def wait_tensor(tensor: Tensor) -> Tensor:
    """The tensor, which is there already."""
    return tensor


def broadcast(self: Tensor, src: int, group: Any, tag: str = "") -> Tensor:
    """The tensor of process `src`, everywhere. It has no gradient."""
    result = self.detach().clone()
    c.broadcast(result, src, _group(group, tag))
    return result


def all_reduce(self: Tensor, reduceOp: str, group: Any, tag: str = "") -> Tensor:
    """The reduction over all processes ("sum", "avg", "product", "min", "max", ...). The gradient of "sum" alone is known."""
    return _AllReduce.apply(_op(reduceOp), _group(group, tag), self)


def all_gather_single(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """The tensors of all processes, one after the other along a dimension."""
    pg = _group(group, tag)
    n = get_world_size(pg)
    whole = self if self.dim() else self.reshape(1)
    result = _AllGatherBase.apply(whole.new_empty((n * whole.shape[0], *whole.shape[1:])), whole, pg)
    return cat(result.chunk(n), gather_dim) if gather_dim else result


def reduce_scatter_single(self: Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = "") -> Tensor:
    """This process's part, along a dimension, of the reduction over all processes. The gradient of "sum" alone is known."""
    pg = _group(group, tag)
    n = get_world_size(pg)
    if self.shape[scatter_dim] % n:
        raise AssertionError(f"input dimension 0 ({self.shape[0]} must be a multiple of group_size {n})")
    whole = cat(self.chunk(n, scatter_dim)) if scatter_dim else self
    return _ReduceScatterSingle.apply(_op(reduceOp), pg, whole)


def all_to_all_single(
    self: Tensor, output_split_sizes: list[int] | None, input_split_sizes: list[int] | None, group: Any, tag: str = ""
) -> Tensor:
    """The parts, along the first dimension, that all processes have for this one."""
    pg = _group(group, tag)
    if (output_split_sizes is None) != (input_split_sizes is None):
        raise AssertionError(
            "output_split_sizes and input_split_sizes must either be specified together or both set to None"
        )
    rows = self.shape[0] if output_split_sizes is None else sum(output_split_sizes)
    output = self.new_empty((rows, *self.shape[1:]))
    return _AllToAllSingle.apply(pg, output, output_split_sizes, input_split_sizes, self)


def permute_tensor(self: Tensor, src_dst: list[int], group: Any, tag: str = "") -> Tensor:
    """The tensor, of one dimension, of the process that sends it here: process m sends its own to process src_dst[m]."""
    pg = _group(group, tag)
    rank, nothing = get_rank(pg), [0] * get_world_size(pg)
    sent, received = nothing.copy(), nothing.copy()
    for source, to in enumerate(src_dst):
        if source == rank:
            sent[to] = self.numel()
        if to == rank:
            received[source] = self.numel()
    return all_to_all_single(self, received, sent, pg)


all_gather_single_autograd = all_gather_single
reduce_scatter_single_autograd = reduce_scatter_single
all_to_all_single_autograd = all_to_all_single


def all_reduce_coalesced(self: list[Tensor], reduceOp: str, group: Any, tag: str = "") -> list[Tensor]:
    """`all_reduce` of several tensors."""
    return [all_reduce(t, reduceOp, group, tag) for t in self]


def all_gather_single_coalesced(self: list[Tensor], group: Any, tag: str = "") -> list[Tensor]:
    """`all_gather_single` of several tensors, along the first dimension."""
    return [all_gather_single(t, 0, group, tag) for t in self]


def reduce_scatter_single_coalesced(
    inputs: list[Tensor], reduceOp: str, scatter_dim: list[int], group: Any, tag: str = ""
) -> list[Tensor]:
    """`reduce_scatter_single` of several tensors, each along a dimension of its own."""
    if len(scatter_dim) != len(inputs):
        raise AssertionError(f"Length of scatter_dim ({len(scatter_dim)}) must equal length of inputs ({len(inputs)})")
    return [reduce_scatter_single(t, reduceOp, d, group, tag) for t, d in zip(inputs, scatter_dim, strict=True)]


def _older(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    return c.older(function, name, package="torch.distributed._functional_collectives")


all_gather_tensor = _older("all_gather_tensor", all_gather_single)
all_gather_tensor_autograd = _older("all_gather_tensor_autograd", all_gather_single)
reduce_scatter_tensor = _older("reduce_scatter_tensor", reduce_scatter_single)
reduce_scatter_tensor_autograd = _older("reduce_scatter_tensor_autograd", reduce_scatter_single)
all_gather_into_tensor_coalesced = _older("all_gather_into_tensor_coalesced", all_gather_single_coalesced)
reduce_scatter_tensor_coalesced = _older("reduce_scatter_tensor_coalesced", reduce_scatter_single_coalesced)


def _check_sum(op: RedOpType, name: str) -> None:
    if op is not ReduceOp.SUM:
        raise RuntimeError(f"{name} backward only supports 'sum' reduction, got '{op.name.lower()}'")


class _AllReduce(functional._AllReduce):
    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        _check_sum(ctx.op, "all_reduce")
        return functional._AllReduce.backward(ctx, g)


class _ReduceScatterSingle(Function):
    @staticmethod
    def forward(ctx: Any, op: RedOpType, group: ProcessGroup, whole: Tensor) -> Tensor:
        ctx.op, ctx.group = op, group
        part = whole.new_empty((whole.shape[0] // group.size(), *whole.shape[1:]))
        c.reduce_scatter_single(part, whole.contiguous(), op, group)
        return part

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        _check_sum(ctx.op, "reduce_scatter_tensor")
        return None, None, all_gather_single(g, 0, ctx.group)
