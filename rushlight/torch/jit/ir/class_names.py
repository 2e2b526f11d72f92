"""Names of the classes of a program: `__torch__.torch.nn.modules.linear.Linear`, one for each module."""

from __future__ import annotations

from typing import Any

__all__ = ["ClassNames", "is_script", "qualified_name"]


def is_script(module: Any) -> bool:
    """Whether a module runs as Python and has a graph of its source besides: `torch.jit.script` gives such modules."""
    return getattr(module, "_is_script", False)


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


class ClassNames:
    """Gives each module a name of its own."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._kept: list[Any] = []
        self._taken: set[str] = set()
        self._mangled = 0

    def of(self, module: Any) -> str:
        """The name of a module's class; the second module of a class gets another."""
        if is_script(module) and "_class_name" in module.__dict__:  # a script has its name
            self._taken.add(module._class_name)
            return module._class_name
        if id(module) not in self._names:
            self._names[id(module)] = self._free(qualified_name(type(module)))
            self._kept.append(module)
        return self._names[id(module)]

    def _free(self, name: str) -> str:
        path, _, last = name.rpartition(".")
        while name in self._taken:
            name = f"{path}.___torch_mangle_{self._mangled}.{last}"
            self._mangled += 1
        self._taken.add(name)
        return name
