"""torch.masked against NumPy's masked arrays."""

import numpy as np
import pytest

import rushlight as torch
from rushlight import masked

rng = np.random.default_rng(3)
X = rng.standard_normal((3, 4, 2))
M = rng.random((3, 4, 1)) > 0.4
M[1, :, :] = [[True], [False], [False], [True]]
MA = np.ma.array(X, mask=np.broadcast_to(~M, X.shape))
x, m = torch.tensor(X), torch.tensor(M)

REDUCTIONS = {
    "sum": lambda a, axis: a.sum(axis), "prod": lambda a, axis: a.prod(axis), "amax": lambda a, axis: a.max(axis),
    "amin": lambda a, axis: a.min(axis), "mean": lambda a, axis: a.mean(axis),
    "logsumexp": lambda a, axis: np.ma.log(np.exp(a).sum(axis)), "norm": lambda a, axis: np.sqrt((a * a).sum(axis)),
    "var": lambda a, axis: a.var(axis, ddof=1), "std": lambda a, axis: a.std(axis, ddof=1),
}  # fmt: skip


@pytest.mark.parametrize("axis", [None, 1, -1, (0, 2)], ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, axis):
    for array, mask in ((MA, m), (np.ma.array(X), None)):
        want = np.ma.array(REDUCTIONS[name](array, axis))
        for keepdim in (False, True):
            got = getattr(masked, name)(x, dim=axis, keepdim=keepdim, mask=mask)
            assert got.dim() == (3 if keepdim else np.ndim(want))
            left = ~np.ma.getmaskarray(want)
            np.testing.assert_allclose(got.reshape(want.shape).numpy()[left], want.data[left], rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "value"),
    [("sum", 0), ("prod", 1), ("amax", -np.inf), ("amin", np.inf), ("mean", np.nan), ("norm", 0), ("std", np.nan)],
)
def test_a_slice_with_nothing_left(name, value):
    got = getattr(masked, name)(x, dim=1, mask=torch.zeros(4, 1, dtype=torch.bool))
    np.testing.assert_array_equal(got.numpy(), np.full((3, 2), value))


def test_places_and_medians():
    assert masked.argmax(x, 1, mask=m, dtype=torch.int64).tolist() == MA.argmax(1).tolist()
    assert masked.argmin(x, 1, mask=m).dtype is torch.float64  # torch gives places in the input's type
    lower = np.ma.sort(MA, 1)[np.arange(3)[:, None], (MA.count(1) - 1) // 2, np.arange(2)]
    np.testing.assert_allclose(masked.median(x, 1, mask=m).numpy(), lower)
    integers = torch.arange(4)
    assert masked.median(integers, mask=integers > 0).item() == 2
    with pytest.raises(ValueError, match="no fully masked out rows"):
        masked.median(integers, mask=integers > 9)


def test_what_keeps_the_shape():
    np.testing.assert_allclose(masked.cumsum(x, 1, mask=m).numpy(), MA.filled(0).cumsum(1))
    np.testing.assert_allclose(masked.cumprod(x, 1, mask=m).numpy(), MA.filled(1).cumprod(1))
    for sign, name in ((1, "softmax"), (-1, "softmin")):
        e = np.exp(sign * MA)
        np.testing.assert_allclose(getattr(masked, name)(x, 1, mask=m).numpy(), (e / e.sum(1, keepdims=True)).filled(0))
    log = masked.log_softmax(x, 1, mask=m)
    np.testing.assert_allclose(log.exp().numpy(), masked.softmax(x, 1, mask=m).numpy())
    unit = MA / np.sqrt((MA * MA).sum(1, keepdims=True))
    np.testing.assert_allclose(masked.normalize(x, 2.0, 1, mask=m).numpy(), unit.filled(0))
    both = masked.logaddexp(x, 2 * x, input_mask=m, other_mask=x > 0)
    with np.errstate(divide="ignore"):
        want = np.log(np.where(M, np.exp(X), 0) + np.where(X > 0, np.exp(2 * X), 0))
    np.testing.assert_allclose(both.numpy(), want, atol=1e-15)


def test_gradients_stop_at_the_mask():
    t = x.clone().requires_grad_()
    (masked.softmax(t, 1, mask=m) * masked.var(t, 1, keepdim=True, mask=m)).sum().backward()
    assert (t.grad.numpy()[~np.broadcast_to(M, X.shape)] == 0).all() and t.grad.abs().sum() > 0


def test_types_and_errors():
    assert masked.sum(torch.tensor([True, True])).dtype is torch.int64
    assert masked.var(torch.arange(4)).dtype is torch.float32
    for call, kind, words in (
        (lambda: masked.mean(torch.arange(3)), ValueError, "Could not infer output dtype. Input dtype"),
        (lambda: masked.sum(x, 5), IndexError, "Dimension out of range"),
        (lambda: masked.sum(x, (0, 0)), RuntimeError, "appears multiple times"),
        (lambda: masked.sum(torch.ones(2), mask=m), IndexError, "broadcastable mask"),
        (lambda: masked.var(x, 1, True, correction=1), AssertionError, "Only one of unbiased and correction"),
    ):
        with pytest.raises(kind, match=words):
            call()
    assert not masked.is_masked_tensor(x)
