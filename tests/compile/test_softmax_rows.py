"""softmax and log_softmax of few rows by generated code: the kernels' results, wherever it takes their place."""

import threading
from functools import partial

import numpy as np
import pytest

import rushlight as torch
from rushlight.compile import install
from rushlight.compile.lower.eager import rows
from rushlight.core.jit_switch import jit
from rushlight.ops.nn.softmax import _log_softmax_of, _softmax_of

pytestmark = pytest.mark.skipif(not rows._available(), reason="no compiler here")
KERNELS = {False: _softmax_of, True: _log_softmax_of}
SHAPES = [(1,), (8,), (3, 1), (4, 10), (2, 3, 17), (5, 8), (7, 64), (30, 1000), (1, 1 << 15), (300, 257)]


@pytest.mark.parametrize("is_log", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_results_are_the_kernels(shape, is_log):
    x = (np.random.default_rng(0).normal(size=shape) * 8).astype(np.float32)
    before = x.copy()
    found = rows.softmax(x, is_log)
    np.testing.assert_allclose(found, KERNELS[is_log](x, -1), rtol=2e-6, atol=2e-6 if is_log else 1e-9)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("is_log", [False, True])
@pytest.mark.parametrize("width", [3, 8, 11, 24])
def test_special_values(width, is_log):
    line = np.zeros((6, width), np.float32)
    line[0, 1], line[1, 2], line[2], line[3, 0], line[4, -1] = np.inf, np.nan, -np.inf, -np.inf, 1e30
    line[5, 1:] = -1e30
    with np.errstate(all="ignore"):
        expected = KERNELS[is_log](line, -1)
    np.testing.assert_allclose(rows.softmax(line, is_log), expected, rtol=2e-6)


def test_torchs_digits(wrapped):
    """By torch 2.13."""
    x = torch.tensor([[0.3, -1.2, 2.7, 0.05, 1.1, -0.4, 0.9, -2.2, 0.0, 3.1]])
    install.prefer_programs()
    expected = [
        -3.5506772994995117, -5.050677299499512, -1.15067720413208, -3.8006772994995117, -2.7506771087646484,
        -4.250677108764648, -2.9506771564483643, -6.050677299499512, -3.850677251815796, -0.7506773471832275,
    ]  # fmt: skip
    np.testing.assert_allclose(x.log_softmax(-1).numpy()[0], np.float32(expected), rtol=2.5e-7)


def test_what_there_is_no_code_for():
    x = np.zeros((4, 6), np.float32)
    for other in (x.T, x[:, ::2], x.astype(np.float64), x[:0]):
        assert rows.softmax(other, False) is None


@pytest.fixture
def wrapped():
    """Other tests put kernels of their own in the place of these."""
    before = {operator: operator.record.kernel for operator in install._SOFTMAXES.values()}
    for is_log, operator in install._SOFTMAXES.items():
        operator.record.replace(partial(install._rows, is_log, operator.record.reference))
    yield
    for operator, kernel in before.items():
        operator.record.replace(kernel)


def in_new_thread(work):
    results = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    thread.join()
    return results[0]


def test_a_thread_counts_for_itself(monkeypatch, wrapped):
    monkeypatch.setattr(jit, "on", True)
    served = []
    serve = rows.softmax
    monkeypatch.setattr(rows, "softmax", lambda *given: served.append(given) or serve(*given))
    x = torch.randn(4, 10)

    def work(calls, prefer):
        if prefer:
            install.prefer_programs()
        for _ in range(calls):
            x.softmax(-1)
        return len(served)

    assert in_new_thread(lambda: work(10, False)) == 0
    assert in_new_thread(lambda: work(10, True)) == 10
    assert in_new_thread(lambda: work(10, False)) == 10
    many = 20_000_000 // 4096 + 1
    assert in_new_thread(lambda: work(many + 3, False)) >= 12


def test_not_with_deterministic_algorithms_nor_without_the_compiler(monkeypatch, wrapped):
    def never(*given):
        raise AssertionError("generated code was asked")

    install.prefer_programs()
    monkeypatch.setattr(rows, "softmax", never)
    x = torch.randn(4, 10)
    monkeypatch.setattr(jit, "on", False)
    x.softmax(-1)
    monkeypatch.setattr(jit, "on", True)
    torch.use_deterministic_algorithms(True)
    try:
        x.log_softmax(1)
    finally:
        torch.use_deterministic_algorithms(False)
    with pytest.raises(AssertionError, match="generated code"):
        x.log_softmax(1)


def test_gradients(wrapped):
    install.prefer_programs()
    x = torch.randn(3, 5, requires_grad=True)
    x.softmax(-1).pow(2).sum().backward()
    y = x.detach().double().requires_grad_()
    y.softmax(-1).pow(2).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=1e-4, atol=1e-6)
