"""A save replaces the whole file or leaves it as it was."""

import errno
import os
import resource
import stat
import subprocess
import sys

import numpy as np
import pytest

from rushlight.core.tensor.tensor import wrap
from rushlight.serialization import load, safetensors, save
from rushlight.serialization.atomic import atomic_write


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "model.pt"
    save("before", path)
    yield path
    assert load(path) == "before"
    assert os.listdir(tmp_path) == ["model.pt"]


def big():
    return {"x": wrap(np.zeros(300_000))}


def test_an_unpicklable_object(target):
    with pytest.raises((AttributeError, TypeError, Exception), match=r"pickle|local object"):  # of Python 3.13
        save({"x": wrap(np.zeros(3)), "f": lambda: None}, target)


@pytest.mark.parametrize("old", [False, True])
def test_a_full_disk(target, old, limit_file_size):
    with pytest.raises(RuntimeError, match="file write failed") as caught:
        save(big(), target, _use_new_zipfile_serialization=not old)
    assert caught.value.__cause__.errno == errno.EFBIG


def test_a_full_disk_for_safetensors(target, limit_file_size):
    with pytest.raises(RuntimeError, match="file write failed"):
        safetensors.save_file(big(), target)


@pytest.fixture
def limit_file_size():
    """The system refuses files beyond 1 MB, as a full disk does."""
    import signal

    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_a_failing_system_call(target, function, monkeypatch):
    def fail(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, function, fail)
    with pytest.raises(RuntimeError, match=r"No space left on device.*unchanged"):
        save("after", target)


def test_a_folder_that_does_not_reach_the_disk(target, monkeypatch):
    """The second fsync is the folder's; the file has been replaced by then."""
    sync, calls = os.fsync, []

    def fail_second(descriptor):
        calls.append(descriptor)
        if len(calls) == 2:
            raise OSError(errno.EIO, "Input/output error")
        sync(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail_second)
        with pytest.raises(RuntimeError, match=r"Input/output error.*has its new contents"):
            save("after", target)
    assert load(target) == "after"
    save("before", target)  # what the fixture expects at the end


@pytest.mark.parametrize("name", ["a" * 300, "file/inside"])
def test_a_name_that_cannot_be(tmp_path, name):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(RuntimeError, match=r"File name too long|does not exist"):
        save([1], tmp_path / name)


# ---------------------------------------------------------------- leftovers of killed processes

KILLED = """
import os, signal, sys
from rushlight.serialization.atomic import atomic_write
with atomic_write(sys.argv[1]) as file:
    file.write(b"x" * 1000)
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_save_is_cleared_away_by_the_next_one(tmp_path):
    for name in ("model.pt", "other.pt"):
        (tmp_path / name).mkdir()
        subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / name / "x")], check=False)
        for left in (tmp_path / name).iterdir():
            left.rename(tmp_path / left.name)
        (tmp_path / name).rmdir()
    assert len(list(tmp_path.iterdir())) == 2
    save([1], tmp_path / "model.pt")
    assert [path.name for path in tmp_path.iterdir()] == ["model.pt"]


def test_what_is_no_leftover_stays(tmp_path):
    with atomic_write(tmp_path / "being written") as file:  # of a process that lives: this one
        own = {path.name for path in tmp_path.iterdir()}
        file.write(b"x")
        dead = 2**22 + 1  # beyond the largest number of a process
        others = [
            ".model.pt.tmp",
            f"model.pt.{dead}-00000000.tmp",
            f".model.pt.{dead}-0000000.tmp",
            ".x.1-zzzzzzzz.tmp",
        ]
        for name in others:
            (tmp_path / name).write_bytes(b"")
        (tmp_path / f".folder.{dead}-00000000.tmp").mkdir()
        (tmp_path / f".link.{dead}-00000000.tmp").symlink_to(tmp_path / ".model.pt.tmp")
        (tmp_path / f".model.pt.{dead}-00000000.tmp").write_bytes(b"left")
        save([1], tmp_path / "model.pt")
        left = {path.name for path in tmp_path.iterdir()}
    assert left == {*own, *others, "model.pt", f".folder.{dead}-00000000.tmp", f".link.{dead}-00000000.tmp"}


def test_a_number_that_another_process_has_by_now(tmp_path):
    """This process has the number, but began after the file was written; then a file that is younger than it."""
    old = tmp_path / f".model.pt.{os.getpid()}-00000000.tmp"
    new = tmp_path / f".model.pt.{os.getpid()}-00000001.tmp"
    for path in (old, new):
        path.write_bytes(b"x")
    os.utime(old, (1, 1))
    save([1], tmp_path / "model.pt")
    assert not old.exists() and new.exists()


def test_a_locked_file_stays_although_its_process_cannot_be_seen(tmp_path):
    """As in a container, where the writer has a number that means nothing here."""
    import fcntl

    path = tmp_path / f".model.pt.{2**22 + 1}-00000000.tmp"
    with open(path, "wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        save([1], tmp_path / "model.pt")
        assert path.exists()
    save([1], tmp_path / "model.pt")
    assert not path.exists()


def test_an_interrupt(target):
    with pytest.raises(KeyboardInterrupt), atomic_write(target) as file:
        file.write(b"half")
        raise KeyboardInterrupt


def test_folders_that_cannot_work(tmp_path):
    with pytest.raises(RuntimeError, match=r"Parent directory .*missing does not exist"):
        save([], tmp_path / "missing" / "model.pt")
    with pytest.raises(RuntimeError, match="invalid file name"):
        save([], tmp_path)


def test_a_device_is_written_to_not_replaced():
    kind = os.stat("/dev/null").st_mode
    save([1], "/dev/null")
    assert os.stat("/dev/null").st_mode == kind


def test_permissions_stay_and_new_files_follow_the_mask(tmp_path):
    path = tmp_path / "model.pt"
    before = os.umask(0o027)
    try:
        save([1], path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o600)
        save([2], path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load(path) == [2]


def test_a_link_keeps_pointing_at_the_file(tmp_path):
    (tmp_path / "real").mkdir()
    real, link = tmp_path / "real" / "model.pt", tmp_path / "link.pt"
    save([1], real)
    link.symlink_to(real)
    save([2], link)
    assert link.is_symlink()
    assert load(real) == [2]


def test_a_long_name(tmp_path):
    path = tmp_path / ("n" * 250 + ".pt")
    save([1], path)
    assert load(path) == [1]
