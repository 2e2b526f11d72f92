"""The order of the folders, and who imports whom: a layer imports only from those before it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent / "rushlight"
LAYERS = (
    "core", "ops", "sparse", "backend", "amp", "autograd", "compile", "nn", "fx", "distributions", "optim", "utils", "func",
    "serialization", "distributed", "doctor", "testing", "torch", "alias", "cli",
)  # fmt: skip
ABOVE_ALL = len(LAYERS)  # the package itself: its __init__ shows the public names of all layers


def files() -> list[str]:
    """The paths of all Python files below the package."""
    return sorted(p.relative_to(ROOT).as_posix() for p in ROOT.rglob("*.py"))


def layer_of(parts: tuple[str, ...]) -> int:
    """The place in `LAYERS` of a module's path below the package."""
    return LAYERS.index(parts[0]) if parts and parts[0] in LAYERS else ABOVE_ALL


def imported(nodes: Iterable[ast.AST], package: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """(line, module path below rushlight) of every import of the package's own modules, also of those named in strings.

    nodes: all of a file's, as `ast.walk` gives them.
    """
    for node in nodes:
        if isinstance(node, ast.Import):
            for a in node.names:
                if a.name.split(".")[0] == "rushlight":
                    yield node.lineno, tuple(a.name.split(".")[1:])
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                base = package[: len(package) - node.level + 1]
                path = base + tuple((node.module or "").split(".")) if node.module else base
            elif (node.module or "").split(".")[0] == "rushlight":
                path = tuple((node.module or "").split(".")[1:])
            else:
                continue
            for a in node.names:
                yield node.lineno, path if path and path[0] in LAYERS else (*path, a.name)
        elif (text := _looked_up(node)) and text.split(".")[0] == "rushlight":
            yield getattr(node, "lineno", 0), tuple(filter(None, text.split(".")[1:]))


def _looked_up(node: ast.AST) -> str | None:
    """The string in `import_module("...")`, `sys.modules["..."]` and `sys.modules.get("...")`."""
    if isinstance(node, ast.Call) and node.args:
        text = node.args[0]
        if getattr(node.func, "attr", getattr(node.func, "id", "")) not in ("import_module", "get", "find_spec"):
            return None  # `unparse` takes most of the time
        if not ast.unparse(node.func).endswith(("import_module", "sys.modules.get", "find_spec")):
            return None
    elif (
        isinstance(node, ast.Subscript)
        and getattr(node.value, "attr", "") == "modules"
        and ast.unparse(node.value) == "sys.modules"
    ):
        text = node.slice
    else:
        return None
    while isinstance(text, ast.BinOp):
        text = text.left
    return text.value if isinstance(text, ast.Constant) and isinstance(text.value, str) else None
