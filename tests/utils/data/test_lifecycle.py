"""Workers leave nothing behind, whatever ends the loop, the loader or the process."""

import gc
import multiprocessing
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from rushlight import ops
from rushlight.utils.data import DataLoader, IterableDataset, get_worker_info, parallel_iterator, pool

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs pidfds"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning"),
]

PATIENCE_S = 20  # how long a test waits for an event that must come before it fails


class Squares:
    """Samples of 64 KiB, so that batches travel as shared blocks."""

    def __len__(self):
        return 24

    def __getitem__(self, index):
        return ops.full((1 << 14,), float(index)), index * index


class WorkerId(Squares):
    def __getitem__(self, index):
        return os.getpid()


def shared_memory() -> set:
    """Named blocks that a loader could leave. Other processes of the machine make semaphores and memory of MPI meanwhile."""
    return {name for name in os.listdir("/dev/shm") if name.startswith(("rushlight", "psm_", "torch_"))}


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def has_died(pidfd: int) -> bool:
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    died = bool(poll.poll(PATIENCE_S * 1000))
    os.close(pidfd)
    return died


def finish(loader):
    assert len(list(loader)) == 6


def leave_by_break(loader):
    for _ in loader:
        break


def leave_by_error(loader):
    with pytest.raises(ZeroDivisionError):
        for _ in loader:
            1 / 0  # noqa: B018


def leave_by_interrupt(loader):
    with pytest.raises(KeyboardInterrupt):
        for _ in loader:
            signal.raise_signal(signal.SIGINT)


def drop_unused(loader):
    iter(loader)


def drop_between_epochs(loader):
    finish(loader)
    leave_by_break(loader)
    finish(loader)


def nest(loader):
    assert [a[1].tolist() == b[1].tolist() for a in loader for b in loader] == [
        i == j for i in range(6) for j in range(6)
    ]


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize(
    "use", [finish, leave_by_break, leave_by_error, leave_by_interrupt, drop_unused, drop_between_epochs]
)
def test_nothing_is_left(use, persistent):
    use(DataLoader(Squares(), 4, num_workers=2))  # the first use opens descriptors that stay (ctypes, urandom)
    gc.collect()
    blocks, before = shared_memory(), descriptors()
    loader = DataLoader(Squares(), 4, num_workers=2, persistent_workers=persistent)
    use(loader)
    del loader
    gc.collect()
    assert multiprocessing.active_children() == []
    assert shared_memory() <= blocks
    assert descriptors() == before


def test_nested_iterators():
    nest(DataLoader(Squares(), 4, num_workers=1))
    assert multiprocessing.active_children() == []


def test_a_batch_outlives_its_loader_and_then_frees_its_block():
    before = descriptors()
    batches = list(DataLoader(Squares(), 4, num_workers=2))
    assert [batch[0][:, 0].tolist() for batch in batches] == [[float(4 * i + j) for j in range(4)] for i in range(6)]
    batches[0][0].add_(1)
    assert batches[0][0][:, -1].tolist() == [1.0, 2.0, 3.0, 4.0]
    del batches
    gc.collect()
    assert descriptors() <= before + 1  # at most one that stays open from the first use


def test_workers_of_a_finished_epoch_exit_and_persistent_ones_stay():
    pids = [set(batch.tolist()) for batch in DataLoader(WorkerId(), 4, num_workers=2)]
    loader = DataLoader(WorkerId(), 4, num_workers=2, persistent_workers=True)
    first, second = ({pid for batch in loader for pid in batch.tolist()} for _ in range(2))
    assert first == second and len(first) == 2 and not first & set().union(*pids)


# Each program runs in a process of its own, which the test then ends or lets end. It prints its workers' pids first.
PREAMBLE = """
import multiprocessing, os, signal, sys, threading
multiprocessing.set_start_method("fork")  # what is defined in `-c` is nowhere else
from rushlight import ops
from rushlight.utils.data import DataLoader

class Data:
    def __init__(self, stuck_at=-1): self.stuck_at = stuck_at
    def __len__(self): return 1000
    def __getitem__(self, index):
        while index == self.stuck_at: threading.Event().wait()
        return ops.full((1 << 15,), float(index))

def start(loader):
    iterator = iter(loader)
    next(iterator)
    print(*[worker.pid for worker in iterator._workers], flush=True)
    return iterator

wait = threading.Event().wait
"""

PROGRAMS = {
    "end with a live iterator": "it = start(DataLoader(Data(), 2, num_workers=2)); sys.stdin.readline()",
    "end with live persistent workers": (
        "loader = DataLoader(Data(), 2, num_workers=2, persistent_workers=True); it = start(loader); "
        "sys.stdin.readline()"
    ),
    "end with a cycle": (
        "it = start(DataLoader(Data(), 2, num_workers=2)); cycle = [it]; cycle.append(cycle); sys.stdin.readline()"
    ),
    "sys.exit in the loop": """
for batch in (it := start(DataLoader(Data(), 2, num_workers=2))):
    sys.stdin.readline(); sys.exit()
""",
    "os._exit": "it = start(DataLoader(Data(), 2, num_workers=2)); sys.stdin.readline(); os._exit(0)",
    "a forked child drops its copy": """
it = start(DataLoader(Data(), 2, num_workers=2))
if os.fork() == 0:
    del it
    os._exit(0)
assert os.wait()[1] == 0
assert len(list(it)) == 499
sys.stdin.readline()
""",
}


def run_program(body: str):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", PREAMBLE + body],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,
        text=True,
    )
    pids = process.stdout.readline().split()
    if not pids:
        pytest.fail(process.communicate()[1])
    return process, [os.pidfd_open(int(pid)) for pid in pids]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_process_that_ends_leaves_no_worker_and_prints_nothing(name):
    before = shared_memory()
    process, workers = run_program(PROGRAMS[name])
    _, errors = process.communicate("\n", timeout=PATIENCE_S)
    assert (process.returncode, errors) == (0, "")
    assert all(has_died(worker) for worker in workers)
    assert shared_memory() <= before


IN_A_THREAD = """
made = []
thread = threading.Thread(target=lambda: made.append(start(DataLoader(Data(), 2, num_workers=2))))
thread.start(); thread.join(); wait()
"""

KILLED = {
    "idle workers": "it = start(DataLoader(Data(), 2, num_workers=2)); wait()",
    "a worker stuck in a sample": "it = start(DataLoader(Data(stuck_at=4), 2, num_workers=2)); wait()",
    "workers waiting to send": (
        "it = start(DataLoader(Data(), batch_size=None, num_workers=2, prefetch_factor=400)); wait()"
    ),
    "spawned workers": (
        "it = start(DataLoader(range(1000), 2, num_workers=2, multiprocessing_context='spawn')); wait()"
    ),
    "workers of the fork server": (
        "it = start(DataLoader(range(1000), 2, num_workers=2, multiprocessing_context='forkserver')); wait()"
    ),
    "workers that a thread started": IN_A_THREAD,
}


@pytest.mark.parametrize("name", KILLED)
def test_workers_notice_that_their_loader_was_killed(name):
    before = shared_memory()
    process, workers = run_program(KILLED[name])
    process.kill()
    process.communicate()
    assert all(has_died(worker) for worker in workers)
    assert shared_memory() <= before


def test_an_interrupt_for_all_processes_ends_all_quietly():
    body = """
try:
    for batch in (it := start(DataLoader(Data(), 2, num_workers=2))):
        print("in the loop", flush=True)
        wait()
except KeyboardInterrupt:
    print("interrupted")
"""
    process, workers = run_program(body)
    assert process.stdout.readline() == "in the loop\n"
    os.killpg(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=PATIENCE_S)
    assert (output, errors, process.returncode) == ("interrupted\n", "", 0)
    assert all(has_died(worker) for worker in workers)


@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize("persistent", [False, True])
def test_a_killed_worker_is_reported(persistent, in_order):
    loader = DataLoader(Squares(), 2, num_workers=2, persistent_workers=persistent, in_order=in_order)
    iterator = iter(loader)
    next(iterator)
    victim = iterator._workers[1]
    pidfd = os.pidfd_open(victim.pid)
    os.kill(victim.pid, signal.SIGKILL)
    assert has_died(pidfd)
    with pytest.raises(
        RuntimeError, match=rf"DataLoader worker \(pid\(s\) {victim.pid}\) exited unexpectedly"
    ) as raised:
        list(iterator)  # after what had been sent before
    assert f"DataLoader worker (pid {victim.pid}) is killed by signal: Killed. " == str(raised.value.__cause__)
    facts = str(raised.value).partition(": ")[2]  # what was asked of it depends on how far it had come
    assert re.fullmatch(
        rf"worker 1 \(pid {victim.pid}\) was killed by signal 9 \(Killed\)"
        r"(, with nothing to load| while it had to load the samples at indices \[\d+, \d+\](, then \[\d+, \d+\])*)",
        facts,
    )
    assert not any(worker.is_alive() for worker in iterator._workers)
    with pytest.raises(RuntimeError, match="no workers left"):
        next(iterator)
    assert len(list(loader)) == 12  # the loader itself can go on with new workers


def test_without_pidfds(monkeypatch):
    monkeypatch.delattr(os, "pidfd_open")
    finish(DataLoader(Squares(), 4, num_workers=2))
    iterator = iter(DataLoader(Squares(), 4, num_workers=2))
    victim = iterator._workers[0]
    victim.kill()
    victim.join()
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        next(iterator)


class Dies(Squares):
    def __getitem__(self, index):
        if get_worker_info() is not None and index == 9:
            os._exit(3)
        return super().__getitem__(index)


def test_a_worker_that_exits_while_it_is_waited_for_is_reported(monkeypatch):
    # its channel closes before the system knows its exit code: on a busy machine some time before
    monkeypatch.setattr(pool, "_GRACE_AFTER_DEATH_S", PATIENCE_S)
    with pytest.raises(RuntimeError, match="exited unexpectedly") as raised:
        list(DataLoader(Dies(), 4, num_workers=2))
    words = r": worker 0 \(pid \d+\) exited with code 3 while it had to load the samples at indices \[8, 9, 10, 11\], then \["
    assert re.search(words, str(raised.value))
    assert "exited unexpectedly with exit code 3. Details are lost due to multi" in str(raised.value.__cause__)


class Orphans(Squares):
    """The worker's own child, which holds copies of all its descriptors, outlives it."""

    def __init__(self):
        self.gate = os.pipe()

    def __getitem__(self, index):
        if index == 8 and os.fork() == 0:
            os.read(self.gate[0], 1)
            os._exit(0)
        if index == 8:
            os.kill(os.getpid(), signal.SIGUSR1)
        return index


def test_a_dead_worker_is_noticed_although_its_child_lives():
    dataset = Orphans()
    with pytest.raises(RuntimeError, match="exited unexpectedly") as raised:
        list(DataLoader(dataset, 4, num_workers=2))
    assert "is killed by signal: User defined signal 1" in str(raised.value.__cause__)
    os.write(dataset.gate[1], b"!")
    for end in dataset.gate:
        os.close(end)


class Stuck(Squares):
    """Sample 5 never comes; the worker may be deaf to SIGTERM, too."""

    def __init__(self, is_deaf):
        self.is_deaf = is_deaf

    def __getitem__(self, index):
        if index == 5:
            if self.is_deaf:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
            threading.Event().wait()
        return index


@pytest.mark.parametrize("is_deaf", [False, True])
def test_stuck_workers_are_ended(monkeypatch, is_deaf):
    for name in ("_GRACE_S", "_SIGNAL_GRACE_S"):
        monkeypatch.setattr(pool, name, 0.1)
    iterator = iter(DataLoader(Stuck(is_deaf), 4, num_workers=2))
    assert next(iterator).tolist() == [0, 1, 2, 3]
    pidfds = [os.pidfd_open(worker.pid) for worker in iterator._workers]
    del iterator
    assert all(has_died(pidfd) for pidfd in pidfds)


class Waits(Squares):
    """Sample 5 waits until the test allows it."""

    def __init__(self):
        self.gate = os.pipe()

    def __getitem__(self, index):
        if index == 5:
            os.read(self.gate[0], 1)
        return index


def test_a_stuck_worker_is_named_once(monkeypatch):
    dataset = Waits()
    iterator = iter(DataLoader(dataset, batch_size=2, sampler=[0, 1, 5, 2, 3, 4], num_workers=2))
    assert next(iterator).tolist() == [0, 1]  # a worker on a busy machine takes longer than the limit to start
    words = (
        r"worker 1 \(pid \d+\) while it had to load the samples at indices \[5, 2\] has not answered for 0.05 seconds"
    )

    def open_when_warned():
        while not caught.list:
            time.sleep(0.01)
        time.sleep(0.3)  # further limits pass without a word
        os.write(dataset.gate[1], b"!")

    with monkeypatch.context() as limit, pytest.warns(UserWarning, match=words) as caught:
        limit.setattr(parallel_iterator, "_STUCK_S", 0.05)
        threading.Thread(target=open_when_warned).start()
        assert next(iterator).tolist() == [5, 2]
    assert len(caught) == 1 and caught[0].filename == __file__
    assert next(iterator).tolist() == [3, 4]
    for end in dataset.gate:
        os.close(end)


def test_the_limit_names_the_worker(monkeypatch):
    monkeypatch.setattr(pool, "_GRACE_S", 0.1)
    dataset = Waits()
    iterator = iter(DataLoader(dataset, sampler=[0, 5], num_workers=1, timeout=60))
    next(iterator)
    iterator._timeout = 0.2
    with pytest.raises(RuntimeError, match=r"timed out after 0.2 seconds: worker 0 \(pid \d+\) .* at indices \[5\]"):
        next(iterator)
    for end in dataset.gate:
        os.close(end)


class Endless(IterableDataset):
    def __iter__(self):
        while True:
            yield os.getpid()


def test_a_killed_worker_of_a_stream():
    iterator = iter(DataLoader(Endless(), 2, num_workers=1))
    os.kill(next(iterator)[0].item(), signal.SIGKILL)
    with pytest.raises(
        RuntimeError, match=r"killed by signal 9 \(Killed\)( while it had to load \d+ batches|, with nothing)"
    ):
        for _ in iterator:
            pass


def test_any_order_does_not_wait_for_the_slowest():
    dataset = Waits()
    iterator = iter(DataLoader(dataset, sampler=[5, 1, 2, 3], num_workers=2, in_order=False))
    assert [next(iterator).item(), next(iterator).item()] == [1, 3]
    os.write(dataset.gate[1], b"!")
    assert [batch.item() for batch in iterator] == [5, 2]
    for end in dataset.gate:
        os.close(end)


def _after_timeouts(iterator):
    """The next batch, however often a slow machine times out before it."""
    while True:
        try:
            return next(iterator).tolist()
        except RuntimeError as late:
            assert "timed out" in str(late)


def test_timeout():
    dataset = Waits()
    iterator = iter(DataLoader(dataset, 4, num_workers=1, timeout=0.05))
    assert _after_timeouts(iterator) == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.05 seconds"):
        next(iterator)
    os.write(dataset.gate[1], b"!")
    assert _after_timeouts(iterator) == [4, 5, 6, 7]
    for end in dataset.gate:
        os.close(end)


def test_iterators_may_be_made_and_used_in_other_threads():
    results = []
    made = iter(DataLoader(Squares(), 4, num_workers=2))
    thread = threading.Thread(
        target=lambda: results.extend([len(list(made)), len(list(DataLoader(Squares(), 4, num_workers=2)))])
    )
    thread.start()
    thread.join()
    assert results == [6, 6]


def test_import_loads_no_process_machinery():
    heavy = ["multiprocessing", "concurrent", "asyncio", "tempfile", "socket", "mmap", "dataclasses"]
    code = (  # traceback loads dataclasses itself from Python 3.14 on
        "import numpy, ml_dtypes, traceback, sys; before = set(sys.modules); import rushlight.utils.data; "
        f"print([m for m in {heavy!r} if m in sys.modules and m not in before])"
    )
    path = os.pathsep.join([str(Path(__file__).parents[3]), *filter(None, sys.path)])
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert result.stdout.strip() == "[]"
