"""`torch.jit.load`: a program from an archive that `torch.jit.save`, here or in torch, wrote."""

from __future__ import annotations

import os
import pickle
from typing import Any

from ....core.tensor.tensor import Tensor
from ....nn.parameter import Parameter
from ....serialization.storages import location_restorer
from ..ir.graph import Type
from ..ir.packed import is_packed_class, packed_of
from ..programs import TABLES, Program, RecursiveScriptModule
from .archive import Archive, SavedObject
from .class_types import Classes
from .source import read_method

__all__ = ["load"]


def load(
    f: Any, map_location: Any = None, _extra_files: dict[str, Any] | None = None, _restore_shapes: bool = False
) -> Any:
    """The module that `torch.jit.save` wrote, with its program, parameters and buffers.

    The file is read as data: its source is parsed into a graph, and nothing of it is executed by Python.

    f: a path, or a seekable binary file. map_location: as of `torch.load`. _extra_files: names of further records,
    whose contents take the place of the values.

    Raises ValueError for a path that is none, RuntimeError for an archive that is truncated or altered, and
    NotImplementedError for operators that Rushlight has not.
    """
    if isinstance(f, (str, bytes, os.PathLike)):
        if not os.path.exists(f):
            raise ValueError(f"The provided filename {os.fsdecode(f)} does not exist")
        if os.path.isdir(f):
            raise ValueError(f"The provided filename {os.fsdecode(f)} is a directory")
        with open(f, "rb") as file:
            return _load(file, map_location, _extra_files)
    return _load(f, map_location, _extra_files)


def _load(file: Any, map_location: Any, extra: dict[str, Any] | None) -> Any:
    try:
        archive = Archive(file, location_restorer(map_location))
        result = _Loader(archive).module(archive.root())
    except pickle.UnpicklingError as error:
        raise RuntimeError(f"torch.jit.load: the archive's pickle is refused: {error}") from error
    except RecursionError:
        raise RuntimeError("torch.jit.load: the program's source is nested too deeply") from None
    for name in extra or ():
        assert extra is not None
        extra[name] = archive.extra(name)
    return result


class _Loader:
    def __init__(self, archive: Archive):
        self._constants = archive.constants
        if not all(isinstance(t, Tensor) for t in self._constants):
            raise RuntimeError("torch.jit.load: a constant of the archive is no tensor, which is not implemented")
        self._archive = archive
        self._classes = Classes(archive.class_of, self._function)
        self._made: dict[int, Any] = {}
        self._methods: dict[str, dict[str, Program]] = {}

    def module(self, saved: SavedObject) -> Any:
        """The module, or packed weight, for an object of the pickle; the same for the same."""
        if id(saved) in self._made:
            return self._made[id(saved)]
        if is_packed_class(saved.name):
            made = self._made[id(saved)] = packed_of(saved.name, saved.state)
            return made
        made = self._made[id(saved)] = RecursiveScriptModule(saved.name)
        made._methods.update(self._methods_of(saved.name))
        kind = self._classes.of(saved.name)
        if saved.state is not None:
            self._set_state(made, kind, saved.state)
            return made
        for name in kind.attributes:
            if name not in saved.attributes:
                raise RuntimeError(
                    f"torch.jit.load: the archive has no value for attribute '{name}' of {saved.name}; it is corrupted"
                )
            self._set(made, kind, name, saved.attributes[name])
        return made

    @staticmethod
    def _set_state(made: RecursiveScriptModule, kind: Any, state: tuple) -> None:
        """Let the module's own `__setstate__` restore it, as quantized convolutions are."""
        if "__setstate__" not in made._methods:
            raise RuntimeError(f"torch.jit.load: {made._class_name} has a state but no __setstate__; it is corrupted")
        made._run_method("__setstate__", (state,))
        made._plain_names.extend(n for n in kind.attributes if n in made.__dict__ and n not in TABLES)

    def _function(self, name: str) -> Program:
        return Program(read_method(self._archive.function_of(name), self._classes, None, self._constants))

    def _set(self, made: RecursiveScriptModule, kind: Any, name: str, value: Any) -> None:
        if isinstance(value, SavedObject):
            value = self.module(value)
        if isinstance(value, RecursiveScriptModule):
            made._modules[name] = value
        elif isinstance(value, Tensor) and name in kind.parameters:
            made._parameters[name] = Parameter(value.detach(), requires_grad=value.requires_grad)
        elif isinstance(value, Tensor) and name in kind.buffers:
            made._buffers[name] = value
        elif name == "training" and isinstance(value, bool):
            made.training = value
        elif name not in TABLES:
            made.__dict__[name] = value
            made._plain_names.append(name)

    def _methods_of(self, name: str) -> dict[str, Program]:
        if name not in self._methods:
            owner = Type("Class", detail=name)
            sources = self._classes.of(name).methods
            self._methods[name] = {
                n: Program(read_method(f, self._classes, owner, self._constants), is_method=True)
                for n, f in sources.items()
            }
        return self._methods[name]
