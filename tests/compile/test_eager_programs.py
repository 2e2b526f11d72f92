"""Single operators as programs, in loops whose backward is compiled: the kernel's results to rounding, and when."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight.backend.onednn import calls
from rushlight.compile import install
from rushlight.compile.jit import cache
from rushlight.compile.jit import eager as eager_programs
from rushlight.compile.jit import flat as flat_programs
from rushlight.core.dispatch.op import JIT_CANDIDATES
from rushlight.core.jit_switch import jit
from rushlight.testing.samples import samples_of
from rushlight.testing.suite import results_of

CALLS = 5


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    """With nothing known yet, in this thread."""
    install.prefer_programs()
    monkeypatch.setattr(jit, "on", True)
    eager_programs._route.forget()
    monkeypatch.setattr(eager_programs, "MANY", 0)
    monkeypatch.setattr(flat_programs, "WARMUP", 1e-9)  # those for all shapes: test_flat_programs.py
    for record in JIT_CANDIDATES:
        monkeypatch.setattr(record, "jit_warmup", 3 * eager_programs._AT_LEAST)


def flat(results):
    return [results] if isinstance(results, torch.Tensor) else [t for r in results for t in flat(r)]


def scores(*shape, dim=-1, dtype=torch.float32):
    torch.manual_seed(1)
    x = torch.randn(shape, dtype=dtype) * 5
    return lambda: F.log_softmax(x, dim)


def sampled(*sizes, mode="bilinear", padding_mode="zeros", align_corners=False, dtype=torch.float32):
    """An image and its gradients, at places of which some are outside, between two elements, on one, or nan."""
    torch.manual_seed(1)
    image = torch.randn(2, 3, *sizes, dtype=dtype, requires_grad=True)
    grid = torch.rand(2, *(n + 1 for n in sizes), len(sizes), dtype=dtype) * 2.4 - 1.2
    grid[0].flatten()[:4] = torch.tensor([0.0, float("nan"), 1.0, -1.0])
    grid.requires_grad_()
    weight = torch.randn(2, 3, *grid.shape[1:-1], dtype=dtype)

    def call():
        y = F.grid_sample(image, grid, mode, padding_mode, align_corners)
        return y, *torch.autograd.grad(y, (image, grid), weight)

    return call


def sample(count, size=4):
    """An image, in which `count` places are looked up."""
    image, grid = torch.ones(1, 1, size, size), torch.zeros(1, count, 1, 2)
    return F.grid_sample(image, grid, align_corners=False)


def counts():
    """The places of each program for `sample`."""
    return sorted(key[2][0][1] for key in eager_programs._state.programs)


CASES = {
    "log_softmax": lambda: scores(300, 1000),
    "log_softmax in float64": lambda: scores(300, 1000, dtype=torch.float64),
    "log_softmax of images": lambda: scores(2, 5, 200, 200, dim=1),
    "log_softmax of columns": lambda: scores(1000, 300, dim=0),
    "sampled image": lambda: sampled(5, 8),
    "sampled image in float64": lambda: sampled(5, 8, dtype=torch.float64, align_corners=True),
    "sampled image, reflected": lambda: sampled(5, 8, padding_mode="reflection"),
    "sampled image, nearest": lambda: sampled(5, 8, mode="nearest", padding_mode="border"),
    "sampled image, bicubic": lambda: sampled(7, 4, mode="bicubic", padding_mode="reflection", align_corners=True),
    "sampled volume": lambda: sampled(3, 5, 4),
}


@pytest.mark.parametrize("name", CASES)
def test_results_are_the_kernels_to_rounding(name):
    call = CASES[name]()
    first = flat(call())
    for _ in range(CALLS - 1):
        again = flat(call())
    assert eager_programs._state.programs
    for a, b in zip(first, again, strict=True):
        assert a.shape == b.shape and a.dtype is b.dtype and a.stride() == b.stride()
        assert a.grad_fn is None or type(a.grad_fn) is type(b.grad_fn)
        close = 1e-5 if a.dtype is torch.float32 else 1e-13
        np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), close, close)


def test_images_are_sampled_by_programs_both_ways():
    call = sampled(5, 8)
    for _ in range(CALLS):
        call()
    assert {key[0] for key in eager_programs._state.programs} == {"grid_sampler_2d", "grid_sampler.backward"}


@pytest.mark.parametrize("name", ["gelu", "leaky_relu", "hardtanh", "hardswish", "silu"])
def test_gradients_of_activations(name, monkeypatch):
    monkeypatch.setattr(flat_programs, "WARMUP", 1 << 60)
    x = torch.randn(8, 16, 32, 32).contiguous(memory_format=torch.channels_last).requires_grad_()
    g = torch.randn(8, 16, 32, 32)

    def gradient():
        return torch.autograd.grad(getattr(F, name)(x), x, g)[0]

    monkeypatch.setattr(jit, "on", False)
    expected = gradient()
    monkeypatch.setattr(jit, "on", True)
    for _ in range(CALLS):
        found = gradient()
        assert found.stride() == expected.stride()
        np.testing.assert_allclose(found.numpy(), expected.numpy(), 1e-5, 1e-6)


SAMPLE_NAMES = {"log_sigmoid": "logsigmoid", "prelu_kernel": "prelu", "linalg_vector_norm": "norm"}
OWN_CASES = ("grid_sampler", "_to_copy", "sum", "mean", "cut", "_backward")
RECORDS = [r for r in JIT_CANDIDATES if r.kind == "general" and not any(name in r.name for name in OWN_CASES)]


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: r.name)
def test_every_operator_on_its_samples(record, monkeypatch):
    """As small as they are."""
    monkeypatch.setattr(record, "jit_min_elements", 0)
    monkeypatch.setitem(record.complete_scope(), "least", 0)
    name = record.name.split(".")[0]
    name = SAMPLE_NAMES.get(name, name)
    tried, state = 0, eager_programs._state
    for i, sample in enumerate(samples_of(name)):
        args, kwargs = sample.make(torch.float32, False, False, i)
        rows = [results_of(name, args, kwargs) for _ in range(CALLS)]
        for a, b in zip(rows[0], rows[-1], strict=True):
            assert a.shape == b.shape and a.dtype is b.dtype and a.stride() == b.stride()
            np.testing.assert_allclose(b.numpy(), a.numpy(), 1e-5, 1e-6)
        tried += 1
    made = [key for key in state.programs if key[0] == record.name]
    assert tried and made and len(made) >= len(state.refused), (tried, state.refused)


KINDS = [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int8, torch.uint8, torch.int16]
KINDS += [torch.int32, torch.int64, torch.bool]


@pytest.mark.parametrize("source", KINDS, ids=str)
def test_casts_have_the_kernels_bits(source):
    special = [0.0, -0.0, 1.5, -1.5, 65519.0, 65520.0, 1e-8, 6e-8, 3e38, -3e38, 2.0**31, -(2.0**31), 300.0, -300.0]
    special += [float("nan"), float("inf"), -float("inf")] if source.is_floating_point else []
    many = torch.cat([torch.tensor(special, dtype=torch.float64), 1000 * torch.randn(1000, dtype=torch.float64)])
    x = many.to(source).repeat(130)
    for target in KINDS:
        first, *_, last = (x.to(target) for _ in range(CALLS))
        if target is not source:
            known = {*eager_programs._state.programs, *flat_programs._state.programs}
            assert any(key[0] == "_to_copy" for key in known)
        assert last.dtype is target
        np.testing.assert_array_equal(last.view(torch.uint8).numpy(), first.view(torch.uint8).numpy(), str(target))


def test_their_errors_are_the_kernels():
    x, index = torch.randn(300, 500), torch.randint(0, 500, (300, 500))
    for _ in range(CALLS):
        x.gather(1, index)
        torch.scatter_add(x, 1, index, x)
    assert {key[0] for key in eager_programs._state.programs} == {"gather"}
    index[299, 499] = 500
    for call in (lambda: x.gather(1, index), lambda: torch.scatter_add(x, 1, index, x)):
        with pytest.raises(RuntimeError, match=r"index 500 is out of bounds for dimension 1 with size 500"):
            call()
    index[299, 499] = 0
    assert x.gather(1, index)[299, 499] == x[299, 0]


def test_values_that_are_not_finite():
    x = torch.randn(512, 600)
    x[0, 3], x[1, 4], x[2, 5], x[3] = float("nan"), float("inf"), -float("inf"), -float("inf")
    first = F.log_softmax(x, 1)
    for _ in range(CALLS):
        again = F.log_softmax(x, 1)
    assert eager_programs._state.programs
    np.testing.assert_allclose(again.numpy(), first.numpy(), 1e-6, 1e-6)
    assert np.isnan(again.numpy()).any(1).tolist()[:5] == [True, True, False, True, False]


def test_each_shape_waits_for_its_time():
    for count in (3, 4, 3, 4, 3):
        sample(count)
    assert counts() == [3]
    sample(4)
    assert counts() == [3, 4]


def test_inputs_are_read_anew():
    image, grid = torch.randn(2, 3, 5, 8), torch.rand(2, 6, 9, 2) * 2 - 1
    for _ in range(CALLS):
        F.grid_sample(image, grid, align_corners=False)
    image.mul_(-0.5)
    grid.add_(0.25)
    mine = F.grid_sample(image, grid, align_corners=False)
    eager_programs._state.programs.clear()
    np.testing.assert_allclose(mine.numpy(), F.grid_sample(image, grid, align_corners=False).numpy(), 1e-6, 1e-6)


def test_programs_leave_eager_calls_their_primitives():
    convolution, images = torch.nn.Conv2d(3, 40, 3), torch.randn(8, 3, 20, 20)
    convolution(images)
    known = dict(calls.thread.calls)
    for _ in range(CALLS):
        sample(3)
    assert eager_programs._state.programs and known
    assert all(calls.thread.calls.get(key) is call for key, call in known.items())


def test_programs_are_bounded(monkeypatch):
    monkeypatch.setattr(cache.limits["eager"], "programs", 2)
    monkeypatch.setattr(cache, "IDLE", 20)
    for count in (1, 2, 3):
        for _ in range(CALLS):
            sample(count)
    assert counts() == [1, 2]
    for _ in range(30):
        sample(2)
    sample(3)
    assert counts() == [2, 3]


def test_their_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(cache.limits["eager"], "size_bytes", 1 << 17)
    for columns in range(3, 20):
        call = sampled(5, 8 * columns)
        results = [call() for _ in range(CALLS)]
        for first, last in zip(results[0], results[-1], strict=True):
            assert np.allclose(first.detach().numpy(), last.detach().numpy(), 1e-5, 1e-5, equal_nan=True)
    programs, refused = eager_programs._state.programs, eager_programs._state.refused
    assert programs and refused and len(programs) + len(refused) == 34
    assert sum(p.size_bytes for p in programs.values()) <= 1 << 17


def test_what_cannot_be_compiled_stays_the_kernels():
    image, grid = torch.ones(1, 1, 4, 4, dtype=torch.bfloat16), torch.zeros(1, 3, 1, 2, dtype=torch.bfloat16)
    for _ in range(CALLS):
        F.grid_sample(image, grid, align_corners=False)
    assert not eager_programs._state.programs and len(eager_programs._state.refused) == 1


def test_each_thread_has_programs_of_its_own():
    image, grid, results = torch.randn(2, 3, 5, 8), torch.rand(2, 6, 9, 2) * 2 - 1, []

    def work():
        with torch.no_grad():
            results.extend(F.grid_sample(image, grid, align_corners=False).numpy() for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 60 and all(np.allclose(r, results[0], 1e-6, 1e-6) for r in results)


LOOP = """
import rushlight as torch
from rushlight.compile import eager_programs
image, grid = torch.randn(2, 3, 5, 8, requires_grad=True), torch.rand(2, 6, 9, 2) * 2 - 1
sample = lambda: torch.nn.functional.grid_sample(image, grid, align_corners=False)
for _ in range(200):
    sample()
before = len(eager_programs._state.programs) > 0
for _ in range(2000):
    sample().sum().backward()
print(int(before), int(len(eager_programs._state.programs) > 0))
"""


WORK = """
import rushlight as torch
from rushlight.compile import install
from rushlight.compile.jit import eager
x, y = torch.randn(1 << 20), torch.randn(1 << 20)
seen = []
for _ in range(40):
    torch.nn.functional.huber_loss(x, y)
    seen.append(len(eager._state.programs))
print(seen.index(1) if 1 in seen else 0)
"""


@pytest.mark.parametrize("jit, after", [("0", 0), ("1", 11)])
def test_after_much_work_without_any_backward(jit, after):
    """Eight calls of 2 ** 20 are counted until the compiler may be loaded, four more until a program is made."""
    env = os.environ | {"RUSHLIGHT_JIT": jit}
    out = subprocess.run([sys.executable, "-c", WORK], env=env, capture_output=True, text=True, check=True).stdout
    assert int(out) == after


@pytest.mark.parametrize("jit", ["0", "1"])
def test_only_in_loops_whose_backward_is_compiled(jit):
    env = os.environ | {"RUSHLIGHT_JIT": jit}
    out = subprocess.run([sys.executable, "-c", LOOP], env=env, capture_output=True, text=True, check=True).stdout
    assert out.split() == ["0", jit]


LOADED = """
import rushlight as torch
from rushlight.compile import install
from rushlight.core.dispatch.extension_points import native_sums
install.prefer_programs()
before = native_sums.value is install._FirstSums
torch.randn(300, 1000).exp()
print(before, native_sums.value is install._FirstSums)
"""


@pytest.mark.parametrize("jit, waits", [("0", True), ("1", False)])
def test_sums_wait_no_longer_once_the_compiler_is_loaded(jit, waits):
    env = os.environ | {"RUSHLIGHT_JIT": jit}
    out = subprocess.run([sys.executable, "-c", LOADED], env=env, capture_output=True, text=True, check=True).stdout
    assert out.split() == ["True", str(waits)]


def test_an_array_that_would_be_copied_is_left_to_its_kernel():
    x = torch.randn(600, 500)
    for _ in range(CALLS):
        x[0].expand(600, 500).var(0)
        x.t().var(1)
    assert not eager_programs._state.programs
    for _ in range(CALLS):
        x.var(0)
    assert len(eager_programs._state.programs) == 1
