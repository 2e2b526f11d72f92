"""`t.data = ...` between forward and backward: torch reads the old memory where it has saved a view, else the new."""

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F


def _layer(run):
    return lambda x, h, *weights: run(x, h, [*weights], True, 1, 0.0, True, False, False)[0]


def _bag(weight, per_sample):
    places = torch.tensor([[1, 2, 1], [0, 1, 3]])
    return F.embedding_bag(places, weight, per_sample_weights=per_sample, mode="sum")


GRU = (5, 2, 4), (1, 2, 3), (9, 4), (9, 3), (9,), (9,)
TABLE = {  # recorded from torch: of each input, whether the others' gradients are of its old or its new memory, if of any
    "mul": (lambda a, b: a * b, [(3,), (3,)], "nn"),
    "mm": (torch.mm, [(3, 4), (4, 2)], "nn"),
    "mv": (torch.mv, [(3, 4), (4,)], "nn"),
    "bmm": (torch.bmm, [(5, 3, 4), (5, 4, 2)], "nn"),
    "addmm": (torch.addmm, [(3, 2), (3, 4), (4, 2)], "=nn"),
    "outer": (torch.outer, [(4,), (3,)], "on"),
    "einsum": (lambda a, b: torch.einsum("ij,jk->ik", a, b), [(3, 4), (4, 2)], "oo"),
    "einsum of batches": (lambda a, b: torch.einsum("bij,bjk->bik", a, b), [(5, 3, 4), (5, 4, 2)], "oo"),
    "matmul of 1 and 2": (torch.matmul, [(4,), (4, 3)], "on"),
    "matmul of 2 and 2": (torch.matmul, [(3, 4), (4, 2)], "nn"),
    "matmul of 3 and 1": (torch.matmul, [(5, 3, 4), (4,)], "on"),
    "matmul of 3 and 2": (torch.matmul, [(5, 3, 4), (4, 2)], "on"),
    "matmul of 2 and 3": (torch.matmul, [(3, 4), (5, 4, 2)], "oo"),
    "matmul of 3 and 3": (torch.matmul, [(5, 3, 4), (5, 4, 2)], "oo"),
    "linear": (F.linear, [(3, 4), (2, 4), (2,)], "no="),
    "linear without bias": (F.linear, [(3, 4), (2, 4)], "no"),
    "linear of a vector": (F.linear, [(4,), (2, 4)], "oo"),
    "linear of a batch": (F.linear, [(5, 3, 4), (2, 4), (2,)], "oo="),
    "linear of a batch without bias": (F.linear, [(5, 3, 4), (2, 4)], "oo"),
    "conv2d": (F.conv2d, [(2, 3, 8, 8), (4, 3, 3, 3), (4,)], "nn="),
    "conv_transpose1d": (F.conv_transpose1d, [(2, 3, 5), (3, 4, 3), (4,)], "nn="),
    "det": (torch.det, [(3, 3)], "o"),
    "slogdet": (lambda a: torch.linalg.slogdet(a)[1], [(3, 3)], "o"),
    "solve": (torch.linalg.solve, [(3, 3), (3, 2)], "oo"),
    "solve for a vector": (torch.linalg.solve, [(3, 3), (3,)], "oo"),
    "attention without a batch": (F.scaled_dot_product_attention, [(2, 3, 4)] * 3, "ooo"),
    "gru": (_layer(torch.gru), GRU, "oooooo"),
    "bilinear": (F.bilinear, [(3, 4), (3, 5), (2, 4, 5), (2,)], "oono"),
    "embedding_bag": (_bag, [(5, 3), (2, 3)], "no"),
    "renorm": (lambda a: torch.renorm(a, 2, 0, 0.1), [(3, 3)], "n"),
    "dist by 1": (lambda a, b: torch.dist(a, b, 1), [(3,), (3,)], "nn"),
    "logsigmoid": (F.logsigmoid, [(3,)], "o"),
    "ndtr": (torch.special.ndtr, [(3,)], "o"),
}


def _grads(f, shapes, replaced=None, before=False):
    draws = torch.Generator().manual_seed(1)
    leaves = [(torch.rand(shape, generator=draws) * 0.5 + 0.2).requires_grad_() for shape in shapes]
    if replaced is not None and before:
        leaves[replaced].data = leaves[replaced].data * 1.5 + 0.1
    y = f(*leaves)
    if replaced is not None and not before:
        leaves[replaced].data = leaves[replaced].data * 1.5 + 0.1
    y.backward(torch.rand(y.shape, generator=torch.Generator().manual_seed(2)))
    return [t.grad.numpy() for t in leaves]


@pytest.mark.parametrize("name", TABLE)
def test_which_memory_backward_reads(name):
    f, shapes, expected = TABLE[name]
    for i, which in enumerate(expected):
        right = _grads(f, shapes, i, before=True) if which == "n" else _grads(f, shapes)
        for a, b in zip(_grads(f, shapes, i), right, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_writes_count_before_and_after():
    for first in (True, False):
        w = torch.ones(2, 3, requires_grad=True)
        y = F.linear(torch.ones(1, 3, requires_grad=True), w).sum()
        with torch.no_grad():
            if first:
                w.add_(1)
            w.data = torch.zeros(2, 3)
            if not first:
                w.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.backward()


def test_second_derivatives_are_of_the_old_memory():
    x, w = torch.tensor([[2.0]], requires_grad=True), torch.tensor([[3.0]], requires_grad=True)
    y = F.linear(x, w).pow(2).sum()
    w.data = torch.tensor([[100.0]])
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    assert g.item() == 36
    assert torch.autograd.grad(g.sum(), w)[0].item() == 24


def test_saved_tensors_hooks_decide_themselves():
    x, w = torch.ones(1, 2, requires_grad=True), torch.ones(3, 2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t):
        y = F.linear(x, w).sum()
    w.data = torch.zeros(3, 2)
    y.backward()
    assert x.grad.tolist() == [[3, 3]]


def test_a_rounded_weight_that_is_put_back_before_backward():
    """The order that torch's users call straight-through: rounded weights in forward, exact ones in the step."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    for p in net.parameters():
        p.data = torch.linspace(-1, 1, p.numel()).reshape(p.shape)
    exact = [p.data for p in net.parameters()]
    for p in net.parameters():
        p.data = (p.data * 2).round() / 2
    loss = net(torch.ones(2, 3)).sum()
    for p, data in zip(net.parameters(), exact, strict=True):
        p.data = data
    loss.backward()
    assert np.allclose(net[0].bias.grad, [-0.00728182, -0.18070662, 0.18070662, 0.00728182], atol=1e-5)


PARTLY = {  # torch reads the tensor as it is now and a result as it was: gradients of each replaced input, from torch
    "ldexp": (torch.ldexp, [(2,), (2,)]),
    "dist": (torch.dist, [(2,), (2,)]),
    "cosine_similarity": (lambda a, b: F.cosine_similarity(a, b, 0), [(2,), (2,)]),
    "weight norm": (lambda v, g: torch._weight_norm(v, g, 0), [(2, 2), (2, 1)]),
    "householder_product": (torch.linalg.householder_product, [(2, 1), (1,)]),
    "cdist by a product": (lambda a, b: torch.cdist(a, b, compute_mode="use_mm_for_euclid_dist"), [(1, 2), (1, 2)]),
}
FROM_TORCH = {
    "ldexp": [[1.624505, 1.929903, 0.337806, 0.567541], [2.219139, 2.873466, 0.337806, 0.567541]],
    "dist": [[-0.227468, -0.321688, 0.227468, 0.321688], [-1.288985, -1.665866, 1.288985, 1.665866]],
    "cosine_similarity": [[-2.460384, -3.275772, -0.013846, 0.010218], [0.031877, -0.02254, -0.849103, -1.080254]],
    "weight norm": [
        [-2.182973, -3.379339, -1.940141, -2.370003, 2.475671, 2.36785],
        [0.432149, -0.305576, 0.146877, -0.1272, 1.393847, 1.410583],
    ],
    "householder_product": [[0.0, 1.71596, 1.77361], [0.0, 1.436432, 0.694178]],
    "cdist by a product": [[-0.227468, -0.321688, 0.227468, 0.321688], [-1.288985, -1.665866, 1.288985, 1.665866]],
}


@pytest.mark.parametrize("name", PARTLY)
def test_results_as_they_were_of_inputs_as_they_are(name):
    f, shapes = PARTLY[name]
    for i, expected in enumerate(FROM_TORCH[name]):
        leaves = _fixed(shapes)
        y = f(*leaves)
        leaves[i].data = leaves[i].data * 1.5 + 0.1
        y.sum().backward()
        got = [x for t in leaves for x in t.grad.flatten().tolist()]
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


def _fixed(shapes):
    steps = [torch.arange(1, 1 + torch.Size(s).numel()).reshape(s) for s in shapes]
    return [(0.3 * t**0.5 * (i + 1) + 0.1 * i).requires_grad_() for i, t in enumerate(steps)]


def test_inputs_without_a_derivative_are_refused():
    x, w, t = torch.ones(2, 3, requires_grad=True), torch.ones(3, requires_grad=True), torch.tensor([0, 1])
    calls = {
        "nll_loss_forward' is not differentiable with respect to argument 'weight": lambda: F.cross_entropy(x, t, w),
        "binary_cross_entropy' is not differentiable with respect to argument 'weight": lambda: F.binary_cross_entropy(
            x / 2, x.detach(), w
        ),
        "with_logits' is not differentiable with respect to argument 'pos_weight": lambda: (
            F.binary_cross_entropy_with_logits(x, x.detach(), pos_weight=w)
        ),
        "soft_margin_loss' is not differentiable with respect to argument 'target": lambda: F.soft_margin_loss(x, x),
        "multi_margin_loss' is not differentiable with respect to argument 'weight": lambda: F.multi_margin_loss(
            x, t, weight=w
        ),
        "native_batch_norm' is not differentiable with respect to argument 'running_mean": lambda: F.batch_norm(
            x, w, w
        ),
    }
    for words, call in calls.items():
        with pytest.raises(RuntimeError, match=words):
            call()
        with torch.no_grad():
            call()


def test_what_was_recorded_gives_gradients_of_the_type_of_then():
    w = torch.ones(2, requires_grad=True)
    w.register_hook(lambda g: g * 10)
    y = (w * 2).sum()
    w.data = w.data.double()
    y.backward()
    assert (w.grad.tolist(), w.grad.dtype, w.dtype) == ([20, 20], torch.float32, torch.float64)
    (w * 3).sum().backward()
    assert w.grad.tolist() == [50, 50]
    with pytest.raises(RuntimeError, match="appears to not have been used"):
        y = (w * 2).sum()
        w.data = w.data.half()
        torch.autograd.grad(y, w)


def _of_another_type(module, *shape):
    y = module(torch.linspace(-1, 1, 24).reshape(shape))
    module.double()
    (y[0] if isinstance(y, tuple) else y).sum().backward()


def test_rules_that_read_a_weight_refuse_one_of_another_type():
    for module, shape in (
        (nn.Conv1d(2, 2, 2), (2, 2, 6)),
        (nn.LayerNorm(4), (6, 4)),
        (nn.GroupNorm(2, 4), (6, 4)),
        (nn.LSTM(2, 2), (6, 2, 2)),
    ):
        with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
            _of_another_type(module, *shape)
    with pytest.raises(RuntimeError, match="expect parameter to have scalar type of Float"):
        _of_another_type(nn.BatchNorm1d(4), 6, 4)
    _of_another_type(nn.Linear(4, 2), 6, 4)


def test_a_write_through_an_alias_from_before_counts():
    w, x = torch.ones(2, 2, requires_grad=True), torch.ones(1, 2, requires_grad=True)
    alias, data = w.detach(), w.data
    y = F.linear(x, w).sum()
    w.data = torch.full((2, 2), 5.0)
    data.fill_(7)
    y.backward(retain_graph=True)
    assert x.grad.tolist() == [[14, 14]]
    alias.fill_(7)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


@pytest.mark.parametrize("name", ["running_mean", "running_var"])
@pytest.mark.parametrize("training", [True, False])
def test_a_write_to_running_statistics_counts_and_another_call_does_not(name, training):
    torch.manual_seed(0)
    m, x = nn.BatchNorm1d(2).train(training), torch.randn(3, 2, requires_grad=True)
    y = (m(x) ** 2).sum()
    m.train()(x * 2)
    y.backward(retain_graph=True)
    getattr(m, name).add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
