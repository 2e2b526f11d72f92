"""Second gradients by central differences of the first ones, in float64."""

import numpy as np

import rushlight as rl


def first_gradients(f, arrays, weights):
    leaves = [rl.tensor(a, requires_grad=True) for a in arrays]
    out = f(*leaves)
    grads = rl.autograd.grad((out * rl.tensor(weights)).sum(), leaves, create_graph=True)
    return leaves, grads


def check_second_gradients(f, *arrays, step=1e-5):
    """The gradient of a random projection of the gradients, against differences along a random direction."""
    rng = np.random.default_rng(2)
    weights = rng.normal(size=tuple(f(*map(rl.tensor, arrays)).shape))
    directions = [rng.normal(size=a.shape) for a in arrays]
    projections = [rng.normal(size=a.shape) for a in arrays]

    def projected(arrays):
        grads = first_gradients(f, arrays, weights)[1]
        return sum((g.detach().numpy() * p).sum() for g, p in zip(grads, projections, strict=True))

    leaves, grads = first_gradients(f, arrays, weights)
    total = sum((g * rl.tensor(p)).sum() for g, p in zip(grads, projections, strict=True))
    if total.requires_grad:  # not for what is linear in its only input
        total.backward()
    slope = sum((0 if x.grad is None else (x.grad.numpy() * d).sum()) for x, d in zip(leaves, directions, strict=True))
    ahead, behind = ([a + s * step * d for a, d in zip(arrays, directions, strict=True)] for s in (1, -1))
    np.testing.assert_allclose(slope, (projected(ahead) - projected(behind)) / (2 * step), rtol=1e-5, atol=1e-6)
