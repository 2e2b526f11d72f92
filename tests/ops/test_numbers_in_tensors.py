"""0-d tensors in the place of an operator's options: torch takes the number in them, unless they have a gradient."""

import pytest

import rushlight as torch

X = torch.arange(5.0)
M, I, D = torch.tensor(2.0), torch.tensor(2), torch.tensor(2.5, dtype=torch.float64)
F = torch.nn.functional


@pytest.mark.parametrize(
    ("compute", "numbers"),  # as torch 2.13 gives them
    [
        (lambda: torch.clamp(X, 0, M), [0, 1, 2, 2, 2]),
        (lambda: torch.clamp(X, M, 3), [2, 2, 2, 3, 3]),
        (lambda: torch.clamp(X, 1, I), [1, 1, 2, 2, 2]),
        (lambda: torch.arange(5).clamp(1, D), [1, 1, 2, 2.5, 2.5]),
        (lambda: torch.arange(5).clamp(0.5, I), [0.5, 1, 2, 2, 2]),
        (lambda: X.clone().clamp_(1, M), [1, 1, 2, 2, 2]),
        (lambda: X.clamp(min=M, max=4.0), [2, 2, 2, 3, 4]),
        (lambda: torch.clip(X, 1, M), [1, 1, 2, 2, 2]),
        (lambda: torch.addcmul(X, X, X, value=M), [0, 3, 10, 21, 36]),
        (lambda: X.clone().addcmul_(X, X, value=M), [0, 3, 10, 21, 36]),
        (lambda: F.elu(-X, M), [0, -1.2642411, -1.7293295, -1.9004259, -1.9633688]),
        (lambda: torch.threshold(X, M, M), [2, 2, 2, 3, 4]),
        (lambda: F.softplus(X, beta=M), [0.34657359, 1.0634640, 2.0090749, 3.0012379, 4.0001678]),
        (lambda: torch.isclose(X, X, rtol=M), [True] * 5),
    ],
)
def test_the_number_counts(compute, numbers):
    assert compute().tolist() == pytest.approx(numbers, rel=1e-6)


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.clamp(X, 1, torch.tensor([2.0])),
        lambda: torch.clamp(X, 1, torch.tensor(2.0, requires_grad=True)),
        lambda: X.clone().clamp_(1, torch.tensor([2.0])),
        lambda: F.elu(X, torch.tensor([2.0])),
    ],
)
def test_others_are_refused(call):
    with pytest.raises(TypeError):
        call()
