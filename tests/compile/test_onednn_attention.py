"""Attention and scatters of compiled steps against NumPy."""

import numpy as np
import pytest

import rushlight as torch
from rushlight.backend.onednn import library
from rushlight.compile.lower.onednn import kernels
from rushlight.compile.lower.onednn.direct import Run

pytestmark = pytest.mark.skipif(not (library.available() and kernels.available()), reason="needs oneDNN and llvmlite")


def random(*shape, dtype=np.float32):
    return np.random.default_rng([*shape]).standard_normal(shape).astype(dtype)


def exactly(q, k, v, g, causal, scale):
    """(out, lse, dq, dk, dv) in double precision."""
    q, k, v, g = (a.astype("f8") for a in (q, k, v, g))
    scores = q @ k.swapaxes(-1, -2) * scale
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    top = scores.max(-1, keepdims=True)
    sums = np.exp(scores - top).sum(-1, keepdims=True)
    p = np.exp(scores - top) / sums
    out = p @ v
    d = p * (g @ v.swapaxes(-1, -2) - (g * out).sum(-1, keepdims=True)) * scale
    return out, top + np.log(sums), d @ k, d.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ g


# fmt: off
CASES = {
    "small": ((2, 4, 16, 8), (2, 4, 16, 8), (2, 4, 16, 8)),
    "one batch axis": ((3, 50, 20), (3, 37, 20), (3, 37, 13)),
    "no batch": ((70, 40), (60, 40), (60, 8)),
    "several blocks": ((1, 600, 16), (1, 600, 16), (1, 600, 16)),
    "blocks of heads": ((2, 24, 128, 8), (2, 24, 128, 8), (2, 24, 128, 8)),
    "one key": ((2, 5, 4), (2, 1, 4), (2, 1, 4)),
}
# fmt: on


def check(q, k, v, causal, out=None):
    scale = q.shape[-1] ** -0.5
    out = np.empty((*q.shape[:-1], v.shape[-1]), np.float32) if out is None else out
    g, lse = random(*out.shape), np.empty((*q.shape[:-1], 1), np.float32)
    forward = Run("attention_forward", (q, k, v), (out, lse), scale=scale, causal=causal)
    assert forward.served
    forward()
    gradients = tuple(np.full(a.shape, np.nan, np.float32) for a in (q, k, v))
    backward = Run("attention_backward", (g, q, k, v, out, lse), gradients, scale=scale, causal=causal)
    assert backward.served
    backward()
    true_out, true_lse, *true = exactly(q, k, v, g, causal, scale)
    np.testing.assert_allclose(out, true_out, rtol=1e-5, atol=2e-5)
    np.testing.assert_allclose(lse, true_lse, rtol=1e-5, atol=2e-5)
    share = np.abs(true_lse).max() * 2**-24  # by which rounding lse changes each weight in backward
    for got, exact in zip(gradients, true, strict=True):
        np.testing.assert_allclose(got, exact, rtol=1e-5, atol=2e-5 + share * np.abs(exact).max())


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("causal", [False, True])
def test_attention(name, causal):
    check(*(random(*shape) for shape in CASES[name]), causal)


@pytest.mark.parametrize("causal", [False, True])
def test_heads_out_of_one_projection(causal):
    q, k, v = random(2, 128, 3, 4, 16).transpose(2, 0, 3, 1, 4)
    check(q, k, v, causal, np.empty((2, 128, 4, 16), np.float32).transpose(0, 2, 1, 3))


def test_large_scores_do_not_overflow():
    """Of whole numbers, and a scale of 1/4: scores of hundreds are exact in whatever order they are summed."""
    q, k, v = random(2, 20, 16), random(2, 20, 16), random(2, 20, 8)
    q, k = np.rint(q * 6), np.rint(k * 6)
    assert np.abs(q @ k.swapaxes(-1, -2)).max() / 4 > 200
    check(q, k, v, True)


def test_nan_reaches_its_row_alone():
    q, k, v = (random(1, 20, 8) for _ in range(3))
    q = q.copy()
    q[0, 3, 0] = np.nan
    out, lse = np.empty_like(q), np.empty((1, 20, 1), np.float32)
    Run("attention_forward", (q, k, v), (out, lse), scale=1.0, causal=True)()
    assert np.isnan(out[0, 3]).all() and np.isfinite(np.delete(out[0], 3, 0)).all()


def test_attention_refusals():
    q, k, out, lse = random(2, 5, 4), random(2, 9, 4), np.zeros((2, 5, 4), "f4"), np.zeros((2, 5, 1), "f4")
    assert not Run("attention_forward", (q, k, k), (out, lse), scale=1.0, causal=True).served
    wide = tuple(a.astype("f8") for a in (q, k, k))
    assert not Run("attention_forward", wide, (out.astype("f8"), lse), scale=1.0, causal=False).served


# -- scatters ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index_type", [np.int64, np.int32])
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("skip", [None, 3])
@pytest.mark.parametrize(
    ("count", "rows", "rest"), [(7, 5, (3,)), (900, 400, (64,)), (500, 50, (33,)), (100, 10, ()), (64, 9, (2, 5, 4))]
)
def test_index_add(count, rows, rest, dtype, index_type, keep, skip):
    source, start = random(count, *rest, dtype=dtype), random(rows, *rest, dtype=dtype)
    index = np.random.default_rng(0).integers(0, rows, count).astype(index_type)
    exact = start.copy() if keep else np.zeros_like(start)
    used = index != (-1 if skip is None else skip)
    np.add.at(exact, index[used], source[used])
    run = Run("index_add", (source, index), (start,), (keep,), skip=skip)
    assert run.served
    run()
    np.testing.assert_array_equal(start, exact)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize(
    ("shape", "axis", "length"),
    [((5, 7), 1, 4), ((5, 7), 0, 4), ((500, 70), 0, 40), ((2, 3, 4), 1, 6), ((100,), 0, 9)],
)
def test_scatter_add(shape, axis, length, dtype, keep, order):
    source = np.asarray(random(*shape, dtype=dtype), order=order)
    index = np.random.default_rng(0).integers(0, length, shape)
    start = random(*(length if i == axis else n for i, n in enumerate(shape)), dtype=dtype)
    exact = start.copy() if keep else np.zeros_like(start)
    places = list(np.indices(shape))
    places[axis] = index
    np.add.at(exact, tuple(places), source)
    run = Run("scatter_add", (source, index), (start,), (keep,), axis=axis)
    if run.served:
        run()
        np.testing.assert_array_equal(start, exact)
    else:
        assert order == "F" and len(shape) == 3  # whose axes before and behind do not fold


def test_indices_outside_add_nothing():
    out = np.empty((4, 3), np.float32)
    Run("index_add", (random(3, 3), np.array([1, -5, 9])), (out,))()
    assert (out[[0, 2, 3]] == 0).all() and (out[1] == random(3, 3)[0]).all()


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize(("keys", "mask"), [(33, "bool"), (33, "numbers"), (33, "blind"), (600, "bool")])
def test_masks_stay_native(kind, keys, mask):
    """Masks of 16-bit attention, and over many keys: no call in Python, and eager's results and gradients."""
    torch.manual_seed(0)
    shown = {
        "bool": torch.rand(keys, keys) > 0.3,
        "numbers": torch.randn(keys, keys).to(kind),
        "blind": torch.ones(keys, keys, dtype=torch.bool).tril(-1),
    }[mask]
    weight, data = torch.randn(1, 2, keys, 8), torch.randn(3, 1, 2, keys, 8)

    def step(q, k, v):
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=shown)
        (out.float() * weight).sum().backward()
        return out

    found = []
    for call in (step, torch.compile(step)):
        for _ in range(4):
            q, k, v = (t.to(kind).requires_grad_() for t in data)
            out = call(q, k, v)
        found.append([t.detach().float().clone() for t in (out, q.grad, k.grad, v.grad)])
    assert "in Python" not in str(torch.compile.explain(call)(q, k, v))
    for eager, compiled in zip(*found, strict=True):
        assert (eager - compiled).abs().max() <= (1e-5 if kind is torch.float32 else 8e-3) * eager.abs().max()
