"""PyInstaller's hooks, with functions in place of PyInstaller's that say what they were asked for."""

import runpy
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from types import ModuleType

from rushlight.backend.onednn import library
from rushlight.cli import pyinstaller

ROOT = Path(__file__).parents[2]


def hook(monkeypatch):
    """The variables that the hook sets."""
    hooks = ModuleType("PyInstaller.utils.hooks")
    hooks.collect_submodules = lambda name: [f"modules of {name}"]
    hooks.collect_data_files = lambda name: [f"data of {name}"]
    for name, module in (("PyInstaller", ModuleType("PyInstaller")), ("PyInstaller.utils", ModuleType("utils"))):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "PyInstaller.utils.hooks", hooks)
    (folder,) = pyinstaller.folders()
    return runpy.run_path(str(Path(folder) / "hook-rushlight.py"))


def test_everything_that_is_loaded_by_name_is_taken_along(monkeypatch):
    found = hook(monkeypatch)
    assert found["hiddenimports"] == ["modules of rushlight", "modules of rushlight_vision"]
    assert found["datas"] == ["data of rushlight", "data of rushlight_vision"]


def test_the_library_lies_where_it_is_looked_for(monkeypatch):
    """An application's prefix is its folder, and `lib` in the prefix is the first place."""
    found = hook(monkeypatch)["binaries"]
    if not library.available():
        assert found == []
        return
    ((file, folder),) = found
    assert Path(file).name == library._FILE
    assert folder == "lib"
    monkeypatch.setattr(library.os.path, "exists", lambda path: True)
    assert next(library._candidates()) == str(Path(sys.prefix) / folder / library._FILE)


def test_the_entry_point_names_the_function():
    entry = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pyinstaller40"][
        "hook-dirs"
    ]
    module, _, function = entry.partition(":")
    assert getattr(import_module(module), function) is pyinstaller.folders
