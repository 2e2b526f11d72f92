"""`python -m tools.map`: write the map of the folders into docs/index.md, from the folders' own docstrings."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

from .layers import LAYERS, ROOT

PAGE = Path(__file__).parent.parent / "docs" / "index.md"
START, END = "<!-- map: made by `python -m tools.map` -->", "<!-- end of the map -->"


def folder_map() -> str:
    """The layers from the lowest up, each with the first paragraph of its docstring, as Markdown."""
    lines = [_line(name) for name in LAYERS]
    return f"{START}\n" + "\n".join(lines) + f"\n{END}"


def _line(name: str) -> str:
    text = ast.get_docstring(ast.parse((ROOT / name / "__init__.py").read_text())) or ""
    first = " ".join(text.split("\n\n")[0].split())
    if not first:
        raise ValueError(f"rushlight/{name}/__init__.py has no docstring for the map")
    return textwrap.fill(f"- `{name}/`: {first}", 118, subsequent_indent="  ", break_long_words=False)


def with_map(page: str) -> str:
    """The page with today's map between the two marks."""
    before, _, rest = page.partition(START)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"{PAGE} has not the lines {START!r} and {END!r}")
    return before + folder_map() + after


if __name__ == "__main__":
    PAGE.write_text(with_map(PAGE.read_text()))
