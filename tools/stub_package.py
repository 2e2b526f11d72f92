"""The files of `rushlight-stubs`, with which type checkers and editors resolve `import rushlight.linalg`.

The modules of `rushlight/torch/`, and `rushlight_vision`, are public under other names (`rushlight.linalg`,
`rushlight.vision`), which an import finder gives them when a program runs. Who reads programs without running them needs
a file of each name: here a line that imports the module. The package is partial (PEP 561), so pyright reads all stubs of
Rushlight from it; it gets copies of those in the package.

`hatch_build.py` writes the files when the project is installed or built, so this module imports only the standard
library; `python -m tools.stubs` writes them again. They are not in the repository.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
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
    names = sorted({*_private_names(file), *_modules_below(file)})
    return f"from {module} import *\n" + "".join(f"from {module} import {name} as {name}\n" for name in names)


def _private_names(file: Path) -> Iterator[str]:
    for node in ast.parse(file.read_text("utf-8")).body:
        name = getattr(node, "name", "")
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and name.startswith("_") and not name.startswith("__"):
            yield name


def _modules_below(file: Path) -> Iterator[str]:
    if file.name == "__init__.py":
        yield from (path.stem for path in file.parent.iterdir() if _is_module(path) and not path.name.startswith("_"))
