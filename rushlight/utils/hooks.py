"""torch.utils.hooks: the handle of a registered hook, and marks on hooks."""

from __future__ import annotations

from typing import Any

from ..core.tensor.hooks import RemovableHandle

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(f: Any) -> Any:
    """Decorator: saving a tensor that has this hook drops it without a warning."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor: Any) -> None:
    """Warn of a tensor's hooks that will be lost when it is saved."""
    from ..core.tensor.pickling import _warn_of_hooks

    _warn_of_hooks(tensor)
