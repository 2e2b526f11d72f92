"""Processes that run one function, and what their failures become."""

import os
import pickle
import signal
import threading
import time
from multiprocessing.util import Finalize

import pytest
import rushlight.multiprocessing as mp


def write_index(index, folder, word):
    (folder / str(index)).write_text(word * (index + 1))


def fail_at_one(index):
    if index == 1:
        raise KeyError("boom")
    signal.pause()  # until the parent ends it


def kill_itself(index):
    os.kill(os.getpid(), signal.SIGKILL)


def leave(index):
    os._exit(5)


def test_all_run(tmp_path):
    assert mp.spawn(write_index, (tmp_path, "ab"), nprocs=2) is None
    assert [(tmp_path / name).read_text() for name in "01"] == ["ab", "abab"]


def test_joined_later(tmp_path):
    context = mp.start_processes(write_index, (tmp_path, "x"), nprocs=1, join=False)
    assert len(context.pids()) == 1
    while not context.join():
        pass
    assert (tmp_path / "0").read_text() == "x"


def test_an_error_is_raised_here():
    with pytest.raises(
        mp.ProcessRaisedException, match=r"(?s)Process 1 terminated.*fail_at_one.*KeyError: 'boom'"
    ) as caught:
        mp.spawn(fail_at_one, nprocs=2)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.error_index, again.error_pid, str(again)) == (1, caught.value.error_pid, str(caught.value))


@pytest.mark.parametrize("function, code, name", [(kill_itself, -9, "SIGKILL"), (leave, 5, None)])
def test_an_end_is_raised_here(function, code, name):
    with pytest.raises(mp.ProcessExitedException) as caught:
        mp.spawn(function, nprocs=1)
    assert (caught.value.exit_code, caught.value.signal_name, caught.value.error_index) == (code, name, 0)


def second_first(index, folder):
    """The second process raises, and stays for a while; the first one raises in consequence, and ends before."""
    told = folder / "raised"
    if index == 1:
        Finalize(None, _stay, (told,), exitpriority=0)
        raise KeyError("the cause")
    while not told.exists():
        time.sleep(0.01)
    raise ValueError("a consequence")


def _stay(told):
    told.touch()
    threading.Event().wait(60)  # the parent ends this


def test_the_first_error_is_raised_though_its_process_ends_later(tmp_path):
    with pytest.raises(mp.ProcessRaisedException, match="the cause") as caught:
        mp.spawn(second_first, (tmp_path,), nprocs=2)
    assert caught.value.error_index == 1
