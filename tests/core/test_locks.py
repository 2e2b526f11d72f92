"""Things that are made once, by whichever thread asks first, and locks in forked children."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from rushlight.core.hooks import RemovableHandle
from rushlight.core.locks import lock, made_once, making


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


def test_handles_of_threads_have_ids_of_their_own():
    from collections import OrderedDict

    table = OrderedDict()
    with ThreadPoolExecutor(8) as pool:
        handles = list(pool.map(lambda _: RemovableHandle(table), range(2000)))
    assert len({h.id for h in handles}) == 2000
