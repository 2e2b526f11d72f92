"""A hook that exchanges nothing, to see what a step takes without communication."""

from __future__ import annotations

from typing import Any

from ....nn.parallel.grad_bucket import GradBucket
from ...work import Future, completed

__all__ = ["noop_hook"]


def noop_hook(_: Any, bucket: GradBucket) -> Future:
    """The gradients of this process: the processes' parameters differ afterwards."""
    return completed(bucket.buffer())
