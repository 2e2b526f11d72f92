"""What Python asks of tensors among a call's arguments besides shape, strides, type and whether they want a gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.tensor.node import Leaf
from ...core.tensor.tensor import Tensor
from ..capture.sources import CaptureError
from .checks import PLAIN

__all__ = ["Asked"]


def _is_leaf(t: Tensor) -> bool:
    return t._edge is None or type(t._edge) is Leaf


def _history(t: Tensor) -> str | None:
    return None if _is_leaf(t) else t.grad_fn.name()  # type: ignore[union-attr]


def _is_view(t: Tensor) -> bool:
    return t._view is not None


def _size_of_memory(t: Tensor) -> int:
    return t.untyped_storage().nbytes()


# By the name in the user's code, what it can find out by it: by reading an attribute, and by a call.
_ATTRIBUTES: dict[str, Callable[[Tensor], Any]] = {
    "is_leaf": _is_leaf,
    "grad_fn": _history,
    "grad": lambda t: t._grad is not None,
    "_base": _is_view,
    "retains_grad": lambda t: t.retains_grad,
    "output_nr": lambda t: t.output_nr,
}
_READS: dict[str, Callable[[Tensor], Any]] = {
    **_ATTRIBUTES,
    "_is_view": _is_view,
    "storage_offset": Tensor.storage_offset,
    "is_inference": Tensor.is_inference,
    "is_shared": lambda t: t.is_shared(),  # type: ignore[attr-defined]
    "untyped_storage": _size_of_memory,
    "storage": _size_of_memory,
}


class Asked:
    """The answers that the tensors among a call's leaves gave, for the names that its code has in it.

    every_name: it may also read attributes by names that it computes, so each of these counts. Of what a call asks, only that
    counts whose name is in the code or an argument: a batch's offset in memory is another one in each step.
    """

    def __init__(self, leaves: list, names: Any, every_name: bool):
        self._names = None if every_name else names
        asked = {*names, *(leaf for leaf in leaves if type(leaf) is str), *(_ATTRIBUTES if every_name else ())}
        self._reads = tuple(dict.fromkeys(read for name, read in _READS.items() if name in asked))
        self._known = []
        for i, leaf in enumerate(leaves):
            if isinstance(leaf, Tensor):
                attributes = self._attributes(leaf)
                _check_attributes(i, attributes)
                self._known.append((i, attributes, self._answers(leaf)))

    def _attributes(self, t: Tensor) -> dict[str, Any]:
        names = self._names
        return {k: v for k, v in t.__dict__.items() if names is None or k in names}

    def _answers(self, t: Tensor) -> list:
        return [read(t) for read in self._reads]

    def changed(self, leaves: list) -> str | None:
        """What is answered in another way; None if nothing is."""
        reads = self._reads
        for i, attributes, answers in self._known:
            t = leaves[i]
            if (attributes or t.__dict__) and not _are_same(self._attributes(t), attributes):
                return f"the attributes of argument {i}, a tensor, which Python reads"
            if reads and self._answers(t) != answers:
                return f"what Python asks of argument {i}, a tensor (is_leaf, grad, storage_offset() and the like)"
        return None


def _check_attributes(i: int, attributes: dict[str, Any]) -> None:
    for name, value in attributes.items():
        parts = value if type(value) is tuple else (value,)
        if not all(isinstance(v, (*PLAIN, Tensor, type)) for v in parts):
            raise CaptureError(
                f"the attribute {name!r} of argument {i}, a tensor, is a {type(value).__name__}, whose contents may change "
                "unseen; pass it as an argument"
            )


def _are_same(now: dict[str, Any], before: dict[str, Any]) -> bool:
    return now.keys() == before.keys() and all(_is_same(now[k], v) for k, v in before.items())


def _is_same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) is tuple:
        return len(a) == len(b) and all(map(_is_same, a, b))
    return isinstance(a, PLAIN) and a == b
