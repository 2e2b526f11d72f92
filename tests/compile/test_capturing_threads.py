"""Two threads that call one function while it is captured, and what a capture holds."""

import gc
import queue
import threading
import weakref
from bisect import bisect_right

import numpy as np
import pytest

import rushlight as torch
from rushlight.backend.onednn.address import address
from rushlight.compile.capture.memory import Memory


def test_a_thread_runs_plainly_what_another_one_captures(python_unseen):
    entered, go = threading.Event(), threading.Event()
    tell, wait = entered.set, go.wait  # functions: a capture guards the numbers of objects
    plain = queue.SimpleQueue()  # no list: a capture would find it changed

    def f(x):
        if threading.current_thread() is not threading.main_thread():
            tell()
            assert wait(60)
        elif not wait(0):
            plain.put(x)
        return torch.softmax(x * 2, 1).sum(0)

    compiled = torch.compile(f)
    x = torch.randn(4, 6)
    expected = torch.softmax(x * 2, 1).sum(0)
    first = compiled(x)
    other: list = []
    thread = threading.Thread(target=lambda: other.append(compiled(x)))
    thread.start()
    assert entered.wait(60)
    meanwhile = [compiled(torch.ones(4, 6) * i) for i in range(3)]  # alive when the capture ends
    assert plain.qsize() == 4 and len(meanwhile) == 3 and not compiled.captured
    go.set()
    thread.join()
    assert len(compiled.captured) == 1 and compiled.captured[0].program is None
    later = [compiled(x) for _ in range(3)]
    assert compiled.captured[0].program is not None and len(compiled.captured) == 1
    for y in (first, *other, *later):
        torch.testing.assert_close(y, expected)


def test_a_capture_forgets_what_is_freed():
    memory = Memory()
    a = np.ones((8, 8), np.float32)
    kept = np.ones(5, np.float32)
    memory.add(a)
    memory.add(a[2:4].view(np.int32))
    memory.add(kept)
    outside = np.ones(7, np.float32)
    memory.add(outside, "a source")
    start, begins = address(a), address(outside)
    assert memory.find(a[1]) is not None and len(memory.all()) == 4
    del a, outside
    found = memory.find_any(start)
    assert len(memory.all()) == 2 and (found is None or found.start != start)
    assert memory.find(kept) is not None and begins in memory.regions  # what was there before stays


@pytest.mark.parametrize("ask", ["find", "add", "find_any"])
def test_an_array_that_is_freed_amid_a_question_does_not_disturb_it(ask, monkeypatch):
    """As by the garbage collector, which may run wherever a list is made."""
    below, found, new = sorted((np.ones(5, np.float32) for _ in range(3)), key=address)
    memory = Memory()
    memory.add(below)
    region = memory.add(found)
    doomed = [below]
    del below

    def search(a, x):
        i = bisect_right(a, x)
        doomed.clear()
        return i

    monkeypatch.setattr("rushlight.compile.capture.memory.bisect_right", search)
    if ask == "add":
        assert memory.add(new).start == address(new)
    else:
        assert getattr(memory, ask)({"find": found, "find_any": address(found)}[ask]) is region
    assert not doomed and len(memory.all()) == (2 if ask == "add" else 1)


def test_intermediates_are_freed_while_a_function_is_captured(python_unseen):
    alive, most = weakref.WeakSet(), queue.SimpleQueue()

    def f(x):
        for _ in range(6):
            x = torch.tanh(x * 2)
            alive.add(x)
            most.put(len(alive))
        return x

    compiled = torch.compile(f)
    x = torch.randn(16)
    for _ in range(3):
        y = compiled(x)
        del y
        gc.collect()
        alive.clear()
    assert max(most.get() for _ in range(most.qsize())) <= 2
    y = x
    for _ in range(6):
        y = torch.tanh(y * 2)
    torch.testing.assert_close(compiled(x), y)


def test_captured_gradients_are_not_kept_by_the_program():
    w = torch.randn(8, 8, requires_grad=True)

    @torch.compile
    def step(x):
        w.grad = None
        loss = (x @ w).square().sum()
        loss.backward()
        return loss

    x = torch.randn(3, 8)
    for _ in range(3):
        step(x)
    captured = weakref.ref(w.grad._array)
    w.grad = None
    gc.collect()
    assert captured() is None
    step(x)
    torch.testing.assert_close(w.grad, 2 * x.t() @ (x @ w).detach())
