"""Matrix products of compiled steps against NumPy in double precision."""

import math

import ml_dtypes
import numpy as np
import pytest

import rushlight as torch
from rushlight.backend import isa
from rushlight.backend.onednn import library
from rushlight.compile.lower.onednn import blas, choose, kernels, matmul, serves
from rushlight.compile.lower.onednn.direct import Run

pytestmark = pytest.mark.skipif(not (library.available() and kernels.available()), reason="needs oneDNN and llvmlite")


def random(*shape, dtype=np.float32):
    return np.random.default_rng([*shape]).standard_normal(shape).astype(dtype)


def heads():
    """Queries, keys and values as views of one projection. Shape: 3 times (2, 4, 16, 8)"""
    return random(2, 16, 3, 4, 8).transpose(2, 0, 3, 1, 4)


# fmt: off
SIDES = {
    "small": (random(4, 40), random(40, 12)),
    "second transposed": (random(4, 400), random(120, 400).T),
    "first transposed": (random(64, 120).T, random(64, 400)),
    "both transposed": (random(400, 64).T, random(120, 400).T),
    "large": (random(600, 300), random(300, 520)),
    "large, transposed": (random(600, 300), random(520, 300).T),
    "rows apart": (random(100, 200)[::2, :96], random(300, 130)[:96, 2:]),
    "elements apart": (random(100, 200)[:, ::2], random(100, 130)),
    "small, elements apart": (random(5, 20)[:, ::2], random(10, 26)[:, ::2]),
    "one row": (random(1, 300), random(300, 700)),
    "one column": (random(2000, 300), random(300, 1)),
    "small row": (random(1, 40), random(40, 12)),
    "small row, second transposed": (random(1, 400), random(120, 400).T),
    "small row of a matrix": (random(40, 3).T[1:2], random(40, 30)[:, 4:19]),
    "small column": (random(40, 30), random(30, 1)),
    "small column of a matrix": (random(30, 40).T, random(30, 5)[:, 2:3]),
    "elements of a row apart": (random(1, 80)[:, ::2], random(70, 40)[:, ::2].T[:20].repeat(2, 0)),
    "one by one": (random(1, 50), random(50, 1)),
    "one term": (random(1, 1), random(1, 9)),
    "repeated element": (np.broadcast_to(random(1, 1), (1, 30)), random(30, 20)),
    "rows in batch": (random(6, 1, 30), random(6, 30, 20)),
    "columns in batch": (random(6, 20, 30), random(6, 30, 1)),
    "outer": (random(300, 1), random(1, 1000)),
    "repeated row": (np.broadcast_to(random(1, 600), (100, 600)), random(600, 64)),
    "repeated column": (random(100, 600), np.broadcast_to(random(600, 1), (600, 64))),
    "batch": (random(6, 20, 30), random(6, 30, 50)),
    "two batch axes": (random(3, 2, 20, 30), random(3, 2, 30, 50)),
    "batch by matrix": (random(6, 80, 90), random(90, 100)),
    "matrix by batch": (random(80, 90), random(6, 90, 100)),
    "broadcast": (random(5, 1, 20, 30), random(4, 30, 20)),
    "repeated in batch": (np.broadcast_to(random(1, 40, 50), (6, 40, 50)), random(6, 50, 60)),
    "scores of heads": (heads()[0], heads()[1].swapaxes(-1, -2)),
    "values of heads": (random(2, 4, 16, 16), heads()[2]),
}
# fmt: on


def close(out, exact, terms):
    """Whether a float32 result is as exact as sums of so many terms can be asked to be."""
    np.testing.assert_allclose(out, exact, rtol=1e-5, atol=2e-6 * math.sqrt(terms) * max(1.0, np.abs(exact).max()))


def product(x, y, out=None, bias=None, onto=False, **options):
    out = np.full((x.astype("f8") @ y.astype("f8")).shape, 9, x.dtype) if out is None else out
    run = Run("matmul", (x, y) if bias is None else (x, y, bias), (out,), (onto,), **options)
    assert run.served and serves(run.extern)
    run()
    return out


@pytest.mark.parametrize("name", SIDES)
def test_products(name):
    x, y = SIDES[name]
    close(product(x, y), x.astype("f8") @ y.astype("f8"), x.shape[-1])


@pytest.mark.parametrize("name", SIDES)
def test_scaled_and_added(name):
    x, y = SIDES[name]
    exact = x.astype("f8") @ y.astype("f8")
    start = random(*exact.shape)
    close(product(x, y, start.copy(), onto=True, scale=0.5), start + 0.5 * exact, x.shape[-1])


def test_result_in_another_order():
    x, y = random(2, 4, 16, 16), heads()[2]
    out = np.empty((2, 16, 4, 8), np.float32).transpose(0, 2, 1, 3)
    close(product(x, y, out), x.astype("f8") @ y.astype("f8"), 16)
    out = np.empty((300, 200), np.float32).T
    x, y = random(200, 90), random(90, 300)
    close(product(x, y, out), x.astype("f8") @ y.astype("f8"), 90)
    bias = random(300)  # oneDNN adds none that differs from row to row
    out = np.empty((300, 200), np.float32).T
    close(product(x, y, out, bias), x.astype("f8") @ y.astype("f8") + bias, 90)
    small = np.empty((12, 4), np.float32).T
    close(product(*SIDES["small"], small), SIDES["small"][0] @ SIDES["small"][1], 40)


@pytest.mark.parametrize("shape", [(4, 40, 12), (64, 400, 120), (600, 300, 520)])
@pytest.mark.parametrize("scale", [1.0, 0.25])
@pytest.mark.parametrize("activation", [None, "gelu_tanh"])
def test_bias_and_activation(shape, scale, activation):
    n, k, m = shape
    x, y, bias = random(n, k), random(m, k).T, random(m)
    z = scale * (x.astype("f8") @ y.astype("f8")) + bias
    exact = z if activation is None else z * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)))
    close(product(x, y, bias=bias, scale=scale, activation=activation), exact, k)


def test_bias_of_a_batch_and_onto():
    x, y, bias = random(3, 40, 30), random(30, 50), random(50)
    exact = x.astype("f8") @ y.astype("f8") + bias
    close(product(x, y, bias=bias), exact, 30)
    start = random(3, 40, 50)
    close(product(x, y, start.copy(), bias=bias, onto=True), start + exact, 30)


@pytest.mark.parametrize("shape", [((9, 7), (7, 5)), ((300, 200), (200, 310)), ((4, 9, 7), (4, 7, 5))])
def test_double_precision(shape):
    x, y = (random(*s, dtype=np.float64) for s in shape)
    np.testing.assert_allclose(product(x, y), x @ y, rtol=1e-12, atol=1e-12)


def test_bfloat16():
    x, y = (random(64, 128).astype(ml_dtypes.bfloat16), random(128, 96).astype(ml_dtypes.bfloat16))
    out = np.empty((64, 96), ml_dtypes.bfloat16)
    run = Run("matmul", (x, y), (out,))
    if run.served:  # where the processor knows the type
        run()
        np.testing.assert_allclose(out.astype("f8"), x.astype("f8") @ y.astype("f8"), rtol=1e-2, atol=0.1)


@pytest.mark.parametrize("shape", [(4, 40, 12), (64, 400, 120), (600, 300, 520)])
def test_factors_rounded_to_bfloat16(shape):
    n, k, m = shape
    x, y = random(n, k), random(m, k).T
    bound = np.abs(x.astype("f8")) @ np.abs(y.astype("f8")) * 2**-7 + 1e-5  # two roundings of 2**-8 each
    assert (np.abs(product(x, y, rounded=True) - x.astype("f8") @ y.astype("f8")) <= bound).all()


@pytest.mark.parametrize("activation", [None, "gelu_tanh"])
def test_nan_and_infinity_stay(activation):
    x, y = random(100, 400), np.abs(random(400, 200))
    x[0, 0], x[1, 0], x[2, 0] = np.nan, np.inf, -np.inf
    out = product(x, y, activation=activation)
    assert np.isnan(out[0]).all() and (out[1] == np.inf).all() and np.isfinite(out[3:]).all()
    assert (out[2] == -np.inf).all() if activation is None else np.isnan(out[2]).all()  # -inf 0


@pytest.mark.parametrize(
    ("x", "y", "options"),
    [
        (random(64, 64)[::-1], random(64, 64), {}),
        (random(64, 64), random(64, 64), {"activation": "relu"}),
        (np.ones((3, 4), np.int64), np.ones((4, 5), np.int64), {}),
        (np.ones((3, 0), np.float32), np.ones((0, 5), np.float32), {}),
    ],
)
def test_refusals(x, y, options):
    out = np.full((x.shape[0], y.shape[1]), 7, x.dtype)
    assert not Run("matmul", (x, y), (out,), **options).served
    assert (out == 7).all()


def test_what_passes_ask():
    large = Run("matmul", SIDES["large"], (np.empty((600, 520), np.float32),))
    assert choose(large.extern).operands == (None, None)


# -- what oneDNN has no primitive for ----------------------------------------------------------------------------------
@pytest.fixture
def products_alone(monkeypatch):
    """oneDNN as it is without AVX-512, or worse: nothing can follow a product."""
    whole = matmul.primitive_desc

    def alone(kind, x, y, bias, out, operations=()):
        return None if bias is not None or operations else whole(kind, x, y, bias, out)

    monkeypatch.setattr(matmul, "primitive_desc", alone)


@pytest.mark.parametrize("name", SIDES)
@pytest.mark.parametrize("onto", [False, True])
def test_scaled_and_added_by_a_loop(products_alone, name, onto):
    x, y = SIDES[name]
    exact = x.astype("f8") @ y.astype("f8")
    start = random(*exact.shape)
    found = product(x, y, start.copy(), onto=onto, scale=0.5)
    close(found, 0.5 * exact + (start if onto else 0), x.shape[-1])


@pytest.mark.parametrize("shape", [(4, 40, 12), (64, 400, 120), (600, 300, 521)])
@pytest.mark.parametrize("activation", [None, "gelu_tanh"])
def test_bias_and_activation_by_a_loop(products_alone, shape, activation):
    test_bias_and_activation(shape, 0.25, activation)


def test_bias_of_a_batch_and_onto_by_a_loop(products_alone):
    test_bias_of_a_batch_and_onto()
    x, y, bias = random(3, 40, 30), random(30, 50), random(3, 1, 50)  # a row for each matrix
    start = random(3, 40, 50)
    exact = start + x.astype("f8") @ y.astype("f8") + bias
    close(product(x, y, start.copy(), bias=bias, onto=True), exact, 30)
    bias = random(40, 1)  # a number for each row
    close(product(x, y, start.copy(), bias=bias, onto=True), start + x.astype("f8") @ y.astype("f8") + bias, 30)


@pytest.mark.parametrize("activation", [None, "gelu_tanh"])
def test_nan_and_infinity_stay_in_a_loop(products_alone, activation):
    test_nan_and_infinity_stay(activation)


def test_products_by_openblas_where_onednn_has_none(monkeypatch):
    monkeypatch.setattr(matmul, "primitive_desc", lambda *_, **__: None)
    x, y, bias = random(600, 300), random(300, 520), random(520)
    close(product(x, y), x.astype("f8") @ y.astype("f8"), 300)
    close(product(x, y, bias=bias), x.astype("f8") @ y.astype("f8") + bias, 300)


@pytest.fixture
def shared(monkeypatch):
    """All float32 matrices by OpenBLAS, each thread a part; tells how often."""
    if not blas.is_shareable() or blas.function(np.dtype("f4")) is None:
        pytest.skip("needs NumPy's OpenBLAS on one thread")
    made = []

    def counted(*arguments):
        made.append(blas_shared(*arguments))
        return made[-1]

    blas_shared = blas.multiply_shared
    monkeypatch.setattr(matmul, "SMALL_MULTIPLY_ADDS", 0)
    monkeypatch.setattr(matmul, "_is_quick_in_openblas", lambda *_: False)
    monkeypatch.setattr(matmul, "_is_faster_shared", lambda *_: True)
    monkeypatch.setattr(blas, "multiply_shared", counted)
    return made


@pytest.mark.parametrize("name", SIDES)
@pytest.mark.parametrize("onto", [False, True])
def test_products_shared_out(shared, name, onto):
    if onto:
        test_scaled_and_added(name)
    else:
        test_products(name)
    if name in ("large", "first transposed", "one row", "one column", "both transposed", "rows apart"):
        assert any(shared)


@pytest.mark.parametrize("shape", [(4, 40, 12), (17, 300, 33), (600, 300, 521), (1, 700, 15)])
@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_bias_of_products_shared_out(shared, shape, scale):
    test_bias_and_activation(shape, scale, None)
    assert any(shared)


@pytest.mark.parametrize(
    ("x", "y", "chosen"),
    [
        (random(256, 512), random(512, 256), True),
        (random(255, 512), random(512, 256), False),
        (random(256, 511), random(511, 256), False),
        (random(512, 512).T, random(512, 30), True),
        (random(512, 500).T, random(512, 30), False),
        (random(256, 1024).T, random(256, 256), True),
        (random(256, 1023).T, random(256, 256), False),
        (random(256, 1024).T, random(256, 513), False),
    ],
)
def test_which_products_are_shared_out(monkeypatch, x, y, chosen):
    if not blas.is_shareable():
        pytest.skip("needs NumPy's OpenBLAS on one thread")
    monkeypatch.setattr(isa, "has_avx512", lambda: False)
    asked = []
    monkeypatch.setattr(blas, "multiply_shared", lambda *a: asked.append(a))
    product(x, y)
    assert bool(asked) == chosen


@pytest.mark.parametrize("shape", [(1000, 600, 300), (300, 600, 1000), (129, 700, 128)])
def test_digits_of_shared_products_are_the_same_on_any_number_of_threads(shared, shape):
    n, k, m = shape
    x, y, before = random(k, n).T, random(k, m), torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(product(x, y).tobytes())
    finally:
        torch.set_num_threads(before)
    assert len(set(results)) == 1 and any(shared)
