"""The recipes of docs/recipes/ work: their edits are applied to a copy of the tree, their commands and programs run there."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECIPES = sorted((ROOT / "docs" / "recipes").glob("*.md"))
COPIED = ("rushlight", "rushlight_vision", "tools", "tests", "docs", "README.md", "CONTRIBUTING.md", "pyproject.toml")
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EDIT = re.compile(r"# ([\w./]+): (at the end|a new file|below `(.*)`)\n")


def blocks(page):
    """(language, text) of each fenced block."""
    return _BLOCK.findall(page.read_text())


def edits(page):
    """(path, line below which to insert or None, text, whether the file is new) of each edit."""
    for language, text in blocks(page):
        if language == "py":
            head = _EDIT.match(text)
            assert head, f"{page.name}: an edit begins with '# path: place', not with {text.splitlines()[0]!r}"
            yield head[1], head[3], text[head.end() :], head[2] == "a new file"


def apply(folder, path, anchor, text, is_new):
    """Make one edit of the tree in `folder`."""
    file = folder / path
    assert file.exists() != is_new, path
    if is_new:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    elif anchor is None:
        file.write_text(file.read_text() + text)
    else:
        lines = file.read_text().splitlines(keepends=True)
        assert lines.count(anchor + "\n") == 1, f"{path}: {lines.count(anchor + chr(10))} lines are {anchor!r}"
        lines.insert(lines.index(anchor + "\n") + 1, text)
        file.write_text("".join(lines))


def run(command, folder):
    """Run a command in the copy; its output."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def programs(page):
    """(source, expected output or None) of the blocks that run after the edits."""
    found = []
    for language, text in blocks(page):
        if language == "python":
            found.append((text, None))
        elif language == "text":
            found[-1] = found[-1][0], text
    return found


@pytest.fixture(params=RECIPES, ids=lambda p: p.stem)
def cooked(request, tmp_path):
    """(page, folder): a recipe and a copy of the tree to which it was applied."""
    for name in COPIED:
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        ignore = {"ignore": shutil.ignore_patterns("*.pyc.*", "golden")} if source.is_dir() else {}
        copy(source, tmp_path / name, **ignore)
    (tmp_path / "tests" / "golden").symlink_to(ROOT / "tests" / "golden")
    for edit in edits(request.param):
        apply(tmp_path, *edit)
    return request.param, tmp_path


def test_recipe_is_short():
    """An optimizer is a file of at most 60 lines with its docstring, and touches three (its package lists it twice)."""
    found = list(edits(ROOT / "docs" / "recipes" / "optimizer.md"))
    assert len({path for path, *_ in found}) == 3
    assert len(found[0][2].splitlines()) <= 60


def test_recipe(cooked):
    page, folder = cooked
    for command in (line for language, text in blocks(page) if language == "sh" for line in text.splitlines()):
        shown = run([sys.executable, *shlex.split(command.removeprefix("python "))], folder)
        assert "pytest" not in command or re.search(r"\d+ passed", shown)
    mark = "-- end of block --"
    script = folder / "recipe.py"
    parts = [source for source, _ in programs(page)]
    script.write_text(f"for block in {parts!r}:\n    exec(compile(block, 'recipe.py', 'exec'))\n    print({mark!r})\n")
    printed = run([sys.executable, "-W", "error", "-m", "rushlight", "run", str(script)], folder).split(mark + "\n")[
        :-1
    ]
    for (source, expected), got in zip(programs(page), printed, strict=True):
        assert expected is None or got == expected, source
    changed = [folder / path for path, *_ in edits(page) if path.endswith(".py")]
    run([sys.executable, "-m", "ruff", "check", *map(str, changed)], folder)
    run([sys.executable, "-m", "ruff", "format", "--check", *map(str, changed)], folder)
