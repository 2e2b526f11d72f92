"""0-d tensors in the place of an operator's options: torch takes the number in them, unless they have a gradient."""

import numpy as np
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


V, W = np.float64(0.25), np.float64(0.75)
OF_NUMPY = {  # calls with numbers of NumPy's, which have no say in the type of the result
    "clamp": lambda x: x.clamp(V, W),
    "clamp from below": lambda x: x.clamp(V),
    "clamp_min": lambda x: x.clamp_min(V),
    "clamp_max": lambda x: x.clamp_max(V),
    "clip": lambda x: torch.clip(x, max=V),
    "pow": lambda x: x.pow(V + 2),
    "addcdiv": lambda x: torch.addcdiv(x, x, x + 3, value=V),
    "elu": lambda x: torch.nn.functional.elu(x, V),
    "celu": lambda x: torch.nn.functional.celu(x, V),
    "softplus": lambda x: torch.nn.functional.softplus(x, V, W),
    "softshrink": lambda x: torch.nn.functional.softshrink(x, V),
    "lerp": lambda x: torch.lerp(x, x + 1, V),
    "leaky_relu": lambda x: torch.nn.functional.leaky_relu(x, V),
}


@pytest.mark.parametrize("name", OF_NUMPY)
@pytest.mark.parametrize("kind", [torch.float32, torch.float16])
def test_numbers_of_numpy_are_numbers(name, kind):
    x = torch.tensor([0.5, -1.0, 2.0], dtype=kind, requires_grad=True)
    y = OF_NUMPY[name](x)
    assert y.dtype is kind
    y.sum().backward()
    assert x.grad.dtype is kind
