"""Modules that hold modules: a chain, a list, a dictionary."""

from __future__ import annotations

import operator
import warnings
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from itertools import chain
from typing import Any, Self

from .module import Module, _addindent

__all__ = ["Container", "ModuleDict", "ModuleList", "Sequential"]


class Container(Module):
    """A module with the given submodules; torch deprecates it in favour of `Module`."""

    def __init__(self, **kwargs: Module) -> None:
        super().__init__()
        warnings.warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. Subclass that "
            "instead.",
            FutureWarning,
            stacklevel=2,
        )
        for name, module in kwargs.items():
            self.add_module(name, module)


class _Numbered(Module):
    """What `Sequential` and `ModuleList` share: submodules by position, named by their position unless named."""

    _modules: dict[str, Module]

    def _key(self, idx: int) -> str:
        """The name of the submodule at a position, which may count from the end."""
        position = operator.index(idx)
        if not -len(self) <= position < len(self):
            raise IndexError(f"index {position} is out of range")
        return list(self._modules)[position]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._key(idx), module)

    def __delitem__(self, idx: int | slice) -> None:
        for key in list(self._modules)[idx] if isinstance(idx, slice) else [self._key(idx)]:
            delattr(self, key)
        self._modules = {str(position): module for position, module in enumerate(self._modules.values())}

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def append(self, module: Module) -> Any:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: int | slice) -> Module:
        """Take out and return the module at a position, or the modules of a slice."""
        taken = self[key]  # type: ignore[index]
        del self[key]
        return taken

    def _make_room(self, index: int, module: Module) -> None:
        """Move every module from the index on one place up, and put this one there."""
        for position in range(len(self._modules), index, -1):
            self._modules[str(position)] = self._modules[str(position - 1)]
        self._modules[str(index)] = module


class Sequential(_Numbered):
    """The modules one after the other: each gets the result of the one before.

    Takes the modules as arguments, or one OrderedDict that names them. `a + b`, `a * n` and slices give new chains
    of the same modules.

    Shape: (*) -> (*), as the modules change it
    Raises:
        TypeError: an argument is no module, as in `Sequential(1)`.

    >>> Sequential(Module(), Module())[1:]
    Sequential(
      (1): Module()
    )
    """

    def __init__(self, *args: Module | OrderedDict[str, Any]) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            named = args[0].items()
        else:
            named: Any = ((str(position), module) for position, module in enumerate(args))
        for name, module in named:
            self.add_module(name, module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(OrderedDict(list(self._modules.items())[idx]))
        return self._modules[self._key(idx)]

    def __add__(self, other: Sequential) -> Sequential:
        _require_sequential(other)
        return Sequential(*self, *other)

    def __iadd__(self, other: Sequential) -> Self:
        _require_sequential(other)
        return self.extend(other)

    def __mul__(self, other: int) -> Sequential:
        self._require_factor(other)
        return Sequential(*list(self) * other)

    def __rmul__(self, other: int) -> Sequential:
        return self * other

    def __imul__(self, other: int) -> Self:
        self._require_factor(other)
        return self.extend(list(self) * (other - 1))

    def _require_factor(self, factor: int) -> None:
        if not isinstance(factor, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(factor)}")
        if factor <= 0:
            raise ValueError(f"Non-positive multiplication factor {factor} for {type(self)}")

    def insert(self, index: int, module: Module) -> Sequential:
        """Put a module at a position; those after it move up."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        self._make_room(index + len(self) if index < 0 else index, module)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add modules at the end."""
        for module in list(sequential):
            self.append(module)
        return self


def _require_sequential(other: Any) -> None:
    if not isinstance(other, Sequential):
        raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")


class ModuleList(_Numbered):
    """A list of modules, all registered. Runs of equal members are printed as one line, `(0-2): 3 x ...`.

    Shape: lists of modules; each (*) -> (*) by itself
    Raises:
        TypeError: a member is no module, as in `ModuleList([1])`.

    >>> len(ModuleList([nn.Linear(2, 2), nn.ReLU()]))
    2
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(list(self._modules.values())[idx])
        return self._modules[self._key(idx)]

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def insert(self, index: int, module: Module) -> None:
        """Put a module at a position; those after it move up."""
        self._make_room(index, module)

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def __repr__(self) -> str:
        if len(self) == 0:
            return f"{self._get_name()}()"
        runs: list[list[Any]] = []  # first position, last position, printed form
        for position, text in enumerate(map(repr, self)):
            if runs and runs[-1][2] == text:
                runs[-1][1] = position
            else:
                runs.append([position, position, text])
        lines = [_run_line(*run) for run in runs]
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


def _run_line(first: int, last: int, text: str) -> str:
    label = f"({first}): " if first == last else f"({first}-{last}): {last - first + 1} x "
    return _addindent(label + text, 2)


class ModuleDict(Module):
    """A dictionary of modules in order of insertion, all registered.

    `modules`: a mapping, or pairs of name and module.

    Shape: modules by name; each (*) -> (*) by itself
    Raises:
        TypeError: a value is no module, as in `ModuleDict({"a": 1})`.

    >>> list(ModuleDict({"a": nn.ReLU()}))
    ['a']
    """

    _modules: dict[str, Module]

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Take out all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Take out and return the module of this name."""
        return self._modules.pop(key)

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._modules.keys()

    def items(self) -> ItemsView[str, Module]:
        """The pairs of name and module."""
        return self._modules.items()

    def values(self) -> ValuesView[Module]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | ModuleDict) -> None:
        """Add or replace modules, from a mapping or from pairs of name and module."""
        named: Any = modules.items() if isinstance(modules, (Mapping, ModuleDict)) else _pairs(modules, "ModuleDict")
        for key, module in named:
            self[key] = module


def _pairs(pairs: Any, owner: str, called: str | None = None) -> Iterator[tuple[str, Any]]:
    """The pairs of an iterable, checked one by one."""
    if not isinstance(pairs, Iterable):
        raise TypeError(
            f"{called or owner}.update should be called with an iterable of key/value pairs, but got "
            f"{type(pairs).__name__}"
        )
    for position, pair in enumerate(pairs):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{owner} update sequence element #{position} should be Iterable; is {type(pair).__name__}")
        held: Any = pair
        if len(held) != 2:
            raise ValueError(f"{owner} update sequence element #{position} has length {len(held)}; 2 is required")
        yield held[0], held[1]
