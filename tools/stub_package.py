"""The files of `rushlight-stubs`, with which type checkers and editors resolve `import rushlight.linalg`.

The modules of `rushlight/torch/`, and `rushlight_vision`, are public under other names (`rushlight.linalg`,
`rushlight.vision`), which an import finder gives them when a program runs. Who reads programs without running them needs
a file of each name: here a line that imports the module, and a line for each name that only refuses
(`rushlight/torch/unavailable.py`). The package is partial (PEP 561), so pyright reads all stubs of Rushlight from it; it
gets copies of those in the package.

`hatch_build.py` writes the files when the project is installed or built, so this module imports only the standard
library; `python -m tools.stubs` writes them again. They are not in the repository.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

FOLDER = "rushlight-stubs"
MARKER = "partial\n"  # what py.typed says, here and in the package: each is read where the other has no file


def contents(root: Path) -> dict[Path, str]:
    """What each file contains, by its path below the folder. `root` has the packages."""
    library = root / "rushlight"
    files = {path.relative_to(library): path.read_text("utf-8") for path in library.rglob("*.pyi")}
    for name in _public_names(library / "torch" / "__init__.py"):
        files |= _other_names(library / "torch", Path(*name.split(".")), "rushlight.torch")
    vision = _other_names(root / "rushlight_vision", Path(), "rushlight_vision")
    files |= {Path("vision") / path: text for path, text in vision.items()}
    for path, names in _unavailable(library / "torch" / "unavailable.py").items():
        file = next(
            (f for f in (path.with_suffix(".pyi"), path / "__init__.pyi") if f in files), path.with_suffix(".pyi")
        )
        files[file] = "from typing import Any\n" + files.get(file, "") + "".join(f"{name}: Any\n" for name in names)
    return files | {Path("py.typed"): MARKER}


def stale(root: Path) -> list[Path]:
    """The files in `root`'s folder that are missing, say something else, or no longer belong to it."""
    files, folder = contents(root), root / FOLDER
    differ = [path for path, text in files.items() if _text(folder / path) != text]
    return differ + [path for path in _present(folder) if path not in files]


def write(root: Path) -> None:
    """Write the folder into `root`."""
    files, folder = contents(root), root / FOLDER
    for path in stale(root):
        if path not in files:
            (folder / path).unlink()
            continue
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(files[path], "utf-8")


def _present(folder: Path) -> list[Path]:
    return [path.relative_to(folder) for path in folder.rglob("*.pyi")]


def _text(path: Path) -> str | None:
    return path.read_text("utf-8") if path.exists() else None


def _public_names(package: Path) -> list[str]:
    """The value of `NAMES`, which is not imported, for a build has none of the dependencies."""
    for node in ast.parse(package.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "NAMES":
            return sorted(ast.literal_eval(ast.unparse(node.value).removeprefix("frozenset(").removesuffix(")")))
    raise LookupError(f"{package} defines no NAMES")


def _unavailable(table: Path) -> dict[Path, list[str]]:
    """Modules, and the names in each that only refuse; of packages with files of their own only those of `torch/`."""
    spec = spec_from_file_location("unavailable", table)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["unavailable"] = module  # as its annotations want
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules["unavailable"]
    rows = module.ROWS.values()
    absent = {row.path for row in rows if row.kind == "module"}
    known = absent | set(_public_names(table.with_name("__init__.py")))
    found: dict[Path, list[str]] = {}
    for row in rows:
        parent, _, name = row.path.rpartition(".")
        if row.kind != "module" and (parent in known or _is_module_file(table.parent, parent)):
            found.setdefault(Path(*parent.split(".")), []).append(name)
    return found


def _is_module_file(folder: Path, name: str) -> bool:
    path = folder.joinpath(*name.split(".")) if name else folder
    return path != folder and (path.with_suffix(".py").exists() or (path / "__init__.py").exists())


def _other_names(folder: Path, name: Path, package: str) -> dict[Path, str]:
    """The stubs of a module and of those below it, under their public names."""
    if (folder / name).is_dir():
        found = {name / "__init__.pyi": _everything_of(folder / name / "__init__.py", folder, package)}
        for path in sorted((folder / name).iterdir()):
            if _is_module(path):
                found |= _other_names(folder, path.relative_to(folder).with_suffix(""), package)
        return found
    return {name.with_suffix(".pyi"): _everything_of((folder / name).with_suffix(".py"), folder, package)}


def _is_module(path: Path) -> bool:
    return (path / "__init__.py").exists() or (path.suffix == ".py" and path.stem != "__init__")


def _everything_of(file: Path, folder: Path, package: str) -> str:
    """The line that imports all of a module, and lines for the private names and the modules that a star leaves out."""
    inside = file.relative_to(folder).with_suffix("")
    module = ".".join([package, *(inside.parent if inside.name == "__init__" else inside).parts])
    lines = [f"from {module} import *"]
    hidden = _names_like_their_modules(file)
    lines += [f"from {module} import {name} as {name}" for name in sorted({*_private_names(file), *hidden})]
    lines += [f"from . import {name} as {name}" for name in sorted({*_modules_below(file)} - hidden)]
    return "\n".join(lines) + "\n"


def _private_names(file: Path) -> Iterator[str]:
    for node in ast.parse(file.read_text("utf-8")).body:
        name = getattr(node, "name", "")
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and name.startswith("_") and not name.startswith("__"):
            yield name


def _names_like_their_modules(file: Path) -> set[str]:
    """The functions of a package that hide the module they come from: `from .spawn import spawn`."""
    imports = [node for node in ast.parse(file.read_text("utf-8")).body if isinstance(node, ast.ImportFrom)]
    return {node.module or "" for node in imports if any(alias.name == node.module for alias in node.names)}


def _modules_below(file: Path) -> Iterator[str]:
    if file.name == "__init__.py":
        yield from (path.stem for path in file.parent.iterdir() if _is_module(path) and not path.name.startswith("_"))
