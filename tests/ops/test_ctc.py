"""Connectionist temporal classification against a sum over all paths, differences, and torch 2.13's answers."""

import numpy as np
import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight.autograd import gradcheck

rng = np.random.RandomState(0)
X = rng.randn(6, 2, 5).astype(np.float32)
LABELS = torch.tensor([[1, 2, 2], [3, 1, 4]])


def lengths(*n):
    return torch.tensor(n)


def all_paths(logp, labels):
    """Minus the log of the summed probability of every path that spells `labels` (blank 0)."""
    steps, c = logp.shape
    total = 0.0
    for path in np.ndindex(*(c,) * steps):
        spelled = [k for j, k in enumerate(path) if k and (not j or path[j - 1] != k)]
        if spelled == list(labels):
            total += np.exp(sum(logp[j, k] for j, k in enumerate(path)))
    return -np.log(total)


@pytest.mark.parametrize("concatenated", [False, True])
def test_it_sums_over_all_alignments(concatenated):
    logp = torch.tensor(rng.randn(4, 3, 3)).log_softmax(2)
    targets, sizes = torch.tensor([[1, 2], [1, 1], [2, 0]]), [2, 2, 1]
    if concatenated:
        targets = torch.tensor([1, 2, 1, 1, 2])
    loss = F.ctc_loss(logp, targets, lengths(4, 3, 4), sizes_as(sizes), reduction="none")
    table = logp.numpy()
    expected = [all_paths(table[:, 0], [1, 2]), all_paths(table[:3, 1], [1, 1]), all_paths(table[:, 2], [2])]
    np.testing.assert_allclose(loss.numpy(), expected)


def sizes_as(sizes):
    return torch.tensor(sizes, dtype=torch.int32)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_the_gradient_is_that_of_the_scores_before_log_softmax(reduction):
    x = torch.tensor(rng.randn(5, 3, 4), requires_grad=True)
    targets = torch.tensor([[1, 1], [2, 3], [3, 0]])

    def loss(x):
        return F.ctc_loss(x.log_softmax(2), targets, lengths(5, 4, 3), lengths(2, 2, 0), reduction=reduction)

    assert gradcheck(loss, (x,))


def test_a_label_that_is_the_blank_of_another_number():
    x = torch.tensor(rng.randn(5, 1, 4)).log_softmax(2)
    swapped = x[:, :, [2, 1, 0, 3]]
    loss = F.ctc_loss(x, torch.tensor([[1, 0, 3]]), lengths(5), lengths(3), blank=2)
    assert loss.item() == pytest.approx(
        F.ctc_loss(swapped, torch.tensor([[1, 2, 3]]), lengths(5), lengths(3)).item(), rel=1e-12
    )


# input lengths, target lengths, zero_infinity -> losses, and the sum of the gradient's sizes for each sequence
IMPOSSIBLE = [
    ((2, 5), (3, 2), False, ["inf", "finite"], ["nan", "finite"]),
    ((2, 5), (3, 2), True, ["0.0", "finite"], ["0.0", "finite"]),
    ((0, 5), (0, 2), False, ["-0.0", "finite"], ["0.0", "finite"]),
    ((0, 5), (1, 2), False, ["inf", "finite"], ["0.0", "finite"]),
    ((6, 0), (0, 0), False, ["finite", "-0.0"], ["finite", "0.0"]),
]


@pytest.mark.parametrize(("steps", "sizes", "zero", "losses", "slopes"), IMPOSSIBLE)
def test_sequences_without_an_alignment(steps, sizes, zero, losses, slopes):
    x = torch.tensor(X, requires_grad=True)
    loss = F.ctc_loss(x.log_softmax(2), LABELS, lengths(*steps), lengths(*sizes), reduction="none", zero_infinity=zero)
    slope = torch.autograd.grad(loss.sum(), x)[0].abs()
    words = lambda v: ["finite" if v not in (0, np.inf) and v == v else str(float(v)) for v in v]  # noqa: E731
    assert words(loss.detach().numpy()) == losses
    assert words(slope.sum((0, 2)).numpy()) == slopes
    assert not slope[5, 1].any()  # behind a sequence's end


def test_forms_of_the_arguments():
    x = torch.tensor(X).log_softmax(2)
    loss = F.ctc_loss(x, LABELS, lengths(6, 5), lengths(3, 2))
    each = F.ctc_loss(x, LABELS, [6, 5], (3, 2), reduction="none")
    assert torch.ctc_loss(x, LABELS, (6, 5), (3, 2)).equal(
        each
    )  # its default is no reduction, whatever its signature says
    assert torch.ctc_loss(x, LABELS, (6, 5), (3, 2), 0, 1).equal(loss)
    assert torch.ctc_loss(x, LABELS, (6, 5), (3, 2), 0, 2).equal(each.sum())
    assert loss.item() == pytest.approx((each / lengths(3, 2)).mean().item())
    alone = F.ctc_loss(x[:, 0], LABELS[0], torch.tensor(6), torch.tensor(3), reduction="none")
    assert alone.shape == () and alone.item() == each[0].item()


def test_it_is_differentiable_once():
    x = torch.tensor(X).log_softmax(2).requires_grad_()
    loss = F.ctc_loss(x, LABELS, lengths(6, 5), lengths(3, 2), reduction="none")
    assert loss.grad_fn.name() == "CtcLossBackward0"
    (g,) = torch.autograd.grad(loss.sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="derivative for aten::_ctc_loss_backward is not implemented"):
        g.sum().backward()


def test_compiled_steps_take_other_lengths():
    x = torch.tensor(X, requires_grad=True)

    def step(x, targets, steps, sizes):
        loss = F.ctc_loss(x.log_softmax(2), targets, steps, sizes)
        return loss, *torch.autograd.grad(loss, x)

    compiled = torch.compile(step, fullgraph=True)
    for steps, sizes in [((6, 5), (3, 2)), ((5, 5), (1, 2)), ((6, 6), (2, 2)), ((4, 6), (0, 3)), ((6, 3), (3, 1))] * 2:
        arguments = x, LABELS, lengths(*steps), lengths(*sizes)
        for got, expected in zip(compiled(*arguments), step(*arguments), strict=True):
            torch.testing.assert_close(got, expected)


G = torch.tensor(X).log_softmax(2)
AT = "while checking arguments for ctc_loss_allocate_outputs"
BAD = [
    (lambda: F.ctc_loss(G, LABELS, lengths(7, 5), lengths(3, 2)), f"Expected input_lengths to have value at most 6, but got value 7 \\({AT}"),
    (lambda: F.ctc_loss(G, LABELS, lengths(-1, 5), lengths(3, 2)), f"Expected input_lengths to have value at least 0, but got value -1 \\({AT}"),
    (lambda: F.ctc_loss(G, LABELS, lengths(6, 5), lengths(-1, 2)), "Expected target_lengths to have value at least 0, but got value -1"),
    (lambda: F.ctc_loss(G, LABELS, lengths(6, 5), lengths(4, 2)), "Expected tensor to have size at least 4 at dimension 1, but got size 3 for argument #2 'targets'"),
    (lambda: F.ctc_loss(G, LABELS[:1], lengths(6, 5), lengths(3, 2)), "Expected tensor to have size 2 at dimension 0, but got size 1"),
    (lambda: F.ctc_loss(G, LABELS.reshape(-1), lengths(6, 5), lengths(3, 2)), "Expected tensor to have size 5 at dimension 0, but got size 6"),
    (lambda: F.ctc_loss(G, LABELS[None], lengths(6, 5), lengths(3, 2)), "Expected 1 to 2 dimensions, but got 3-dimensional tensor for argument #2 'targets'"),
    (lambda: F.ctc_loss(G[:, 0, 0], LABELS[0], lengths(6), lengths(3)), "Expected 3-dimensional tensor, but got 2-dimensional tensor for argument #1 'log_probs'"),
    (lambda: F.ctc_loss(G, LABELS, lengths(6), lengths(3, 2)), "input_lengths must be of size batch_size"),
    (lambda: F.ctc_loss(G, LABELS, lengths(6, 5), lengths(3)), "target_lengths must be of size batch_size"),
    (lambda: F.ctc_loss(G, LABELS, lengths(6.0, 5.0), lengths(3, 2)), "input_lengths must be integral"),
    (lambda: F.ctc_loss(G, LABELS, lengths(6, 5), lengths(3, 2), blank=5), "blank must be in label range"),
    (lambda: F.ctc_loss(G[:, :0], LABELS[:0], lengths(), lengths()), "must be integral|log_probs tensor must not be empty"),
    (lambda: F.ctc_loss(G.half(), LABELS, lengths(6, 5), lengths(3, 2)), "\"ctc_loss_cpu\" not implemented for 'Half'"),
    (lambda: F.ctc_loss(G, LABELS + 4, lengths(6, 5), lengths(3, 2)), "Target 5 is out of bounds: ctc_loss has 5 classes|Target 6"),
    (lambda: F.ctc_loss(G, LABELS, lengths(6, 5), (3, 2)), r"invalid combination of arguments - got \(Tensor, Tensor, Tensor, tuple\)"),
    (lambda: F.ctc_loss(G, LABELS, [6.0, 5], [3, 2]), r"invalid combination of arguments - got \(Tensor, Tensor, list, list\)"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "words"), BAD)
def test_bad_input(call, words):
    with pytest.raises((RuntimeError, NotImplementedError, IndexError, TypeError), match=words):
        call()
