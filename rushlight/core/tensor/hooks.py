"""Handles that remove a hook from the ordered dictionary it was registered in.

Tensors, nodes and modules all keep their hooks in an ``OrderedDict`` (a plain dict takes no weak reference) keyed by
the handle's ``id``; dict order is the calling order.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from typing import Any

from ..locks import lock

__all__ = ["RemovableHandle"]


_counting = lock()  # two handles with one id would remove each other's hooks


class RemovableHandle:
    """Removes one hook when asked, or at the end of a ``with`` block.

    ``hooks_dict``: the OrderedDict that holds the hook under this handle's ``id``.
    ``extra_dict``: an OrderedDict, or a list of them, whose entry under the same ``id`` goes with the hook.

    Both are held weakly: a handle does not keep a tensor or module alive.

    >>> hooks = OrderedDict()
    >>> handle = RemovableHandle(hooks)
    >>> hooks[handle.id] = print
    >>> handle.remove()
    >>> len(hooks)
    0
    """

    id: int
    next_id: int = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        with _counting:
            self.id = RemovableHandle.next_id
            RemovableHandle.next_id += 1
        extras = extra_dict if isinstance(extra_dict, list) else [] if extra_dict is None else [extra_dict]
        self.extra_dict_ref = tuple(weakref.ref(extra) for extra in extras)

    def remove(self) -> None:
        """Take the hook out; a second call does nothing."""
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = ref()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> tuple:
        return self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref)

    def __setstate__(self, state: tuple) -> None:
        hooks, self.id, extras = state
        # a hooks dictionary that was already gone when the handle was pickled leaves a dead reference
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks is None else hooks)
        self.extra_dict_ref = tuple(weakref.ref(OrderedDict() if extra is None else extra) for extra in extras)
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.remove()
