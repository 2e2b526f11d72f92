"""A program's folder to work in: copied from the clone, sizes lowered where the manifest says so, data made."""

import os
import shutil
from pathlib import Path

from acceptance.data import make


def clone_of(program, clones):
    """The clone's folder; raises FileNotFoundError naming the repository if it is not there."""
    folder = Path(clones) / program.repository.replace("/", "+")
    if not folder.is_dir():
        raise FileNotFoundError(f"no clone of {program.repository} (expected {folder})")
    return folder


def prepare(program, clones, to):
    """Copy what the program needs to `to`, edit sizes, make its data; returns the folder to run in."""
    source, to = clone_of(program, clones), Path(to)
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    for name in program.copy or sorted(os.listdir(source)):
        if name != ".git":
            _copy(source / name, to / name)
    for edit in program.edits:
        _edit(to / edit["file"], edit["old"], edit["new"], edit.get("times", 1))
    cwd = to / program.cwd
    cwd.mkdir(parents=True, exist_ok=True)
    for item in program.data:
        options = {key: value for key, value in item.items() if key not in ("maker", "to")}
        make(item["maker"], os.path.normpath(cwd / item["to"]), **options)
    return cwd


def _copy(source, to):
    to.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, to, symlinks=True, dirs_exist_ok=True)
    else:
        shutil.copy2(source, to)


def _edit(path, old, new, times):
    text = path.read_text()
    if text.count(old) != times:
        raise ValueError(f"{path.name}: {old!r} occurs {text.count(old)} times, not {times}")
    path.write_text(text.replace(old, new))
