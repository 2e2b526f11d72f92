"""Edges at which torch's digits, layouts and errors are what they are: recorded from torch 2.13."""

import pytest

import rushlight as torch
import rushlight.nn.functional as F


def test_ndtr_takes_torchs_steps():
    x = torch.tensor([-6.0, -5.0, -3.0, 0.5])
    assert torch.special.ndtr(x).tolist()[:2] == [0.0, 2.980232238769531e-07]
    short = torch.tensor([-3.0, -2.75, -2.0, 0.5]).to(torch.bfloat16)
    assert torch.special.ndtr(short).tolist() == [0.001953125, 0.00390625, 0.0234375, 0.69140625]
    assert torch.special.ndtr(x.double()).tolist()[0] == pytest.approx(9.865876449133282e-10, rel=1e-6)


@pytest.mark.parametrize("p", [0, 1, 2, 3, float("inf")])
def test_cdist_is_contiguous(p):
    a = torch.arange(9.0).reshape(3, 3)
    assert torch.cdist(a.t(), a, p=p).stride() == (3, 1)


def test_hinge_embedding_loss_lies_as_its_target():
    a = torch.tensor([[1.0, -1.0], [0.5, 2.0]])
    loss = F.hinge_embedding_loss(a, a.t().sign(), reduction="none")
    assert loss.stride() == (1, 2) and loss.tolist() == [[1.0, -1.0], [0.5, 2.0]]
    assert F.hinge_embedding_loss(a.t(), a.sign(), reduction="none").stride() == (2, 1)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: torch.arange(1j), RuntimeError, r"arange\(\): value cannot be converted to type double"),
        (lambda: torch.arange(0, 5, 1j), RuntimeError, r"arange\(\): value cannot be converted to type double"),
        (lambda: torch.arange("a"), TypeError, r"arange\(\): argument 'end' \(position 1\) must be Number, not str"),
        (
            lambda: torch.arange(torch.ones(2)),
            TypeError,
            r"arange\(\): argument 'end' \(position 1\) must be Number, not Tensor",
        ),
        (lambda: torch.gather(torch.ones(1), 0, torch.tensor([0]), out=(torch.ones(1),)), TypeError, "must be Tensor"),
        (lambda: torch.diag_embed(torch.tensor(1.0)), IndexError, "Dimension out of range"),
        (lambda: F.rms_norm(torch.tensor(1.0), (1,)), ValueError, "must have at least 1 dimensions, but got 0"),
    ],
)
def test_wrong_calls(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def test_arange_of_a_complex_number_without_imaginary_part():
    assert torch.arange(2 + 0j).tolist() == [0.0, 1.0]


def test_gaussian_nll_loss_in_forward_mode():
    from rushlight.func import jvp

    x, y = torch.tensor([0.3, -1.2, 2.0]), torch.tensor([1.0, 0.0, 1.0])
    value, tangent = jvp(lambda v: F.gaussian_nll_loss(x, y, v), (x**2 + 1,), (torch.ones(3),))
    torch.testing.assert_close((value, tangent), (torch.tensor(0.6379), torch.tensor(0.1388)), rtol=0, atol=5e-5)


@pytest.mark.parametrize("option", ["scale_grad_by_freq", "sparse"])
def test_maxima_of_bags_refuse_options(option):
    with pytest.raises(ValueError, match="max mode does not support"):
        F.embedding_bag(torch.tensor([0]), torch.ones(1, 2), torch.tensor([0]), mode="max", **{option: True})
