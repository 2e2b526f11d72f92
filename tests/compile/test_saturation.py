"""Where sigmoid and tanh reach 1 exactly, as in torch: their slope is 0 there, and Adam would make a full step of 1e-7."""

import numpy as np
import pytest

import rushlight as torch

# From where on the nearest float32 of tanh is 1; 1 + exp(-x) is rounded to 1 for sigmoid from 24 log(2) on.
FROM = {"sigmoid": 24 * np.log(2), "tanh": 9.0109}


@pytest.mark.parametrize("elements", [60, 100_000])
@pytest.mark.parametrize("way", ["eager", "compiled"])
@pytest.mark.parametrize("name", FROM)
def test_they_saturate_where_torch_does(name, way, elements):
    f, limit = getattr(torch, name), FROM[name]
    x = torch.linspace(limit - 3, limit + 3, elements).requires_grad_()

    def step(x):
        y = f(x)
        y.sum().backward()
        return y.detach()

    run = torch.compile(step) if way == "compiled" else step
    for _ in range(4):
        x.grad = None
        y = run(x)
    below, beyond = x.detach() < limit - 1e-3, x.detach() > limit + 1e-3
    assert (y[below] < 1).all() and (y[beyond] == 1).all()
    assert (x.grad[below] > 0).all() and (x.grad[beyond] == 0).all()


@pytest.mark.parametrize("elements", [100, 3_000, 100_000])
def test_tanh_keeps_its_digits_where_it_is_nearly_flat(elements):
    x = torch.linspace(4, 9, elements)
    exact = np.tanh(x.numpy().astype(np.float64))
    assert np.abs(torch.tanh(x).numpy() - exact).max() <= np.spacing(np.float32(0.99)) * 0.51
    assert torch.equal(torch.tanh(-x), -torch.tanh(x))
