"""Where in the user's program something happens: taken as a code object and an offset, resolved to lines only when shown.

A place means the whole innermost statement: `loss = (a +\\n b)` is one place, whichever of its lines was running.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import re
import site
import sys
from collections.abc import Callable, Iterable
from functools import cache
from itertools import islice
from types import CodeType, FrameType
from typing import Any

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


_LATEST = 1024  # places that are found without hashing a code object, which takes longer than all the rest of `here`

# by file too: code objects of two files can be equal, since Python does not compare their files' names
_places: dict[tuple[str, CodeType, int], Place] = {}
_latest: dict[
    tuple[int, int], tuple[CodeType, Place]
] = {}  # by the identity of a code object, which the value keeps alive


def place_of(code: CodeType, offset: int) -> Place:
    """The one place of a code object and an offset in it."""
    known = _latest.get((id(code), offset))
    if known is not None:
        return known[1]
    key = code.co_filename, code, offset
    found = _places.get(key)
    if found is None:
        found = _places[key] = Place(code, offset)
    if len(_latest) >= _LATEST:
        _latest.clear()
    _latest[id(code), offset] = code, found
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


def caller_of(frame: FrameType | None, place: Place) -> Place | None:
    """The program's statement that called the running function of a place."""
    while frame is not None and frame.f_code is not place.code:
        frame = frame.f_back
    frame = None if frame is None else frame.f_back
    return place_of(frame.f_code, frame.f_lasti) if frame is not None and is_of_program(frame) else None


def place_of_error(error: BaseException) -> Place | None:
    """The program's innermost statement in an error's traceback."""
    found, link = None, error.__traceback__
    while link is not None:
        if is_of_program(link.tb_frame):
            found = place_of(link.tb_frame.f_code, link.tb_lasti)
        link = link.tb_next
    return found


def is_in_loop(frames: Iterable[tuple[FrameType, int]]) -> bool:
    """Whether one of some frames, each with its line, is in a loop of the program."""
    for frame, line in frames:
        tree = parsed(frame.f_code.co_filename) if is_of_program(frame) else None
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, (ast.For, ast.While)) and node.lineno < line <= (node.end_lineno or 0):
                return True
    return False


def is_caught_outside_loop(frame: FrameType | None, error: BaseException) -> bool:
    """Whether the innermost `try` of the program that catches an error is outside a loop that the error leaves."""
    left_loop = False
    while frame is not None:
        if is_of_program(frame):
            file, line, function = frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_firstlineno
            loops = _loops_at(file, line, function)
            caught = max((n for n, kinds in _tries_at(file, line, function) if _catches(kinds, error)), default=0)
            left_loop = left_loop or any(loop > caught for loop in loops)
            if caught:
                return left_loop
        frame = frame.f_back
    return False


@cache
def _tries_at(file: str, line: int, function: int) -> list[tuple[int, tuple[str, ...]]]:
    """The `try` statements of a function around a line: where each begins, and the names that it catches."""
    tree = parsed(file)
    return [
        (node.lineno, tuple(name for h in node.handlers for name in _names_in(h.type)))
        for node in (ast.walk(tree) if tree is not None else ())
        if isinstance(node, ast.Try) and function <= node.lineno and node.handlers
        if node.body[0].lineno <= line <= (node.body[-1].end_lineno or 0)
    ]


def _names_in(kind: ast.expr | None) -> list[str]:
    """The names of an `except`; of a bare one that of all errors."""
    if kind is None:
        return ["BaseException"]
    return [_last_name(part) for part in (kind.elts if isinstance(kind, ast.Tuple) else [kind])]


def _catches(kinds: tuple[str, ...], error: BaseException) -> bool:
    mine = {cls.__name__.lower() for cls in type(error).__mro__}
    return any(kind.lower() in mine for kind in kinds)


def own_code_called(depth: int) -> bool:
    """Whether the frame so many calls up is this package's own."""
    frame = sys._getframe(depth)
    return _kind(frame.f_code.co_filename) == "own"


def is_of_program(frame: FrameType) -> bool:
    """Whether a frame runs the program's own code."""
    return is_of_program_file(frame.f_code.co_filename)


def is_of_program_file(name: str) -> bool:
    """Whether a file holds the program's own code."""
    return _kind(name) == "program"


@cache
def is_own_class(cls: type) -> bool:
    """Whether a class is this package's own, by the files of its methods: under `import torch` its module has torch's name."""
    codes = [getattr(inspect.unwrap(f), "__code__", None) for f in vars(cls).values() if callable(f)]
    files = [code.co_filename for code in codes if code is not None]
    return _kind(files[0]) == "own" if files else cls.__module__.startswith(own_code.MODULES)


@cache
def _kind(name: str) -> str:
    """Whose code a file holds: 'own', 'library' or 'program'."""
    if name.startswith(own_code.FILES):
        return "own"
    if name.startswith("<frozen ") or absolute(name).startswith(_libraries()):
        return "library"
    return "program"


@cache
def _libraries() -> tuple[str, ...]:
    import sysconfig  # reads a file of 1 ms

    paths = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    paths.update([*site.getsitepackages(), site.getusersitepackages()] if hasattr(site, "getsitepackages") else [])
    return tuple(os.path.join(path, "") for path in paths if path)


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


# ------------------------------------------------------------------------------------------------- what a statement is

_MODES = ("no_grad", "inference_mode", "set_grad_enabled")


def no_grad_region(depth: int = 1) -> Place | None:
    """The running `with torch.no_grad():`, or the decorator of a running function, that surrounds the call."""
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None:
        name = frame.f_code.co_filename
        if _kind(name) == "program":
            line = _region_of(name, frame.f_lineno)
            if line:
                return place_in(frame.f_code, line)
        frame = frame.f_back
    return None


def is_with(place: Place) -> bool:
    """Whether a statement is a `with`."""
    return any(isinstance(node, (ast.With, ast.AsyncWith)) for node in statements_at(place))


class _LinePlace(Place):
    """A place known by its line only."""

    __slots__ = ()

    def __init__(self, code: CodeType, line: int) -> None:
        super().__init__(code, 0)
        self._line = line


_line_places: dict[tuple[str, CodeType, int], Place] = {}


def place_in(code: CodeType, line: int) -> Place:
    """The statement at a line of a function's file."""
    return _line_places.setdefault((code.co_filename, code, line), _LinePlace(code, line))


def place_at_line(like: Place, line: int) -> Place:
    """The statement at another line of a place's file."""
    return place_in(like.code, line)


@cache
def _region_of(file: str, line: int) -> int:
    """The line of the innermost `with` of a grad mode around a line, or of the decorator of its function; 0 without."""
    tree = parsed(file)
    found = 0
    for node in ast.walk(tree) if tree is not None else ():
        if not getattr(node, "lineno", line + 1) <= line <= (getattr(node, "end_lineno", None) or 0):
            continue
        if isinstance(node, ast.With) and any(_names_mode(item.context_expr) for item in node.items):
            found = max(found, node.lineno)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found = max([found, *(d.lineno for d in node.decorator_list if _names_mode(d))])
    return found


def _names_mode(node: ast.AST) -> bool:
    return any(
        (isinstance(n, ast.Attribute) and n.attr in _MODES) or (isinstance(n, ast.Name) and n.id in _MODES)
        for n in ast.walk(node)
    )


def rebinds(place: Place) -> bool:
    """Whether a statement gives a name a new value made of its old one: `w = w - lr * w.grad`."""
    for node in statements_at(place):
        if isinstance(node, ast.Assign):
            read = {_text(n) for n in ast.walk(node.value) if isinstance(n, (ast.Name, ast.Attribute, ast.Subscript))}
            for target in node.targets:
                parts = target.elts if isinstance(target, ast.Tuple) else [target]
                if any(_text(part) in read for part in parts):
                    return True
    return False


def written_in_place(function: Any) -> Place | None:
    """The first statement of a function of the program that writes into something: `x -= mean`, `x[0] = 1`, `x.sub_(mean)`."""
    code = getattr(inspect.unwrap(function), "__code__", None) if function is not None else None
    if code is None or not is_of_program_file(code.co_filename):
        return None
    tree = parsed(code.co_filename)
    found = []
    for node in ast.walk(tree) if tree is not None else ():
        if not isinstance(node, ast.stmt) or not _is_in(code, node.lineno):
            continue
        calls = [n.func for n in ast.walk(node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)]
        stores = [t for t in getattr(node, "targets", ()) if isinstance(t, ast.Subscript)]
        is_simple = isinstance(node, (ast.Assign, ast.Expr, ast.Return))
        if isinstance(node, ast.AugAssign) or stores or (is_simple and any(_is_in_place(f.attr) for f in calls)):
            found.append(node.lineno)
    return place_in(code, min(found)) if found else None


def keeps_records(place: Place) -> bool:
    """Whether a statement writes into an attribute that the rest of its function does not use: `self.seen[i] += 1`."""
    written: set[str] = set()
    for node in statements_at(place)[-1:]:
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Call)
            and isinstance(node.value.func, ast.Attribute)
        ):
            targets = [node.value.func.value]
        for target in targets:
            while isinstance(target, (ast.Subscript, ast.Call)):
                target = target.value if isinstance(target, ast.Subscript) else getattr(target.func, "value", None)
            if isinstance(target, ast.Attribute):
                written.add(target.attr)
    tree = parsed(place.code.co_filename)
    others = {
        node.attr
        for node in (ast.walk(tree) if tree is not None else ())
        if isinstance(node, ast.Attribute) and _is_in(place.code, node.lineno)
        and not place.line <= node.lineno <= place.end_line
    }  # fmt: skip
    return bool(written) and not written & others


def _is_in_place(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__") and name not in ("requires_grad_", "retain_grad_")


def names_given(place: Place) -> list[str]:
    """What a statement assigns to, as it is written: `self.w`."""
    targets = [t for n in statements_at(place) if isinstance(n, ast.Assign) for t in n.targets]
    return [ast.unparse(part) for t in targets for part in (t.elts if isinstance(t, ast.Tuple) else [t])]


@cache
def drops_loop_variable(place: Place) -> bool:
    """Whether a statement gives a loop's variable a new value that the loop does not use: `for p in ps: p = p - p.grad`."""
    tree, line = parsed(place.code.co_filename), place.line
    targets = [n.targets[0] for n in statements_at(place) if isinstance(n, ast.Assign)]
    if not targets or not isinstance(targets[0], ast.Name):
        return False
    name = targets[0].id
    for loop in ast.walk(tree) if tree is not None else ():
        if isinstance(loop, ast.For) and loop.lineno < line <= (loop.body[-1].end_lineno or 0):
            variables = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
            later = [n for s in loop.body for n in ast.walk(s) if isinstance(n, ast.Name) and n.lineno > place.end_line]
            if name in variables and all(n.id != name for n in later):
                return True
    return False


def _text(node: ast.AST) -> str:
    return ast.dump(node).replace("Store()", "Load()")


def statements_at(place: Place) -> list[ast.stmt]:
    """The syntax of the statements that begin at a place's line, outer ones first."""
    tree, line = parsed(place.code.co_filename), place.line
    return [n for n in ast.walk(tree) if isinstance(n, ast.stmt) and n.lineno == line] if tree is not None else []


def _surrounds(place: Place) -> Callable[[ast.AST | None], bool]:
    """Whether a node of the syntax has what a place's instruction means in it; none has where that is unknown."""
    positions = next(islice(place.code.co_positions(), place.offset // 2, None), None)
    first, last, column, end_column = (p or 0 for p in positions or (None,) * 4)

    def surrounds(node: Any) -> bool:
        if positions is None or node is None or (node.lineno, node.col_offset) > (first, column):
            return False
        return (last, end_column) <= (node.end_lineno or 0, node.end_col_offset or 0)

    return surrounds


@cache
def gradient_read(place: Place) -> str:
    """The name whose `.grad` the statement at a place reads: `self.w` of `self.w.data -= lr * self.w.grad`.

    Of several statements in one line that which is meant; empty where it reads none or several.
    """
    surrounds, tree = _surrounds(place), parsed(place.code.co_filename)
    around = [n for n in (ast.walk(tree) if tree is not None else ()) if isinstance(n, ast.stmt) and surrounds(n)]
    nodes = ast.walk(around[-1]) if around else ()  # the innermost comes last
    names = {ast.unparse(n.value) for n in nodes if isinstance(n, ast.Attribute) and n.attr == "grad"}
    return names.pop() if len(names) == 1 else ""


@cache
def returns(place: Place) -> bool:
    """Whether a statement's function returns what it makes, and does not train with it."""
    names, tree = names_given(place), parsed(place.code.co_filename)
    mine = [n for n in ast.walk(tree) if _is_in(place.code, getattr(n, "lineno", 0))] if tree is not None else []
    if any(isinstance(n, ast.Attribute) and n.attr in ("step", "backward") for n in mine):
        return False
    return any(
        isinstance(n, ast.Return) and n.value is not None and (n.lineno == place.line or ast.unparse(n.value) in names)
        for n in mine
    )


@cache
def is_expression(place: Place) -> bool:
    """Whether a statement only calls something, such as `print(...)`: it keeps no value."""
    found = statements_at(place)
    return bool(found) and isinstance(found[-1], ast.Expr)


def called_name(place: Place) -> str:
    """What the program calls at a place, without `self.`: `net` of `y = self.net(x)`; empty where it is no plain name.

    The variables of a running function are not looked at: Python would keep what they hold.
    """
    positions = next(islice(place.code.co_positions(), place.offset // 2, None), None)
    tree = parsed(place.code.co_filename)
    if positions is None or tree is None:
        return ""
    first, last, column, end = positions
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset) == (
            first,
            last,
            column,
            end,
        ):
            name = ast.unparse(node.func).removeprefix("self.")
            return name if re.fullmatch(r"[\w.]+", name) else ""
    return ""


@cache
def assigned_name(place: Place) -> str:
    """What the program calls the value that it makes at a place, without `self.`: `opt` of `self.opt = SGD(...)`.

    Of `a, b = SGD(...), SGD(...)` the name for this value; empty where it is no plain name.
    """
    surrounds, tree = _surrounds(place), parsed(place.code.co_filename)
    for node in ast.walk(tree) if tree is not None else ():
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or not surrounds(node.value):
            continue
        target: ast.AST = node.targets[-1] if isinstance(node, ast.Assign) else node.target
        if (
            isinstance(target, ast.Tuple)
            and isinstance(node.value, ast.Tuple)
            and len(target.elts) == len(node.value.elts)
        ):
            target = next(t for t, v in zip(target.elts, node.value.elts, strict=True) if surrounds(v))
        name = ast.unparse(target).removeprefix("self.")
        return name if re.fullmatch(r"[\w.]+", name) else ""
    return ""


def layer_made_within(place: Place, *kinds: str) -> Place | None:
    """Where the program makes the one layer of these kinds as a part of another: `nn.Sequential(nn.Linear(8, 2), nn.Softmax(1))`.

    None where the statement at the place names such an operator itself, or the layer has a name of its own.
    """
    text = "".join(source_line(place.code.co_filename, n).lower() for n in range(place.line, place.end_line + 1))
    tree = parsed(place.code.co_filename)
    if tree is None or any(kind in text for kind in kinds):
        return None
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and _last_name(n.func) in kinds]
    named = [n.value for n in ast.walk(tree) if isinstance(n, ast.Assign)]
    if len(calls) != 1 or any(n is calls[0] for n in named):
        return None
    return place_at_line(place, calls[0].lineno)


def call_with(place: Place, keyword: str, names: tuple[str, ...]) -> Place | None:
    """The call of one of these with such an argument, in a statement or alone in its function: `Bernoulli(logits=p)`."""
    tree = parsed(place.code.co_filename)
    calls = [
        node.lineno
        for node in (ast.walk(tree) if tree is not None else ())
        if isinstance(node, ast.Call) and _last_name(node.func) in names and _is_in(place.code, node.lineno)
        if any(k.arg == keyword for k in node.keywords)
    ]
    mine = [line for line in calls if place.line <= line <= place.end_line]
    found = mine or calls
    return place_at_line(place, found[0]) if len(set(found)) == 1 else None


def _last_name(node: ast.expr) -> str:
    return (node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")).lower()


_WRITTEN = {"pow": ast.Pow, "div": ast.Div, "sub": ast.Sub}


@cache
def lines_of_operator(file: str, name: str) -> list[int]:
    """The lines of a file at which an operator is called, as a function, a method or in symbols."""
    tree, symbol = parsed(file), _WRITTEN.get(name, ())
    return sorted(
        {
            node.lineno
            for node in (ast.walk(tree) if tree is not None else ())
            if (isinstance(node, ast.Call) and _last_name(node.func) == name)
            or (isinstance(node, ast.BinOp) and symbol and isinstance(node.op, symbol))
        }
    )


def only_place_of(name: str, like: Place) -> Place | None:
    """The one statement of the program, of all its files, that calls an operator; None where there are several."""
    found = [(file, line) for file in files_of_program(like.code.co_filename) for line in lines_of_operator(file, name)]
    if len({(file, *statement(file, line)) for file, line in found}) != 1:
        return None
    return place_in_file(like, *found[0])


def files_of_program(first: str) -> list[str]:
    """The program's files that are loaded; the first, which may have no module, before the others."""
    files = {f for m in list(sys.modules.values()) if isinstance(f := getattr(m, "__file__", None), str)}
    return [first, *sorted(f for f in files if f != first and f.endswith(".py") and is_of_program_file(f))]


def attributes_of_program(like: Place) -> set[str]:
    """The names of all attributes that the program's files read."""
    trees = [tree for file in files_of_program(like.code.co_filename) if (tree := parsed(file)) is not None]
    return {node.attr for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def place_in_file(like: Place, file: str, line: int) -> Place:
    """The statement at a line of any file of the program, that of another place mostly."""
    return place_in(like.code if file == like.code.co_filename else like.code.replace(co_filename=file), line)


def is_in_function_of(place: Place, line: int) -> bool:
    """Whether a line is in the function of a place, or of the whole file for one outside of functions."""
    return _is_in(place.code, line)


def limits_gradients(place: Place) -> bool:
    """Whether a statement limits gradients by hand: `p.grad.clamp_(-1, 1)`, or `p.grad.mul_(limit / norm)`."""
    nodes = [n for s in statements_at(place) for n in ast.walk(s)]
    names = {n.attr for n in nodes if isinstance(n, ast.Attribute)}
    if any(name.startswith(("clamp", "clip")) for name in names):
        return True
    if any("norm" in n.id.lower() or "clip" in n.id.lower() for n in nodes if isinstance(n, ast.Name)):
        return True  # grad.mul_(limit / total_norm)
    if not names & {"mul_", "div_"} and not any(isinstance(n, ast.AugAssign) for n in nodes):
        return False
    tree = parsed(place.code.co_filename)
    around = [n for n in ast.walk(tree) if _is_in(place.code, getattr(n, "lineno", 0))] if tree is not None else []
    norms = [n for n in around if isinstance(n, ast.Attribute) and n.attr in ("norm", "vector_norm")]
    return any("grad" in source_line(place.code.co_filename, n.lineno) for n in norms)


def is_always_on(place: Place) -> bool:
    """Whether a statement drops whatever the mode is, without saying so: `F.dropout(x, 0.5)`, `nn.Dropout(0.5)(x)`."""
    for node in (n for s in statements_at(place) for n in ast.walk(s)):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Call) and "Dropout" in ast.unparse(function.func):
            return True
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        is_own = isinstance(function, ast.Attribute) and ast.unparse(function.value) == "self"
        if name.endswith(("dropout", "dropout1d", "dropout2d", "dropout3d")) and not is_own:
            return len(node.args) < 3 and not any(k.arg in ("training", "train", None) for k in node.keywords)
    return False


def enclosing_if(place: Place) -> Place | None:
    """The innermost `if` that a statement is in, within its function."""
    return _enclosing(place, (ast.If,))


def enclosing_loop(place: Place) -> Place | None:
    """The innermost `for` or `while` that a statement is in, within its function."""
    return _enclosing(place, (ast.For, ast.AsyncFor, ast.While))


def loops_around(depth: int = 1) -> int:
    """How many loops of the program are running around the call, in all of its functions."""
    frame: FrameType | None = sys._getframe(depth)
    count = 0
    while frame is not None:
        if is_of_program(frame):
            count += len(_loops_at(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_firstlineno))
        frame = frame.f_back
    return count


@cache
def _loops_at(file: str, line: int, function: int) -> list[int]:
    """The lines of the loops around a line that begin after the line of its function."""
    tree = parsed(file)
    loops = [n for n in ast.walk(tree) if isinstance(n, (ast.For, ast.AsyncFor, ast.While))] if tree is not None else []
    return [
        n.lineno for n in loops if n.body[0].lineno <= line <= (n.body[-1].end_lineno or 0) and n.lineno >= function
    ]


def _enclosing(place: Place, kinds: tuple[type, ...]) -> Place | None:
    tree, line, found = parsed(place.code.co_filename), place.line, 0
    functions = 0
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.lineno <= line <= (node.end_lineno or 0):
            functions = max(functions, node.lineno)
        elif isinstance(node, kinds):
            loop: Any = node
            if loop.body[0].lineno <= line <= (loop.body[-1].end_lineno or 0):
                found = max(found, loop.lineno)
    return place_at_line(place, found) if found > functions else None


def assignment_of(owner: Any, name: str) -> Place | None:
    """Where the class of an object sets its attribute: `self.name = ...` in a method, its constructor first."""
    for cls in type(owner).__mro__:
        methods = [m for m in vars(cls).values() if hasattr(m, "__code__")]
        for method in sorted(methods, key=lambda m: m.__name__ != "__init__"):
            code = method.__code__
            if _kind(code.co_filename) != "program":
                continue
            tree = parsed(code.co_filename)
            for node in ast.walk(tree) if tree is not None else ():
                if not isinstance(node, (ast.Assign, ast.AnnAssign)) or not _is_in(code, node.lineno):
                    continue
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if any(isinstance(t, ast.Attribute) and t.attr == name for t in targets):
                    return place_in(code, node.lineno)
    return None


def made_in_function(place: Place) -> Place | None:
    """Where the function of a call makes what it calls: `layer = nn.Linear(2, 2)` of `y = layer(x)`."""
    name, tree = called_name(place), parsed(place.code.co_filename)
    found = [
        node.lineno
        for node in ast.walk(tree if tree is not None else ast.Module([], []))
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _is_in(place.code, node.lineno)
        for target in node.targets
        if name and isinstance(target, ast.Name) and target.id == name and node.lineno <= place.line
    ]
    return place_at_line(place, max(found)) if found else None


@cache
def parameter_made_in_function(place: Place) -> Place | None:
    """Where the function of a statement makes a parameter before it: `scale = nn.Parameter(torch.ones(4))`."""
    tree = parsed(place.code.co_filename)
    calls = [n for n in ast.walk(tree if tree is not None else ast.Module([], [])) if isinstance(n, ast.Call)]
    named = [n.lineno for n in calls if _last_name(n.func) == "parameter" and _is_in(place.code, n.lineno)]
    return place_at_line(place, max(named)) if any(n <= place.line for n in named) else None


def attribute_carried(made: Place, used: Place) -> Place | None:
    """Where `self.h = ...` stores what a statement makes and another reads as `self.h`: in the function of the first."""
    read = {
        n.attr
        for statement in statements_at(used)
        for n in ast.walk(statement)
        if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load)
    }
    tree = parsed(made.code.co_filename)
    stores = [
        node.lineno
        for node in ast.walk(tree if tree is not None else ast.Module([], []))
        if isinstance(node, ast.Assign) and _is_in(made.code, node.lineno) and node.lineno >= made.line
        for target in node.targets
        for part in ast.walk(target)
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store) and part.attr in read
    ]
    return place_at_line(made, min(stores)) if stores else None


def _is_in(code: CodeType, line: int) -> bool:
    lines = [number for _, _, number in code.co_lines() if number is not None]
    return min(lines) <= line <= max(lines)


def is_in_custom_function(place: Place) -> bool:
    """Whether a statement is in the body of a subclass of `torch.autograd.Function`, by the names of its bases."""
    tree = parsed(place.code.co_filename)
    return any(
        isinstance(node, ast.ClassDef)
        and node.lineno < place.line <= (node.end_lineno or 0)
        and any(ast.unparse(base).endswith("Function") for base in node.bases)
        for node in (ast.walk(tree) if tree is not None else ())
    )


def backward_line(function: type, index: int) -> Place | None:
    """Where a custom Function computes the gradient of one of its inputs: the last assignment to what it returns for it, or else the
    `return`; the definition of its backward where there are several."""
    code = getattr(inspect.unwrap(getattr(function, "backward", None)), "__code__", None)  # type: ignore[arg-type]
    if code is None or _kind(code.co_filename) == "own":
        return None
    tree = parsed(code.co_filename)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name and _is_in(code, node.lineno):
            returns = [n for n in ast.walk(node) if isinstance(n, ast.Return) and n.value is not None]
            if len(returns) != 1:
                return place_in(code, node.lineno)
            value = returns[0].value
            if isinstance(value, ast.Tuple):
                value = value.elts[index] if index < len(value.elts) else None
            made = [
                n.lineno
                for n in ast.walk(node)
                if isinstance(n, (ast.Assign, ast.AugAssign)) and isinstance(value, ast.Name)
                for target in (n.targets if isinstance(n, ast.Assign) else [n.target])
                if value.id in {t.id for t in ast.walk(target) if isinstance(t, ast.Name)}
            ]
            return place_in(code, max(made, default=returns[0].lineno))
    return place_in(code, code.co_firstlineno)
