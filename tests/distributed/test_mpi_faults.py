"""MPI alone waits for ever for a process that is gone, or that makes another call. Here the others raise, and go."""

import faulthandler
import mmap
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import pytest
import shared_memory
from several import gather_by_files, started

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed.mpi import start

pytest.importorskip("mpi4py")


def act(rank, size, folder, way):
    faulthandler.dump_traceback_later(50)  # where it hangs
    dist.init_process_group("mpi", f"file://{folder}/meet", world_size=size, rank=rank)
    assert dist.group.WORLD.wire is not None and not any(map(os.path.exists, start._own_names()))
    gather_by_files(rank, size, folder)  # nobody may be dead before all have begun
    said = "nothing"
    try:
        WAYS[way](rank)
    except (dist.DistBackendError, KeyboardInterrupt) as error:
        said = f"{type(error).__name__}: {error}"
    if way == "interrupted":
        gather_by_files(rank, size, folder, "interrupted")
        if rank:
            said = error_of(lambda: dist.broadcast(torch.ones(2), 1))
    try:
        dist.all_reduce(torch.ones(1))
    except dist.DistBackendError as error:
        said += f" | {error}"
    with open(f"{folder}/{rank}", "w") as file:
        file.write(said)
    dist.destroy_process_group()
    faulthandler.cancel_dump_traceback_later()


def killed(rank, n=1_000_000):
    many_equal_calls()
    for step in range(5):
        if rank == 1 and step == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        dist.all_reduce(torch.ones(n))


def killed_in_a_small_call(rank):
    killed(rank, 1)


def killed_before_a_call_of_a_thread(rank):
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.all_reduce(torch.ones(5), async_op=True).wait()


def many_equal_calls(until=105):
    """As if the group had made that many calls: the first ones are compared, and each thousandth."""
    dist.all_reduce(torch.ones(1))
    dist.group.WORLD._made = until
    dist.all_reduce(torch.ones(1))


def other_call(rank):
    many_equal_calls()
    dist.all_reduce(torch.ones(2)) if rank else dist.all_gather([torch.ones(2)] * 3, torch.ones(2))
    dist.barrier()


def other_operation(rank):
    """MPI is content with that; the next compared call shows it."""
    many_equal_calls(990)
    dist.all_reduce(torch.ones(2), dist.ReduceOp.SUM if rank else dist.ReduceOp.PRODUCT)
    for _ in range(20):
        dist.all_reduce(torch.ones(2))


def missing_call(rank):
    many_equal_calls()
    if rank == 1:
        dist.all_gather_object([None] * 3, "x")
    dist.all_reduce(torch.ones(2))


def interrupted(rank):
    """Process 0 waits in a call that the others make after it has been interrupted there."""
    many_equal_calls()
    if rank == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background may ignore it
        threading.Thread(target=interrupt_in_broadcast, args=(threading.get_ident(),)).start()
        dist.broadcast(torch.ones(2), 1)


def interrupt_in_broadcast(thread):
    while b"broadcast" not in dist.group.WORLD.mesh._last[1]:
        time.sleep(0.01)
    signal.pthread_kill(thread, signal.SIGINT)


def error_of(call):
    try:
        call()
    except dist.DistBackendError as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


WAYS = {
    f.__name__: f
    for f in (killed, killed_in_a_small_call, killed_before_a_call_of_a_thread, other_call, other_operation, missing_call,
              interrupted)
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_the_others_raise_and_nothing_stays(way, tmp_path):
    before = shared_memory.names()
    processes = started(act, (3, str(tmp_path), way), 3).processes
    for process in processes:
        process.join(60)
    codes = [process.exitcode for process in processes]
    assert codes == [0, -signal.SIGKILL if way.startswith("killed") else 0, 0]
    told = {p.name: p.read_text() for p in tmp_path.iterdir() if p.name.isdigit()}
    assert not shared_memory.left_since(before)
    first = [text.partition(" | ")[0] for text in told.values()]
    if way.startswith("killed"):
        assert all("Connection closed by peer: process 1 (pid " in text for text in first)
    elif way == "interrupted":
        assert (
            told["0"].startswith("KeyboardInterrupt") and "broadcast(src=1) of float32 [2] was interrupted" in told["2"]
        )
    else:
        assert all("the processes make different collective calls" in text for text in first)
    assert all("|" in text for text in told.values())  # the next call raises as well


LAST_WORDS = """
import sys, torch, torch.distributed as dist
dist.init_process_group("gloo", sys.argv[1], rank=int(sys.argv[2]), world_size=2)
for _ in range(120):
    dist.all_reduce(torch.ones(1))
x = torch.full((3_000_000,), float(dist.get_rank()))
dist.broadcast(x, 0)
print(x.sum().item())
"""


def test_a_process_that_ends_at_once_has_sent_all(tmp_path):
    (tmp_path / "last.py").write_text(LAST_WORDS)
    command = [sys.executable, "-m", "rushlight", "run", str(tmp_path / "last.py"), f"file://{tmp_path}/meet"]
    both = [subprocess.Popen([*command, str(r)], stdout=subprocess.PIPE, stderr=subprocess.PIPE) for r in (0, 1)]
    assert [p.communicate(timeout=60) for p in both] == [(b"0.0\n", b"")] * 2


def meet_without_mpi(rank, size, folder, several_hosts):
    """What `init_process_group` says in a process whose library is missing."""
    from rushlight.distributed.mpi import library, start

    library._loaded = start.library = lambda: None
    start.why_not = lambda: "mpi4py is not installed"
    if several_hosts:
        start.host_name = lambda: f"host{rank} 1"
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            dist.init_process_group("mpi", f"file://{folder}/meet", world_size=size, rank=rank)
            x = torch.ones(1)
            dist.all_reduce(x)
            said = f"{dist.get_backend()} {x.item()} {[str(w.message) for w in seen]}"
            dist.destroy_process_group()
        except RuntimeError as error:
            said = str(error)
    with open(f"{folder}/{rank}", "w") as file:
        file.write(said)


@pytest.mark.parametrize("several_hosts", [False, True])
def test_without_mpi(several_hosts, tmp_path):
    started(meet_without_mpi, (2, str(tmp_path), several_hosts), 2, join=True)
    first, second = ((tmp_path / str(rank)).read_text() for rank in (0, 1))
    if several_hosts:
        for said in (first, second):
            assert "processes on several hosts (host0, host1)" in said and "rushlight[mpi]" in said
    else:
        assert first.startswith("mpi 2.0 ") and "data goes over TCP" in first and "rushlight[mpi]" in first
        assert second == "mpi 2.0 []"


def test_shared_memory_of_killed_jobs_is_removed():
    from rushlight.distributed.mpi import start

    names = [f"{start._SHARED}rushlight_test_{os.getpid()}_{kind}" for kind in ("old", "new", "used")]
    for name in names:
        with open(name, "wb") as file:
            file.write(b"x" * 4096)
    for name in (names[0], names[2]):
        os.utime(name, (1, 1))
    try:
        with open(names[2], "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ):
            start.remove_stale()
        assert [os.path.exists(name) for name in names] == [False, True, True]
    finally:
        for name in names:
            if os.path.exists(name):
                os.unlink(name)
