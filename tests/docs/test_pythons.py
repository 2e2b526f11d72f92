"""`tools.pythons`: what it says of a Python for which wheels are missing, and which Pythons it takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tools import pythons


class Packages(pythons.Environment):
    """An environment whose index has no wheels of some distributions. asked: what pip was to install."""

    def __init__(self, folder: Path, absent: set[str]):
        super().__init__(folder, {})
        self.absent, self.asked = absent, []
        self.clone.mkdir()
        (self.clone / "pyproject.toml").write_text((pythons.ROOT / "pyproject.toml").read_text())

    def pip_install(self, *requirements: object) -> subprocess.CompletedProcess[str]:
        """pip's answer."""
        self.asked.append(requirements)
        alone = "--no-deps" in requirements
        wants = {pythons.distribution(str(r)) for r in requirements if not str(r).startswith("-")}
        if not alone and any(str(r).startswith(".[") for r in requirements):
            wants |= self.absent
        text = "ERROR: No matching distribution found for x" if wants & self.absent else ""
        return subprocess.CompletedProcess([], int(bool(text)), "", text)


def test_what_has_no_wheel_is_left_out_and_named(tmp_path):
    made = Packages(tmp_path, {"llvmlite", "safetensors"})
    assert pythons.install(made, [], ("examples",)) == ["safetensors", "llvmlite"]
    *_, rest, alone = made.asked
    assert {pythons.distribution(r) for r in rest} == {
        "numpy", "ml_dtypes", "pillow", "tqdm", "onednn-cpu-gomp", "matplotlib",
    }  # fmt: skip
    assert alone == ("--no-deps", "-e", ".")


def test_all_there_is_one_call(tmp_path):
    made = Packages(tmp_path, set())
    assert pythons.install(made, ["numpy==2.3.*"], ("examples", "test")) == []
    assert made.asked == [("numpy==2.3.*", "-e", ".[examples,test]")]


def test_nothing_is_installed_without_numpy(tmp_path):
    made = Packages(tmp_path, {"numpy"})
    assert "numpy" in pythons.install(made, [], ("examples",))
    assert ("--no-deps", "-e", ".") not in made.asked


def test_other_errors_of_pip_are_failures(tmp_path):
    made = Packages(tmp_path, set())
    made.pip_install = lambda *_: subprocess.CompletedProcess([], 1, "", "ERROR: no network")  # type: ignore[method-assign]
    with pytest.raises(pythons.Failed, match="no network"):
        pythons.install(made, [], ("examples",))


@pytest.mark.parametrize(("absent", "begins"), [("numpy", "not run: no wheel of numpy for cp3"), ("", "failed: ")])
def test_a_python_without_numpy_is_no_failure(tmp_path, monkeypatch, absent, begins):
    def make(interpreter: str, folder: Path) -> pythons.Environment:
        made = Packages(folder, set())
        made.binaries.mkdir(parents=True)
        (made.binaries / "python").symlink_to(sys.executable)
        return made

    monkeypatch.setattr(pythons, "make_environment", make)
    monkeypatch.setattr(pythons, "install", lambda *_: [absent] if absent else [])
    assert pythons.run_under("python", [], tmp_path, []).startswith(begins)


def test_the_pythons_of_path_and_the_oldest_numpy(tmp_path, monkeypatch):
    for name in "python3.11", "python3.13t", "python3.9":
        (tmp_path / name).touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert pythons.in_path() == ["python3.11", "python3.13t", "python3.11+numpy==2.3.*"]


def test_the_part_is_there():
    for path in (word.removeprefix("--ignore=") for word in pythons.PART):
        assert path in ("-n", "1") or (pythons.ROOT / path).exists(), path
