"""The result of a captured call, opened down to its tensors: containers, and objects of the program's own classes.

A replay runs no constructor. It makes an object of the same class and puts the same attributes, slots and items into it. That
gives what the call gives where the object is made in the call and handed over with the result: nothing else refers to it
(`_kept_elsewhere` counts references), and its class neither keeps state in C nor says what its end does. Any other
object is a leaf, which two captured calls must have in common.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter, OrderedDict, deque
from functools import lru_cache
from struct import calcsize
from types import BuiltinFunctionType, MemberDescriptorType
from typing import Any
from weakref import getweakrefcount

from ...core.dispatch.extension_points import module_class
from ...core.tensor.tensor import Tensor
from .sources import CaptureError
from .structure import Opened, Slot

__all__ = ["flatten_result", "leaves_of", "may_change"]

_BASES = (OrderedDict, dict, list, object)  # the classes of C whose items are known; OrderedDict is a dict
_LIBRARIES = frozenset(("rushlight", "rushlight_vision", "torch", "torchvision", "numpy"))
_MADE_BY_US = ("rushlight.distributions", "torch.distributions")  # plain Python, which models return
_MOST = 4096  # objects of one result


class Instance(Opened):
    """An object in a template. keys: the names of its attributes, of its slots, and its keys as a dict."""

    __slots__ = ()

    def build(self, items: list) -> Any:
        """The object with these attributes, slots and items, in this order."""
        kind, (names, slots, keys) = self.kind, self.keys
        base = _base(kind)
        made = base.__new__(kind)
        if names:
            object.__getattribute__(made, "__dict__").update(zip(names, items, strict=False))
        at = len(names)
        for name in slots:
            _slots(kind)[name].__set__(made, items[at])
            at += 1
        if base is list:
            list.extend(made, items[at:])
        elif base is not object:
            put = base.__setitem__
            for key, item in zip(keys, items[at:], strict=True):
                put(made, key, item)
        return made


class _Opening:
    """One walk through a result. opened: what was opened, by identity; kept: what has to be a leaf."""

    def __init__(self, leaves: list, kept: set[int]):
        self.leaves, self.kept = leaves, kept
        self.opened: dict[int, tuple[Any, Opened]] = {}
        self.open: set[int] = set()  # around what is looked at

    def template(self, value: Any) -> Any:
        """The template of a value, whose leaves are appended."""
        known = self.opened.get(id(value))
        if known is not None:
            return self._again(known[1])
        found = None if id(value) in self.kept else _parts(value)
        if found is None:
            self.leaves.append(value)
            return Slot(len(self.leaves) - 1)
        if len(self.opened) >= _MOST:
            raise CaptureError(f"the result consists of more than {_MOST} objects")
        cls, keys, items = found
        node = cls(type(value), keys, [], len(self.opened))
        self.opened[id(value)] = value, node
        self.open.add(node.number)
        node.items = [self.template(item) for item in items]
        self.open.discard(node.number)
        return node

    def _again(self, node: Opened) -> Opened:
        if node.number in self.open:
            raise CaptureError("a container or object of the result refers to itself; return its parts")
        node.is_shared = True
        return node


def flatten_result(box: list, leaves: list) -> Any:
    """Append the leaves of a call's result to `leaves`, and return its template. What appears twice is one node.

    box: a list with the result, to which nothing else refers: not a variable, not another list.
    """
    opening = _Opening(leaves, set())
    template = opening.template(box)
    kept = _kept_elsewhere(opening.opened, box)
    if kept:
        leaves.clear()
        template = _Opening(leaves, kept).template(box)
    return template.items[0]


def leaves_of(template: Any, value: Any) -> list:
    """The leaves of a value that is made like the one that `template` is of."""
    leaves: list = []
    done: set[int] = set()
    stack = [(template, value)]
    while stack:
        node, value = stack.pop()
        if type(node) is Slot:
            leaves.append((node.index, value))
        elif id(node) not in done:
            done.add(id(node))
            found = _parts(value)
            if found is None or type(value) is not node.kind or found[1] != node.keys:
                raise ValueError(f"a {type(value).__name__} in place of a {node.kind.__name__}")
            stack += zip(node.items, found[2], strict=True)
    return [value for _, value in sorted(leaves, key=_index)]


def _index(pair: tuple) -> int:
    return pair[0]


def _parts(value: Any) -> tuple[Any, Any, list] | None:
    """The class of a template's node, its keys and the items; None for a leaf."""
    kind: Any = type(value)
    if kind is tuple or kind is list or (isinstance(value, tuple) and hasattr(kind, "_fields")):
        return Opened, None, list(value)
    if kind is dict:
        table: Any = value
        return Opened, tuple(table), list(table.values())
    if not _may_be_opened(kind):
        return None
    attributes = _attributes(value)
    found = {name: slot for name, slot in _slots(kind).items() if _has(slot, value)}
    items = [*attributes.values(), *(slot.__get__(value) for slot in found.values())]
    keys: tuple = ()
    if isinstance(value, dict):
        base = _base(kind)
        keys = tuple(base.__iter__(value))
        items += base.values(value)
    elif isinstance(value, list):
        items += list.__iter__(value)
    return Instance, (tuple(attributes), tuple(found), keys), items


def _attributes(value: Any) -> dict[str, Any]:
    try:
        return object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}


def _has(slot: Any, value: Any) -> bool:
    try:
        slot.__get__(value)
    except AttributeError:
        return False
    return True


@lru_cache(maxsize=1024)
def _may_be_opened(kind: type) -> bool:
    """Whether all that an object of this class is can be read and put into a new one."""
    if kind is OrderedDict:
        return True
    if issubclass(kind, (Tensor, BaseException, type, module_class.value or Tensor)):
        return False
    if kind.__module__.partition(".")[0] in _LIBRARIES and not kind.__module__.startswith(_MADE_BY_US):
        return False
    of_c = [c for c in kind.__mro__ if not _is_python(c)]
    if not set(of_c) <= {*_BASES} or of_c[0] is kind or any("__del__" in vars(c) for c in kind.__mro__):
        return False
    room = len(_slots(kind)) + 2  # with the pointers to attributes and to weak references
    return kind.__basicsize__ <= _base(kind).__basicsize__ + room * _POINTER


def _is_python(c: type) -> bool:
    """Whether a class was made by a class statement."""
    made_by = vars(c).get("__new__")
    return bool(c.__flags__ & _HEAP) and not c.__flags__ & _IMMUTABLE and not isinstance(made_by, BuiltinFunctionType)


_HEAP, _IMMUTABLE = 1 << 9, 1 << 8  # Py_TPFLAGS_HEAPTYPE, Py_TPFLAGS_IMMUTABLETYPE
_POINTER = calcsize("P")


@lru_cache(maxsize=1024)
def _base(kind: type) -> Any:
    return next(c for c in _BASES if issubclass(kind, c))


@lru_cache(maxsize=1024)
def _slots(kind: type) -> dict[str, Any]:
    """The slots of a class, by name."""
    found: dict[str, Any] = {}
    for c in reversed(kind.__mro__):
        found |= {k: v for k, v in vars(c).items() if isinstance(v, MemberDescriptorType)}
    return found


def _kept_elsewhere(opened: dict[int, tuple[Any, Opened]], box: list) -> set[int]:
    """The identities of the lists, dicts and objects of a result to which something else refers as well."""
    if all(type(o) is tuple or o is box for o, _ in opened.values()):
        return set()
    inside = Counter([id(item) for o, _ in opened.values() for item in _items(o)])
    kept = _referred_to(opened, inside)
    if kept - {id(box)}:
        gc.collect()  # a cycle that nothing leads to may still refer to them
        kept = _referred_to(opened, inside)
    kept.discard(id(box))
    for i in opened:  # around what is in it
        if i in kept and type(opened[i][0]) is tuple:
            kept.update(j for j in map(id, opened[i][0]) if j in opened)
    return {i for i in kept if not isinstance(opened[i][0], tuple)}


def _referred_to(opened: dict[int, tuple[Any, Opened]], inside: Counter[int]) -> set[int]:
    """The identities of what has more references than those inside of the result, or is weakly known."""
    sample = {0: ([],)}
    nothing = sys.getrefcount(sample[0][0])
    return {i for i in opened if sys.getrefcount(opened[i][0]) != nothing + inside[i] or _is_weakly_known(opened[i][0])}


def _items(o: Any) -> list:
    found = _parts(o)
    assert found is not None  # it was opened
    return found[2]


def _is_weakly_known(o: Any) -> bool:
    try:
        return getweakrefcount(o) > 0
    except TypeError:
        return False


def may_change(leaf: Any) -> bool:
    """Whether a leaf is a container or an object of the program's: a replay gives it only if it is the same one each time."""
    return isinstance(leaf, (list, dict, set, bytearray, deque)) or _may_be_opened(type(leaf))
