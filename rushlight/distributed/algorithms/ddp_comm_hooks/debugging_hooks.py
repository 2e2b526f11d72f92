"""A hook that exchanges nothing, to see what a step takes without communication."""

from __future__ import annotations

from typing import Any

from ....futures import Future
from ....nn.parallel.grad_bucket import GradBucket

__all__ = ["noop_hook"]


def noop_hook(_: Any, bucket: GradBucket) -> Future:
    """The gradients of this process: the processes' parameters differ afterwards."""
    future = Future()
    future.set_result(bucket.buffer())
    return future
