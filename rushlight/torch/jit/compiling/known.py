"""What is known when a script is compiled: its source, Python's objects, modules of the program, types of annotations."""

from __future__ import annotations

import ast
import builtins
import inspect
import operator
import textwrap
import typing
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any, NamedTuple

from ....core import own_code
from ....core.device.devices import device
from ....core.tensor.dtype import dtype
from ....core.tensor.layout import layout, memory_format
from ....core.tensor.tensor import Tensor
from ..ir.graph import BOOL, DEVICE, FLOAT, INT, NONE, STRING, TENSOR, Type, Value, list_of

__all__ = [
    "CONSTANTS", "OPERATORS", "PLAIN_TYPES", "PYTHONS", "Method", "Names", "Object", "Operators", "Parts", "Source", "Static",
    "default_scope", "folded", "length_of", "modifier_of", "source_of", "type_of_hint",
]  # fmt: skip

PYTHONS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.Lt: operator.lt,
    ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
OPERATORS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "remainder",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "__and__", ast.BitOr: "__or__", ast.BitXor: "__xor__",
    ast.LShift: "__lshift__", ast.RShift: "__rshift__",
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
    ast.Is: "__is__", ast.IsNot: "__isnot__",
}  # fmt: skip
PLAIN_TYPES: dict[Any, Type] = {
    int: INT,
    float: FLOAT,
    bool: BOOL,
    str: STRING,
    Tensor: TENSOR,
    type(None): NONE,
    None: NONE,
}
PLAIN_TYPES |= {device: DEVICE, dtype: INT}
CONSTANTS = (bool, int, float, str, type(None), dtype, device, layout, memory_format)


class Source(NamedTuple):
    """A function's source. scope: gives what a global name is; shift: lines before it in its file."""

    tree: ast.FunctionDef
    scope: Callable[[str], Any]
    hints: dict[str, Any]
    defaults: dict[str, Any]
    file: str
    shift: int
    indent: int


class Operators:
    """`torch` as the library's sources have it: every attribute is the operator of that name."""

    class Named:
        """An operator by its name."""

        def __init__(self, name: str):
            self.__name__ = name

    def __init__(self, space: str = ""):
        self._space = space

    def __getattr__(self, name: str) -> Operators.Named:
        return Operators.Named(self._space + name)


def default_scope() -> dict[str, Any]:
    """The names of types, and of Python's own functions."""
    return {**vars(builtins), "List": list, "Optional": typing.Optional, "Tuple": tuple, "Dict": dict} | {
        f"Ints{n}": Annotated(n) for n in (1, 2, 3)
    }


class Annotated:
    """The type of a list of so many numbers that one number is repeated for."""

    def __init__(self, length: int):
        self.length = length

    def __call__(self) -> None:
        """A type, for `typing`."""


class Static:
    """A value that is known when the function is compiled: a module of Python, a function, a number."""

    def __init__(self, value: Any, home: Any = None, place: str = ""):
        self.value, self.home, self.place = value, home, place  # home: the module of Python that it was read from
        self.made: Value | None = None  # of a constant in the source


class Object:
    """A module of the program: its value in the graph, and the module itself."""

    def __init__(self, value: Value | None, module: Any, path: Callable[[], Value] | None = None):
        self.made, self.module, self.path = value, module, path

    @property
    def value(self) -> Value:
        """The value of the graph, which is asked for where it is read."""
        if self.made is not None:
            return self.made
        assert self.path is not None
        return self.path()


class Method:
    """A method of a value: of a tensor, a list, or a module of the program."""

    def __init__(self, owner: Any, name: str):
        self.owner, self.name = owner, name


class Parts:
    """Several values that are unpacked as they are: a tuple's in Python."""

    def __init__(self, values: list[Any]):
        self.values = values


def check_source(f: Any) -> None:
    """Raise torch's error for a function that has no source, or none of its own: a lambda."""
    f = inspect.unwrap(f)
    if not isinstance(f, FunctionType) or f.__code__.co_filename.startswith(own_code.FILES):
        return
    _, first = _lines_of(f)
    if f.__name__ == "<lambda>":
        raise RuntimeError(f"Expected a single top-level function: {f.__code__.co_filename}:{first}")


def _lines_of(f: Any) -> tuple[list[str], int]:
    try:
        return inspect.getsourcelines(f)
    except (OSError, TypeError) as error:
        raise OSError(
            f"Can't get source for {f}. TorchScript requires source access in order to carry out compilation, make sure "
            f"original .py files are available. ({error})"
        ) from None


def modifier_of(f: Any) -> str:
    """What a decorator says of a function: "export", "ignore", "unused" or nothing."""
    return getattr(f, "_torchscript_modifier", "")


def source_of(f: Any) -> Source:
    """The source of a Python function. Raises RuntimeError where Python cannot find it."""
    f = inspect.unwrap(f)
    f = f.__func__ if isinstance(f, MethodType) else f
    lines, first = _lines_of(f)
    text = "".join(lines)
    tree = ast.parse(textwrap.dedent(text)).body[0]
    if not isinstance(tree, ast.FunctionDef):
        raise NotImplementedError(f"torch.jit: {getattr(f, '__name__', f)!r} is no def, and has no graph here")
    indent = len(lines[0]) - len(lines[0].lstrip())
    hints = dict(f.__annotations__) or _type_comment(lines, tree)
    return Source(tree, _scope_of(f), hints, _defaults_of(f), inspect.getsourcefile(f) or "", first - 1, indent)  # fmt: skip


def _type_comment(lines: list[str], tree: ast.FunctionDef) -> dict[str, Any]:
    """The types of a comment `# type: (Tensor, int) -> Tensor` below the head, as older scripts write them."""
    for line in lines[: tree.body[-1].lineno]:
        text = line.strip()
        if text.startswith("# type: (") and "->" in text:
            given, _, returned = text[len("# type: ") :].rpartition("->")
            types = ast.parse(given.strip(), mode="eval").body
            parts = types.elts if isinstance(types, ast.Tuple) else [types]
            names = [a.arg for a in tree.args.args]
            names = names[len(names) - len(parts) :]
            hints = {n: ast.unparse(p) for n, p in zip(names, parts, strict=True)}
            return hints | {"return": returned.strip()}
    return {}


def _defaults_of(f: FunctionType) -> dict[str, Any]:
    code = f.__code__
    names = code.co_varnames[: code.co_argcount]
    given = f.__defaults__ or ()
    return dict(zip(names[len(names) - len(given) :], given, strict=True)) | (f.__kwdefaults__ or {})


def _scope_of(f: FunctionType) -> Callable[[str], Any]:
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))

    def find(name: str) -> Any:
        if name in cells:
            return cells[name].cell_contents
        if name in f.__globals__:
            return f.__globals__[name]
        return getattr(builtins, name)

    return find


def type_of_hint(hint: Any, scope: Callable[[str], Any], where: str) -> Type:
    """The type that an annotation means."""
    if isinstance(hint, str):
        hint = eval(hint, {}, Names(lambda name: _type_named(name, scope)))
    if isinstance(hint, Annotated):
        return list_of(INT)
    if hint in PLAIN_TYPES:
        return PLAIN_TYPES[hint]
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (list, tuple, dict) and parts:
        return Type(origin.__name__.title(), tuple(type_of_hint(p, scope, where) for p in parts))
    if origin is not None and type(None) in parts and len(parts) == 2:
        inner = next(p for p in parts if p is not type(None))
        return Type("Optional", (type_of_hint(inner, scope, where),))
    if inspect.isclass(hint) and issubclass(hint, Tensor):
        return TENSOR
    raise NotImplementedError(f"torch.jit: {where}: the type {hint!r} has no graph here")


class Names(dict):
    def __init__(self, scope: Callable[[str], Any]):
        super().__init__()
        self._scope = scope

    def __missing__(self, name: str) -> Any:
        try:
            return self._scope(name)
        except AttributeError:
            raise KeyError(name) from None


def _type_named(name: str, scope: Callable[[str], Any]) -> Any:
    """A name in an annotation that is a text: those of TorchScript's types are known everywhere."""
    try:
        return scope(name)
    except (AttributeError, KeyError):
        known = {"Tensor": Tensor, "List": list, "Dict": dict, "Tuple": tuple, "Optional": typing.Optional}
        if name in known:
            return known[name]
        raise


def length_of(hint: Any, scope: Callable[[str], Any]) -> int:
    """How many numbers one number is repeated where a parameter has this annotation; 0 for others."""
    if not isinstance(hint, str) or "Ints" not in hint:
        return 0
    return int(hint[hint.index("Ints") + 4])


def folded(left: Any, right: Any) -> bool:
    """Whether two operands are numbers or texts that are known now."""
    numbers = (bool, int, float, str)
    return all(isinstance(x, Static) and isinstance(x.value, numbers) for x in (left, right))
