"""`torch._inductor.utils`: what scripts use of it to compile again from nothing."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...compile.api import reset

__all__ = ["clear_caches", "clear_inductor_caches", "fresh_cache", "fresh_inductor_cache"]

_FOLDER = "TORCHINDUCTOR_CACHE_DIR"


def clear_caches() -> None:
    """Forget all programs and their code, as `torch.compiler.reset` does; they are kept in memory only."""
    reset()


@contextmanager
def fresh_cache(
    cache_entries: dict[str, Any] | None = None, dir: str | None = None, delete: bool = True
) -> Iterator[None]:
    """Within the block functions compile again, and TORCHINDUCTOR_CACHE_DIR names an empty folder below `dir`.

    Args:
        cache_entries: an empty dictionary for the files that were written. There are none: it stays empty.
        delete: whether the folder is deleted in the end.
    Raises:
        AssertionError: at the end, if `cache_entries` is not empty.
    """
    clear_caches()
    folder, before = tempfile.mkdtemp(dir=dir), os.environ.get(_FOLDER)
    os.environ[_FOLDER] = folder
    try:
        yield
        if isinstance(cache_entries, dict) and cache_entries:
            raise AssertionError("expected empty cache_entries dict")
        if delete:
            shutil.rmtree(folder)
    finally:
        if before is None:
            os.environ.pop(_FOLDER, None)
        else:
            os.environ[_FOLDER] = before
        clear_caches()


clear_inductor_caches, fresh_inductor_cache = clear_caches, fresh_cache  # the names that they had before
