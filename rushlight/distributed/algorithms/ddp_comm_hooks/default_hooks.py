"""Hooks that average the gradients as they are, or in 16 bits, which halves what travels.

`model.register_comm_hook(process_group, fp16_compress_hook)`; process_group: None is the default group.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....core.dispatch.mode import no_grad
from ....core.tensor.dtype import bfloat16, float16
from ....nn.parallel.grad_bucket import GradBucket
from ...collectives import all_reduce
from ...work import Future
from ...world import group_of

__all__ = [
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
]

Hook = Callable[[Any, GradBucket], Any]


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future:
    """The average, as without a hook."""
    buffer = bucket.buffer()
    buffer.div_(group_of(process_group).size())
    return _summed(buffer, process_group)


def _summed(tensor: Any, process_group: Any) -> Future:
    work = all_reduce(tensor, group=process_group, async_op=True)
    assert work is not None
    return work.get_future().then(lambda future: future.value()[0])


def _compressed(dtype: Any, process_group: Any, bucket: GradBucket) -> Future:
    buffer = bucket.buffer()
    small = buffer.to(dtype).div_(group_of(process_group).size())
    return _summed(small, process_group).then(lambda future: _copied(buffer, future.value()))


def _copied(buffer: Any, values: Any) -> Any:
    with no_grad():
        buffer.copy_(values)
    return buffer


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    """The average, for which the gradients travel as float16."""
    return _compressed(float16, process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    """The average, for which the gradients travel as bfloat16."""
    return _compressed(bfloat16, process_group, bucket)


def _wrapper(dtype: Any, hook: Hook) -> Hook:
    def compressed(state: Any, bucket: GradBucket) -> Any:
        buffer = bucket.buffer()
        bucket.set_buffer(buffer.to(dtype))
        return hook(state, bucket).then(lambda future: _copied(buffer, future.value()))

    return compressed


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that gives the gradients to another one as float16."""
    return _wrapper(float16, hook)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that gives the gradients to another one as bfloat16."""
    return _wrapper(bfloat16, hook)
