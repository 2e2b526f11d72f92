"""Products of float32 by the matrix unit, in three parts of bfloat16, against NumPy in double precision."""

import numpy as np
import pytest

from rushlight.backend.onednn import library
from rushlight.compile.lower.amx import product as parts
from rushlight.compile.lower.amx import unit
from rushlight.compile.lower.onednn import kernels
from rushlight.compile.lower.onednn.direct import Run

pytestmark = pytest.mark.skipif(
    not (library.available() and kernels.available() and unit.available()), reason="needs oneDNN, llvmlite and AMX"
)


@pytest.fixture
def emitted(monkeypatch):
    """The products that went to the matrix unit; also small ones do."""
    made = []

    def emit(binder, x, y, bias, out, flag):
        made.append(out.shape)
        return original(binder, x, y, bias, out, flag)

    original = parts.emit_product
    monkeypatch.setattr(parts, "emit_product", emit)
    monkeypatch.setattr(parts, "_FEWEST_MULTIPLY_ADDS", 500_000)
    monkeypatch.setattr(parts, "_FEWEST_PANELS", 1)
    return made


def factors(m, k, n, turned_x=False, turned_y=False):
    rng = np.random.default_rng([m, k, n])
    x, y = rng.standard_normal((2, max(m, n) * k)).astype(np.float32)
    x = x[: m * k].reshape(k, m).T if turned_x else x[: m * k].reshape(m, k)
    y = y[: k * n].reshape(n, k).T if turned_y else y[: k * n].reshape(k, n)
    return x, y


def product(x, y, bias=None, out=None):
    out = np.full((len(x), y.shape[1]), 7, np.float32) if out is None else out
    run = Run("matmul", (x, y) if bias is None else (x, y, bias), (out,), (False,))
    assert run.served
    run()
    return out


def error(out, x, y, bias: float | np.ndarray = 0.0):
    """The largest error, in units of the last place of the root of the sum of squared products."""
    x, y = x.astype("f8"), y.astype("f8")
    scale = np.sqrt((x * x) @ (y * y)) + np.abs(bias) + 1e-300
    return (np.abs(out - (x @ y + bias)) / scale).max() / 2.0**-24


SHAPES = [(256, 128, 128), (128, 160, 260), (143, 129, 131), (130, 300, 257), (320, 1100, 129), (129, 1500, 300)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("turned", [(False, False), (False, True), (True, False), (True, True)])
def test_every_form(shape, turned, emitted):
    x, y = factors(*shape, *turned)
    bias = np.linspace(-2, 2, shape[2], dtype=np.float32)
    plain, biased = product(x, y), product(x, y, bias)
    assert len(emitted) == 4  # each is asked first whether it is served
    eager = error(x @ y, x, y)
    assert error(plain, x, y) <= 2 * eager
    assert error(biased, x, y, bias) <= 2 * eager


def test_blocks_of_rows_and_of_the_sum(emitted, monkeypatch):
    monkeypatch.setattr(parts, "_MOST_ROWS", 64)
    monkeypatch.setattr(parts, "_MOST_BYTES", 1)
    monkeypatch.setattr(parts, "_BLOCK_BYTES", 64 * 6 * 96)
    for turned in ((False, False), (True, True)):
        x, y = factors(200, 300, 333, *turned)
        bias = np.linspace(-2, 2, 333, dtype=np.float32)
        assert error(product(x, y, bias), x, y, bias) <= 2 * error(x @ y, x, y)
    assert emitted


def test_written_past_the_caches(emitted, monkeypatch):
    monkeypatch.setattr(parts, "_STREAMED_BYTES", 0)
    for m, n in ((150, 320), (320, 160)):
        for turned in (False, True):
            x, y = factors(m, 200, n, turned, turned)
            bias = np.linspace(-2, 2, n, dtype=np.float32)
            for start in (0, 1):  # memory that does and does not start with a line
                room = np.full(m * n + 32, 7, np.float32)
                start += -room.ctypes.data % 64 // 4
                out = room[start : start + m * n].reshape(m, n)
                assert error(product(x, y, bias, out), x, y, bias) <= 2 * error(x @ y, x, y)
                assert (room[:start] == 7).all() and (room[start + m * n :] == 7).all()
    assert emitted


def test_parts_of_memory(emitted):
    big = factors(300, 400, 10)[0]
    x, y = big[:200, 3:203], factors(200, 400, 500)[1][:200, 5:405]
    room = np.full((200, 450), 7, np.float32)
    product(x, y, out=room[:, 20:420])
    assert error(room[:, 20:420], x, y) <= 2 * error(x @ y, x, y)
    assert (room[:, :20] == 7).all() and (room[:, 420:] == 7).all()
    assert emitted


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, 3.3e38, -1e30, 1e19])
@pytest.mark.parametrize("side", [0, 1])
def test_numbers_that_parts_cannot_say(special, side, emitted):
    x, y = factors(140, 200, 300)
    (x, y)[side][150 if side else 77, 133] = special
    with np.errstate(all="ignore"):
        expected = x.astype("f8") @ y.astype("f8")
        expected = np.where(np.abs(expected) > 3.4e38, np.inf * np.sign(expected), expected)
    out = product(x, y)
    assert emitted
    np.testing.assert_array_equal(np.isnan(out), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(out), np.isinf(expected))
    whole = np.isfinite(expected)
    size = max(1.0, np.abs(expected[whole]).max())
    np.testing.assert_allclose(out[whole], expected[whole], rtol=1e-5, atol=2e-7 * size)


@pytest.mark.parametrize("scale", [1e-36, 1e-31, 1e-28, 1e-12, 1e8])
def test_scales(scale, emitted):
    x, y = factors(140, 200, 300)
    x *= np.float32(scale)
    assert error(product(x, y), x, y) <= 2 * error(x @ y, x, y)
    assert emitted


def test_rows_and_panels_of_zeros(emitted):
    x, y = factors(200, 200, 300)
    x[64:96] = 0
    y[:, 7] = 0
    out = product(x, y)
    assert (out[64:96] == 0).all() and (out[:, 7] == 0).all()
    assert error(out, x, y) <= 2 * error(x @ y, x, y)
    assert emitted


def test_a_flag_holds_for_one_run(emitted):
    x, y = factors(140, 200, 300)
    out = np.zeros((140, 300), np.float32)
    run = Run("matmul", (x, y), (out,), (False,))
    keep, x[3, 3] = x[3, 3], np.nan
    run()
    assert np.isnan(out[3]).all() and not np.isnan(np.delete(out, 3, 0)).any()
    x[3, 3] = keep
    out[...] = 7
    run()
    assert error(out, x, y) <= 2 * error(x @ y, x, y)
    assert emitted
