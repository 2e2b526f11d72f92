"""Hooks on several gradients at once, and writes that the engine is told of."""

import pytest

import rushlight as torch
from rushlight.autograd.graph import increment_version, register_multi_grad_hook


@pytest.fixture
def leaves():
    return torch.ones(2, requires_grad=True), torch.full((3,), 2.0, requires_grad=True)


def _seen(grads):
    return [None if g is None else g.sum().item() for g in grads]


def test_all_waits_for_what_the_pass_computes(leaves):
    a, b = leaves
    seen = []
    handle = register_multi_grad_hook([a, b], lambda grads: seen.append(_seen(grads)))
    (a.sum() + (b * b).sum()).backward()
    (a * 3).sum().backward()
    ((a.sum() * b).sum() * 1).backward(inputs=[b])
    assert seen == [[2.0, 12.0], [6.0, None], [None, 6.0]]
    handle.remove()
    a.sum().backward()
    assert len(seen) == 3


def test_any_takes_the_first(leaves):
    a, b = leaves
    seen = []
    register_multi_grad_hook([a, torch.ones(1), b], lambda g: seen.append(tuple(g.shape)), mode="any")
    for _ in range(2):
        (a.sum() + b.sum()).backward()
    assert len(seen) == 2 and set(seen) <= {(2,), (3,)}


def test_results_inside_a_graph(leaves):
    a, b = leaves
    x, y = a * 2, b * 3
    seen = []
    register_multi_grad_hook((x, y), lambda grads: seen.append(_seen(grads)))
    (x.sum() * 5 + y.sum()).backward()
    assert seen == [[10.0, 3.0]]


def test_an_unknown_mode():
    with pytest.raises(ValueError, match="Expects mode to be one of"):
        register_multi_grad_hook([], print, mode="some")


def test_a_write_that_is_told(leaves):
    a, _ = leaves
    y = a * 1
    z = (y * y).sum()
    increment_version([y])
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_the_setting_for_threads_is_kept():
    assert torch.autograd.is_multithreading_enabled() and not torch.autograd.is_view_replay_enabled()
    with torch.autograd.set_multithreading_enabled(False):
        assert not torch.autograd.is_multithreading_enabled()
    assert torch.autograd.is_multithreading_enabled()
