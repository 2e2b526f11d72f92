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
from ....ops.quantized.tensor import QuantizedTensor
from ....serialization.atomic import atomic_write
from ....serialization.pickler import SavedStorages, pickler_class, write_global
from ....serialization.zip_format import ZipWriter, archive_name_of
from ..ir.code import Constants, code_of_graph, literal
from ..ir.packed import class_of_packed, state_of_packed

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
    data, memories = _pickled(
        _Object("__torch__.PlaceholderModule", {"training": True}) if _is_function(m) else _object(m, {}, {})
    )
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
        kind = _type_of(value)
        if kind is None:
            raise RuntimeError(
                f"attribute '{name}' of {module.original_name} cannot be saved: it is of type {type(value).__name__}"
            )
        found[name] = (kind, value)
    for name, child in module._modules.items():
        if hasattr(child, "_class_name"):
            found[name] = (child._class_name, child)
    return found


def _type_of(value: Any) -> str | None:
    """The type of an attribute in the source, None for what no file has."""
    if isinstance(value, tuple):
        return _container("Tuple", [_type_of(part) for part in value])
    if isinstance(value, list):
        return _container("List", sorted({str(_type_of(part)) for part in value}), 1)
    if isinstance(value, dict):
        kinds = {(str(_type_of(k)), str(_type_of(v))) for k, v in value.items()}
        return _container("Dict", [*min(kinds, default=())], 2) if len(kinds) == 1 else None
    named = "Tensor" if isinstance(value, Tensor) else "NoneType" if value is None else _TYPES.get(type(value))
    return named or class_of_packed(value)


def _container(kind: str, parts: list[Any], count: int = 0) -> str | None:
    """The type of a container of such parts, None where they have no type or not as many as there have to be."""
    if not parts or None in parts or "None" in parts or count and len(parts) != count:
        return None
    return f"{kind}[{', '.join(parts)}]"


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
    """A module in a pickle: the class that the source declares, and its attributes or what its `__setstate__` takes."""

    def __init__(self, name: str, state: Any):
        self.name, self.state = name, state


class _Typed:
    """A list or dict in a pickle whose type torch's reader is told."""

    def __init__(self, value: Any, kind: str):
        self.value, self.kind = value, kind


def _object(module: Any, seen: dict[int, _Object], tensors: dict[int, Tensor]) -> _Object:
    if id(module) not in seen:
        made = seen[id(module)] = _Object(module._class_name, {})
        if "__getstate__" in module._methods:
            made.state = _kept(module._run_method("__getstate__", ()), tensors)
            return made
        for name, (_, value) in _attributes(module).items():
            if isinstance(value, Module):
                value = _object(value, seen, tensors)  # type: ignore[arg-type]
            made.state[name] = _kept(value, tensors)
    return seen[id(module)]


def _kept(value: Any, tensors: dict[int, Tensor]) -> Any:
    """A value as the pickle has it: tensors of the base class, packed weights as objects."""
    if isinstance(value, QuantizedTensor):
        return value
    if isinstance(value, Tensor):
        return tensors.setdefault(id(value), _plain(value))
    if isinstance(value, tuple):
        return tuple(_kept(part, tensors) for part in value)
    if isinstance(value, (list, dict)):
        kept = [_kept(v, tensors) for v in value] if isinstance(value, list) else {k: _kept(v, tensors) for k, v in value.items()}  # fmt: skip
        return _Typed(kept, str(_type_of(value)))
    name = class_of_packed(value)
    if name is None:
        return value
    state = tuple(_Typed(part, kind) if isinstance(part, list) else part for part, kind in zip(state_of_packed(value), _KINDS, strict=False))  # fmt: skip
    return _Object(name, state)


_KINDS = ("str", "List[Tensor]", "List[Optional[Tensor]]")  # of the state of a packed convolution


def _plain(t: Tensor) -> Tensor:
    """The tensor as one of the base class, which shares its memory."""
    return t.detach().as_subclass(Tensor).requires_grad_(t.requires_grad)


def _save_object(pickler: Any, obj: _Object) -> None:
    write_global(pickler, _ClassOf(obj.name), *obj.name.rsplit(".", 1))
    pickler.write(pickle.EMPTY_TUPLE + pickle.NEWOBJ)
    pickler.save(obj.state)
    pickler.write(pickle.BUILD)
    pickler.memoize(obj)  # now only: torch makes the object at BUILD


def _save_typed(pickler: Any, obj: _Typed) -> None:
    write_global(pickler, _ClassOf(obj.kind), "torch.jit._pickle", "restore_type_tag")
    pickler.save((obj.value, obj.kind))
    pickler.write(pickle.REDUCE)
    pickler.memoize(obj)


class _ClassOf:
    """A name in a pickle; a fresh object for each time that it is written."""

    def __init__(self, name: str):
        self.name = name


def _pickled(value: Any) -> tuple[bytes, dict[str, Any]]:
    """A pickle that names only what torch's reader of programs knows, and the memories of its tensors."""
    storages = SavedStorages()
    buffer = io.BytesIO()
    kind: Any = pickler_class(pickle, storages)
    kind.dispatch = {**kind.dispatch, _Object: _save_object, _Typed: _save_typed}
    kind(buffer, protocol=2).dump(value)
    return buffer.getvalue(), storages.memories
