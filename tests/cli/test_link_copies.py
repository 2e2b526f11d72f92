"""`rushlight env --link-copies`: oneDNN's three files become one, under their three names."""

import os
from pathlib import Path, PurePosixPath

import pytest

from rushlight import cli
from rushlight.backend.onednn import copies


class File(PurePosixPath):
    """A file as importlib.metadata lists it."""

    def locate(self):
        return Path(self)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """The files of an installed wheel: three of one content, one of another, and what is no library."""
    for name in ("libdnnl.so", "libdnnl.so.3", "libdnnl.so.3.2"):
        (tmp_path / name).write_bytes(b"library" * 1000)
    (tmp_path / "libdnnl.so.old").write_bytes(b"Library" * 1000)
    (tmp_path / "README").write_bytes(b"library" * 1000)
    monkeypatch.setattr(copies.metadata, "files", lambda name: [File(path) for path in sorted(tmp_path.iterdir())])
    return tmp_path


def test_copies_become_links(package, capsys):
    before = {path.name: path.read_bytes() for path in package.iterdir()}
    assert cli.main(["env", "--link-copies"]) == 0
    assert capsys.readouterr().out == "2 copies of oneDNN's library became links, 0.0 MB became free\n"
    assert {path.name: path.read_bytes() for path in package.iterdir()} == before
    nodes = {path.name: path.stat().st_ino for path in package.iterdir()}
    assert nodes["libdnnl.so"] == nodes["libdnnl.so.3"] == nodes["libdnnl.so.3.2"]
    assert len(set(nodes.values())) == 3  # another content, and another kind of file, stay by themselves
    assert copies.link_copies() == (0, 0)


def test_what_has_links_elsewhere_frees_nothing(package):
    os.link(package / "libdnnl.so.3", package / "kept")
    assert copies.link_copies() == (2, 7000)


def test_without_the_package(monkeypatch):
    def absent(name):
        raise copies.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(copies.metadata, "files", absent)
    assert copies.link_copies() == (0, 0)


def test_a_folder_that_cannot_be_written(package, monkeypatch, capsys):
    def refused(link, path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(copies.os, "replace", refused)
    assert cli.main(["env", "--link-copies"]) == 1
    assert "Permission denied" in capsys.readouterr().err
    assert not list(package.glob("*.link"))
