"""The tensors and modules that there are, whoever holds them: a capture tells them from what it makes itself.

Python's collector of cyclic garbage knows all of them among everything else. Reading all that it knows takes milliseconds to
tenths of a second, four times for each program. So what was there at the last look is remembered, and while the collector has
moved nothing out of its young generations since, only those are read again.

`gc.freeze()` hides from such a look all that there is then. Programs call it before or after their first step, so that no
collection goes through the model again. What it hides is looked at once: a marker that was made after tells whether the
program has frozen more since.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterator
from itertools import chain, compress, repeat, starmap
from typing import Any, NamedTuple

from .dispatch.extension_points import module_class
from .garbage import FIRST, Marker, collection_paused
from .tensor.tensor import Tensor

__all__ = ["instances", "tensors_and_modules"]

_HAS_GIL = "free-threading build" not in sys.version
# From 3.14 on, each collection moves what it leaves among the old. A free-threaded build has no generations: each of them
# is all that the collector knows, so two would name every object twice.
_YOUNG = (0,) if sys.version_info >= (3, 14) or not _HAS_GIL else (0, 1)
# Before 3.14 the collector shows tuples that are still being made, and making them fails if anybody else holds them.
_SHOWS_UNFINISHED = sys.version_info < (3, 14)


class _Look(NamedTuple):
    """What was there at a moment. marker: made then, while it is young, so is all that was made after it; None where some
    of it was still being made.
    """

    marker: Marker | None
    kinds: tuple[type, ...]
    found: list[weakref.ref]


_last = _Look(None, (), [])
_frozen = _Look(None, (), [])  # what `gc.freeze()` hides, and a marker that was made after it


def tensors_and_modules() -> list[Any]:
    """All tensors that are finished, and all modules."""
    global _last
    last, kinds = _last, _kinds()
    marker = Marker()  # before the look: what is made amid it is among the young of the next
    found = [] if last.marker is None or last.kinds != kinds else instances(*kinds, Marker, young=True)
    if any(o is last.marker for o in found):
        known = set(map(id, found))
        found += [o for o in (r() for r in last.found) if o is not None and id(o) not in known]
    else:
        found = instances(*kinds, Marker)
        found += [] if any(o is FIRST for o in found) else _among_frozen(found, kinds)
    found = [o for o in found if type(o) is not Marker]
    finished = [o for o in found if not isinstance(o, Tensor) or _is_finished(o)]
    _last = _Look(marker if len(finished) == len(found) else None, kinds, list(map(weakref.ref, finished)))
    return finished


def nothing_frozen() -> None:
    """Nothing of what is frozen now is to be found: for tests, which freeze millions of objects once a file."""
    global _frozen
    _frozen = _Look(Marker(), _kinds(), [])


def _kinds() -> tuple[type, ...]:
    return (Tensor,) if module_class.value is None else (Tensor, module_class.value)


def _among_frozen(found: list[Any], kinds: tuple[type, ...]) -> list[Any]:
    """The objects of these classes that are frozen, and not in `found`, which holds all others and all markers.

    To see them they are set free, and frozen again together with what was made since; without the interpreter's lock
    other threads would make objects between the look and that, so there they stay free.
    """
    global _frozen
    if not _HAS_GIL:
        gc.unfreeze()
        known = set(map(id, found))
        return [o for o in instances(*kinds) if id(o) not in known]
    if _frozen.kinds != kinds or not any(o is _frozen.marker for o in found):
        every = instances(*kinds, frozen=True)
        _frozen = _Look(Marker(), kinds, list(map(weakref.ref, every)))
    known = set(map(id, found))
    return [o for o in (r() for r in _frozen.found) if o is not None and id(o) not in known]


def instances(*kinds: type, young: bool = False, frozen: bool = False) -> list[Any]:
    """All objects of these classes, which are written in Python, that the collector knows.

    young: at least those in its young generations. frozen: those too that are frozen, as afterwards all objects are.

    On 3.11 to 3.13 no other thread may run while a list from `gc.get_objects` exists: there are tuples among it that are
    still being made, and making them fails if anybody else holds them (SystemError). Nor may one between a look and a
    freeze: what it made would be hidden unseen. So all is done within one call of C functions, `list`, from filling
    `every` to clearing it, and without a collection, which would run finalizers.
    """
    if _SHOWS_UNFINISHED and not _HAS_GIL:
        return _referring_to(kinds)
    every: list[Any] = []
    wanted = [(generation,) for generation in _YOUNG] if young else [()]
    filling = map(every.extend, starmap(gc.get_objects, wanted))
    chosen = compress(every, map(issubclass, map(type, iter(every)), repeat(kinds)))
    once = [()] if frozen else []
    steps = chain(starmap(gc.unfreeze, once), filling, chosen, starmap(every.clear, [()]), starmap(gc.freeze, once))
    with collection_paused():
        try:
            found = list(steps)
        finally:
            every.clear()
    return [o for o in found if o is not None]  # None is what the other steps gave


def _referring_to(kinds: tuple[type, ...]) -> list[Any]:
    """All objects of these classes, found as what refers to them or to their subclasses: an instance refers to its class.

    For 3.13t, where other threads run whatever this one does. Of the tuples that they are making from generators, this
    holds those that already have one of these very classes as an item (`tuple(type(t) for t in tensors)`; not
    `tuple(map(type, tensors))`, in which no thread is stopped). Where 200 classes and 60,000 objects are it takes 60 ms;
    listing all took 15.
    """
    classes = dict.fromkeys(c for kind in kinds for c in _with_subclasses(kind))
    with collection_paused():
        return [o for o in gc.get_referrers(*classes) if issubclass(type(o), kinds)]


def _with_subclasses(cls: type) -> Iterator[type]:
    yield cls
    for subclass in type.__subclasses__(cls):
        yield from _with_subclasses(subclass)


def _is_finished(t: Tensor) -> bool:
    """Not when another thread is in the middle of making it."""
    try:
        _ = t._array, t._edge, t._grad, t._storage, t._view
    except AttributeError:
        return False
    return True
