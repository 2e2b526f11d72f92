"""A notebook of each lesson, from the lesson's own text: its Python blocks are cells, what they print is not copied."""

from __future__ import annotations

import json
import re
from pathlib import Path

SETUP = "import rushlight.alias\n\nrushlight.alias.install()  # `import torch` gives Rushlight from here on"
_FENCE = re.compile(r"^```(python|text)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)


def text(lesson: Path) -> str:
    """The notebook as JSON (nbformat 4.5)."""
    cells = [_cell("code", SETUP)]
    source, end = lesson.read_text(), 0
    for match in _FENCE.finditer(source):
        cells += _prose(source[end : match.start()], lesson)
        if match[1] == "python":
            cells.append(_cell("code", match[2].rstrip("\n")))
        end = match.end()
    cells += _prose(source[end:], lesson)
    cells.insert(0, cells.pop(1))  # the title first
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def _prose(part: str, lesson: Path) -> list[dict]:
    """A Markdown cell, or none. A fold cannot span cells, so an answer has a heading of its own; pictures go inside."""
    part = part.replace("<details><summary>Answer</summary>", "*Answer*").replace("</details>", "")
    part = re.sub(r"!\[([^\]]*)\]\(([^)]+)\)", lambda m: _picture(m, lesson), part)
    part = re.sub(r"\[([^\]]*)\]\(([^):]+\.md)[^)]*\)", r"\1", part)  # links to pages that a notebook has not with it
    return [_cell("markdown", part.strip())] if part.strip() else []


def _picture(match: re.Match, lesson: Path) -> str:
    return (lesson.parent / match[2]).read_text().strip()


def _cell(kind: str, source: str) -> dict:
    cell = {"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True)}
    return cell | ({"outputs": [], "execution_count": None} if kind == "code" else {})
