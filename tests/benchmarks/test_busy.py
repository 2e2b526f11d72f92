"""`python -m benchmarks busy`: which loads there are, that they are there while a step is timed, and the ratios."""

import os
import signal
from multiprocessing import get_context
from pathlib import Path

import pytest

from benchmarks import busy
from benchmarks.busy import Load, Result

LINUX = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux's sched_setaffinity")


@pytest.mark.parametrize(
    ("cores", "fewer"),
    [(1, []), (2, [1]), (3, [2, 1]), (8, [7, 6, 4])],
)
def test_loads(cores, fewer):
    assert busy.loads(cores) == [Load(cores), Load(cores, 1), Load(cores, 2), *map(Load, fewer)]


def result():
    times = {
        Load(2): {"rushlight": [2.0, 2.0, 2.0], "torch": [3.0, 4.0, 5.0]},
        Load(2, 1): {"rushlight": [6.0, 9.0, 3.0], "torch": [4.0, 4.0, 4.0], "torch.compile": [3.0, 3.0, 3.0]},
        Load(2, 2): {"rushlight": [8.0, 8.0, 8.0]},
        Load(1): {"rushlight": [4.0, 4.0, 5.0], "torch": [6.0, 6.0, 6.0]},
    }
    return Result("mlp", 2, times, {"torch.compile": "no compiler"})


def test_ratios():
    """The better of torch's two; own time on as many cores as are free, which is none with two."""
    found = result()
    assert found.against_torch(Load(2), "rushlight") == 0.5
    assert found.against_torch(Load(2, 1), "rushlight") == 2
    assert found.against_torch(Load(2, 2), "rushlight") is None
    assert found.against_free(Load(2, 1), "rushlight") == 1.5
    assert found.against_free(Load(2), "rushlight") is None
    assert found.against_free(Load(2, 2), "rushlight") is None


def test_table_marks_what_is_above_its_bound():
    lines = busy.table(result()).splitlines()
    marked = [line.split() for line in lines if line.endswith("<")]
    assert marked == [["rushlight", "6000.000", "2.00", "1.50", "<"]]
    assert lines[-1] == "  - torch.compile: no compiler"


def _cores(pipe):
    pipe.send(os.sched_getaffinity(0))


@LINUX
def test_confined():
    """A process started inside may run on the given cores only; this one has all of its own back."""
    before = os.sched_getaffinity(0)
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    with busy.confined([min(before)]):
        process = context.Process(target=_cores, args=(theirs,))
        process.start()
    assert os.sched_getaffinity(0) == before
    assert ours.recv() == {min(before)}
    process.join()


@LINUX
def test_spinning_processes_run_inside_and_end():
    with busy.spinning(2) as processes:
        states = [Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] for process in processes]
        assert states == ["R", "R"]
    assert [process.exitcode for process in processes] == [-signal.SIGKILL] * 2


@LINUX
def test_real_time_is_refused(monkeypatch):
    busy.refuse_real_time()
    monkeypatch.setattr(os, "sched_getscheduler", lambda pid: os.SCHED_FIFO)
    with pytest.raises(SystemExit, match="real-time"):
        busy.refuse_real_time()
