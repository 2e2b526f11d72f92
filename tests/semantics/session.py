"""Sessions: statements and what they printed, as Python's prompt shows them.

    # view view_as                  the names that a section is about
    >>> x = torch.arange(4)
    >>> x.view(3)
    RuntimeError: shape '[3]' is invalid for input of size 4
    >>> x.cuda()  # apart: says more

`python tests/golden/make_semantics.py` runs the statements under torch and writes what they print. Where Rushlight prints
something else, the statement says why. Neither framework is imported here.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import io
import re
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["THEMES", "Section", "is_apart", "read", "repeat", "same", "shown"]

HERE = Path(__file__).parent
THEMES = sorted(path.stem for path in HERE.glob("*.txt"))


class Section(NamedTuple):
    names: tuple[str, ...]
    statements: list[tuple[str, str]]  # a statement and what it prints


def read(theme: str) -> list[Section]:
    sections: list[Section] = []
    for line in (HERE / f"{theme}.txt").read_text().splitlines():
        if line.startswith("# "):
            sections.append(Section(tuple(line[2:].split()), []))
        elif line.startswith(">>> "):
            sections[-1].statements.append((line[4:], ""))
        elif line.startswith("..."):
            statement, _ = sections[-1].statements.pop()
            sections[-1].statements.append((statement + "\n" + line[4:], ""))
        elif line.strip() and sections and sections[-1].statements:
            statement, said = sections[-1].statements.pop()
            sections[-1].statements.append((statement, (said + "\n" + line).strip("\n")))
    return sections


def repeat(torch: Any, section: Section) -> list[tuple[str, str]]:
    """The statements with what they print now."""
    torch.manual_seed(0)
    torch.set_warn_always(True)
    space = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "__name__": "__main__"}
    try:
        return [(statement, _run(statement, space)) for statement, _ in section.statements]
    finally:
        torch.set_warn_always(False)


def is_apart(statement: str) -> bool:
    return "# apart: " in statement


_SAID = re.compile(r"(\w*(?:Error|Warning|Exception)): (.*)")


def same(expected: str, found: str) -> bool:
    """Whether two prints are the same. A message has torch's first sentence; wrong arguments have words of their own."""
    a, b = of_this_python(expected).splitlines(), _SUGGESTION.sub("", found).splitlines()
    return len(a) == len(b) and all(x == y or _says(x, y) for x, y in zip(a, b, strict=True))


_SUGGESTION = re.compile(r"\. Did you mean '\w+'\?")
_ORDERED = re.compile(r"OrderedDict\((\[[^][]*\])\)")


def of_this_python(expected: str) -> str:
    """What Python 3.11 printed, as this one would: 3.12 shows an OrderedDict's items otherwise, 3.13 suggests similar names."""
    if sys.version_info < (3, 12):
        return expected
    return _ORDERED.sub(lambda found: f"OrderedDict({dict(ast.literal_eval(found[1]))!r})", expected)


def _says(expected: str, found: str) -> bool:
    a, b = _SAID.fullmatch(expected), _SAID.fullmatch(found)
    if a is None or b is None or a[1] != b[1]:
        return False
    first = a[2].split(". ")[0].rstrip(".")
    return "received an invalid combination of arguments" in first or first in b[2]


def _run(statement: str, space: dict[str, Any]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            exec(compile(ast.Interactive(ast.parse(statement).body), "<session>", "single"), space)
        except Exception as error:
            print(f"{type(error).__name__}: {str(error).strip() or '-'}".splitlines()[0])
        finally:
            if hasattr(builtins, "_"):
                delattr(builtins, "_")
    for warning in caught:
        said = str(warning.message).partition(" (Triggered internally")[0].strip()
        printed.write(f"{warning.category.__name__}: {said}".splitlines()[0] + "\n")
    lines = [line.rstrip() for line in printed.getvalue().splitlines()]
    return re.sub(r"0x[0-9a-f]{6,}", "0x...", "\n".join(line for line in lines if line))


def shown(names: tuple[str, ...], statements: list[tuple[str, str]]) -> str:
    """A section as its file has it."""
    lines = ["# " + " ".join(names)]
    for statement, said in statements:
        first, *others = statement.split("\n")
        lines += [f">>> {first}", *(f"... {line}".rstrip() for line in others)]
        lines += said.splitlines()
    return "\n".join(lines) + "\n"
