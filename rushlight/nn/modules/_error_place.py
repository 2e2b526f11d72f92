"""Which module of which network an error comes from: a note with the path, the sizes and the shapes of the inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.tensor.tensor import Tensor
from ...core.tracebacks import was_raised_inside

if TYPE_CHECKING:
    from .module import Module

__all__ = ["note_module"]

_SIZES = (("in_features", "out_features"), ("in_channels", "out_channels"), ("input_size", "hidden_size"))
_MARK = (
    "_rushlight_place"  # on an error: (id of the outermost module so far, path from it, innermost module, inputs, text)
)


def note_module(error: Exception, module: Module, args: tuple, kwargs: dict[str, Any]) -> None:
    """Note on an error that leaves the call of `module` where it arose; a note that is there gets a longer path.

    An error that the program's own code raises has no note.
    """
    if type(error).__module__.partition(".")[0] == "rushlight":  # the compiler's own, which it catches
        return
    place = error.__dict__.get(_MARK)
    if place is None:
        if was_raised_inside(error.__traceback__):
            values = [*map(_described, args), *(f"{name}={_described(value)}" for name, value in kwargs.items())]
            _note(error, module, "", _named(module), ", ".join(values) or "none", None)
        return
    inner, path, what, inputs, text = place
    name = next((name for name, child in module.named_modules() if id(child) == inner), "")
    if name:
        _note(error, module, f"{name}.{path}" if path else name, what, inputs, text)


def _note(error: Exception, root: Module, path: str, what: str, inputs: str, old: str | None) -> None:
    of = f"{path}: {what}` of `{type(root).__name__}" if path else what
    text = f"in `{of}`: input {inputs}"
    notes = getattr(error, "__notes__", [])
    if old in notes:
        notes[notes.index(old)] = text
    else:
        error.add_note(text)
    error.__dict__[_MARK] = id(root), path, what, inputs, text


def _named(module: Module) -> str:
    """The class, with the sizes of a layer: Linear(21 -> 2)."""
    kind = type(module).__name__
    for first, second in _SIZES:
        if first in vars(module) and second in vars(module):
            return f"{kind}({vars(module)[first]} -> {vars(module)[second]})"
    try:
        extra = "" if module._modules else module.extra_repr()
    except Exception:  # a module that its __init__ has left unfinished; its own error is to be seen
        extra = ""
    return f"{kind}({extra})" if extra and len(extra) <= 80 else kind


def _described(value: Any) -> str:
    """Shapes of tensors, and of those in lists; the type of anything else."""
    if isinstance(value, Tensor):
        return str(tuple(value.shape)) + (
            "" if value.dtype.is_floating_point else f" {value.dtype}".replace("torch.", "")
        )
    if isinstance(value, (tuple, list)) and value and isinstance(value[0], Tensor):
        return f"[{', '.join(map(_described, value[:4]))}{', ...' if len(value) > 4 else ''}]"
    return repr(value) if value is None or isinstance(value, (bool, int, float)) else type(value).__name__
