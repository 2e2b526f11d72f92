"""A dataset's own tensor changes while it is read: each epoch sees other data."""

from __future__ import annotations

import weakref
from typing import Any

from ...core.tensor.tensor import Tensor
from ..events import Batch, Epoch
from ..ledger import mark_of, writer_of
from . import Check


class DatasetChanged(Check):
    """`x = self.data[i]; x -= mean` writes into the dataset, since an index is a view."""

    name = "dataset-changed"
    severity = "error"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.marks: dict[int, list[tuple[Any, Any]]] = {}  # by loader

    def on_batch(self, event: Batch) -> None:
        if event.index == 0 and event.loader not in self.marks:
            iterators = [it for it, v in self.doctor.loaders.items() if v[0] == event.loader]
            dataset = getattr(iterators[-1], "_dataset", None) if iterators else None
            self.marks[event.loader] = [(weakref.ref(t), mark_of(t)) for t in _tensors(dataset)]

    def on_epoch_end(self, event: Epoch) -> None:
        for ref, mark in self.marks.pop(event.loader, ()):
            tensor = ref()
            if tensor is None or mark[1] is None:
                continue
            now = mark_of(tensor)
            if now != mark and now[1] is not None and now[0] == mark[0]:
                self.doctor.report(
                    self,
                    writer_of(tensor) or event.place,
                    f"this writes into a tensor of the dataset, of shape {list(tensor.shape)}, while it is read: each epoch starts from "
                    "data that the one before has changed",
                    "write out of place (x = x - mean), or clone() first",
                    [(event.place, "the loop over the loader")],
                    after=1,
                )
                return


def _tensors(dataset: Any) -> list[Tensor]:
    """The tensors that a dataset holds: attributes, and those in lists, tuples and dicts of attributes, two deep."""
    found: list[Tensor] = []
    waiting = [(v, 0) for v in vars(dataset).values()] if hasattr(dataset, "__dict__") else []
    while waiting and len(found) < 64:
        value, depth = waiting.pop()
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)) and depth < 2:
            waiting += [(v, depth + 1) for v in value[:64]]
        elif isinstance(value, dict) and depth < 2:
            waiting += [(v, depth + 1) for v in list(value.values())[:64]]
        elif hasattr(value, "__getitem__") and hasattr(value, "__dict__") and depth < 2:
            waiting += [(v, depth + 1) for v in vars(value).values()]
    return found
