"""`torch.jit.save`: a program as torch's archive, with its classes as TorchScript's source.

The archive has `code/` (a file of source for each module of classes), `data.pkl` with `data/` (the modules' tensors),
`constants.pkl` with `constants/` (the tensors that the source names CONSTANTS.c0 and so on) and `extra/`.
"""

from __future__ import annotations

import io
import os
import pickle
import sys
from typing import Any

from ....core.tensor.tensor import Tensor
from ....nn.modules.module import Module
from ....serialization.atomic import atomic_write
from ....serialization.pickler import SavedStorages, pickler_class, write_global
from ....serialization.zip_format import ZipWriter, archive_name_of
from ..ir.code import Constants, code_of_graph, literal

__all__ = ["archive_records", "save", "save_to_buffer", "write"]

_TYPES = {bool: "bool", int: "int", float: "float", str: "str"}


def save(m: Any, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
    """Write a program, the result of `torch.jit.trace` or `torch.jit.load`, to a file that torch loads as well.

    f: a path, which is replaced once everything is written, or a file with `write`. _extra_files: more records by
    their names, as text or bytes.

    Raises AttributeError for what is no program, RuntimeError for one that calls an `autograd.Function`, which is
    Python.
    """
    m.save(f, _extra_files=_extra_files)


def write(program: Any, f: Any, extra: dict[str, Any] | None) -> None:
    """The same, for a program."""
    is_path = isinstance(f, (str, bytes, os.PathLike))
    records = archive_records(program, extra or {})
    if is_path:
        with atomic_write(f) as file:
            _write(file, archive_name_of(f), records)
        return
    _write(f, "archive", records)
    if hasattr(f, "flush"):
        f.flush()


def save_to_buffer(program: Any, extra: dict[str, Any] | None) -> bytes:
    """The bytes of the archive."""
    buffer = io.BytesIO()
    write(program, buffer, extra)
    return buffer.getvalue()


def _write(file: Any, name: str, records: list[tuple[str, Any]]) -> None:
    archive = ZipWriter(file, name)
    for record, data in records:
        archive.write_record(record, data)
    archive.finish()


def archive_records(m: Any, extra: dict[str, Any]) -> list[tuple[str, Any]]:
    """The records of an archive, all made before the first is written."""
    constants = Constants()
    sources = _sources(m, constants)
    data, memories = _pickled(_Object(m, {}) if _is_function(m) else _object(m, {}, {}))
    kept, constant_memories = _pickled(tuple(constants.tensors))
    records: list[tuple[str, Any]] = []
    for name, content in extra.items():
        records.append((f"extra/{name}", content.encode() if isinstance(content, str) else bytes(content)))
    records += [(f"data/{key}", memory.bytes()) for key, memory in memories.items()]
    records.append(("data.pkl", data))
    records += [(f"code/{path}", text.encode()) for path, text in sources.items()]
    records += [(f"constants/{key}", memory.bytes()) for key, memory in constant_memories.items()]
    return [*records, ("constants.pkl", kept), ("byteorder", sys.byteorder.encode())]


def _is_function(program: Any) -> bool:
    return not isinstance(program, Module)


# ------------------------------------------------------------------------------------------ source


def _sources(m: Any, constants: Constants) -> dict[str, str]:
    """The text of each file of source."""
    texts: dict[str, str] = {}
    _compile(m)
    for name, graph in functions_of(m._graphs()).items():
        path, _, short = name.rpartition(".")
        record = path.replace(".", "/") + ".py"
        before, graph.name = graph.name, short
        try:
            texts[record] = texts.get(record, "") + code_of_graph(graph, constants)
        finally:
            graph.name = before
    if _is_function(m):
        _check_exportable(m._program.graph)
        head = "class PlaceholderModule(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n"
        graph = m._program.graph
        name, graph.name = graph.name, "forward"
        try:
            method = _as_method(code_of_graph(graph, constants, indent=1), "__torch__.PlaceholderModule")
            texts["__torch__.py"] = texts.get("__torch__.py", "") + head + method
        finally:
            graph.name = name
        return texts
    for module in m.modules():
        path = module._class_name.rpartition(".")[0].replace(".", "/") + ".py"
        texts[path] = texts.get(path, "") + _class_source(module, constants)
    return texts


def _compile(m: Any) -> None:
    """Compile what is compiled only where it is asked for: the methods of a script."""
    for module in [m] if _is_function(m) else m.modules():
        if hasattr(module, "_compile"):
            module._compile()


def functions_of(graphs: list[Any], found: dict[str, Any] | None = None) -> dict[str, Any]:
    """The functions that graphs call, by their names, each after those that it calls."""
    found = {} if found is None else found
    for graph in graphs:
        for node in graph.all_nodes():
            name = node.attributes.get("name")
            if node.is_constant and name is not None and name not in found:
                called = node.attributes["function"].graph
                functions_of([called], found)
                found[name] = called
    return found


def _as_method(text: str, name: str) -> str:
    """The source of a function with a first argument for its module."""
    head, _, rest = text.partition("(")
    return f"{head}(self: {name}{'' if rest.startswith(')') else f',{chr(10)}    '}{rest}\n"


def _class_source(module: Any, constants: Constants) -> str:
    lines = [
        f"class {module.original_name}(Module):",
        f"  __parameters__ = [{_names(module._parameters)}]",
        f"  __buffers__ = [{_names(module._buffers)}]",
        *(f"  {_declared(name, kind)}" for name, (kind, _) in _attributes(module).items()),
    ]
    text = "\n".join(lines) + "\n"
    for method in module._methods.values():
        _check_exportable(method.graph)
        text += code_of_graph(method.graph, constants, module._class_name, indent=1)
    return text + "\n"


def _names(tensors: dict[str, Tensor | None]) -> str:
    return "".join(f"{literal(name)}, " for name, t in tensors.items() if t is not None)


def _declared(name: str, kind: str) -> str:
    return f"{name} : {kind}" if name.isidentifier() else f"__annotations__[{literal(name)}] = {kind}"


def _attributes(module: Any) -> dict[str, tuple[str, Any]]:
    """The attributes that a program keeps: name -> (type, value)."""
    found: dict[str, tuple[str, Any]] = {}
    for tensors in (module._parameters, module._buffers):
        found |= {name: ("Tensor", t) for name, t in tensors.items() if t is not None}
    found["training"] = ("bool", module.training)
    for name, value in module._plain_attributes().items():
        kind = "Tensor" if isinstance(value, Tensor) else "NoneType" if value is None else _TYPES.get(type(value))
        if kind is None:
            raise RuntimeError(
                f"attribute '{name}' of {module.original_name} cannot be saved: it is of type {type(value).__name__}"
            )
        found[name] = (kind, value)
    for name, child in module._modules.items():
        if hasattr(child, "_class_name"):
            found[name] = (child._class_name, child)
    return found


def _check_exportable(graph: Any) -> None:
    for node in graph.all_nodes():
        if node.kind.startswith("^"):
            raise RuntimeError(
                f"\nCould not export Python function call '{node.kind[1:]}'. Remove calls to Python functions "
                "before export. Did "
                "you forget to add @script or @script_method annotation? If this is a nn.ModuleList, add it to "
                "__constants__:\n"
                f"{node.place}\n"
            )


# ------------------------------------------------------------------------------------------ data


class _Object:
    """A module in a pickle: the class that the source declares, and its attributes."""

    def __init__(self, module: Any, attributes: dict[str, Any]):
        is_function = _is_function(module)
        self.name = "__torch__.PlaceholderModule" if is_function else module._class_name
        self.attributes: dict[str, Any] = {"training": True} if is_function else attributes


def _object(module: Any, seen: dict[int, _Object], tensors: dict[int, Tensor]) -> _Object:
    if id(module) not in seen:
        made = seen[id(module)] = _Object(module, {})
        for name, (_, value) in _attributes(module).items():
            if isinstance(value, Module):
                value = _object(value, seen, tensors)  # type: ignore[arg-type]
            elif isinstance(value, Tensor):
                value = tensors.setdefault(id(value), _plain(value))
            made.attributes[name] = value
    return seen[id(module)]


def _plain(t: Tensor) -> Tensor:
    """The tensor as one of the base class, which shares its memory."""
    return t.detach().as_subclass(Tensor).requires_grad_(t.requires_grad)


def _save_object(pickler: Any, obj: _Object) -> None:
    write_global(pickler, _ClassOf(obj.name), *obj.name.rsplit(".", 1))
    pickler.write(pickle.EMPTY_TUPLE + pickle.NEWOBJ)
    pickler.save(obj.attributes)
    pickler.write(pickle.BUILD)
    pickler.memoize(obj)  # now only: torch makes the object at BUILD


class _ClassOf:
    """A name in a pickle; a fresh object for each time that it is written."""

    def __init__(self, name: str):
        self.name = name


def _pickled(value: Any) -> tuple[bytes, dict[str, Any]]:
    """A pickle that names only what torch's reader of programs knows, and the memories of its tensors."""
    storages = SavedStorages()
    buffer = io.BytesIO()
    kind: Any = pickler_class(pickle, storages)
    kind.dispatch = {**kind.dispatch, _Object: _save_object}
    kind(buffer, protocol=2).dump(value)
    return buffer.getvalue(), storages.memories
