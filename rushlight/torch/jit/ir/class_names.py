"""Names of the classes of a program: `__torch__.torch.nn.modules.linear.Linear`, one for each module."""

from __future__ import annotations

from itertools import count
from typing import Any

__all__ = ["TRACED", "ClassNames", "Taken", "has_graphs", "is_script", "qualified_name"]


def is_script(module: Any) -> bool:
    """Whether a module runs as Python and has a graph of its source besides: `torch.jit.script` gives such modules."""
    return getattr(module, "_is_script", False)


def has_graphs(module: Any) -> bool:
    """Whether a module is a script or a program: a trace calls the graphs that it has."""
    return is_script(module) or "_methods" in module.__dict__


def qualified_name(obj: Any) -> str:
    """torch's name for a class or function in a program."""
    name = getattr(obj, "__name__", type(obj).__name__)
    name = name.replace("<lambda>", "_lambda")
    module = (getattr(obj, "__module__", None) or "__main__").replace("<", "_").replace(">", "_")
    if module == "__main__":
        return f"__torch__.{name}"
    first, _, rest = module.partition(".")
    path = f"torch.{rest}" if first == "rushlight" else module
    return f"__torch__.{path}.{name}"


class Taken:
    """The names that classes have already, and how many others were made to be different."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.mangled = count()


TRACED = Taken()
"""Those of all traced modules: each trace makes classes of its own."""


class ClassNames:
    """Gives each module a name of its own."""

    def __init__(self, taken: Taken | None = None) -> None:
        self._names: dict[int, str] = {}
        self._kept: list[Any] = []
        self._taken = Taken() if taken is None else taken

    def give(self, module: Any) -> None:
        """Name a module after those inside, in torch's order."""
        for child in module.children():
            self.give(child)
        self.of(module)

    def of(self, module: Any) -> str:
        """The name of a module's class; the second module of a class gets another."""
        if has_graphs(module) and "_class_name" in module.__dict__:  # a script or program has its name
            self._taken.names.add(module._class_name)
            return module._class_name
        if id(module) not in self._names:
            self._names[id(module)] = self._free(qualified_name(type(module)))
            self._kept.append(module)
        return self._names[id(module)]

    def _free(self, name: str) -> str:
        path, _, last = name.rpartition(".")
        while name in self._taken.names:
            name = f"{path}.___torch_mangle_{next(self._taken.mangled)}.{last}"
        self._taken.names.add(name)
        return name
