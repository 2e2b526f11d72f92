"""The names of torch 2.13 and torchvision 0.28: what each is and where torch defines it, from the file torch_names.bin.

tests/golden/make_torch_names.py writes the file: blocks of text, each compressed, that are read when first asked for.
Each module has a section in a block, with a line for each name:

    c* MultiheadAttention torch.nn.MultiheadAttention torch.nn.modules.activation:MultiheadAttention

The letter is the kind (see `KINDS`), a star says that the module's `__all__` has the name. Then come the path under which
users know the thing, and for a class the place that it gives as its own. The block "index" says where the sections are,
and has what every `import torch` needs: which classes a module shows. The block "classes" lists the classes' own public
attributes, under their name in braces and the classes that they inherit from.
"""

import functools
import zlib
from pathlib import Path
from typing import NamedTuple

KINDS = {
    "c": "class",
    "e": "exception",
    "f": "function",
    "k": "constant",  # a dtype, a layout, a member of an enumeration: what is compared and handed on
    "m": "module",
    "v": "value",
    "x": "another package's",
}
_FILE = Path(__file__).with_name("torch_names.bin")
_OWN_BLOCKS = ("torch", "torch.nn", "torch.optim", "torch.utils", "torch.autograd", "torch.cuda", "torch._C")


class Name(NamedTuple):
    """One name: `kind` (a key of KINDS), `path` where users find the thing, for a class `home` ("module:Class") where it
    is defined, for an exception its built-in `base`; `exported` if the module's `__all__` has it."""

    kind: str
    exported: bool
    path: str = ""
    home: str = ""
    base: str = ""


def is_module(module):
    """Whether torch or torchvision has a module of this name."""
    return module in _index()


def modules():
    """The names of torch's and torchvision's modules."""
    return list(_index())


def is_package(module):
    """Whether torch's module has modules below it. Each `from ... import` in a function asks that of the module."""
    return module in _packages()


@functools.cache
def _packages():
    found = set()
    for module in _index():
        while (module := module.rpartition(".")[0]) and module not in found:
            found.add(module)
    return found


@functools.cache
def of_module(module):
    """{name: Name} of the names in torch's module; empty where torch has no such module."""
    if module not in _index():
        return {}
    offset, size, *_ = _index()[module].split(" ")
    found = {}
    for line in _text(_block_of(module))[int(offset) : int(offset) + int(size)].splitlines():
        kind, name, *details = line.split(" ")
        found[name] = Name(kind[0], kind.endswith("*"), *details)
    return found


def homes(module: str) -> dict[str, str]:
    """{name: module that defines it} of the public classes that torch's module defines, or shows as their first place."""
    if module not in _index():
        return {}
    *_, here, elsewhere = _index()[module].split(" ")
    pairs = (entry.partition("=") for entry in _list(elsewhere))
    return dict.fromkeys(_list(here), module) | {name: home for name, _, home in pairs}


def conflicts(module):
    """Names that are a function in torch's module, and for a module below it in `sys.modules`."""
    return _list(_index()[module].split(" ")[2]) if module in _index() else []


@functools.cache
def of_class(path):
    """{name: kind} of the public attributes of the class that users know as `path`; None where torch has no such class."""
    text = _text("Tensor" if path == "torch.Tensor" else "classes")
    start = text.find("\n{" + path + "}")
    if start < 0:
        return None
    end = text.find("\n{", start + 1)
    header, *lines = text[start + 1 : end if end >= 0 else len(text)].splitlines()
    inherited = {}
    for base in reversed(header.split(" ")[1:]):
        inherited |= of_class(base) or {}
    return inherited | {line[2:]: line[0] for line in lines}


def _block_of(module):
    parts = module.split(".")
    if parts[0] == "torchvision":
        return "torchvision"
    name = ".".join(parts[:2])
    return name if name in _OWN_BLOCKS else "other"


def _list(text):
    return [] if text == "-" else text.split(",")


@functools.cache
def _index():
    """{module: "offset size conflicts here elsewhere"}."""
    return dict(line.split(" ", 1) for line in _text("index").splitlines())


@functools.cache
def _text(block):
    with _FILE.open("rb") as file:
        size = int.from_bytes(file.read(4), "little")
        position = 4 + size
        for line in file.read(size).decode().splitlines():
            name, length = line.split()
            if name == block:
                file.seek(position)
                return zlib.decompress(file.read(int(length))).decode()
            position += int(length)
    raise KeyError(block)
