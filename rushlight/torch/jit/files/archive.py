"""What an archive of `torch.jit.save` holds, read as data: its tensors and objects, and the text of its classes.

Nothing in it is executed. The pickles build modules as `SavedObject`, and else only what a weights-only load builds.
"""

from __future__ import annotations

import ast
import io
import pickle
from typing import Any

from ....serialization.loading import ArchivedStorages
from ....serialization.unpickler import SafeUnpickler
from ....serialization.zip_format import ZipReader

__all__ = ["Archive", "SavedObject"]

_MOST_SOURCE = 64 << 20  # bytes of the text of one file


class ClassName:
    """A class of the archive's own source, in its pickle."""

    def __init__(self, name: str):
        self.name = name


class SavedObject:
    """A module in the pickle. name: of its class; attributes: what it holds; state: what its `__setstate__` takes instead."""

    def __init__(self, name: str):
        self.name = name
        self.attributes: dict[str, Any] = {}
        self.state: tuple | None = None


_LISTS = ("build_boollist", "build_doublelist", "build_intlist", "build_tensorlist")


class ObjectUnpickler(SafeUnpickler):
    """A weights-only unpickler that also builds the modules of an archive."""

    def _push_global(self, module: Any, name: Any) -> None:
        if isinstance(module, str) and isinstance(name, str):
            if module == "__torch__" or module.startswith("__torch__."):
                self._push(ClassName(f"{module}.{name}"))
                return
            if module == "torch.jit._pickle" and name in (*_LISTS, "restore_type_tag"):
                self._push(ClassName(name))
                return
        super()._push_global(module, name)

    def _execute(self, opcode: bytes) -> None:
        if opcode == pickle.NEWOBJ and isinstance(self._stack[-2], ClassName):
            kind, args = self._pop_last(2)
            if args != () or not kind.name.startswith("__torch__"):
                raise pickle.UnpicklingError(f"{kind.name} is made with arguments, which no class of a program takes")
            self._push(SavedObject(kind.name))
        elif opcode == pickle.BUILD and type(self._stack[-2]) is SavedObject:
            state = self._stack.pop()
            if type(state) is tuple:
                self._stack[-1].state = state
                return
            if type(state) is not dict or not all(type(name) is str for name in state):
                raise pickle.UnpicklingError(
                    f"the attributes of a module must be a dict by names, not {type(state).__name__}"
                )
            self._stack[-1].attributes = state
        elif opcode == pickle.REDUCE and isinstance(self._stack[-2], ClassName):
            kind, args = self._pop_last(2)
            if kind.name.startswith("__torch__") or type(args) is not tuple or not args:
                raise pickle.UnpicklingError(f"{kind.name} is called in the pickle")
            self._push(args[0])
        else:
            super()._execute(opcode)


class Archive:
    """The records of one file. Raises RuntimeError where it is not such an archive or was altered."""

    def __init__(self, file: Any, restore: Any):
        self._records = ZipReader(file)
        self._restore = restore
        if "constants.pkl" not in self._records:
            raise RuntimeError(
                "PytorchStreamReader failed locating file constants.pkl: file not found. The archive has no "
                "program: it was "
                "written by torch.save, or is corrupted"
            )
        self.constants = list(self._unpickled("constants"))
        self._sources: dict[str, dict[str, Any]] = {}

    def root(self) -> SavedObject:
        """The module that was saved."""
        found = self._unpickled("data")
        if not isinstance(found, SavedObject):
            raise RuntimeError(f"the archive holds a {type(found).__name__} in place of a module; it is corrupted")
        return found

    def _unpickled(self, name: str) -> Any:
        storages = ArchivedStorages(self._records, self._restore, None, name)
        return ObjectUnpickler(io.BytesIO(self._records.read(f"{name}.pkl")), storages.persistent_load).load()

    def extra(self, name: str) -> bytes:
        """The record that `_extra_files` named, empty where there is none."""
        record = f"extra/{name}"
        return self._records.read(record) if record in self._records else b""

    def class_of(self, name: str) -> ast.ClassDef:
        """The source of a class."""
        return self._defined(name, ast.ClassDef, "class")

    def function_of(self, name: str) -> ast.FunctionDef:
        """The source of a function."""
        return self._defined(name, ast.FunctionDef, "function")

    def _defined(self, name: str, kind: Any, word: str) -> Any:
        path, _, last = name.rpartition(".")
        if path not in self._sources:
            self._sources[path] = self._parsed(f"code/{path.replace('.', '/')}.py")
        found = self._sources[path].get(last)
        if not isinstance(found, kind):
            raise RuntimeError(f"the archive does not define {word} {name}; it is corrupted")
        return found

    def _parsed(self, record: str) -> dict[str, Any]:
        if record not in self._records or self._records.size(record) > _MOST_SOURCE:
            raise RuntimeError(f"the archive has no source {record!r}; it is corrupted")
        try:
            tree = ast.parse(self._records.read(record).decode())
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise RuntimeError(f"record {record!r} is not TorchScript's source: {error}") from None
        return {node.name: node for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
