"""The gradient of every operator, as a program made from its tape: the plain engine's numbers and layouts."""

import numpy as np
import pytest

import rushlight as torch
from rushlight.autograd import engine
from rushlight.compile import repeated
from rushlight.testing.samples import SAMPLES, function_of, samples_of
from rushlight.testing.suite import results_of, tensors_in

NAMES = [name for name in SAMPLES if function_of(name) is not None]


def gradients(name, sample, step):
    """The gradients of a call's inputs, or None where it has none."""
    torch.manual_seed(step)
    args, kwargs = sample.make(torch.float64, True, False, 20 + step)
    leaves = [t for t in tensors_in([args, kwargs]) if t.requires_grad]
    results = [r for r in results_of(name, args, kwargs) if r.requires_grad] if leaves else []
    if not results:
        return None
    sum((r.real if r.is_complex() else r).mul(1.5).tanh().sum() for r in results).backward()
    return [None if t.grad is None else t.grad for t in leaves]


@pytest.mark.filterwarnings("ignore:torch.chain_matmul is deprecated")
@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_those_of_the_plain_engine(name, monkeypatch):
    for sample in samples_of(name)[:1]:
        repeated.forget()
        monkeypatch.setattr(engine, "_on", True)
        mine = [gradients(name, sample, step) for step in range(6)]
        repeated.forget()
        monkeypatch.setattr(engine, "_on", False)
        for step, row in enumerate(mine):
            for g, expected in zip(row or (), gradients(name, sample, step) or (), strict=True):
                assert (g is None) is (expected is None)
                if g is not None:
                    assert g.stride() == expected.stride() and g.dtype is expected.dtype
                    scale = np.abs(np.nan_to_num(expected.numpy(), posinf=0, neginf=0)).max(initial=0)
                    np.testing.assert_allclose(g.numpy(), expected.numpy(), 1e-9, 1e-9 * scale, err_msg=f"step {step}")
