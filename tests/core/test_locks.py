"""Things that are made once, by whichever thread asks first, and locks in forked children."""

import importlib
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

import rushlight as torch
from rushlight.core import locks
from rushlight.core.locks import lock, made_once, making
from rushlight.core.tensor.hooks import RemovableHandle


def test_threads_that_ask_at_once_get_one_object():
    calls, entered = [], threading.Barrier(8)
    go = threading.Event()

    @made_once
    def make(key):
        calls.append(key)
        go.wait(0.05)  # the others ask meanwhile
        return object()

    def ask(_):
        entered.wait()
        return make(1)

    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(ask, range(8)))
    assert len(found) == 1 and calls == [1] and make(1) in found
    assert make(2) is not make(1) and make(2) is make(2)
    make.cache_clear()
    assert make(1) not in found


def test_what_raises_is_tried_again():
    tries = []

    @made_once
    def make():
        tries.append(0)
        if len(tries) == 1:
            raise ValueError("not yet")
        return "made"

    with pytest.raises(ValueError, match="not yet"):
        make()
    assert make() == make() == "made" and len(tries) == 2


def test_making_one_thing_may_ask_for_another():
    inner = made_once(lambda: "inner")
    assert made_once(lambda: inner() + " and outer")() == "inner and outer"


def _exit_code(child) -> int:
    pid = os.fork()
    if not pid:
        code = 1
        try:
            code = 0 if child() else 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_child_finds_locks_open_and_waits_for_what_is_being_made():
    held, inside, release = lock(), threading.Event(), threading.Event()
    finished = []

    def work():
        with held:
            with making:
                inside.set()
                release.wait(0.2)
                finished.append(True)
            assert release.wait(60)

    worker = threading.Thread(target=work)
    worker.start()
    assert inside.wait(60)
    code = _exit_code(lambda: finished and held.acquire(timeout=5) and making.acquire(timeout=5))
    release.set()
    worker.join()
    assert code == 0
    assert making.acquire(timeout=5)  # open in the parent, too
    making.release()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_waits_for_what_another_thread_imports(tmp_path, monkeypatch):
    """No thread would release the lock of the module in the child."""
    gate = SimpleNamespace(inside=threading.Event(), go_on=threading.Event())
    monkeypatch.setitem(sys.modules, "gate_of_test_locks", gate)
    module = "import gate_of_test_locks as gate\ngate.inside.set()\ngate.go_on.wait(60)\nvalue = 1\n"
    (tmp_path / "imported_slowly.py").write_text(module)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(locks, "_PACKAGES", {"imported_slowly"})
    monkeypatch.delitem(sys.modules, "imported_slowly", raising=False)
    worker = threading.Thread(target=importlib.import_module, args=("imported_slowly",))
    worker.start()
    assert gate.inside.wait(60) and locks._others_import()
    threading.Timer(0.05, gate.go_on.set).start()

    def child():
        signal.alarm(20)
        return importlib.import_module("imported_slowly").value == 1

    code = _exit_code(child)
    worker.join()
    assert code == 0 and not locks._others_import()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_no_thread_begins_an_import_after_the_look(tmp_path, monkeypatch):
    """What else runs before a fork gives other threads time."""
    (tmp_path / "imported_late.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    worker = threading.Thread(target=lambda: importlib.import_module("imported_late"))
    locks._before()
    try:
        worker.start()
        worker.join(0.2)
        begun = "imported_late" in sys.modules or not worker.is_alive()
    finally:
        locks._release()
    worker.join(60)
    assert not begun and "imported_late" in sys.modules


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_child_finds_numpys_lock_around_a_generator_open():
    generator = torch.Generator().manual_seed(1)
    torch.rand(3, generator=generator)
    held = generator._stream._bit_generator.lock
    inside, release = threading.Event(), threading.Event()

    def work():
        with held:
            inside.set()
            release.wait(60)

    worker = threading.Thread(target=work)
    worker.start()
    assert inside.wait(60)
    code = _exit_code(lambda: held.acquire(timeout=5))
    release.set()
    worker.join()
    assert code == 0


def test_handles_of_threads_have_ids_of_their_own():
    from collections import OrderedDict

    table = OrderedDict()
    with ThreadPoolExecutor(8) as pool:
        handles = list(pool.map(lambda _: RemovableHandle(table), range(2000)))
    assert len({h.id for h in handles}) == 2000
