"""Worker processes of a `DataLoader` where Python has neither forks, memory files, Unix's sockets nor poll()."""

import os
import select
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from elsewhere import ELSEWHERE, SYSTEMS

# How this Python starts processes has to stay: multiprocessing keeps the names that it uses for that.
KEPT = """
import multiprocessing, multiprocessing.forkserver, multiprocessing.popen_fork, multiprocessing.popen_spawn_posix
import multiprocessing.resource_tracker, os, signal, socket, sys, types

before = types.ModuleType("os")
vars(before).update(vars(os))
multiprocessing.popen_fork.os = before
multiprocessing.resource_tracker._HAVE_SIGMASK = False
multiprocessing.set_start_method("spawn", force=True)


def connected(family=None, kind=socket.SOCK_STREAM, proto=0, backlog=None, _socket=socket.socket):
    with _socket(socket.AF_INET, kind, proto) as listening:  # as Python does on Windows
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        end = _socket(socket.AF_INET, kind, proto)
        end.connect(listening.getsockname())
        return end, listening.accept()[0]


def no_messages(self):
    raise AttributeError("a socket has no such method here")


if {platform!r}[0] == "win32":
    socket.socketpair = connected
    for name in "sendmsg", "recvmsg", "recvmsg_into":
        setattr(socket.socket, name, property(no_messages))
"""
DATA = """
import random, time
import numpy, rushlight.alias
rushlight.alias.install()
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info


class Images(Dataset):
    scale = torch.full((1,), 2.0)

    def __len__(self):
        return 21

    def __getitem__(self, i):
        if i == 40:
            raise KeyError("no such image")
        if i == 41:
            os._exit(3)
        if i == 42:
            time.sleep(600)
        return {"image": torch.full((3, 120, 120), float(i)) * self.scale, "label": i, "name": f"image {i}"}


class Numbers(IterableDataset):
    def __iter__(self):
        me = get_worker_info()
        return iter(range(me.id, 9, me.num_workers))


class Draws(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        return torch.rand(()).item(), random.random(), numpy.random.rand(), get_worker_info().seed, os.getpid()


class Large(Dataset):
    def __len__(self):
        return 3

    def __getitem__(self, i):
        return torch.full((3_000_000,), i)


class CannotStart(Images):
    def __init__(self):
        self.folder = "images"

    def __setstate__(self, state):
        raise ValueError("the copy is broken")


def first_of_each(samples):
    return [sample["label"] for sample in samples]


def start(worker):
    global started
    started = worker
    os.write(1, f"started {worker}\\n".encode())  # in one piece, whatever the other worker prints


def failing_start(worker):
    raise ValueError("a worker without data")
"""


def program(system, body):
    """The text of a script whose body runs in its first process alone."""
    parts = {**SYSTEMS[system], "modules": SYSTEMS[system]["modules"].replace("_posixsubprocess", "")}
    main = "\nif __name__ == '__main__':\n" + textwrap.indent(textwrap.dedent(body), "    ")
    return (KEPT + ELSEWHERE).format(**parts) + DATA + main


@pytest.fixture
def start(tmp_path):
    """A function that starts the script of a body as on another system."""
    pytest.importorskip("llvmlite")  # which `ELSEWHERE` loads
    started = []

    def begin(system, body):
        path = tmp_path / "script.py"
        path.write_text(program(system, body))
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        started.append(subprocess.Popen([sys.executable, str(path)], start_new_session=True, **pipes))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def printed(start):
    """A function that runs the script of a body to its end, and gives the lines that it printed, and its errors."""

    def run(system, body):
        process = start(system, body)
        out, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
        return out.splitlines(), errors

    return run


@pytest.mark.parametrize("system", SYSTEMS)
def test_batches(printed, system):
    lines, errors = printed(
        system,
        """
        loader = DataLoader(Images(), 4, num_workers=2, persistent_workers=True, worker_init_fn=start)
        for epoch in range(2):
            batches = list(loader)
            print([b["label"].tolist() for b in batches] == [list(range(i, min(i + 4, 21))) for i in range(0, 21, 4)])
            print(all(torch.equal(b["image"][:, 1, 5, 7], 2.0 * b["label"]) for b in batches), batches[1]["name"][2])
        for batch in DataLoader(Images(), 4, num_workers=1, collate_fn=first_of_each):
            break
        print(batch)
        print(sorted(n for b in DataLoader(Numbers(), 2, num_workers=2) for n in b.tolist()))
        for batch in DataLoader(Large(), 1, num_workers=1):
            print(batch.shape[1], batch.unique().tolist())
        print(len(multiprocessing.active_children()))
        """,
    )
    assert sorted(line for line in lines if line.startswith("started")) == ["started 0", "started 1"]
    assert [line for line in lines if not line.startswith("started")] == [
        *["True", "True image 6"] * 2,
        "[0, 1, 2, 3]",
        str(list(range(9))),
        *(f"3000000 [{i}]" for i in range(3)),
        "2",
    ]
    assert "Error" not in errors


def test_draws_are_those_of_forked_workers(printed):
    text = "torch.manual_seed(5)\nprint([b[:4] for b in DataLoader(Draws(), None, num_workers=2)])"
    plain = "from torch.utils.data import DataLoader\nmultiprocessing.set_start_method('fork')\n"
    script = "import multiprocessing, os" + DATA + plain + text
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert printed("Windows", text)[0] == done.stdout.splitlines()


def test_what_goes_wrong_in_a_worker(printed):
    lines, _ = printed(
        "Windows",
        """
        for data, options in [
            (Images(), dict(sampler=[1, 40])), (Images(), dict(sampler=[1, 41])), (CannotStart(), {}),
            (Images(), dict(worker_init_fn=failing_start)), (Images(), dict(sampler=[42], timeout=0.5)),
            (Images(), dict(collate_fn=lambda samples: samples)),
        ]:
            try:
                loader = DataLoader(data, num_workers=2, **options)
                list(loader)
            except Exception as error:
                print(type(error).__name__, "|".join(str(error).splitlines()))
            print(len(multiprocessing.active_children()))
        """,
    )
    key, died, broken, init, late, unpicklable = lines[::2]
    assert set(lines[1::2]) == {"0"}
    assert key.startswith("KeyError Caught KeyError in DataLoader worker process 1.|Original Traceback")
    assert "in __getitem__" in key and key.endswith("loading the sample at index 40.")
    assert died.startswith("RuntimeError DataLoader worker (pid") and "exited with code 3" in died
    assert broken.startswith("RuntimeError DataLoader worker (pid") and "exited with code 1" in broken
    assert init.startswith("ValueError Caught ValueError in DataLoader worker process 0.")
    assert late.startswith("RuntimeError DataLoader timed out after 0.5 seconds")
    assert "lambda" in unpicklable and unpicklable.split()[0] in ("PicklingError", "AttributeError")


ENDLESS = """
numbers = iter(DataLoader(Images(), 4, sampler=[0] * 10**6, num_workers=2))
next(numbers), next(numbers)  # now both have started
print(*(worker.pid for worker in numbers._workers), flush=True)
for batch in numbers:
    pass
"""


def have_ended(pids, seconds=20):
    """Whether all processes end within a time."""
    watches = [os.pidfd_open(pid) for pid in pids]
    deadline = time.monotonic() + seconds
    ended = [bool(select.select([watch], [], [], max(0, deadline - time.monotonic()))[0]) for watch in watches]
    for watch in watches:
        os.close(watch)
    return all(ended)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="the test watches processes by pidfds")
@pytest.mark.parametrize("how", ["SIGINT", "SIGKILL"])
def test_workers_go_with_the_loop(start, how):
    process = start("Windows", ENDLESS)
    pids = [int(pid) for pid in process.stdout.readline().split()]
    assert len(pids) == 2
    number = getattr(signal, how)
    if how == "SIGINT":
        os.killpg(process.pid, number)  # as a terminal does: all processes get it
    else:
        process.kill()
    assert have_ended(pids)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -number
    assert errors.count("Traceback") == (how == "SIGINT"), errors
