"""Losses, normalisation and embeddings against their formulas in NumPy float64, gradients by differences."""

import warnings

import numpy as np
import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight.autograd import gradcheck, gradgradcheck

rng = np.random.RandomState(0)
A, B = rng.randn(4, 5), rng.randn(4, 5)
P, Q = rng.rand(4, 5) * 0.8 + 0.1, rng.rand(4, 5) * 0.8 + 0.1
T = np.array([1, 4, -100, 0])
W = rng.rand(5) + 0.5
S = np.where(B > 0, 1.0, -1.0)


def _logp(x):
    return x - x.max(1, keepdims=True) - np.log(np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True))


def _ce(x, t, w=None, smooth=0.0):
    logp, keep = _logp(x), t != -100
    w = np.ones(x.shape[1]) if w is None else w
    t = np.where(keep, t, 0)
    picked = -(w[t] * logp[np.arange(len(t)), t])[keep].sum() / w[t][keep].sum()
    if not smooth:
        return picked
    spread = -(logp * w).sum(1)[keep].sum() / w[t][keep].sum()
    return (1 - smooth) * picked + smooth / x.shape[1] * spread


def _huber(d, delta):
    d = np.abs(d)
    return np.where(d <= delta, d * d / 2, delta * (d - delta / 2))


# name, call on the differentiable inputs, those inputs, the expected value
LOSSES = [
    ("mse", F.mse_loss, (A, B), ((A - B) ** 2).mean()),
    ("mse none", lambda a, b: F.mse_loss(a, b, reduction="none"), (A, B), (A - B) ** 2),
    ("l1 sum", lambda a, b: F.l1_loss(a, b, reduction="sum"), (A, B), np.abs(A - B).sum()),
    ("smooth_l1", lambda a, b: F.smooth_l1_loss(a, b, beta=0.7), (A, B), (_huber(A - B, 0.7) / 0.7).mean()),
    ("huber", lambda a, b: F.huber_loss(a, b, delta=0.6), (A, B), _huber(A - B, 0.6).mean()),
    ("cross_entropy", lambda a: F.cross_entropy(a, torch.from_numpy(T)), (A,), _ce(A, T)),
    ("cross_entropy weight", lambda a: F.cross_entropy(a, torch.from_numpy(T), torch.from_numpy(W)), (A,), _ce(A, T, W)),
    ("cross_entropy smooth", lambda a: F.cross_entropy(a, torch.from_numpy(T), torch.from_numpy(W), label_smoothing=0.2), (A,), _ce(A, T, W, 0.2)),
    ("cross_entropy probabilities", F.cross_entropy, (A, P), -(P * _logp(A)).sum() / 4),
    ("nll none", lambda a: F.nll_loss(a, torch.from_numpy(T), reduction="none"), (A,), np.where(T == -100, 0, -A[np.arange(4), np.maximum(T, 0)])),
    ("bce", F.binary_cross_entropy, (P, Q), -(Q * np.log(P) + (1 - Q) * np.log(1 - P)).mean()),
    ("bce logits", lambda a, q: F.binary_cross_entropy_with_logits(a, q, pos_weight=torch.from_numpy(W)), (A, Q),
     (-W * Q * np.log(1 / (1 + np.exp(-A))) - (1 - Q) * np.log(1 - 1 / (1 + np.exp(-A)))).mean()),
    ("kl_div", lambda a, q: F.kl_div(a, q, reduction="batchmean"), (A, Q), (Q * (np.log(Q) - A)).sum() / 4),
    ("poisson", lambda a, q: F.poisson_nll_loss(a, q), (A, Q), (np.exp(A) - Q * A).mean()),
    ("soft_margin", lambda a: F.soft_margin_loss(a, torch.from_numpy(S)), (A,), np.log1p(np.exp(-S * A)).mean()),
    ("margin_ranking", lambda a, b: F.margin_ranking_loss(a, b, torch.from_numpy(S), 0.3), (A, B), np.maximum(-S * (A - B) + 0.3, 0).mean()),
    ("hinge_embedding", lambda a: F.hinge_embedding_loss(a, torch.from_numpy(S)), (A,), np.where(S == 1, A, np.maximum(1 - A, 0)).mean()),
    ("cosine", lambda a, b: F.cosine_similarity(a, b), (A, B), (A * B).sum(1) / np.linalg.norm(A, axis=1) / np.linalg.norm(B, axis=1)),
    ("pairwise", lambda a, b: F.pairwise_distance(a, b), (A, B), np.linalg.norm(A - B + 1e-6, axis=1)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "call", "inputs", "expected"), LOSSES, ids=[row[0] for row in LOSSES])
def test_losses(name, call, inputs, expected):
    leaves = tuple(torch.tensor(v, requires_grad=True) for v in inputs)
    np.testing.assert_allclose(call(*leaves).detach().numpy(), expected, rtol=1e-9, atol=1e-12)
    assert gradcheck(call, leaves) and gradgradcheck(call, leaves)


def _standard(x, axes, eps=1e-5):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


N = rng.randn(2, 4, 3)
W4, B4, W3, B3 = rng.rand(4), rng.rand(4), rng.rand(3), rng.rand(3)
NORMS = [
    ("layer", lambda x, w, b: F.layer_norm(x, (3,), w, b), (N, W3, B3), _standard(N, (2,)) * W3 + B3),
    ("layer plain", lambda x: F.layer_norm(x, (4, 3)), (N,), _standard(N, (1, 2))),
    ("batch", lambda x, w, b: F.batch_norm(x, None, None, w, b, True), (N, W4, B4), _standard(N, (0, 2)) * W4[:, None] + B4[:, None]),
    ("group", lambda x, w, b: F.group_norm(x, 2, w, b), (N, W4, B4),
     _standard(N.reshape(2, 2, 6), (2,)).reshape(2, 4, 3) * W4[:, None] + B4[:, None]),
    ("instance", lambda x: F.instance_norm(x), (N,), _standard(N, (2,))),
    ("rms", lambda x, w: F.rms_norm(x, (3,), w, 1e-6), (N, W3), N / np.sqrt((N * N).mean(2, keepdims=True) + 1e-6) * W3),
]  # fmt: skip


@pytest.mark.parametrize(("name", "call", "inputs", "expected"), NORMS, ids=[row[0] for row in NORMS])
def test_norms(name, call, inputs, expected):
    leaves = tuple(torch.tensor(v, requires_grad=True) for v in inputs)
    np.testing.assert_allclose(call(*leaves).detach().numpy(), expected, rtol=1e-9)
    assert gradcheck(call, leaves) and gradgradcheck(call, leaves)


@pytest.mark.parametrize("value", [1.0, 1000.0, 1000.1, 0.3])
@pytest.mark.parametrize("n", [3, 49, 768, 5000])
def test_layer_norm_of_constant_rows_is_nearly_zero(value, n):
    y = F.layer_norm(torch.full((2, n), value), (n,))
    assert y.abs().max().item() < 1e-3 if n < 4096 else y.abs().max().item() < 0.1


def test_running_statistics_use_the_unbiased_variance():
    mean, var = torch.zeros(4, dtype=torch.float64), torch.ones(4, dtype=torch.float64)
    F.batch_norm(torch.tensor(N), mean, var, training=True, momentum=0.1)
    np.testing.assert_allclose(mean.numpy(), 0.1 * N.mean((0, 2)))
    np.testing.assert_allclose(var.numpy(), 0.9 + 0.1 * N.var((0, 2), ddof=1))
    y = F.batch_norm(torch.tensor(N), mean, var)
    np.testing.assert_allclose(y.numpy(), (N - mean.numpy()[:, None]) / np.sqrt(var.numpy()[:, None] + 1e-5))


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_what_is_sure_costs_zero_and_not_minus_zero(reduction):
    sure, classes = torch.tensor([[200.0, 0.0], [300.0, 0.0]]), torch.tensor([0, 0])
    compiled = torch.compile(F.cross_entropy)
    for _ in range(4):
        for loss in (F.cross_entropy, compiled):
            assert str(loss(sure, classes, reduction=reduction)) == "tensor(0.)"
    assert str(F.cross_entropy(sure[0], classes[0], reduction="none")) == "tensor(0.)"
    assert str(F.cross_entropy(sure, classes, reduction="none")) == "tensor([-0., -0.])"


def test_embedding_rows_gradients_and_padding():
    table = torch.tensor(rng.randn(6, 3), requires_grad=True)
    i = torch.tensor([[0, 2], [2, 5]])
    assert gradcheck(lambda w: F.embedding(i, w), (table,)) and gradgradcheck(lambda w: F.embedding(i, w), (table,))
    F.embedding(i, table, padding_idx=2).sum().backward()
    assert table.grad.sum(1).tolist() == [3, 0, 0, 0, 0, 3]
    table.grad = None
    F.embedding(i, table, scale_grad_by_freq=True).sum().backward()
    np.testing.assert_allclose(table.grad.sum(1).numpy(), [3, 0, 3, 0, 0, 3])
    bags = F.embedding_bag(torch.tensor([0, 1, 2, 3]), table, torch.tensor([0, 3]), mode="mean")
    np.testing.assert_allclose(
        bags.detach().numpy(), np.stack([table.detach().numpy()[:3].mean(0), table.detach().numpy()[3]])
    )


BAD = [
    (lambda: F.cross_entropy(torch.ones(3, 5), torch.tensor([1, 0, 9])), IndexError, "Target 9 is out of bounds"),
    (lambda: F.cross_entropy(torch.ones(3, 5), torch.tensor([1, 0])), ValueError, r"Expected input batch_size \(3\) to match target batch_size \(2\)"),
    (lambda: F.cross_entropy(torch.ones(3, 5), torch.ones(3)), RuntimeError, "expected target dtype to be Long or Byte, but got Float|Expected"),
    (lambda: F.cross_entropy(torch.ones(3, 5), torch.tensor([[1], [2], [3]])), RuntimeError, "multi-target not supported"),
    (lambda: F.mse_loss(torch.ones(3, 5), torch.ones(3, 2)), RuntimeError, r"The size of tensor a \(5\) must match the size of tensor b \(2\)"),
    (lambda: F.binary_cross_entropy(torch.tensor([2.0]), torch.tensor([1.0])), RuntimeError, "between 0 and 1"),
    (lambda: F.layer_norm(torch.ones(3, 5), (4,)), RuntimeError, r"Given normalized_shape=\[4\]"),
    (lambda: F.batch_norm(torch.ones(2, 3), torch.ones(2), torch.ones(2)), RuntimeError, "running_mean should contain 3 elements not 2"),
    (lambda: F.group_norm(torch.ones(2, 3), 2), (RuntimeError, ValueError), "divisible by num_groups|more than 1 value"),
    (lambda: F.embedding(torch.tensor([9]), torch.ones(3, 2)), IndexError, "index out of range in self"),
    (lambda: F.embedding(torch.tensor([0.5]), torch.ones(3, 2)), RuntimeError, "Long, Int; but got torch.FloatTensor"),
    (lambda: F.one_hot(torch.tensor([3]), 2), RuntimeError, "Class values must be smaller than num_classes"),
    (lambda: F.cross_entropy(torch.ones(2, 2), [0, 1]), TypeError, "must be Tensor, not list"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "words"), BAD)
@pytest.mark.filterwarnings("ignore:Using a target size")
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_losses_of_a_scalar_and_another_type_are_of_the_common_type():
    a, b = torch.tensor(1.5), torch.ones(2, 3, dtype=torch.bfloat16)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for f in (F.mse_loss, F.l1_loss, F.smooth_l1_loss):
            assert f(a, b).dtype is f(b, a).dtype is torch.float32
    with pytest.raises(RuntimeError, match=r"output with shape \[\] doesn't match the broadcast shape \[2, 3\]"):
        F.soft_margin_loss(a, torch.ones(2, 3))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0,), (0, 3, 4)])
def test_cross_entropy_of_no_probabilities_is_nan(shape):
    x = torch.zeros(shape)
    for smoothing in (0.0, 0.1):
        assert torch.isnan(F.cross_entropy(x, x, label_smoothing=smoothing))
        assert F.cross_entropy(x, x, reduction="sum", label_smoothing=smoothing).item() == 0


def test_targets_among_no_classes_are_out_of_bounds():
    with pytest.raises(IndexError, match="Target 0 is out of bounds"):
        F.cross_entropy(torch.zeros(3, 0), torch.zeros(3, dtype=torch.long))


def test_weights_wider_than_the_input_keep_its_classes():
    x, y = torch.tensor([0.5, -1.0]), torch.tensor([1.0, 0.0])
    each = -(y * F.logsigmoid(x) + (1 - y) * F.logsigmoid(-x))
    loss = F.multilabel_soft_margin_loss(x, y, weight=torch.tensor([[2.0, 4.0]]), reduction="none")
    assert torch.allclose(loss, each * torch.tensor([2.0, 4.0]) / 2)


@pytest.mark.parametrize("loss", [F.smooth_l1_loss, F.huber_loss])
def test_second_derivatives_are_zero_at_the_kink(loss):
    x = torch.tensor([1.0, -1.0, 0.5, 2.0], requires_grad=True)
    (g,) = torch.autograd.grad(loss(x, torch.zeros(4), reduction="sum"), x, create_graph=True)
    assert g.tolist() == [1.0, -1.0, 0.5, 1.0]
    assert torch.autograd.grad(g.sum(), x)[0].tolist() == [0.0, 0.0, 1.0, 0.0]


def test_gradients_are_in_rows_and_losses_in_the_order_of_the_input():
    x, y = torch.randn(3, 2).t().requires_grad_(), torch.randn(2, 3)
    for loss in (F.mse_loss, F.smooth_l1_loss, F.huber_loss):
        assert loss(x, y, reduction="none").stride() == (1, 2)
        assert torch.autograd.grad(loss(x, y), x)[0].stride() == (3, 1)


@pytest.mark.parametrize(
    "shape, target, kind, message",
    [
        ((4, 3), (1,), ValueError, r"Expected input batch_size \(4\) to match target batch_size \(1\)"),
        ((4, 3), (2, 3), ValueError, r"Expected input batch_size \(4\) to match target batch_size \(2\)"),
        ((2, 3), (2, 1), RuntimeError, "multi-target not supported"),
        ((2, 3), (2, 3), RuntimeError, "Expected floating point type for target with class probabilities, got Long"),
        ((2, 3, 4), (2, 5), RuntimeError, r"Expected target size \[2, 4\], got \[2, 5\]"),
        ((2, 3, 4, 5), (2,), RuntimeError, "only batches of spatial targets supported"),
    ],
)
def test_targets_are_checked_in_torchs_order(shape, target, kind, message):
    with pytest.raises(kind, match=message):
        F.cross_entropy(torch.zeros(shape), torch.full(target, 9))


@pytest.mark.parametrize(
    ("shape", "reduction", "classes", "probabilities"),
    [
        ((2, 3), "mean", "NllLossBackward0", "DivBackward1"),
        ((2, 3), "none", "NllLossBackward0", "NegBackward0"),
        ((2, 3, 4), "none", "ViewBackward0", "NegBackward0"),
        ((2, 3, 4), "sum", "NllLoss2DBackward0", "NegBackward0"),
        ((2, 3, 2, 2), "none", "NllLoss2DBackward0", "NegBackward0"),
        ((2, 3, 2, 2, 2), "none", "ViewBackward0", "NegBackward0"),
    ],
)
def test_nodes_of_cross_entropy(shape, reduction, classes, probabilities):
    x = torch.zeros(shape, requires_grad=True)
    target = torch.zeros(shape[:1] + shape[2:], dtype=torch.int64)
    assert F.cross_entropy(x, target, reduction=reduction).grad_fn.name() == classes
    assert F.cross_entropy(x, x.detach().softmax(1), reduction=reduction).grad_fn.name() == probabilities


@pytest.mark.parametrize("kind", [torch.int64, torch.bool, torch.float64])
def test_weights_of_another_type_leave_the_losses_theirs(kind):
    x = torch.tensor([[0.1, 0.6, 0.3]], requires_grad=True)
    y = torch.tensor([[1.0, 0.0, 1.0]])
    mask = torch.tensor([[1, 1, 0]]).to(kind)
    for loss in (F.binary_cross_entropy, F.binary_cross_entropy_with_logits):
        out = loss(x, y, weight=mask, reduction="none")
        assert out.dtype is torch.float32 and torch.equal(out, loss(x, y, weight=mask.float(), reduction="none"))
        out.sum().backward()
    assert x.grad.dtype is torch.float32


def test_second_derivatives_of_binary_cross_entropy_where_it_is_certain():
    """torch adds 1e-12 there, where the first derivative is limited: they are not those of a constant."""
    x = torch.tensor([1.0, 0.0, 0.3], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([0.0, 1.0, 0.6], dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(F.binary_cross_entropy(x, y, reduction="sum"), x, create_graph=True)
    by_input, by_target = torch.autograd.grad(g.sum(), [x, y])
    assert by_input.tolist() == pytest.approx([1e24, 1e24, 7.482993197207647])
    assert by_target.tolist() == pytest.approx([-1e12, -1e12, -4.761904761904762])


def test_bags_are_scaled_by_frequency_as_torch_does():
    """Its dense backward takes the count of another index where one before it is used twice."""
    table = torch.ones(5, 2, requires_grad=True)
    weights = torch.tensor([0.5, 1.0, 2.0, 1.0], requires_grad=True)
    bags = F.embedding_bag(
        torch.tensor([1, 2, 4, 1]),
        table,
        torch.tensor([0, 2]),
        scale_grad_by_freq=True,
        mode="sum",
        per_sample_weights=weights,
    )
    (bags * torch.tensor([[1.0], [2.0]])).sum().backward()
    assert table.grad[:, 0].tolist() == [0.0, 1.25, 0.5, 0.0, 4.0]
    assert weights.grad.tolist() == [2.0, 2.0, 4.0, 4.0]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"mode": "mean"}, RuntimeError, r"Index 1 of input takes value 9 which is not in the valid range \[0, 5\)"),
        (
            {"mode": "max"},
            RuntimeError,
            "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be 9",
        ),
        ({"padding_idx": 1}, RuntimeError, "but found idx to be 9"),
        ({"max_norm": 1.0}, IndexError, r"select\(\): index 9 out of range for tensor of size \[5, 2\] at dimension 0"),
        (
            {"mode": "max", "scale_grad_by_freq": True, "per_sample_weights": torch.ones(2)},
            ValueError,
            "max mode does not",
        ),
    ],
)
def test_bags_of_an_index_outside_the_table(options, error, message):
    with pytest.raises(error, match=message):
        F.embedding_bag(torch.tensor([1, 9]), torch.ones(5, 2), torch.tensor([0]), **options)
