"""The pool of threads: teams, barriers, shared loops, and that its threads come and go with those who own them."""

import ctypes
import os
import subprocess
import sys
import threading
import time

import pytest

from rushlight.backend.onednn import imports, library
from rushlight.compile.lower.llvm import engine, parallel, pool

pytestmark = pytest.mark.skipif(
    not (sys.platform.startswith("linux") and library.available() and engine.available()),
    reason="the pool needs Linux, oneDNN and llvmlite",
)

Body = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
Units = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


@pytest.fixture(scope="module")
def call():
    """Functions of the pool by name."""
    parallel.provide()
    if not pool.is_ours():
        pytest.skip("RUSHLIGHT_POOL=0")
    kinds = {
        "GOMP_parallel": (None, Body, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint),
        "GOMP_parallel_start": (None, Body, ctypes.c_void_p, ctypes.c_uint),
        "GOMP_parallel_end": (None,),
        "GOMP_barrier": (None,),
        "GOMP_loop_static_start": (ctypes.c_bool, *[ctypes.c_int64] * 4, ctypes.c_void_p, ctypes.c_void_p),
        "GOMP_loop_static_next": (ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p),
        "omp_get_thread_num": (ctypes.c_int,),
        "omp_get_num_threads": (ctypes.c_int,),
        "omp_in_parallel": (ctypes.c_int,),
        "pool_share": (None, Units, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int),
    }
    return {name: ctypes.CFUNCTYPE(*kind)(pool.address(name)) for name, kind in kinds.items()}


def team(call, n, body):
    """Run `body()` on a team of n threads."""
    call["GOMP_parallel"](Body(lambda _: body()), None, n, 0)


def threads_here():
    return len(os.listdir("/proc/self/task"))


@pytest.mark.parametrize("n", [1, 2, 3, 7, 2, 40])
def test_every_number_of_a_team_once(call, n):
    seen = []
    team(call, n, lambda: seen.append((call["omp_get_thread_num"](), call["omp_get_num_threads"]())))
    assert sorted(seen) == [(i, n) for i in range(n)]
    assert (call["omp_get_thread_num"](), call["omp_get_num_threads"](), call["omp_in_parallel"]()) == (0, 1, 0)


def test_started_and_ended_by_hand(call):
    """As code of older compilers does, oneDNN's among it: who starts the team runs its own part between the calls."""
    seen = []
    body = Body(lambda _: seen.append(call["omp_get_thread_num"]()))
    call["GOMP_parallel_start"](body, None, 3)
    assert call["omp_in_parallel"]() == 1
    body(None)
    call["GOMP_parallel_end"]()
    assert sorted(seen) == [0, 1, 2]


def test_a_team_within_a_team_is_one_thread(call):
    inner = []

    def outer():
        mine = call["omp_get_thread_num"]()
        team(call, 4, lambda: inner.append((mine, call["omp_get_thread_num"](), call["omp_get_num_threads"]())))
        assert (call["omp_get_thread_num"](), call["omp_get_num_threads"]()) == (mine, 3)

    team(call, 3, outer)
    assert sorted(inner) == [(i, 0, 1) for i in range(3)]


def test_no_thread_passes_a_barrier_before_all_are_there(call):
    before, after = [], []

    def body():
        for turn in range(5):
            before.append(turn)
            call["GOMP_barrier"]()
            after.append(before.count(turn))
            call["GOMP_barrier"]()

    team(call, 4, body)
    assert after == [4] * 20


@pytest.mark.parametrize("n", [1, 3, 4])
@pytest.mark.parametrize("loop", [(0, 17, 1, 0), (3, 40, 4, 2), (20, -3, -5, 0), (5, 5, 1, 0), (0, 100, 1, 7)])
def test_iterations_of_a_shared_loop(call, n, loop):
    start, end, step, chunk = loop
    seen = []

    def body():
        span = (ctypes.c_int64 * 2)()
        ends = ctypes.addressof(span), ctypes.addressof(span) + 8
        more = call["GOMP_loop_static_start"](start, end, step, chunk, *ends)
        while more:
            seen.extend(range(span[0], span[1], step))
            more = call["GOMP_loop_static_next"](*ends)

    team(call, n, body)
    assert sorted(seen) == sorted(range(start, end, step))


@pytest.mark.parametrize("units", [1, 2, 31, 64, 1000])
@pytest.mark.parametrize("grain", [1, 3, 16, 64])
@pytest.mark.parametrize("most", [1, 2, 5, 100])
def test_each_unit_once_in_whole_grains(call, units, grain, most):
    library.load().omp_set_num_threads(4)
    try:
        seen = []
        call["pool_share"](Units(lambda _, a, b: seen.append((a, b))), None, units, grain, most)
    finally:
        library.load().omp_set_num_threads(len(os.sched_getaffinity(0)))
    spans = sorted(seen)
    assert [u for a, b in spans for u in range(a, b)] == list(range(units))
    assert all(a % grain == 0 and (b % grain == 0 or b == units) for a, b in spans)


def test_a_late_thread_delays_no_other(call):
    """A worker that is held up in its part gets no more of the loop, and one that has not begun is not waited for."""
    library.load().omp_set_num_threads(4)
    try:
        by, all_begun = {}, threading.Event()

        def piece(_, a, b):
            t = call["omp_get_thread_num"]()
            by.setdefault(t, []).append(a)
            if sum(map(len, by.values())) == 16:
                all_begun.set()
            if t:
                all_begun.wait(60)

        call["pool_share"](Units(piece), None, 16, 1, 16)
    finally:
        library.load().omp_set_num_threads(len(os.sched_getaffinity(0)))
    assert sum(map(len, by.values())) == 16
    assert all(len(pieces) == 1 for t, pieces in by.items() if t), by


def test_changing_sizes_make_no_threads(call):
    team(call, 6, lambda: None)
    before = threads_here()
    started = made_so_far()
    for n in (6, 2, 5, 1, 3, 6, 4) * 30:
        team(call, n, lambda: None)
    assert threads_here() == before
    assert made_so_far() - started < 100  # by all processes of the machine


def made_so_far():
    with open("/proc/stat") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("processes"))


def test_each_python_thread_has_a_pool_that_goes_with_it(call):
    def use():
        for n in (2, 4, 3) * 20:
            seen = []
            team(call, n, lambda seen=seen: seen.append(call["omp_get_thread_num"]()))
            ok.append(sorted(seen) == list(range(n)))

    ok, before = [], threads_here()
    users = [threading.Thread(target=use) for _ in range(4)]
    for t in users:
        t.start()
    for t in users:
        t.join()
    assert ok == [True] * 240
    end = time.monotonic() + 10
    while threads_here() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert threads_here() <= before


PROGRAM = """
import os
import rushlight as torch
from rushlight import nn
from rushlight.compile.lower.llvm import pool

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                    nn.Linear(16 * 64, 10))
opt = torch.optim.Adam(net.parameters())
x, y = torch.randn(32, 3, 16, 16), torch.randint(0, 10, (32,))

@torch.compile
def step(x, y):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
    return loss

for i in range(12):
    loss = step(x, y)
pid = os.fork()  # the child has none of the workers
if not pid:
    after = step(x, y)
    os._exit(int(not after.item() < loss.item()))
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), pool.is_ours(), f"{loss.item():.5f}")
"""


def test_steps_on_any_number_of_threads_and_after_a_fork():
    answers = set()
    for threads, ours in (("1", "1"), ("2", "1"), ("6", "1"), ("2", "0")):
        env = {**os.environ, "OMP_NUM_THREADS": threads, "RUSHLIGHT_POOL": ours}
        r = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, timeout=120)
        status, is_ours, loss = r.stdout.split()
        assert (status, is_ours) == ("0", str(ours == "1")), r.stderr
        answers.add(round(float(loss), 3))
    assert max(answers) - min(answers) < 0.002, answers


def test_a_library_that_was_bound_otherwise_is_left_alone(call):
    """The pool serves already: the table no longer holds libgomp's addresses."""
    every = ("GOMP_", "omp_")
    assert not imports.redirect(library.load(), {"GOMP_parallel_start": 1}, ("GOMP_parallel_start",), ())
    assert not imports.redirect(library.load(), {"GOMP_parallel_start": 1}, every, ())  # and imports more than is known
    assert not imports.redirect(library.load(), {"GOMP_nothing": 1}, ("GOMP_nothing",), ())
