"""`python -m tools.libraries`: write the tables of docs/libraries.md from libraries.toml and the recorded numbers.

What the tests check has its versions and counts from tests/golden/libraries.json; what was run by hand, and what does not
work, is in libraries.toml alone.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["PAGE", "checked", "counts", "page"]

_ROOT = Path(__file__).parent.parent
PAGE = _ROOT / "docs" / "libraries.md"
_PROGRAMS = {
    "lightning": "lightning_trainer",
    "pytorch_optimizer": "optimizers",
    "timm": "timm_models",
    "torchmetrics": "metrics",
    "transformers": "transformers_models",
}  # libraries whose cases are a program of their own
_CASES = {
    "torch-geometric": "geometric",
    "transformers": "trainer",
    "vector-quantize-pytorch": "vector_quantize",
}  # the names of cases that are not their library's
_END = "<!-- end of the table -->"


def checked() -> dict[str, tuple[str, int]]:
    """The version and the number of cases of each library that the tests check."""
    golden = json.loads((_ROOT / "tests" / "golden" / "libraries.json").read_text())
    programs = golden["cases"]
    named = {name for program in programs.values() for name in program} - {"trainer"}
    found = {}
    for name, version in golden["versions"].items():
        own = programs.get(_PROGRAMS.get(name, ""), {})
        case = _CASES.get(name, name.replace("-", "_"))
        count = len(own) - ("pytorch_lightning" in own) + (case in programs["small_libraries"])
        found[name] = version, count or int(case in named)
    del found["torch"]
    return found


def _tables() -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """The name, the head and the rows of each table."""
    data: dict[str, Any] = tomllib.loads(Path(__file__).with_name("libraries.toml").read_text())
    counts = checked()
    rows = [[name, counts[name][0], str(counts[name][1]), text] for name, text in data["checked"].items()]
    yield "checked", ["library", "version", "cases", "what they do"], rows
    keys = ["library", "version", "run", "result"]
    yield "by_hand", ["library", "version", "what was run", "result"], [[r[k] for k in keys] for r in data["by_hand"]]
    yield "missing", ["what", "why"], [[r["what"], r["why"]] for r in data["missing"]]


def counts() -> tuple[int, int]:
    """How many libraries the tables name, and how many of them have numbers compared with torch's."""
    data: dict[str, Any] = tomllib.loads(Path(__file__).with_name("libraries.toml").read_text())
    compared = {_plain(name) for name in data["checked"]}
    run = set(compared)
    for row in data["by_hand"]:
        names = {_plain(name) for name in row["library"].split(",")}
        run |= names
        if "not compared" not in row["result"]:
            compared |= names
    return len(run), len(compared)


def _plain(name: str) -> str:
    return name.strip().lower().replace("_", "-")


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def page(text: str) -> str:
    """The page with today's tables between their marks."""
    for name, head, rows in _tables():
        before, start, rest = text.partition(f"<!-- {name}: made by `python -m tools.libraries` -->\n")
        _, end, after = rest.partition(_END)
        if not end:
            raise ValueError(f"{PAGE} has no marks for the table {name!r}")
        table = "\n".join([_line(head), "|" + "---|" * len(head), *map(_line, rows)])
        text = f"{before}{start}\n{table}\n\n{end}{after}"
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
