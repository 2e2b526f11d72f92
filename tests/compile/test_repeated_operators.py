"""The gradient of every operator, as a program made from its tape: the plain engine's numbers and layouts."""

import itertools

import numpy as np
import pytest

import rushlight as torch
from rushlight.compile.jit import backward as repeated
from rushlight.core.jit_switch import jit
from rushlight.testing.samples import SAMPLES, function_of, samples_of
from rushlight.testing.suite import results_of, tensors_in

WILD = 6  # a step whose inputs hold nan and infinity
NOT_WILD = ("linalg.", "svd", "pinverse", "cholesky", "nuclear_norm", "binary_cross_entropy")  # some refuse such values
NAMES = [name for name in SAMPLES if function_of(name) is not None]


def gradients(name, sample, step, form):
    """The gradients of a call's inputs, or None where it has none; form: how they are asked for."""
    torch.manual_seed(step)
    args, kwargs = sample.make(torch.float64, True, False, 20 + step)
    leaves = [t for t in tensors_in([args, kwargs]) if t.requires_grad]
    for t in leaves if step == WILD else ():
        t.detach()._array[...] = np.resize([0.5, np.inf, 1.5, -np.inf, np.nan], t.shape)
    results = [r for r in results_of(name, args, kwargs) if r.requires_grad] if leaves else []
    if not results:
        return None
    total = sum((r.real if r.is_complex() else r).mul(1.5).tanh().sum() for r in results)
    if form == "grad":
        return torch.autograd.grad(total, leaves[::-1], retain_graph=bool(len(name) % 2), allow_unused=True)
    total.backward()
    return [None if t.grad is None else t.grad for t in leaves]


@pytest.mark.filterwarnings("ignore:torch.chain_matmul is deprecated")
@pytest.mark.parametrize(("name", "form"), list(zip(NAMES, itertools.cycle(["backward", "grad"]), strict=False)))
def test_gradients_are_those_of_the_plain_engine(name, form, monkeypatch):
    for sample in samples_of(name)[:1]:
        repeated.forget()
        monkeypatch.setattr(jit, "on", True)
        steps = range(WILD + (not name.startswith(NOT_WILD)))
        mine = [gradients(name, sample, step, form) for step in steps]
        repeated.forget()
        monkeypatch.setattr(jit, "on", False)
        for step, row in enumerate(mine):
            for g, expected in zip(row or (), gradients(name, sample, step, form) or (), strict=True):
                assert (g is None) is (expected is None)
                if g is not None:
                    assert g.stride() == expected.stride() and g.dtype is expected.dtype
                    scale = np.abs(np.nan_to_num(expected.numpy(), posinf=0, neginf=0)).max(initial=0)
                    np.testing.assert_allclose(g.numpy(), expected.numpy(), 1e-9, 1e-9 * scale, err_msg=f"step {step}")


inf, nan = float("inf"), float("nan")
PRODUCTS = [  # values and the gradients of prod(), prod(1) and cumprod(1), of torch 2.13 (but of cumprod with 0 and nan)
    ((1, 2, 3, 4), (24, 12, 8, 6), (2, 1, 4, 3), (3, 1, 5, 3)),
    ((0, 2, 3, 4), (24, 0, 0, 0), (2, 0, 4, 3), (3, 0, 5, 3)),
    ((0, 2, 0, 4), (0, 0, 0, 0), (2, 0, 4, 0), (3, 0, 5, 0)),
    ((inf, 2, 3, 4), (nan, inf, inf, inf), (nan, inf, 4, 3), (nan, inf, 5, 3)),
    ((1, 2, -inf, nan), (nan, nan, nan, nan), (2, 1, nan, nan), (3, 1, nan, nan)),
    ((0, inf, 3, nan), (nan, nan, nan, nan), (inf, 0, nan, 3), None),
    ((0, 0, nan, inf), (0, 0, 0, 0), (0, 0, inf, nan), None),
]


@pytest.mark.parametrize("product", [0, 1, 2])
def test_products_choose_their_gradient_by_zeros_wherever_it_is_computed(product):
    f = (lambda x: x.prod(), lambda x: x.prod(1), lambda x: x.cumprod(1))[product]

    def gradient(values):
        x = torch.tensor(values, dtype=torch.float32).reshape(2, 2).requires_grad_()
        f(x).sum().backward()
        return x.grad

    def step(x):
        x = x.detach().requires_grad_()
        return torch.autograd.grad(f(x).sum(), x)[0]

    repeated.forget()
    compiled = torch.compile(step, fullgraph=True)
    for row in (*PRODUCTS[:1] * 4, *PRODUCTS, *PRODUCTS):
        if row[product + 1] is not None:
            expected = torch.tensor(row[product + 1], dtype=torch.float32).reshape(2, 2)
            values = torch.tensor(row[0], dtype=torch.float32).reshape(2, 2)
            torch.testing.assert_close(gradient(row[0]), expected, equal_nan=True)
            torch.testing.assert_close(compiled(values), expected, equal_nan=True)
