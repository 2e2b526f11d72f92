"""Files are replaced whole, by everything here that writes one for other processes."""

import os
import stat
import sys

import pytest

from rushlight.core.atomic import replacing


def test_the_new_file_is_there_when_the_block_ends(tmp_path):
    path = tmp_path / "report.json"
    path.write_text("old")
    with replacing(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_text() == "old"
        assert len(os.listdir(tmp_path)) == 2
    assert path.read_text() == "new" and os.listdir(tmp_path) == ["report.json"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_after_an_error_the_old_file_is_there_and_nothing_else(tmp_path, error):
    path = tmp_path / "report.json"
    path.write_text("old")
    with pytest.raises(error), replacing(path) as file:
        file.write(b"half")
        raise error
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["report.json"]


def test_a_name_that_cannot_be_taken_leaves_nothing(tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError), replacing(tmp_path / "taken") as file:
        file.write(b"x")
    assert os.listdir(tmp_path) == ["taken"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_permissions_are_those_of_open_or_as_asked(tmp_path):
    before = os.umask(0o027)
    try:
        for mode, want in ((None, 0o640), (0o600, 0o600), (0o444, 0o444)):
            with replacing(tmp_path / "x", mode=mode) as file:
                assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == want
            assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == want
    finally:
        os.umask(before)


@pytest.mark.parametrize("sync", [False, True])
def test_bytes_reach_the_disk_before_the_name_where_asked(tmp_path, monkeypatch, sync):
    calls = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: calls.append("fsync"))
    replace = os.replace
    monkeypatch.setattr(os, "replace", lambda a, b: (calls.append("replace"), replace(a, b)))
    with replacing(tmp_path / "x", sync=sync) as file:
        file.write(b"x")
    assert calls == (["fsync", "replace"] if sync else ["replace"])


def test_a_relative_name_and_a_long_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("short", "n" * 255):
        with replacing(name) as file:
            file.write(b"x")
    assert sorted(os.listdir()) == sorted(["short", "n" * 255])


def test_nothing_else_in_the_package_writes_aside_by_itself():
    from pathlib import Path

    import rushlight

    root = Path(rushlight.__file__).parent
    found = {str(p.relative_to(root)) for p in root.rglob("*.py") if "os.replace(" in p.read_text()}
    assert found == {"core/atomic.py"}
