"""What is shown of long work: in a terminal, and nowhere else."""

import io
import threading
from types import SimpleNamespace

import pytest

import rushlight as torch
from rushlight.core import terminal
from rushlight.serialization import atomic, safetensors


class Screen(io.StringIO):
    """A terminal; `seen(text)` waits until it was written."""

    def __init__(self):
        super().__init__()
        self.changed = threading.Condition()

    def isatty(self):
        return True

    def write(self, text):
        with self.changed:
            super().write(text)
            self.changed.notify_all()
        return len(text)

    def seen(self, text):
        with self.changed:
            return self.changed.wait_for(lambda: text in self.getvalue(), timeout=30)


@pytest.fixture
def screen(monkeypatch):
    made = Screen()
    monkeypatch.setattr(terminal, "sys", SimpleNamespace(stderr=made))  # not sys.stderr, which pytest replaces
    monkeypatch.setattr(terminal, "_SHOWN_AFTER_S", 0.0)
    monkeypatch.setattr(terminal, "_REFRESH_S", 0.001)
    monkeypatch.setattr(terminal, "_LEAST_BYTES", 1)
    return made


def test_without_a_total_the_time_is_shown(screen):
    before = threading.enumerate()  # another test's bar may have left tqdm's monitor
    with terminal.long_work("working") as advance:
        assert advance is not None and screen.seen("working (00:00)")
    assert not [
        t
        for t in {*threading.enumerate()}.difference(before)
        if "tqdm" in type(t).__module__ or t.name == "rushlight progress"
    ]
    assert screen.getvalue().endswith("\r")  # and the line is empty again


def test_with_a_total_its_part_is_shown(screen):
    with terminal.long_work("saving a", 4 << 20) as advance:
        advance(1 << 20)
        assert screen.seen("saving a:  25%") and screen.seen("1.00M/4.00M")


def test_nothing_of_short_work(screen, monkeypatch):
    monkeypatch.setattr(terminal, "_SHOWN_AFTER_S", 1000.0)
    with terminal.long_work("working") as advance:
        advance(1)
    assert screen.getvalue() == ""


def test_nothing_of_few_bytes(screen, monkeypatch):
    monkeypatch.setattr(terminal, "_LEAST_BYTES", 100)
    with terminal.long_work("saving a", 99) as advance:
        assert advance is None
    with terminal.long_work("saving a", 100) as advance:
        assert advance is not None


def test_nothing_where_no_person_reads(screen, monkeypatch):
    monkeypatch.setattr(screen, "isatty", lambda: False)
    before = threading.active_count()
    with terminal.long_work("working") as advance:
        assert advance is None and threading.active_count() == before
    for stream in (None, io.StringIO()):
        monkeypatch.setattr(terminal.sys, "stderr", stream)
        with terminal.long_work("working") as advance:
            assert advance is None
    closed = io.StringIO()
    closed.close()
    assert not terminal.is_terminal(closed)


def test_nothing_without_tqdm_or_threads(screen, monkeypatch):
    def no_more(self):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(terminal, "find_spec", lambda name: None)
        with terminal.long_work("working") as advance:
            assert advance is None
    monkeypatch.setattr(threading.Thread, "start", no_more)
    with terminal.long_work("working") as advance:
        assert advance is None
    assert screen.getvalue() == ""


def test_an_error_ends_it(screen):
    with pytest.raises(ValueError, match="inside"), terminal.long_work("working"):
        assert screen.seen("working")
        raise ValueError("inside")
    assert not [t for t in threading.enumerate() if t.name == "rushlight progress"]


@pytest.mark.parametrize("form", ["zip", "legacy", "safetensors"])
def test_checkpoints(screen, monkeypatch, tmp_path, form):
    if form == "safetensors":
        pytest.importorskip("safetensors")
    values = {"a": torch.arange(3000.0), "b": torch.ones(5, dtype=torch.int8)}
    shown = []
    write = atomic._Shown.write

    def waits(self, data):
        count = write(self, data)
        shown.append(screen.seen(f"saving {form}.pt:"))
        return count

    monkeypatch.setattr(atomic, "_CHUNK_BYTES", 1000)
    monkeypatch.setattr(atomic._Shown, "write", waits)
    path = tmp_path / f"{form}.pt"
    if form == "safetensors":
        safetensors.save_file(values, path)
        again = safetensors.load_file(path)
    else:
        torch.save(values, path, _use_new_zipfile_serialization=form == "zip")
        again = torch.load(path)
    assert shown and all(shown) and screen.seen("/")
    assert all(torch.equal(values[name], again[name]) for name in values)
    monkeypatch.undo()
    before = path.read_bytes()
    path.unlink()
    if form == "zip":
        torch.save(values, path)  # not shown: the same bytes
        assert path.read_bytes() == before


def test_the_compiler(screen, monkeypatch):
    pytest.importorskip("llvmlite")
    from rushlight.compile.runtime.native import Native

    seen, build = [], Native._build
    monkeypatch.setattr(Native, "_build", lambda *a: [seen.append(screen.seen("Rushlight compiles (")), build(*a)][1])
    f, x = torch.compile(lambda x: (x * 2).exp().sum()), torch.ones(8)
    for _ in range(4):
        assert f(x) == pytest.approx(8 * 7.389056, rel=1e-6)
    assert seen and all(seen)
