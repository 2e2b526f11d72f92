"""What a program and an eager loop need besides parameters: room of library calls, sums of gradients, code, the heap."""

import ctypes
import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import rushlight as torch
from rushlight.backend.onednn import convolution
from rushlight.backend.onednn.library import available as has_onednn
from rushlight.compile.capture.sources import Argument, Fresh
from rushlight.compile.install import install_in_thread
from rushlight.compile.ir.graph import Call, Extern, Graph, Value
from rushlight.compile.lower.llvm import engine
from rushlight.compile.lower.onednn import Pack, few_channels_eager, kernels
from rushlight.compile.runtime import heap, native
from rushlight.core.dispatch.extension_points import make_convolution
from rushlight.core.dispatch.op import primitive

pytestmark = pytest.mark.skipif(not engine.available(), reason="no compiler here")
library = pytest.mark.skipif(not has_onednn(), reason="oneDNN is not here")


def _program(function, *arguments):
    compiled = torch.compile(function)
    for _ in range(4):
        compiled(*arguments)
    return compiled.captured[0].program.executable


@library
def test_rooms_lie_in_the_arena_beside_what_lives_then():
    layers = torch.nn.Sequential(
        torch.nn.Conv2d(8, 16, 3, padding=1), torch.nn.BatchNorm2d(16), torch.nn.ReLU(), torch.nn.Conv2d(16, 8, 3)
    )

    def step(x):
        for p in layers.parameters():
            p.grad = None
        loss = layers(x).square().mean() + layers(x + 1).square().mean()
        loss.backward()
        return loss

    native = _program(step, torch.randn(4, 8, 12, 12))
    memory, nodes = native.memory, native.graph.nodes
    written = {v: i for i, node in enumerate(nodes) for v in node.writes()}
    last = {r.value: i for i, node in enumerate(nodes) for r in node.reads()}
    assert memory.rooms
    assert any(isinstance(key, Pack) and key.first < key.last for key in memory.rooms)
    for key, (offset, size) in memory.rooms.items():
        begin, end = (key.first, key.last) if isinstance(key, Pack) else (key, key)
        assert isinstance(nodes[begin], Extern) and offset + size <= memory.arena_bytes
        for v, first in written.items():
            kind, at = memory.place[v][:2]
            if kind == "arena" and first <= end and begin <= max(last.get(v, first), first):
                assert at + v.nbytes <= offset or offset + size <= at


def test_gradients_are_added_up_in_their_own_memory():
    w = torch.randn(96, 96, requires_grad=True)

    def step(x, y):
        w.grad = None
        (x @ w).square().sum().backward()
        (y @ w).sin().sum().backward()
        (x @ w).cos().sum().backward()

    x, y = torch.randn(5, 96), torch.randn(7, 96)
    native = _program(step, x, y)
    assert native.memory.arena_bytes < 2.5 * w._array.nbytes  # of three summands, the first is in the result
    leaf = w.detach().requires_grad_()
    ((x @ leaf).square().sum() + (y @ leaf).sin().sum() + (x @ leaf).cos().sum()).backward()
    torch.testing.assert_close(w.grad, leaf.grad)


def test_equal_names_of_two_modules_are_two_functions():
    text = "define i64 @f(i64 %x) {{\n  %y = add i64 %x, {}\n  ret i64 %y\n}}\n"
    codes = [engine.build(text.format(i)) for i in (1, 2)]
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
    assert [call(code.address("f"))(10) for code in codes] == [11, 12]
    with pytest.raises(KeyError, match="no function g"):
        codes[0].address("g")


@library
@pytest.mark.parametrize(
    ("x", "w", "bias", "served"),
    [
        ((4, 3, 20, 20), (6, 3, 5, 5), True, True),
        ((1, 1, 28, 28), (10, 1, 5, 5), False, True),
        ((2, 3, 33, 17), (5, 3, 2, 3), True, True),
        ((4, 8, 20, 20), (6, 8, 5, 5), True, False),  # many channels
        ((4, 3, 20, 8), (6, 3, 5, 5), True, False),  # short rows
    ],
)
def test_a_first_layer_of_an_eager_loop(monkeypatch, x, w, bias, served):
    if not (kernels.available() and kernels.lanes() >= 8):
        pytest.skip("vectors are shorter here")
    monkeypatch.setattr(make_convolution, "value", None)
    install_in_thread(few_channels_eager.make_forward)
    draw = np.random.default_rng(0).standard_normal
    x, w = draw(x).astype(np.float32), draw(w).astype(np.float32)
    b = draw(len(w)).astype(np.float32) if bias else None
    steps = (1, 1), (0, 0), (1, 1), 1
    shape = (len(x), len(w), *(n - k + 1 for n, k in zip(x.shape[2:], w.shape[2:], strict=True)))
    geometry = convolution.Geometry(x.dtype, x.shape, w.shape, *steps)
    assert geometry.out_shape == shape
    call = make_convolution.value(geometry, None if b is None else b.shape)
    assert isinstance(call, few_channels_eager._Forward) == served
    if served:
        windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), w.shape[2:], (2, 3))
        expected = np.einsum("nchwrs,kcrs->nkhw", windows, w) + (0 if b is None else b[:, None, None])
        out = call(*(a for a in (x, w, b) if a is not None))
        np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)


def test_what_the_user_says_of_the_heap_stays(monkeypatch):
    calls = []
    functions = type("C", (), {"mallopt": lambda *a: calls.append(a)})
    monkeypatch.setattr(heap, "loaded_functions", lambda: functions)
    for name, value in (("MALLOC_TRIM_THRESHOLD_", "0"), ("GLIBC_TUNABLES", "glibc.malloc.trim_threshold=0")):
        with monkeypatch.context() as inside:
            inside.setenv(name, value)
            heap.keep_freed.__wrapped__()
        assert not calls
    for name in ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_", "GLIBC_TUNABLES"):
        monkeypatch.delenv(name, raising=False)
    heap.keep_freed.__wrapped__()
    assert len(calls) == 2
    heap.keep_some()
    (largest, first), (kept, second) = sorted(calls[2:])
    assert (largest, kept) == (heap._MMAP_THRESHOLD, heap._TRIM_THRESHOLD) and first < second <= 1 << 26


def test_whoever_makes_a_program_keeps_freed_memory(monkeypatch):
    """A GPT that generates made two results of 1 MB a token, whose pages the system had to clear each time: 68 for 34 ms."""
    calls = []
    monkeypatch.setattr(heap, "keep_freed", lambda: calls.append(1))
    _program(lambda x: x.exp() + 1, torch.zeros(2, 3))
    assert calls


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="asks Linux")
def test_a_capture_takes_no_more_memory_than_the_call():
    """Thirty intermediates of 4 MB, of which two live at a time."""
    text = """
import rushlight as torch

def resident():
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) / 1024 for line in f if line.startswith("VmHWM"))

def f(x):
    for _ in range(30):
        x = torch.tanh(x)
    return x.sum()

x = torch.randn(1 << 20)
f(x)
other = torch.compile(lambda x: torch.tanh(x).sum())
for _ in range(5):
    other(x)  # the compiler's own pages are here now
before = resident()
compiled = torch.compile(f)
for _ in range(5):
    compiled(x)
print(resident() - before)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 40  # 30 results would take 120


# ------------------------------------------------------------------------------------ the arena of a thread's loops


def _loop_program(size, function=None):
    """sin(function(tanh(x))) * tanh(x) for `size` elements, a program as ordinary loops get them."""
    graph = Graph()
    graph.as_eager = True

    def call(record, *operands):
        out = Value((size,), np.dtype(np.float32))
        graph.nodes.append(Call(record, tuple(o.ref() for o in operands), (), None, (out.ref(),)))
        return out

    x = Value((size,), np.dtype(np.float32))
    graph.inputs[x] = Argument(0)
    low = call(torch.tanh.record, x)
    middle = low if function is None else call(function, low)
    out = call(torch.mul.record, call(torch.sin.record, middle), low)
    graph.outputs.append((out.ref(), Fresh(0)))
    return native.Native(graph)


def _expected(x):
    return np.sin(np.tanh(x)) * np.tanh(x)


@primitive(public=False, name="in_python")
def _in_python(x, /):
    """An operator that no rule expresses."""
    bytes(memoryview(x[:1]))  # values, which the compiler has not
    return x.copy()


def _interrupted(size, call):
    """A program that calls a function in its middle, as a signal's handler or the end of an object may be called."""
    program = _loop_program(size, _in_python.record)
    assert program.memory.arena_bytes and len(program.steps) > 1
    program.steps.insert(1, call)
    return program


def test_programs_of_loops_share_their_memory():
    small, large = _loop_program(100), _loop_program(1 << 20)
    assert small.arena is large.arena
    compiled = _program(lambda x: (x @ x).tanh().sum(), torch.randn(40, 40))
    assert compiled.arena is not small.arena
    found = []
    thread = threading.Thread(target=lambda: found.append(_loop_program(100)))
    thread.start()
    thread.join()
    assert found[0].arena is not small.arena


def test_a_run_within_a_run_puts_back_what_it_found():
    x = np.linspace(-1, 1, 3000, dtype=np.float32)
    for size in (5000, 500):  # more than the outer run has in use, and less
        inner = _loop_program(size, _in_python.record)
        outer = _interrupted(3000, lambda inner=inner, n=size: inner.run([np.full(n, 9, np.float32)], [None]))
        assert outer.arena is inner.arena
        np.testing.assert_allclose(outer.run([x], [None])[0], _expected(x), rtol=1e-5)
        assert not outer.arena.in_use


def test_threads_take_turns_in_one_arena():
    """A gradient of the main thread's graph may be asked for in another thread, whose run must wait."""
    order, x, asked = [], np.linspace(-1, 1, 1000, dtype=np.float32), threading.Event()
    other = _loop_program(1000, _in_python.record)

    def run_other():
        order.append("asks")
        asked.set()
        np.testing.assert_allclose(
            other.run([np.full(1000, 9, np.float32)], [None])[0], np.sin(np.tanh(9.0)), rtol=1e-5
        )
        order.append("ran")

    thread = threading.Thread(target=run_other)

    def meanwhile():
        thread.start()
        assert asked.wait(60)
        thread.join(0.2)
        order.append("outer")

    outer = _interrupted(1000, meanwhile)
    np.testing.assert_allclose(outer.run([x], [None])[0], _expected(x), rtol=1e-5)
    thread.join()
    assert order == ["asks", "outer", "ran"]


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="asks Linux")
def test_memory_of_the_largest_program_goes_back_when_that_is_gone():
    def resident():
        with open("/proc/self/status") as f:
            return next(int(line.split()[1]) / 1024 for line in f if line.startswith("VmRSS"))

    small = _loop_program(1000, _in_python.record)
    large = _loop_program(16 << 20, _in_python.record)  # 64 MB and more
    x = np.ones(16 << 20, np.float32)
    large.run([x], [x.copy()])
    del x
    before = resident()
    del large
    gc.collect()
    assert before - resident() > 50
    assert small.run([np.zeros(1000, np.float32)], [None])[0].sum() == 0
