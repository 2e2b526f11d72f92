"""Output for people: colours where a file is a terminal, and plain text anywhere else."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any

__all__ = ["console", "is_terminal"]


def is_terminal(file: Any) -> bool:
    """Whether a person reads what is written to the file."""
    try:
        return bool(file is not None and file.isatty())
    except (AttributeError, ValueError):  # no file, or a closed one
        return False


def console(file: Any) -> Any:
    """rich's console for a file; None where plain text is due: no terminal, NO_COLOR is set, or `rich` is missing."""
    if not is_terminal(file) or os.environ.get("NO_COLOR") or find_spec("rich") is None:
        return None
    from rich.console import Console

    return Console(file=file, highlight=False)
