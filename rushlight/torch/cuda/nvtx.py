"""`torch.cuda.nvtx`: marks for NVIDIA's profiler, which needs a CUDA device. Each raises RuntimeError, as in torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def _absent(name: str, doc: str) -> Any:
    def f(*arguments: Any) -> NoReturn:
        raise RuntimeError(
            f"NVTX functions not installed. Are you sure you have a CUDA build? torch.cuda.nvtx.{name}() needs one."
        )

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"{doc} Raises RuntimeError: there is no CUDA device."
    return f


range_push = _absent("range_push", "Open a nested range.")
range_pop = _absent("range_pop", "Close the innermost range.")
range_start = _absent("range_start", "Open a range that another thread may close.")
range_end = _absent("range_end", "Close a range by its number.")
mark = _absent("mark", "Mark a moment.")


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A range around a block. Raises RuntimeError: there is no CUDA device."""
    range_push(msg.format(*args, **kwargs))
    yield
