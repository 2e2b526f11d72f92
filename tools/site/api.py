"""The API reference: every public name that Rushlight has, with its signature from the stubs and its docstring as Markdown."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from rushlight.alias import torch_names

from . import coverage
from .coverage import outside_the_sidebar, torch_page

ROOT = Path(__file__).parents[2]
STUBS = (
    "rushlight/ops/__init__.pyi",
    "rushlight/torch/linalg.pyi",
    "rushlight/torch/special.pyi",
    "rushlight/torch/fft.pyi",
)
TENSOR_STUB = "rushlight/core/tensor/tensor.pyi"
OWN = ("rushlight", "rushlight.doctor", "rushlight.alias", "rushlight.compile")  # names that torch does not have
_SPECIAL = re.compile(r"([\\*_\[\]<>#|$~{}])")
_SECTION = re.compile(r"(Args|Raises|Returns|Yields|Shapes?|Source|State):(.*)")
_DIRECTIVE = "`" * 7


def pages() -> dict[str, str]:
    """{file name: text}: the index, and a page for each module (of torch's own functions, for each family)."""
    groups = {module: group for module in ("torch.Tensor", *coverage.MODULES) if (group := _have(module))}
    families: dict[str, list[str]] = {}
    for name in groups.pop("torch"):
        families.setdefault(f"torch: {_family(name)}", []).append(name)
    groups = dict(sorted(families.items())) | groups | {"rushlight: its own": _own()}
    files = {re.sub(r"[^\w.]+", "-", title): (title, names) for title, names in groups.items()}
    rows = [f"| [{title}]({file}.md) | {len(names)} |" for file, (title, names) in files.items()]
    head = (
        "# Reference\n\nEvery public name, under torch's names: `torch.add` is `rushlight.add` where the alias is not installed. "
        "Signatures are from the stubs, texts from the docstrings, whose examples run in the tests.\n\n| module | names |\n|---|---|\n"
    )
    out = {"index.md": head + "\n".join(rows) + "\n"}
    for file, (title, names) in files.items():
        text = f"# {title}\n\n" + "\n".join(map(entry, sorted(names)))
        out[f"{file}.md"] = outside_the_sidebar(text, "Reference")
    return out


def _have(module: str) -> list[str]:
    """The names that are here, without classes that the module only shows and another one defines."""
    known = torch_names.of_module(module)
    here = [e.name for e in coverage.entries(module) if e.state == coverage.HERE and not e.note]
    return [n for n in here if (row := known.get(n[len(module) + 1 :])) is None or row.path in ("", n)]


def _own() -> list[str]:
    """Rushlight's own public names: of the package those that torch has not."""
    found = []
    for module in OWN:
        value = importlib.import_module(module)
        names = getattr(value, "__all__", None) or [n for n in vars(value) if not n.startswith("_")]
        if module == "rushlight":
            theirs = {e.name for e in coverage.entries("torch")}
            names = [n for n in names if f"torch.{n}" not in theirs and _is_own(getattr(value, n, None))]
        found += [f"{module}.{n}" for n in names if _is_own(getattr(value, n, None))]
    return found


def _is_own(value: Any) -> bool:
    return isinstance(value, (type, FunctionType)) and value.__module__.startswith("rushlight")


def _family(name: str) -> str:
    """The folder of `rushlight/ops/` that a function of torch's main module is defined in."""
    record = getattr(_value(name), "record", None)
    reference = getattr(record, "reference", None) or _value(name)
    module = getattr(reference, "__module__", None) or ""
    match = re.match(r"rushlight\.ops\.(\w+)", module)
    return match[1] if match else "other"


def _value(name: str) -> Any:
    """What a dotted name leads to, through modules and classes."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            value: Any = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        try:
            for part in parts[length:]:
                value = inspect.getattr_static(value, part) if isinstance(value, type) else getattr(value, part)
        except AttributeError:
            continue
        return value
    return None


def entry(name: str) -> str:
    """A name as a directive of Sphinx's Python domain."""
    value = _value(name)
    kind = _kind(name, value)
    signatures = _signatures(name, value) if kind != "attribute" else [""]
    lines = [f"{_DIRECTIVE}{{py:{kind}}} {name}{signatures[0]}"]
    if name.startswith("torch"):
        lines.append(f"\n[torch's page]({torch_page(name)})")
    lines += [f"\n`{name.rpartition('.')[2]}{more}`" for more in signatures[1:]]
    lines.append("\n" + _text(name, value))
    return "\n".join(lines) + f"\n{_DIRECTIVE}\n"


def _kind(name: str, value: Any) -> str:
    if isinstance(value, type):
        return "exception" if issubclass(value, BaseException) else "class"
    if name.startswith("torch.Tensor."):
        return "method" if callable(value) or isinstance(value, (staticmethod, classmethod)) else "attribute"
    return "function"


def _signatures(name: str, value: Any) -> list[str]:
    """Of the stubs, where they have the name; else what Python knows."""
    short = name.rpartition(".")[2]
    if name.startswith("torch.Tensor."):
        known = _stub(TENSOR_STUB).get(short)
    else:
        function = getattr(getattr(value, "record", None), "name", short)
        known = (
            next((s[short] for s in map(_stub, STUBS) if short in s and function), None)
            if _is_operator(value)
            else None
        )
    if known:
        return known
    try:
        signature = inspect.signature(value, eval_str=False)
    except (TypeError, ValueError):
        return ["(...)"]
    return [re.sub(r" at 0x[0-9a-f]+|<class '([\w.]+)'>", r"\1", _readable(signature, isinstance(value, type)))]


def _readable(signature: inspect.Signature, is_class: bool) -> str:
    """A signature without the quotes of annotations, those that say nothing, and what every class returns."""
    parameters = [p.replace(annotation=_plain(p.annotation)) for p in signature.parameters.values()]
    returns = inspect.Signature.empty if is_class else _plain(signature.return_annotation)
    return str(signature.replace(parameters=parameters, return_annotation=returns))


def _plain(annotation: Any) -> Any:
    annotation = getattr(annotation, "__forward_arg__", annotation)
    if annotation in ("Any", Any):
        return inspect.Parameter.empty
    return _Text(annotation) if isinstance(annotation, str) else annotation


class _Text(str):
    """An annotation that is shown as it is written."""

    __repr__ = str.__str__


def _is_operator(value: Any) -> bool:
    return hasattr(value, "record")


@cache
def _stub(path: str) -> dict[str, list[str]]:
    """{function or method: its signatures} of a stub file."""
    found: dict[str, list[str]] = {}
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.FunctionDef):
            if path == TENSOR_STUB and node.args.args and node.args.args[0].arg in ("self", "cls"):
                del node.args.args[0]
            returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
            text = f"({ast.unparse(node.args)}){returns}"
            found.setdefault(node.name, []).append(
                re.sub(r"\b_(int|bool|float|str|dtype|device|layout|complex)\b", r"\1", text)
            )
    return found


def _text(name: str, value: Any) -> str:
    """The docstring; of a method that is an operator too, its first sentence and where the rest is."""
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    if isinstance(value, ModuleType) or value is None:
        return ""
    doc = inspect.getdoc(value) or ""
    short = name.rpartition(".")[2]
    if name.startswith("torch.Tensor.") and f"torch.{short}" in _documented():
        first = doc.split("\n\n")[0]
        return markdown(first) + f"\n\nSee {{py:func}}`torch.{short}`."
    return markdown(doc)


@cache
def _documented() -> set[str]:
    return set(_have("torch"))


def markdown(doc: str) -> str:
    """A docstring as Markdown: its sections as lists, indented lines and examples as blocks."""
    out: list[str] = []
    for block in re.split(r"\n\s*\n", doc.strip("\n")):
        lines = block.splitlines()
        if lines and lines[0].lstrip().startswith(">>>"):
            out.append(_fenced("pycon", lines))
        elif lines and lines[0].startswith("    "):
            out.append(_fenced("text", lines))
        else:
            out += _paragraphs(lines)
    return "\n\n".join(out)


def _paragraphs(lines: list[str]) -> list[str]:
    """A block's prose and its sections, each of which ends where the next begins."""
    out: list[str] = []
    while lines:
        match = _SECTION.fullmatch(lines[0])
        size = next(
            (i for i, line in enumerate(lines) if i and (_SECTION.fullmatch(line) or ">>>" in line[:8])), len(lines)
        )
        part, lines = lines[:size], lines[size:]
        if part[0].lstrip().startswith(">>>"):
            out.append(_fenced("pycon", part))
        elif match is None:
            out.append(_prose(part))
        elif match[2].strip():
            out.append(f"**{match[1]}:** {escaped(' '.join([match[2].strip(), *(line.strip() for line in part[1:])]))}")
        else:
            out.append(f"**{match[1]}:**")
            out.append(_items(part[1:]))
    return out


def _prose(lines: list[str]) -> str:
    if any(line.startswith("    ") for line in lines[1:]):  # a formula within a paragraph keeps its lines
        return _fenced("text", lines)
    return "\n".join(("- " + escaped(line[2:])) if line.startswith("- ") else escaped(line) for line in lines)


def _items(lines: list[str]) -> str:
    """`name: text` lines as a list; deeper lines go on with the one before."""
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    items: list[str] = []
    for line in lines:
        if items and len(line) - len(line.lstrip()) > indent:
            items[-1] += " " + line.strip()
        else:
            items.append(line.strip())
    named = [re.match(r"([\w*., ]+): (.*)", item, re.DOTALL) for item in items]
    return "\n".join(
        f"- **{escaped(m[1])}**: {escaped(m[2])}" if m else f"- {escaped(i)}" for m, i in zip(named, items)
    )


def _fenced(language: str, lines: list[str]) -> str:
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join([f"`````{language}", *(line[indent:] for line in lines), "`````"])


def escaped(text: str) -> str:
    """Text whose special characters mean nothing to Markdown, except code between backticks."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if i % 2 else _SPECIAL.sub(r"\\\1", part) for i, part in enumerate(parts))
