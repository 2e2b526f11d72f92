"""A list and a dictionary of parameters; both may hold other values too, which are kept as they are."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, KeysView, Mapping
from typing import Any, Self

from rushlight.core.tensor.legacy_types import typename
from rushlight.core.tensor.tensor import Tensor
from rushlight.nn.parameter import Parameter

from .container import _pairs
from .module import Module

__all__ = ["ParameterDict", "ParameterList"]


def _adopt(value: Any) -> Any:
    """A plain tensor becomes a parameter."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _describe(label: Any, value: Any, element: str) -> str:
    """The line printed for one member; ``element`` says what a tensor holds."""
    if not isinstance(value, Tensor):
        return f"  ({label}): Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(str(extent) for extent in value.size())
    return f"  ({label}): {kind} containing: [{element} of size {size}]"


class ParameterList(Module):
    """A list of parameters, all registered; tensors that are put in become parameters.

    Shape: tensors (*), ... -> the same

    >>> ParameterList([ones(2)])[0].requires_grad
    True
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _key(self, idx: int) -> str:
        position = operator.index(idx)
        if not -len(self) <= position < len(self):
            raise IndexError(f"index {position} is out of range")
        return str(position % len(self))

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(self[position] for position in range(*idx.indices(len(self))))
        return getattr(self, self._key(idx))

    def __setitem__(self, idx: int, param: Any) -> None:
        setattr(self, self._key(idx), _adopt(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[position] for position in range(len(self)))

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def append(self, value: Any) -> ParameterList:
        """Add a value at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add values at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(_describe(n, p, str(getattr(p, "dtype", ""))) for n, p in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary of parameters in order of insertion, all registered; tensors that are put in become parameters.

    `parameters`: pairs of name and value, or a mapping; a plain mapping is taken in order of its names.

    Shape: tensors (*) by name -> the same

    >>> list(ParameterDict({"w": ones(2)}))
    ['w']
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, _require_name(key))

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[_require_name(key)] = None
        setattr(self, key, _adopt(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """A new dictionary of the same values."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of a name; if there is none, put the default there first."""
        if key not in self:
            self[key] = default
        return self[key]

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a name, or the default."""
        if key not in self:
            return default
        return self[key]

    def pop(self, key: str) -> Any:
        """Take out and return the value of a name."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Take out and return the last name and value."""
        if not self._keys:
            raise KeyError("popitem(): dictionary is empty")
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def clear(self) -> None:
        """Take out everything."""
        for key in list(self._keys):
            del self[key]

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new dictionary with the default under each name."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._keys.keys()

    def values(self) -> Iterator[Any]:
        """The values."""
        return (self[key] for key in self._keys)

    def items(self) -> Iterator[tuple[str, Any]]:
        """The pairs of name and value."""
        return ((key, self[key]) for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add or replace values, from a mapping or from pairs of name and value."""
        if isinstance(parameters, (OrderedDict, ParameterDict)):
            named = parameters.items()
        elif isinstance(parameters, Mapping):
            named = sorted(parameters.items())
        else:
            named = _pairs(parameters, "ParameterDict", "ParametersDict")
        for key, value in named:
            self[key] = value

    def __or__(self, other: Any) -> ParameterDict:
        merged = self.copy()
        merged.update(other)
        return merged

    def __ror__(self, other: Any) -> ParameterDict:
        merged = other.copy()
        merged.update(self)
        return merged

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self

    def extra_repr(self) -> str:
        return "\n".join(_describe(key, value, typename(value)) for key, value in self.items())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")


def _require_name(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(
            "Index given to ParameterDict cannot be used as a key as it is not a string "
            f"(type is '{type(key).__name__}')."
        )
    return key
