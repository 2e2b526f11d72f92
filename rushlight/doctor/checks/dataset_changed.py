"""A dataset's own tensor changes while it is read: each epoch sees other data."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ...core.tensor.tensor import Tensor
from ..events import Batch, Epoch
from ..ledger import mark_of, writer_of
from ..places import Place, keeps_records, written_in_place
from . import Check


class DatasetChanged(Check):
    """`x = self.data[i]; x -= mean` writes into the dataset, since an index is a view."""

    name = "dataset-changed"
    severity = "error"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.arrays: dict[int, list[tuple[Any, bytes]]] = {}  # by loader: NumPy's, and some of their values
        self.changed: dict[int, int] = {}  # by such an array's identity: the passes that have changed it
        self.marks: dict[int, list[tuple[Any, Any]]] = {}  # by loader

    def on_batch(self, event: Batch) -> None:
        if event.index == 0 and event.loader not in self.marks:
            iterators = [it for it, v in self.doctor.loaders.items() if v[0] == event.loader]
            dataset = getattr(iterators[-1], "_dataset", None) if iterators else None
            self.marks[event.loader] = [(weakref.ref(t), mark_of(t)) for t in _values(dataset, Tensor)]
            arrays = [a for a in _values(dataset, np.ndarray) if a.dtype.kind == "f" and a.size]
            self.arrays[event.loader] = [(weakref.ref(a), _some_of(a)) for a in arrays]

    def _look_at_arrays(self, event: Epoch) -> None:
        """NumPy tells of no write. What a first pass fills stays as it is in the second."""
        for ref, before in self.arrays.pop(event.loader, ()):
            array = ref()
            if array is None or _some_of(array) == before:
                continue
            passes = self.changed[id(array)] = self.changed.get(id(array), 0) + 1
            iterators = [it for it, v in self.doctor.loaders.items() if v[0] == event.loader]
            if passes >= 2:
                dataset = getattr(iterators[-1], "_dataset", None) if iterators else None
                place = written_in_place(getattr(type(dataset), "__getitem__", None))
                if place is not None and not keeps_records(
                    place
                ):  # else the loop writes it, such as the priorities of a replay buffer
                    self._tell(event, place, f"an array of the dataset, of shape {list(array.shape)}")
                    return

    def on_epoch_end(self, event: Epoch) -> None:
        self._look_at_arrays(event)
        for ref, mark in self.marks.pop(event.loader, ()):
            tensor = ref()
            if tensor is None or mark[1] is None:
                continue
            now = mark_of(tensor)
            if now != mark and now[1] is not None and now[0] == mark[0]:
                place = writer_of(tensor) or event.place
                if keeps_records(place):
                    continue
                self._tell(event, place, f"a tensor of the dataset, of shape {list(tensor.shape)}")
                return

    def _tell(self, event: Epoch, place: Place, what: str) -> None:
        self.doctor.report(
            self,
            place,
            f"this writes into {what}, while it is read: each epoch starts from data that the one before has changed",
            "write out of place (x = x - mean), or clone() first",
            [(event.place, "the loop over the loader")],
            after=1,
        )


def _some_of(array: np.ndarray) -> bytes:
    """Values spread over an array."""
    return array.flat[:: max(1, array.size // 4096)].tobytes()


def _values(dataset: Any, kind: type) -> list[Any]:
    """The tensors or arrays that a dataset holds: attributes, and those in lists, tuples and dicts of attributes, two deep."""
    found: list[Any] = []
    waiting = [(v, 0) for v in vars(dataset).values()] if hasattr(dataset, "__dict__") else []
    while waiting and len(found) < 64:
        value, depth = waiting.pop()
        if isinstance(value, kind):
            found.append(value)
        elif isinstance(value, (list, tuple)) and depth < 2:
            waiting += [(v, depth + 1) for v in value[:64]]
        elif isinstance(value, dict) and depth < 2:
            waiting += [(v, depth + 1) for v in list(value.values())[:64]]
        elif hasattr(value, "__getitem__") and hasattr(value, "__dict__") and depth < 2:
            waiting += [(v, depth + 1) for v in vars(value).values()]
    return found
