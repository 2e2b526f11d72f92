"""Changelog fragments: each has a name that towncrier sorts by, and a paragraph that reads as an entry."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]
TYPES = [kind["directory"] for kind in SETTINGS["type"]]
FOLDER = ROOT / SETTINGS["directory"]
FRAGMENTS = sorted(p for p in FOLDER.iterdir() if p.name not in SETTINGS["ignore"])


def faults(name: str, text: str) -> list[str]:
    """What is wrong with a fragment of this file name and text."""
    found = []
    if not re.fullmatch(rf"[a-z0-9]+(-[a-z0-9]+)*\.({'|'.join(TYPES)})\.md", name):
        found.append(f"the name is not NAME.TYPE.md, TYPE one of {', '.join(TYPES)}")
    if "\n\n" in text.strip() or text.lstrip().startswith(("-", "*", "#")):
        found.append("not one paragraph without a bullet")
    if not text.endswith((".\n", ").\n", "`.\n")):
        found.append("no full stop at the end")
    if max(map(len, text.splitlines()), default=0) > 118:
        found.append("a line is longer than 118 columns")
    return found


@pytest.mark.parametrize("path", FRAGMENTS, ids=lambda p: p.name)
def test_fragment(path):
    assert faults(path.name, path.read_text()) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.feature.md", ""), ("a.md", "A."), ("a.feat.md", "A.\n"), ("a.fix.md", "- A.\n"), ("a.fix.md", "A.\n\nB.\n"),
     ("A b.fix.md", "A.\n"), ("a.fix.md", "A\n"), ("a.fix.md", "a " * 60 + ".\n")],
)  # fmt: skip
def test_faults_are_seen(name, text):
    assert faults(name, text)


def test_there_is_a_place_for_them():
    assert SETTINGS["start_string"] in (ROOT / SETTINGS["filename"]).read_text()
    assert (ROOT / SETTINGS["template"]).name in SETTINGS["ignore"]


@pytest.mark.skipif(shutil.which("towncrier") is None, reason="towncrier is not installed")
def test_towncrier_collects_them():
    draft = ["towncrier", "build", "--draft", "--version", "9.9.9", "--date", "2026-01-01"]
    shown = subprocess.run(draft, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "## 9.9.9 (2026-01-01)" in shown
    for path in FRAGMENTS:
        assert path.read_text().splitlines()[0] in shown
