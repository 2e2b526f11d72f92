"""Gradients by central differences in float64, to compare those of backward with."""

import numpy as np

import rushlight as rl


def central_difference(f, arrays, i, weights, step=1e-6):
    """The gradient of sum(weights * f(*arrays)) with respect to arrays[i], one element at a time."""
    grad = np.zeros_like(arrays[i])
    for place in np.ndindex(*arrays[i].shape):
        values = []
        for sign in (1, -1):
            moved = [a.copy() for a in arrays]
            moved[i][place] += sign * step
            values.append((f(*map(rl.tensor, moved)).numpy() * weights).sum())
        grad[place] = (values[0] - values[1]) / (2 * step)
    return grad


def check_gradients(f, *arrays):
    leaves = [rl.tensor(a, requires_grad=True) for a in arrays]
    out = f(*leaves)
    weights = np.random.default_rng(1).normal(size=tuple(out.shape))
    (out * rl.tensor(weights)).sum().backward()
    for i, leaf in enumerate(leaves):
        np.testing.assert_allclose(leaf.grad.numpy(), central_difference(f, arrays, i, weights), rtol=2e-5, atol=2e-7)
