"""The smaller steps in JAX, from the same weights and data: arrays are taken from a case built by Rushlight."""

from __future__ import annotations

from collections.abc import Callable

from .step_cases import Case


def build(jax, name: str, make: Callable[..., Case]) -> Case:
    """A case whose step is one jitted function of (parameters and optimizer state, x, y); NotImplementedError if none."""
    if name not in _NETWORKS:
        raise NotImplementedError(f"{name} is not written for JAX")
    from rushlight.alias import install

    install()
    import torch

    plain, jnp = make(torch), jax.numpy
    network, optimizer = _NETWORKS[name]
    weights = [jnp.array(p.detach().numpy()) for p in plain.networks[0].parameters()]
    batches = [(jnp.array(x.numpy()), jnp.array(y.numpy().astype("int32"))) for x, y in plain.batches]

    def loss_of(weights, x, y):
        logits = network(jax, weights, x)
        picked = jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1)
        return -picked.mean()

    begin, update = optimizer(jnp)

    def whole(state, x, y):
        weights, moments = state
        loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
        return update(weights, gradients, moments), loss

    jitted = jax.jit(whole, donate_argnums=0)
    state = (weights, begin(weights))

    def step(x, y):
        nonlocal state
        state, loss = jitted(state, x, y)
        return loss.block_until_ready()

    return Case(step, batches, [], [])


def _linear(x, weight, bias):
    return x @ weight.T + bias


def _one_layer(jax, weights, x):
    return _linear(x, *weights) * 2.0


def _mlp(jax, weights, x):
    w1, b1, w2, b2 = weights
    return _linear(jax.nn.relu(_linear(x, w1, b1)), w2, b2)


def _cifar10(jax, weights, x):
    relu, lax = jax.nn.relu, jax.lax
    for weight, bias in zip(weights[0:4:2], weights[1:4:2], strict=True):
        x = relu(lax.conv_general_dilated(x, weight, (1, 1), "VALID") + bias[:, None, None])
        x = lax.reduce_window(x, -float("inf"), lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    x = x.reshape(len(x), -1)
    x = relu(_linear(x, *weights[4:6]))
    x = relu(_linear(x, *weights[6:8]))
    return _linear(x, *weights[8:10])


def _sgd(jnp, lr: float = 0.001, momentum: float = 0.9):
    def update(weights, gradients, moments):
        moments = [momentum * m + g for m, g in zip(moments, gradients, strict=True)]
        return [w - lr * m for w, m in zip(weights, moments, strict=True)], moments

    return lambda weights: [jnp.zeros_like(w) for w in weights], update


def _adam(jnp, lr: float = 1e-3, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8):
    def update(weights, gradients, moments):
        count, first, second = moments
        count = count + 1
        first = [beta1 * m + (1 - beta1) * g for m, g in zip(first, gradients, strict=True)]
        second = [beta2 * v + (1 - beta2) * g * g for v, g in zip(second, gradients, strict=True)]
        scale, root = lr / (1 - beta1**count), jnp.sqrt(1 - beta2**count)
        weights = [w - scale * m / (jnp.sqrt(v) / root + eps) for w, m, v in zip(weights, first, second, strict=True)]
        return weights, (count, first, second)

    def begin(weights):
        return jnp.zeros(()), [jnp.zeros_like(w) for w in weights], [jnp.zeros_like(w) for w in weights]

    return begin, update


_NETWORKS: dict[str, tuple[Callable, Callable]] = {
    "one layer": (_one_layer, _sgd),
    "cifar10-4": (_cifar10, _sgd),
    "cifar10-64": (_cifar10, _sgd),
    "mlp": (_mlp, _adam),
}
