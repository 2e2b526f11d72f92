"""`python -m tools.house`: figures of the layout, of names and of declarations, each with the bound that CI holds it to.

A bound only ever goes down (of shares of docstrings: up). Exits with 1 where a figure is beyond its bound.
"""

from __future__ import annotations

import ast
import gc
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from .docstrings import classes, functions, has_errors, has_example, has_shapes, share
from .layers import ABOVE_ALL, LAYERS, ROOT, files, imported, layer_of

ENGINE = ("core", "ops", "backend", "autograd", "compile")
# words of a private dialect, for which an engineer of the field has a plain verb or a standard term
DIALECT = re.compile(
    r"torch's words|\banew\b|\bin rows\b|\bparts? from torch\b|\bnobody\b|\bwho asks\b|\bstands?\b(?!-in)|\bl(?:ie|ies|ay)\b"
    r"|\bshall\b|\bapart\b|\bbeside\b|\bof nobody\b|\bmay_look\b|\bprogram_from\b|\bIN_PASSES\b|\baskers\b|\b_DEAR\b",
    re.IGNORECASE,
)


class Figure(NamedTuple):
    """One line of the report: `value` may not exceed `bound` (with `at_least`: fall below it)."""

    name: str
    value: float
    bound: float
    goal: float
    at_least: bool = False

    def holds(self) -> bool:
        """Whether the bound is kept."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound


def figures() -> list[Figure]:
    """All figures of today's tree."""
    return [
        Figure("entries side by side in rushlight/", _entries(), 24, 24),
        Figure("entries in no layer", _outside_layers(), 0, 0),
        Figure("upward reaches, strings included", _upward(), 0, 0),
        Figure("files in the largest engine folder", _largest_folder(), 20, 20),
        Figure("`record: Any` in signatures", _untyped_records(), 0, 0),
        Figure("imports of own modules inside functions", _late_imports(), 51, 60),
        Figure("pyright rules switched off", _rules_off(), 0, 0),
        Figure("lines that pyright does not check, %", _unchecked(), 0.7, 5),
        Figure("uses of the private dialect's words", _dialect(), 4, 50),
        Figure("functions of tensors whose docstring has shapes, %", share(functions(), has_shapes), 98, 90, True),
        Figure("... errors, with a call that raises each, %", share(functions(), has_errors), 82, 60, True),
        Figure("... an executed example, %", share(functions(), has_example), 90, 50, True),
        Figure("layers, optimizers, distributions: with shapes, %", share(classes(), has_shapes), 96, 90, True),
        Figure("... errors, with a call that raises each, %", share(classes(), has_errors), 65, 60, True),
        Figure("... an executed example, %", share(classes(), has_example), 90, 50, True),
    ]


class _Facts(NamedTuple):
    """Of a file: the own modules that it imports, its imports inside functions, its parameters `record: Any`."""

    imports: list[tuple[str, ...]]
    late: int
    untyped: int


@cache
def _facts() -> dict[str, _Facts]:
    """Without the trees: while they are there, each collection of garbage takes as long as making one of them."""
    gc.disable()
    try:
        return {f: _facts_of(f) for f in files()}
    finally:
        gc.enable()


def _facts_of(file: str) -> _Facts:
    nodes = list(ast.walk(ast.parse((ROOT / file).read_text())))
    bodies = [n for n in nodes if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    lines = [(f.lineno, f.end_lineno or f.lineno) for f in bodies]
    own = [n for n in nodes if isinstance(n, ast.ImportFrom) and (n.level or (n.module or "").startswith("rushlight"))]
    arguments = [a for f in bodies for a in (*f.args.posonlyargs, *f.args.args, *f.args.kwonlyargs)]
    return _Facts(
        [target for _, target in imported(nodes, tuple(file.split("/")[:-1]))],
        sum(any(first <= n.lineno <= last for first, last in lines) for n in own),
        sum(a.arg == "record" and isinstance(a.annotation, ast.Name) and a.annotation.id == "Any" for a in arguments),
    )


def _entries() -> int:
    return sum(1 for p in ROOT.iterdir() if p.name != "__pycache__")


def _outside_layers() -> int:
    known = {*LAYERS, "__init__.py", "__main__.py", "__init__.pyi", "py.typed", "__pycache__"}
    return sum(1 for p in ROOT.iterdir() if p.name not in known)


def _upward() -> int:
    found = 0
    for file, facts in _facts().items():
        mine = layer_of(tuple(file.removesuffix(".py").split("/")))
        if mine < ABOVE_ALL and LAYERS[mine] not in ("torch", "alias", "cli"):
            found += sum(layer_of(target) > mine for target in facts.imports)
    return found


def _largest_folder() -> int:
    folders = [p for name in ENGINE for p in (ROOT / name, *(ROOT / name).rglob("*")) if p.is_dir()]
    return max(sum(1 for f in p.glob("*.py") if f.name != "__init__.py") for p in folders)


def _untyped_records() -> int:
    return sum(facts.untyped for facts in _facts().values())


def _late_imports() -> int:
    return sum(facts.late for facts in _facts().values())


def _settings() -> dict:
    return tomllib.loads((ROOT.parent / "pyproject.toml").read_text())["tool"]["pyright"]


def _rules_off() -> int:
    return sum(1 for name, value in _settings().items() if name.startswith("report") and value is False)


def _unchecked() -> float:
    settings = _settings()
    included = tuple(settings["include"])
    excluded = tuple(settings["exclude"])
    lines = {  # a file with a rule of its own switched off counts as not checked
        p: len(p.read_text().splitlines())
        for root in (ROOT, ROOT.parent / "rushlight_vision")
        for p in root.rglob("*.py")
    }
    checked = 0
    for path, n in lines.items():
        name = path.relative_to(ROOT.parent).as_posix()
        whole = name.startswith(included) and not name.startswith(excluded)
        checked += n if whole and not re.search(r"^# pyright: \w+=false", path.read_text(), re.MULTILINE) else 0
    return round(100 * (1 - checked / sum(lines.values())), 1)


def _prose(path: Path) -> Iterator[str]:
    """Docstrings, comments and other strings of a file; none where it has no word of the dialect at all."""
    text = path.read_text()
    if not DIALECT.search(text):
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            yield token.string


def _dialect() -> int:
    return sum(len(DIALECT.findall(text)) for f in files() for text in _prose(ROOT / f))


def main() -> int:
    """Print the figures; 1 if one is beyond its bound."""
    found = figures()
    width = max(len(f.name) for f in found)
    print(f"{'figure':{width}}   today   bound   goal")
    for f in found:
        print(f"{f.name:{width}} {f.value:7g} {f.bound:7g} {f.goal:6g}{'' if f.holds() else '   BEYOND THE BOUND'}")
    return 0 if all(f.holds() for f in found) else 1


if __name__ == "__main__":
    sys.exit(main())
