"""The kernels that scaled_dot_product_attention may choose from.

On the CPU there are two, `MATH` and `FLASH_ATTENTION` (four dimensions, no dropout), which give the same numbers here.
With neither of them left the function raises, as in torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

from rushlight.ops.nn import attention

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(Enum):
    """A kernel for scaled_dot_product_attention, by torch's name."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __int__(self) -> int:
        return self.value


@contextmanager
def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[dict]:
    """Let scaled_dot_product_attention choose only from these kernels, as context manager or decorator.

    ``set_priority``: in the order given; where every choice gives the same numbers that changes nothing.
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}"
        )
    wanted = {backends} if isinstance(backends, SDPBackend) else set(backends)
    before = attention.choose_from({kernel.name for kernel in wanted})
    try:
        yield {}
    finally:
        attention.choose_from(before)
