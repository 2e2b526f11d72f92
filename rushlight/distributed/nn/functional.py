"""Collectives that return new tensors, and whose gradients are collectives too.

Every process has to call backward for each of them, in the reverse order of the calls, as for any collective.
"""

from __future__ import annotations

import warnings
from typing import Any

from ...autograd.function import Function
from ...core.tensor.tensor import Tensor
from ...ops import empty_like, stack, zeros_like
from .. import collectives as c
from ..reduce_op import ReduceOp
from ..world import get_rank, get_world_size

__all__ = [
    "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce", "reduce_scatter",
    "scatter",
]  # fmt: skip


def _deprecated(name: str, better: str | None = None) -> None:
    warnings.warn(
        f"torch.distributed.nn.functional.{name} is deprecated, use torch.distributed._functional_collectives."
        f"{better or name} instead.",
        FutureWarning,
        stacklevel=3,
    )


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """The tensor of process `src`, everywhere. Its gradient is the sum of all processes' gradients."""
    _deprecated("broadcast")
    return _Broadcast.apply(src, group, tensor)


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all processes, at process `dst`; zeros elsewhere."""
    return _Gather.apply(dst, group, tensor)


def scatter(tensors: list[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """The tensor that process `src` has for this one. Every process gives a list, which says shapes and types."""
    return _Scatter.apply(src, group, *tensors)


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The reduction over all processes, at process `dst`; this process's own tensor elsewhere."""
    return _Reduce.apply(dst, op, group, tensor)


def reduce_scatter(output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The reduction of all processes' tensors for this one, also written into `output`."""
    _deprecated("reduce_scatter", "reduce_scatter_single")
    return _ReduceScatter.apply(op, group, output, *input_list)


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all processes. The gradient is the sum of what all processes have for this one's tensor."""
    _deprecated("all_gather", "all_gather_single")
    return _AllGather.apply(group, tensor)


def _all_gather_base(output_tensor: Tensor, input_tensor: Tensor, group: Any = None) -> Tensor:
    """The tensors of all processes one after the other, also written into `output_tensor`."""
    return _AllGatherBase.apply(output_tensor, input_tensor, group)


def all_to_all(output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = None) -> Any:
    """The tensors that all processes have for this one, also written into the output list."""
    return _AllToAll.apply(group, output_tensor_list, *input_tensor_list)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: Any = None,
) -> Tensor:
    """`all_to_all` of the parts of one tensor along its first dimension, also written into `output`."""
    _deprecated("all_to_all_single")
    return _AllToAllSingle.apply(group, output, output_split_sizes, input_split_sizes, input)


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The reduction over all processes. Its gradient is reduced in the same way, which is right for sums and averages."""
    _deprecated("all_reduce")
    return _AllReduce.apply(op, group, tensor)


# ---------------------------------------------------------------------------------------------- with gradients


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, tensor: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        tensor = tensor.clone()
        c.broadcast(tensor, src, group)
        return tensor

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        gx = _Reduce.apply(ctx.src, ReduceOp.SUM, ctx.group, g)
        return None, None, gx if get_rank(ctx.group) == c.get_group_rank(c.group_of(ctx.group), ctx.src) else gx * 0


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.dst, ctx.group = dst, group
        tensor = tensor.clone()
        c.reduce(tensor, dst, op, group)
        return tensor

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return None, None, None, _Broadcast.apply(ctx.dst, ctx.group, g)


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, group: Any, tensor: Tensor) -> Any:
        ctx.dst, ctx.group = dst, group
        parts = [zeros_like(tensor) for _ in range(get_world_size(group))]
        is_root = get_rank(group) == c.get_group_rank(c.group_of(group), dst)
        c.gather(tensor.contiguous(), parts if is_root else None, dst, group)
        return tuple(parts)

    @staticmethod
    def backward(ctx: Any, *gs: Tensor) -> Any:
        return None, None, _Scatter.apply(ctx.dst, ctx.group, *gs)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, *tensors: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        if any(t.shape != tensors[0].shape for t in tensors):
            raise AssertionError("scatter: the tensors have different shapes")
        output = zeros_like(tensors[0])
        is_root = get_rank(group) == c.get_group_rank(c.group_of(group), src)
        c.scatter(output, list(tensors) if is_root else None, src, group)
        return output

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return None, None, *_Gather.apply(ctx.src, ctx.group, g)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, output: Tensor, *parts: Tensor) -> Tensor:
        ctx.group = group
        output = output.contiguous()
        c.reduce_scatter(output, list(parts), op, group)
        return output

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return None, None, None, *_AllGather.apply(ctx.group, g)


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, tensor: Tensor) -> Any:
        ctx.group = group
        parts = [empty_like(tensor) for _ in range(get_world_size(group))]
        c.all_gather(parts, tensor.contiguous(), group)
        return tuple(parts)

    @staticmethod
    def backward(ctx: Any, *gs: Tensor) -> Any:
        received = _AllToAll.apply(ctx.group, [empty_like(g) for g in gs], *gs)
        return None, stack(received).sum(0)


class _AllGatherBase(Function):
    @staticmethod
    def forward(ctx: Any, output: Tensor, input: Tensor, group: Any) -> Tensor:
        ctx.group, ctx.shape = group, input.shape
        c.all_gather_single(output, input.contiguous(), group)
        return output

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        gx = g.new_empty(ctx.shape)
        c.reduce_scatter_single(gx, g.contiguous(), ReduceOp.SUM, ctx.group)
        return None, gx, None


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, outputs: list[Tensor], *inputs: Tensor) -> Any:
        ctx.group, ctx.shapes = group, [t.shape for t in inputs]
        c.all_to_all(outputs, [t.contiguous() for t in inputs], group)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *gs: Tensor) -> Any:
        outputs = [gs[0].new_empty(shape) for shape in ctx.shapes]
        return None, None, *_AllToAll.apply(ctx.group, outputs, *gs)


class _AllToAllSingle(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, output: Tensor, outgoing: Any, incoming: Any, input: Tensor) -> Tensor:
        ctx.group, ctx.shape, ctx.sizes = group, input.shape, (incoming, outgoing)
        c.all_to_all_single(output, input.contiguous(), outgoing, incoming, group)
        return output

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        gx = _AllToAllSingle.apply(ctx.group, g.new_empty(ctx.shape), *ctx.sizes, g.contiguous())
        return None, None, None, None, gx


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.op, ctx.group = op, group
        tensor = tensor.clone().contiguous()
        c.all_reduce(tensor, op, group)
        return tensor

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return None, None, _AllReduce.apply(ctx.op, ctx.group, g)
