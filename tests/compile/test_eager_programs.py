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


def recurrent(kind, **options):
    torch.manual_seed(1)
    layer = getattr(torch.nn, kind)(6, 8, **options)
    x = torch.randn(3, 5, 6, dtype=options.get("dtype"))
    return lambda: (layer(x), layer(x.flip(0)))


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


CASES = {
    "LSTM": lambda: recurrent("LSTM"),
    "LSTM of two layers": lambda: recurrent("LSTM", num_layers=2, bidirectional=True),
    "LSTM with projections": lambda: recurrent("LSTM", proj_size=3),
    "LSTM, batch first": lambda: recurrent("LSTM", batch_first=True),
    "LSTM without biases": lambda: recurrent("LSTM", bias=False),
    "LSTM in float64": lambda: recurrent("LSTM", dtype=torch.float64),
    "GRU": lambda: recurrent("GRU"),
    "RNN": lambda: recurrent("RNN", nonlinearity="relu"),
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


SAMPLE_NAMES = {"log_sigmoid": "logsigmoid", "linalg_vector_norm": "norm"}
OWN_CASES = ("_layer", "grid_sampler", "_to_copy")
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


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_gradients(kind):
    torch.manual_seed(0)
    layer, x = getattr(torch.nn, kind)(4, 5, num_layers=2), torch.randn(6, 3, 4, requires_grad=True)
    rows = []
    for _ in range(CALLS):
        layer.zero_grad()
        x.grad = None
        layer(x)[0].tanh().sum().backward()
        rows.append([x.grad.numpy().copy(), *(p.grad.numpy().copy() for p in layer.parameters())])
    for a, b in zip(rows[0], rows[-1], strict=True):
        np.testing.assert_allclose(a, b, 1e-5, 1e-5)


def test_each_shape_waits_for_its_time():
    layer = torch.nn.GRU(4, 5)
    for length in (3, 4, 3, 4, 3):
        layer(torch.randn(length, 2, 4))
    assert [key[2][0] for key in eager_programs._state.programs] == [(3, 2, 4)]
    layer(torch.randn(4, 2, 4))
    assert len(eager_programs._state.programs) == 2


def test_parameters_and_inputs_are_read_anew():
    layer, x = torch.nn.LSTM(40, 150), torch.randn(3, 2, 40)
    for _ in range(CALLS):
        layer(x)
    with torch.no_grad():
        layer.weight_hh_l0.mul_(-0.5)
        x.add_(1)
    mine = layer(x)[0]
    eager_programs._state.programs.clear()
    np.testing.assert_allclose(mine.detach().numpy(), layer(x)[0].detach().numpy(), 1e-6, 1e-6)


def test_precision_of_products_is_part_of_a_call():
    layer, x = torch.nn.LSTM(256, 256), torch.randn(3, 64, 256)
    count = lambda: len(eager_programs._state.programs)  # noqa: E731
    with torch.no_grad():
        before = torch.get_float32_matmul_precision()
        try:
            for n, precision in enumerate(("highest", "medium"), 1):
                torch.set_float32_matmul_precision(precision)
                for _ in range(CALLS):
                    layer(x)
                assert count() == n
        finally:
            torch.set_float32_matmul_precision(before)
        layer(x)
        assert count() == 2


def test_programs_leave_eager_calls_their_primitives():
    convolution, images, net = torch.nn.Conv2d(3, 40, 3), torch.randn(8, 3, 20, 20), torch.nn.GRU(4, 5)
    convolution(images)
    known = dict(calls.thread.calls)
    for _ in range(CALLS):
        net(torch.randn(3, 2, 4))
    assert eager_programs._state.programs and known
    assert all(calls.thread.calls.get(key) is call for key, call in known.items())


def test_programs_are_bounded(monkeypatch):
    monkeypatch.setattr(cache.limits["eager"], "programs", 2)
    monkeypatch.setattr(cache, "IDLE", 20)
    layer = torch.nn.RNN(2, 2)
    lengths = lambda: sorted(key[2][0][0] for key in eager_programs._state.programs)  # noqa: E731
    for length in (1, 2, 3):
        for _ in range(CALLS):
            layer(torch.randn(length, 1, 2))
    assert lengths() == [1, 2]
    for _ in range(30):
        layer(torch.randn(2, 1, 2))
    layer(torch.randn(3, 1, 2))
    assert lengths() == [2, 3]


def test_their_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(cache.limits["eager"], "size_bytes", 1 << 17)
    layer = torch.nn.LSTM(16, 64)
    with torch.no_grad():
        for length in range(3, 20):
            results = [layer(torch.ones(length, 8, 16))[0] for _ in range(CALLS)]
            assert np.allclose(results[0].numpy(), results[-1].numpy(), 1e-6, 1e-6)
    programs, refused = eager_programs._state.programs, eager_programs._state.refused
    assert programs and refused and len(programs) + len(refused) == 17
    assert sum(p.size_bytes for p in programs.values()) <= 1 << 17


def test_what_cannot_be_compiled_stays_the_kernels():
    layer, x = torch.nn.LSTM(4, 5, dtype=torch.bfloat16), torch.randn(3, 2, 4, dtype=torch.bfloat16)
    for _ in range(CALLS):
        layer(x)
    assert not eager_programs._state.programs and len(eager_programs._state.refused) == 1


def test_each_thread_has_programs_of_its_own():
    layer, x, results = torch.nn.LSTM(8, 16), torch.randn(9, 4, 8), []

    def work():
        with torch.no_grad():
            results.extend(layer(x)[0].numpy() for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 60 and all(np.allclose(r, results[0], 1e-6, 1e-6) for r in results)


LOOP = """
import rushlight as torch
from rushlight.compile import eager_programs
layer, x = torch.nn.LSTM(40, 150), torch.randn(3, 2, 40)
for _ in range(200):
    layer(x)
before = len(eager_programs._state.programs)
for _ in range(400):
    layer(x)[0].sum().backward()
print(before, len(eager_programs._state.programs))
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


def test_an_array_that_would_be_copied_is_left_to_its_kernel():
    x = torch.randn(600, 500)
    for _ in range(CALLS):
        x[0].expand(600, 500).sum(0)
        x.t().sum(1)
    assert not eager_programs._state.programs
    for _ in range(CALLS):
        x.sum(0)
    assert len(eager_programs._state.programs) == 1
