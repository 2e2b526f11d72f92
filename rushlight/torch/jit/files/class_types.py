"""The classes of an archive's source: types of attributes, and what methods return."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ..ir.graph import Type
from ..ir.packed import RETURNS, is_packed_class

__all__ = ["Classes", "type_of_annotation"]

_CONTAINERS = ("List", "Tuple", "Dict", "Optional")


def type_of_annotation(source: ast.expr | None) -> Type:
    """The type that an annotation names. Raises RuntimeError for what is none."""
    if isinstance(source, ast.Name):
        return Type("Scalar" if source.id == "number" else source.id)
    if isinstance(source, ast.Constant) and source.value is None:
        return Type("NoneType")
    if isinstance(source, ast.Attribute):
        return Type("Class", detail=ast.unparse(source))
    if isinstance(source, ast.Subscript) and isinstance(source.value, ast.Name) and source.value.id in _CONTAINERS:
        inner = source.slice
        parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        return Type(source.value.id, tuple(map(type_of_annotation, parts)))
    raise RuntimeError(f"torch.jit.load: line {getattr(source, 'lineno', 0)} of the program's source names no type")


class Class:
    """A class: its kind of tensors, attributes in order, and methods."""

    def __init__(self, source: ast.ClassDef):
        if [ast.unparse(base) for base in source.bases] != ["Module"]:
            raise NotImplementedError(
                f"torch.jit.load: class {source.name} of the program is no module, which is not implemented"
            )
        self.parameters: list[str] = []
        self.buffers: list[str] = []
        self.attributes: dict[str, Type] = {}
        self.methods: dict[str, ast.FunctionDef] = {}
        self.returns: dict[str, Type] = {}
        for statement in source.body:
            self._add(statement)

    def _add(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.FunctionDef):
            self.methods[statement.name] = statement
            self.returns[statement.name] = type_of_annotation(statement.returns)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            pass  # a constant, which methods have in their text
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            self.attributes[statement.target.id] = type_of_annotation(statement.annotation)
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            names = {"__parameters__": self.parameters, "__buffers__": self.buffers}.get(statement.targets[0].id)
            if names is not None and isinstance(statement.value, ast.List):
                names += [str(part.value) for part in statement.value.elts if isinstance(part, ast.Constant)]
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
            key = statement.targets[0].slice
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                self.attributes[key.value] = type_of_annotation(statement.value)


class Classes:
    """All classes by name. find: gives the source of one; functions: the program of a function."""

    def __init__(self, find: Callable[[str], ast.ClassDef], functions: Callable[[str], Any] | None = None):
        self._find, self._find_function = find, functions
        self._known: dict[str, Class] = {}
        self._functions: dict[str, Any] = {}

    def function(self, name: str) -> Any:
        """The program of a function. Raises RuntimeError where the archive has none of that name."""
        if name not in self._functions:
            self._functions[name] = None  # while it is read
            assert self._find_function is not None
            self._functions[name] = self._find_function(name)
        if self._functions[name] is None:
            raise RuntimeError(f"torch.jit.load: function {name} calls itself")
        return self._functions[name]

    def of(self, name: str) -> Class:
        """A class. Raises RuntimeError where the archive has none of that name."""
        if name not in self._known:
            self._known[name] = Class(self._find(name))
        return self._known[name]

    def attribute(self, owner: Type, name: str) -> Type | None:
        """The type of an attribute, None where there is none."""
        if owner.kind != "Class" or is_packed_class(owner.detail):
            return None
        return self.of(owner.detail).attributes.get(name)

    def returned(self, owner: Type, name: str) -> Type | None:
        """The type of what a method returns, None where there is none."""
        if owner.kind != "Class":
            return None
        return RETURNS.get(name) if is_packed_class(owner.detail) else self.of(owner.detail).returns.get(name)
