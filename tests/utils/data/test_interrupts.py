"""A Ctrl-C that comes while a loader is cleared away arrives, wherever exactly it comes."""

import operator
import signal
import subprocess
import sys
import threading
from _thread import interrupt_main
from collections import deque

import pytest
from interrupts import lost

from rushlight.utils.data import DataLoader, lifeline
from rushlight.utils.data.closing import close_after


class Owner:
    pass


class Pool:
    """Notes when it is closed; a Ctrl-C comes at the times that a test says."""

    def __init__(self, interrupts=0):
        self.closed, self.hurried, self.interrupts = 0, 0, interrupts

    def close(self):
        for _ in range(self.interrupts):
            signal.raise_signal(signal.SIGINT)
            len("an instruction at which Python handles signals")
        self.interrupts = 0
        self.closed += 1

    def hurry(self):
        self.hurried += 1


@pytest.mark.parametrize("interrupts", [1, 3])
def test_while_the_pool_closes(interrupts, capsys):
    box, pool = [Owner()], Pool(interrupts)
    close_after(box[0], pool)
    with pytest.raises(KeyboardInterrupt):
        box.clear()
        len("the next instructions")
    assert (pool.closed, pool.hurried) == (1, interrupts)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert capsys.readouterr().err == ""


def test_before_the_first_instruction_of_the_callback():
    """The signal has come, and Python has had no instruction at which to handle it, when the owner dies."""
    box, pool = [Owner()], Pool()
    close_after(box[0], pool)
    with pytest.raises(KeyboardInterrupt):
        deque(map(operator.call, (interrupt_main, box.clear)), maxlen=0)
        len("the next instructions")
    assert pool.closed == 1


def test_while_a_process_starts_although_another_thread_receives_it():
    """Blocked in the main thread, the signal goes to any other, and Python runs the handler in the main thread."""
    send, sent, reached = threading.Event(), threading.Event(), False
    thread = threading.Thread(target=lambda: (send.wait(), signal.raise_signal(signal.SIGINT), sent.set()))
    thread.start()
    with pytest.raises(KeyboardInterrupt), lifeline.interrupts_held():
        send.set()
        sent.wait()
        thread.join()
        reached = True
    assert reached and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_the_program_is_called_afterwards():
    seen = []
    before = signal.signal(signal.SIGTERM, lambda signum, frame: seen.append((signum, pool.closed)))
    try:
        box, pool = [Owner()], Pool()
        pool.close = lambda: (signal.raise_signal(signal.SIGTERM), Pool.close(pool))
        close_after(box[0], pool)
        box.clear()
        len("the next instructions")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert seen == [(signal.SIGTERM, 1)]


def test_without_a_signal_nothing_is_raised():
    box, pools = [Owner(), Owner()], [Pool(), Pool()]
    for owner, pool in zip(box, pools, strict=True):
        close_after(owner, pool)
    del owner
    box.clear()
    assert [pool.closed for pool in pools] == [1, 1]


def test_holding_back_ends_although_it_was_interrupted_at_once(monkeypatch):
    """`pthread_sigmask` blocks, and then raises what came before; the signal must not stay blocked."""
    mask = signal.pthread_sigmask

    def interrupted(how, signals):
        result = mask(how, signals)
        if how == signal.SIG_BLOCK and signals:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(signal, "pthread_sigmask", interrupted)
    with pytest.raises(KeyboardInterrupt), lifeline.interrupts_held():
        raise AssertionError("not reached")
    assert signal.SIGINT not in mask(signal.SIG_BLOCK, [])


@pytest.mark.parametrize("way", ["break", "whole", "drop"])
def test_interrupts_at_any_moment(way):
    assert lost(4, 0, way) == (0, "")


def test_an_interrupt_in_the_close_at_the_end_of_an_epoch(monkeypatch):
    """The close that was interrupted is finished when the iterator dies."""
    from rushlight.utils.data import pool

    iterator = iter(DataLoader([1, 2], num_workers=1))
    assert [next(iterator).item(), next(iterator).item()] == [1, 2]
    workers, made = iterator._workers, iterator._pool
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(pool.WorkerPool, "_end_processes", lambda self, grace_s: signal.raise_signal(signal.SIGINT))
        next(iterator)
    assert not made._ended
    del iterator
    assert made._ended and not any(worker.is_alive() for worker in workers)


_IN_OTHERS = """
import multiprocessing, signal
from multiprocessing import resource_tracker
from rushlight.utils.data import DataLoader

def is_blocked(connection):
    connection.send(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))

if __name__ == "__main__":
    resource_tracker.ensure_running()  # which lets interrupts through when it starts
    loader = DataLoader(list(range(4)), num_workers=1, multiprocessing_context="forkserver")
    assert [int(x) for x in loader] == [0, 1, 2, 3]
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("forkserver").Process(target=is_blocked, args=(there,))
    process.start()
    print(here.recv())
    process.join()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="fork servers")
def test_other_processes_of_a_fork_server_that_a_loader_started_get_interrupts(tmp_path):
    (tmp_path / "program.py").write_text(_IN_OTHERS)
    ran = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ran.stdout == "False\n", ran.stderr
