"""jacobian, hessian and the products with vectors, against formulas."""

import numpy as np
import pytest

import rushlight as rl
from rushlight.autograd import functional

X = rl.tensor([1.0, 2.0, 3.0], dtype=rl.float64)
A = rl.tensor([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0]], dtype=rl.float64)
V = rl.tensor([1.0, -1.0, 0.5], dtype=rl.float64)


def cubes(x):
    return (x**3).sum()


def linear(x):
    return A @ x


@pytest.mark.parametrize("vectorize", [False, True])
def test_jacobian_of_one_and_of_several(vectorize):
    assert rl.equal(functional.jacobian(linear, X, vectorize=vectorize), A)
    (a, b), (c, d) = functional.jacobian(lambda x, y: (x * y, y.sum()), (X, V), vectorize=vectorize)
    assert rl.equal(a, rl.diag(V)) and rl.equal(b, rl.diag(X))
    assert rl.equal(c, rl.zeros_like(X)) and rl.equal(d, rl.ones_like(X))


@pytest.mark.parametrize("vectorize", [False, True])
def test_hessian(vectorize):
    assert rl.equal(functional.hessian(cubes, X, vectorize=vectorize), rl.diag(6 * X))
    (xx, xy), (yx, yy) = functional.hessian(lambda x, y: (x * y).sum() + (y * y).sum(), (X, V), vectorize=vectorize)
    eye = rl.eye(3, dtype=rl.float64)
    assert not xx.any() and rl.equal(xy, eye) and rl.equal(yx, eye) and rl.equal(yy, 2 * eye)


def test_products():
    out, product = functional.vjp(linear, X, rl.tensor([1.0, 10.0], dtype=rl.float64))
    assert rl.equal(out, A @ X) and product.tolist() == [2.0, 31.0, 10.0]
    out, product = functional.jvp(linear, X, V)
    assert rl.equal(product, A @ V) and not product.requires_grad
    for f in (functional.vhp, functional.hvp):
        out, product = f(cubes, X, V)
        assert out.item() == 36.0 and rl.equal(product, 6 * X * V)


def test_products_of_nonlinear_functions_agree_with_differences():
    def f(x):
        return rl.stack([x.sin().sum(), (x[0] * x[1] * x[2]).exp() * 1e-2])

    step = 1e-6
    expected = (f(X + step * V) - f(X - step * V)) / (2 * step)
    assert np.allclose(functional.jvp(f, X, V)[1].numpy(), expected.numpy(), 1e-6)
    assert np.allclose(functional.jacobian(f, X).numpy() @ V.numpy(), expected.numpy(), 1e-6)


def test_create_graph_connects_the_results():
    x = X.clone().requires_grad_()
    h = functional.hessian(cubes, x, create_graph=True)
    h.sum().backward()
    assert x.grad.tolist() == [6.0] * 3
    _, p = functional.vjp(cubes, x, create_graph=True)
    assert rl.autograd.grad(p.sum(), x)[0].tolist() == [6.0, 12.0, 18.0]
    assert not functional.jacobian(cubes, x).requires_grad


STRICT = [
    (lambda: functional.jacobian(lambda x, y: x.sum(), (X, V), strict=True), "independent of input 1"),
    (lambda: functional.vjp(lambda x: x.detach().sum(), X, strict=True), "does not require gradients"),
    (lambda: functional.hessian(lambda x: x.sum(), X, strict=True), "independent of the input"),
    (lambda: functional.jacobian(cubes, X, strict=True, vectorize=True), "not supported together"),
]


@pytest.mark.parametrize("call, words", STRICT)
def test_strict_mode(call, words):
    with pytest.raises(RuntimeError, match=words):
        call()


REFUSED = [
    (lambda: functional.jacobian(cubes, 3), TypeError, "must be either a Tensor or a tuple of Tensors"),
    (lambda: functional.hessian(linear, X), RuntimeError, "should contain a single element"),
    (lambda: functional.vjp(linear, X), RuntimeError, "v can only be None"),
    (lambda: functional.vjp(linear, X, V), RuntimeError, "v has invalid size"),
    (lambda: functional.jvp(linear, (X,), (V, V)), RuntimeError, "v is a tuple of invalid length"),
    (lambda: functional.jacobian(cubes, X, strategy="sideways"), AssertionError, "forward-mode"),
]


@pytest.mark.parametrize("call, error, words", REFUSED)
def test_refusals(call, error, words):
    with pytest.raises(error, match=words):
        call()
