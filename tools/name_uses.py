"""`python -m tools.name_uses`: write docs/missing-names-used.md, torch's missing names by how many public programs use them.

The counts are in `tools/name_uses.tsv`: for each of torch's names that is missing, the packages that use it and the number of
their files. `python -m tools.name_uses FOLDER ...` counts again; each folder holds packages: folders of source, or wheels.
"""

from __future__ import annotations

import argparse
import ast
import csv
import warnings
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["COUNTS", "PAGE", "page", "used_in"]

_ROOT = Path(__file__).parent.parent
COUNTS = _ROOT / "tools" / "name_uses.tsv"
PAGE = _ROOT / "docs" / "missing-names-used.md"
MOST = 200
_HEAD = """# Missing names by use

Written by `python -m tools.name_uses`; a test says when it is out of date. These are the {shown} most used of torch's names that
Rushlight does not have, by how many of {packages} public packages have them in their source, then by files. Names of modules
that begin with an underscore are among them. Each can be imported, and raises NotImplementedError when it is called.

{reasons}

| Name | Packages | Files | |
|---|---|---|---|
"""


class Reason(NamedTuple):
    """Why names stay missing. prefixes: of the names."""

    word: str
    text: str
    prefixes: tuple[str, ...]


REASONS = (
    Reason("device", "of CUDA and other accelerators, and of libraries for them: there is no such device here", (
        "torch.cuda", "torch.backends.cuda", "torch.backends.cudnn", "torch.xpu", "torch.mps", "torch.mtia", "torch.version",
        "torch._C._cuda", "torch.accelerator", "torch.backends.mps", "torch.backends.miopen", "torch.npu", "torch.hpu",
    )),
    Reason("distributed", "of process groups, sharding and remote calls beyond those in `torch.distributed` here", (
        "torch.distributed", "torch._C._distributed",
    )),
    Reason("compiler", "of torch's own compilers (Dynamo, Inductor, AOTAutograd, export): Rushlight has its own", (
        "torch._dynamo", "torch._inductor", "torch._functorch", "torch.export", "torch._export", "torch.fx.experimental",
        "torch._higher_order_ops", "torch._ops", "torch._decomp", "torch._prims", "torch._refs", "torch._library",
    )),
    Reason("TorchScript", "of the classes behind TorchScript's graphs", ("torch._C", "torch.jit")),
)  # fmt: skip


# ------------------------------------------------------------------------------------------ counting


def used_in(source: str) -> set[str]:
    """The dotted names below `torch` that a file's imports and attributes name."""
    tree = ast.parse(source)
    names: dict[str, str] = {}
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for a in node.names:
                if a.name.split(".")[0] == "torch":
                    names[a.asname or "torch"] = a.name if a.asname else "torch"
        elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == "torch":
            for a in node.names:
                names[a.asname or a.name] = f"{node.module}.{a.name}"
                found.add(f"{node.module}.{a.name}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (path := _dotted(node, names)):
            found.add(path)
    return found


def _dotted(node: ast.expr, names: dict[str, str]) -> str | None:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in names:
        return None
    return ".".join([names[node.id], *reversed(parts)])


def _sources(package: Path) -> Iterator[str]:
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as archive:
            for name in archive.namelist():
                if name.endswith(".py"):
                    yield archive.read(name).decode(errors="replace")
        return
    for path in sorted(package.rglob("*.py")):
        yield path.read_text(errors="replace")


def _missing(path: str) -> str | None:
    """The shortest beginning of a dotted name that torch has and Rushlight has not."""
    from rushlight.alias.lookup import status

    parts = path.split(".")
    for i in range(2, len(parts) + 1):
        name = ".".join(parts[:i])
        state = status(name)
        if state == "absent":
            return name
        if state == "unknown":
            return None
    return None


def count(folders: list[Path]) -> None:
    """Write the counts of what the packages in the folders use."""
    packages: dict[str, set[str]] = defaultdict(set)
    files: dict[str, int] = defaultdict(int)
    known: dict[str, str | None] = {}
    seen: set[str] = set()
    for package in sorted(p for f in folders for p in f.iterdir() if p.is_dir() or p.suffix == ".whl"):
        name = package.name.split("-")[0] if package.suffix == ".whl" else package.name
        for source in _sources(package):
            try:
                used = used_in(source)
            except SyntaxError:
                continue
            if used:
                seen.add(name)
            for path in used:
                if path not in known:
                    known[path] = _missing(path)
            for path in {known[p] for p in used} - {None}:
                assert path is not None
                packages[path].add(name)
                files[path] += 1
    order = sorted(files, key=lambda p: (-len(packages[p]), -files[p], p))
    with open(COUNTS, "w", newline="") as file:
        table = csv.writer(file, delimiter="\t", lineterminator="\n")
        table.writerow(["name", "files", "packages", f"of {len(seen)}: {' '.join(sorted(seen))}"])
        table.writerows([p, files[p], len(packages[p]), " ".join(sorted(packages[p]))] for p in order)


# ------------------------------------------------------------------------------------------ the page


def page() -> str:
    """The page."""
    from rushlight.alias import install
    from rushlight.alias.lookup import status

    install()
    with open(COUNTS, newline="") as file:
        head, *rows = csv.reader(file, delimiter="\t")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = [r for r in rows if status(r[0]) == "absent"][:MOST]
    number = head[3].split(":")[0].removeprefix("of ")
    reasons = "\n".join(f"- *{r.word}*: {r.text}." for r in REASONS)
    text = _HEAD.format(shown=len(rows), packages=number, reasons=reasons)
    return text + "".join(
        f"| `{name}` | {packages} | {files} | {_reason(name)} |\n" for name, files, packages, _ in rows
    )


def _reason(name: str) -> str:
    found = [r for r in REASONS if name.startswith(r.prefixes)]
    return f"*{found[0].word}*" if found else ""


def main() -> None:
    """Count, if folders are given, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    folders = parser.parse_args().folders
    if folders:
        from rushlight.alias import install

        install()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            count(folders)
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
