"""Generated code of `ops/reduce/selection.py`, translated from its source: sorting and selecting as torch does with equal elements.

ns an element: sort 100 for a million, topk 10 to 20, kthvalue 10.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable

import numpy as np

from ....backend.onednn.address import address, is_readable
from ....core.foreign import ctypes
from ....core.locks import made_once
from ....ops.reduce.selection import FUNCTIONS
from ..llvm import engine

__all__ = ["available", "select"]


@made_once
def available() -> bool:
    """Whether code can be made here."""
    return engine.available() and is_readable()


def select(keys: np.ndarray, places: np.ndarray, rows: int, n: int, k: int, how: int) -> None:
    """`selection.select` on arrays. Shape: keys and places (rows, n) int64, contiguous"""
    _function()(address(keys), address(places), rows, n, k, how)


@made_once
def _function() -> Callable:
    kinds = [ctypes.c_void_p] * 2 + [ctypes.c_int64] * 4
    return engine.function(assembly(), "select", *kinds)


def assembly() -> str:
    """The functions as LLVM's text; `select` is the one to call."""
    return "\n".join(_Translated(f, is_public=f is FUNCTIONS[-1]).text for f in FUNCTIONS) + "\n" + engine.attributes()


_ARRAYS = ("keys", "places")
_OPERATORS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul"}
_COMPARISONS = {ast.Lt: "slt", ast.LtE: "sle", ast.Gt: "sgt", ast.GtE: "sge", ast.Eq: "eq"}


class _Translated:
    """One function: each variable has a place on the stack, which LLVM turns into registers."""

    def __init__(self, f: Callable, is_public: bool):
        tree = ast.parse(inspect.getsource(f)).body[0]
        assert isinstance(tree, ast.FunctionDef)
        self.lines: list[str] = []
        self.count = 0
        given = [a.arg for a in tree.args.args]
        numbers = [name for name in given if name not in _ARRAYS]
        stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for name in sorted({*stored, *numbers}):
            self.lines.append(f"%{name}.at = alloca i64")
        for name in numbers:
            self.lines.append(f"store i64 %{name}, ptr %{name}.at")
        self._run(tree.body[1:])  # after the docstring
        returns = isinstance(tree.returns, ast.Name)
        if not returns:
            self.lines.append("ret void")
        parameters = ", ".join(f"{'ptr' if name in _ARRAYS else 'i64'} %{name}" for name in given)
        linkage = "" if is_public else "internal "
        head = f"define {linkage}{'i64' if returns else 'void'} @{f.__name__}({parameters}) #0 {{\n"
        self.text = head + "\n".join(self.lines) + "\n}\n"

    def _new(self, line: str) -> str:
        self.count += 1
        self.lines.append(f"%v{self.count} = {line}")
        return f"%v{self.count}"

    def _label(self) -> str:
        self.count += 1
        return f"b{self.count}"

    # ------------------------------------------------------------------------------------------ statements

    def _run(self, statements: list[ast.stmt]) -> None:
        for s in statements:
            getattr(self, f"_{type(s).__name__.lower()}")(s)

    def _assign(self, s: ast.Assign) -> None:
        value, target = self._value(s.value), s.targets[0]
        place = f"%{target.id}.at" if isinstance(target, ast.Name) else self._element(target)
        self.lines.append(f"store i64 {value}, ptr {place}")

    def _expr(self, s: ast.Expr) -> None:
        assert isinstance(s.value, ast.Call)
        self.lines.append(f"call void {self._called(s.value)}")

    def _return(self, s: ast.Return) -> None:
        assert s.value is not None
        self.lines.append(f"ret i64 {self._value(s.value)}")

    def _if(self, s: ast.If) -> None:
        yes, no, after = self._label(), self._label(), self._label()
        self.lines += [f"br i1 {self._condition(s.test)}, label %{yes}, label %{no}"]
        for label, body in ((yes, s.body), (no, s.orelse)):
            self.lines.append(f"{label}:")
            self._run(body)
            self.lines.append(f"br label %{after}")
        self.lines.append(f"{after}:")

    def _while(self, s: ast.While) -> None:
        test, body, after = self._label(), self._label(), self._label()
        self.lines += [f"br label %{test}", f"{test}:"]
        self.lines += [f"br i1 {self._condition(s.test)}, label %{body}, label %{after}"]
        self.lines.append(f"{body}:")
        self._run(s.body)
        self.lines += [f"br label %{test}", f"{after}:"]

    # ------------------------------------------------------------------------------------------ values

    def _condition(self, e: ast.expr) -> str:
        assert isinstance(e, ast.Compare)
        left, right = self._value(e.left), self._value(e.comparators[0])
        return self._new(f"icmp {_COMPARISONS[type(e.ops[0])]} i64 {left}, {right}")

    def _value(self, e: ast.expr) -> str:
        if isinstance(e, ast.Constant):
            return str(e.value)
        if isinstance(e, ast.UnaryOp):
            return f"-{self._value(e.operand)}"
        if isinstance(e, ast.Name):
            return f"%{e.id}" if e.id in _ARRAYS else self._new(f"load i64, ptr %{e.id}.at")
        if isinstance(e, ast.Subscript):
            return self._new(f"load i64, ptr {self._element(e)}")
        if isinstance(e, ast.Call):
            return self._new(f"call i64 {self._called(e)}")
        assert isinstance(e, ast.BinOp)
        if isinstance(e.op, ast.FloorDiv):  # by 2, which a shift rounds down too
            return self._new(f"ashr i64 {self._value(e.left)}, 1")
        left, right = self._value(e.left), self._value(e.right)
        return self._new(f"{_OPERATORS[type(e.op)]} i64 {left}, {right}")

    def _element(self, e: ast.expr) -> str:
        assert isinstance(e, ast.Subscript) and isinstance(e.value, ast.Name)
        return self._new(f"getelementptr i64, ptr %{e.value.id}, i64 {self._value(e.slice)}")

    def _called(self, e: ast.Call) -> str:
        assert isinstance(e.func, ast.Name)
        given = [(a.id if isinstance(a, ast.Name) else "", self._value(a)) for a in e.args]
        values = ", ".join(f"{'ptr' if name in _ARRAYS else 'i64'} {value}" for name, value in given)
        return f"@{e.func.id}({values})"
