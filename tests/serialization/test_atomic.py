"""A save replaces the whole file or leaves it as it was."""

import errno
import os
import resource
import stat

import numpy as np
import pytest

from rushlight.core.tensor import wrap
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
    with pytest.raises((AttributeError, TypeError, Exception), match="pickle"):
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
