"""Where in the user's program something happens: taken as a code object and an offset, resolved to lines only when shown.

A place means the whole innermost statement: `loss = (a +\\n b)` is one place, whichever of its lines was running.
"""

from __future__ import annotations

import ast
import linecache
import os
import site
import sys
import sysconfig
from functools import cache
from types import CodeType, FrameType

from ..core import own_code

__all__ = ["Place", "here", "source_line", "statement"]


class Place:
    """A line of the program. There is one object for each code object and offset, so places compare by identity."""

    __slots__ = ("code", "offset", "_line")

    def __init__(self, code: CodeType, offset: int) -> None:
        self.code, self.offset = code, offset
        self._line = 0

    @property
    def file(self) -> str:
        """The absolute path of the source file, or the name that Python gives to code without one."""
        return absolute(self.code.co_filename)

    @property
    def function(self) -> str:
        """The name of the function, '<module>' outside of one."""
        return self.code.co_qualname

    @property
    def line(self) -> int:
        """The first line of the statement."""
        return self.extent[0]

    @property
    def end_line(self) -> int:
        """The last line of the statement."""
        return self.extent[1]

    @property
    def extent(self) -> tuple[int, int]:
        """The first and the last line of the innermost statement."""
        if not self._line:
            self._line = _line_at(self.code, self.offset)
        return statement(self.code.co_filename, self._line)

    @property
    def text(self) -> str:
        """The first line of the statement, without its indentation; empty where there is no source."""
        return source_line(self.code.co_filename, self.line).strip()

    def __repr__(self) -> str:
        return f"{self.file}:{self.line}"


def _line_at(code: CodeType, offset: int) -> int:
    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= offset < end and number is not None:
            line = number
    return line


def absolute(name: str) -> str:
    """A source file's absolute path; names such as '<stdin>' stay."""
    return name if name.startswith("<") else os.path.abspath(name)


_places: dict[tuple[CodeType, int], Place] = {}


def place_of(code: CodeType, offset: int) -> Place:
    """The one place of a code object and an offset in it."""
    key = code, offset
    found = _places.get(key)
    if found is None:
        found = _places[key] = Place(code, offset)
    return found


def here(depth: int = 1) -> Place | None:
    """The innermost running statement of the program: neither this package's nor, if there is another, a library's."""
    frame: FrameType | None = sys._getframe(depth)
    library: FrameType | None = None
    while frame is not None:
        kind = _kind(frame.f_code.co_filename)
        if kind == "program":
            return place_of(frame.f_code, frame.f_lasti)
        if kind == "own":
            library = None  # called by this package, such as contextlib
        elif library is None:
            library = frame
        frame = frame.f_back
    return None if library is None else place_of(library.f_code, library.f_lasti)


@cache
def _kind(name: str) -> str:
    """Whose code a file holds: 'own', 'library' or 'program'."""
    if name.startswith(own_code.FILES):
        return "own"
    if name.startswith("<frozen ") or absolute(name).startswith(_LIBRARIES):
        return "library"
    return "program"


def _libraries() -> tuple[str, ...]:
    paths = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    paths.update([*site.getsitepackages(), site.getusersitepackages()] if hasattr(site, "getsitepackages") else [])
    return tuple(os.path.join(path, "") for path in paths if path)


_LIBRARIES = _libraries()


# ------------------------------------------------------------------------------------------------- statements


def source_line(file: str, line: int) -> str:
    """A line of a file as Python has read it, without the line break; empty where there is none."""
    return linecache.getline(file, line).rstrip("\n")


def statement(file: str, line: int) -> tuple[int, int]:
    """The first and last line of the innermost statement at a line; of `if`, `for`, `with` and `def` only the head."""
    return _extents(file).get(line, (line, line))


@cache
def _extents(file: str) -> dict[int, tuple[int, int]]:
    lines = linecache.getlines(file)
    found: dict[int, tuple[int, int]] = {}
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return found
    for node in ast.walk(tree):  # outer statements come first: inner ones write over them
        if not isinstance(node, ast.stmt):
            continue
        body = getattr(node, "body", None)
        first, last = node.lineno, node.end_lineno or node.lineno
        if isinstance(body, list) and body:
            last = max(first, body[0].lineno - 1 - len(getattr(body[0], "decorator_list", ())))
        for number in range(first, last + 1):
            found[number] = first, last
    return found


@cache
def parsed(file: str) -> ast.Module | None:
    """The syntax tree of a file of the program; None where there is no source."""
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return None
