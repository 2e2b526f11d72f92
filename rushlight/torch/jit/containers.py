"""`torch.jit.script` of a list or a dictionary: containers of one element type, which scripts and Python share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...core.tensor.tensor import Tensor
from .scripting import Error

__all__ = ["ScriptDict", "ScriptList"]

_PLAIN = (bool, int, float, complex, str)


def _kind_of(value: Any) -> Any:
    """The type of a value as scripts distinguish types: a class, or a name with those of the elements."""
    if isinstance(value, Tensor):
        return Tensor
    if isinstance(value, (list, ScriptList)):
        return ("List", *_common(value, "list", "List inputs to traced functions must have consistent element type."))
    if isinstance(value, (dict, ScriptDict)):
        words = "Dictionary inputs to traced functions must have consistent {} type."
        keys = _common(value, "dict", words.format("key"))
        return ("Dict", *keys, *_common([value[k] for k in value], "dict", words.format("value")))
    if isinstance(value, tuple):
        return ("Tuple", *map(_kind_of, value))
    return type(value)


def _common(values: Iterable[Any], container: str, rule: str) -> tuple:
    kinds = list(dict.fromkeys(_kind_of(v) for v in values))
    others = [k for k in kinds if k is not type(None)]
    if len(others) > 1:
        raise Error(f"Unable to infer type of {container}: {rule} Found {_word(others[0])} and {_word(others[1])}")
    return tuple(sorted(kinds, key=lambda k: k is type(None)))


def _word(kind: Any) -> str:
    if isinstance(kind, tuple):
        return f"{kind[0]}[{', '.join(map(_word, kind[1:]))}]"
    return kind.__name__


def _shown(value: Any) -> str:
    """Text without quotation marks, as in torch."""
    if isinstance(value, (list, ScriptList)):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, (dict, ScriptDict)):
        return f"{{{', '.join(f'{_shown(k)}: {_shown(value[k])}' for k in value)}}}"
    return str(value)


def _made(value: Any) -> Any:
    if isinstance(value, list):
        return ScriptList(value)
    return ScriptDict(value) if isinstance(value, dict) else value


def _check(value: Any, kinds: tuple, what: str) -> None:
    if kinds and _kind_of(value) not in kinds:
        raise TypeError(
            f"{what} of a {' or '.join(map(_word, kinds))} cannot hold {value!r}, a {_word(_kind_of(value))}"
        )


class ScriptList:
    """A list whose elements have one type: another raises TypeError. It equals only itself."""

    __module__ = "torch"

    def __init__(self, elements: Iterable[Any] = ()):
        elements = list(elements)
        self._kinds = _kind_of(elements)[1:]
        self._elements = [_made(v) for v in elements]

    def __getitem__(self, index: Any) -> Any:
        found = self._elements[index]
        return ScriptList(found) if isinstance(index, slice) else found

    def __setitem__(self, index: Any, value: Any) -> None:
        for v in value if isinstance(index, slice) else [value]:
            _check(v, self._kinds, "a ScriptList")
        self._elements[index] = [_made(v) for v in value] if isinstance(index, slice) else _made(value)

    def __delitem__(self, index: Any) -> None:
        del self._elements[index]

    def __len__(self) -> int:
        return len(self._elements)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._elements)

    def __contains__(self, value: Any) -> bool:
        return value in self._elements

    def __repr__(self) -> str:
        return _shown(self)

    def append(self, value: Any) -> None:
        """Add an element at the end."""
        self.insert(len(self), value)

    def insert(self, index: int, value: Any) -> None:
        """Put an element before an index."""
        _check(value, self._kinds, "a ScriptList")
        self._elements.insert(index, _made(value))

    def extend(self, values: Iterable[Any]) -> None:
        """Add elements at the end."""
        for value in values:
            self.append(value)

    def pop(self, index: int = -1) -> Any:
        """Remove an element and return it."""
        return self._elements.pop(index)

    def remove(self, value: Any) -> None:
        """Remove the first element that equals a value."""
        self._elements.remove(value)

    def count(self, value: Any) -> int:
        """How many elements equal a value."""
        return self._elements.count(value)

    def clear(self) -> None:
        """Remove all elements."""
        self._elements.clear()


class ScriptDict:
    """A dictionary whose keys have one type, and whose values have one: others raise TypeError. It equals only itself."""

    __module__ = "torch"

    def __init__(self, items: dict[Any, Any] | None = None):
        items = dict(items or {})
        kinds = _kind_of(items)[1:]
        self._key_kind, self._kinds = kinds[:1], kinds[1:]
        self._items = {k: _made(v) for k, v in items.items()}

    def __getitem__(self, key: Any) -> Any:
        return self._items[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        _check(key, self._key_kind, "the keys of a ScriptDict")
        _check(value, self._kinds, "a ScriptDict")
        self._items[key] = _made(value)

    def __delitem__(self, key: Any) -> None:
        del self._items[key]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __contains__(self, key: Any) -> bool:
        return key in self._items

    def __repr__(self) -> str:
        return _shown(self)

    def keys(self) -> Any:
        """The keys."""
        return self._items.keys()

    def items(self) -> Any:
        """Keys with their values."""
        return self._items.items()
