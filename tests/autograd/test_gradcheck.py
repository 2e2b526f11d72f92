"""gradcheck finds wrong gradients and passes right ones."""

import pytest

import rushlight as rl
from rushlight.autograd import Function, gradcheck, gradgradcheck
from rushlight.autograd.gradcheck import GradcheckError
from rushlight.core.jit_switch import by_kernels, jit

FAST = pytest.mark.parametrize("fast", [False, True])


def point(*shape):
    rl.manual_seed(0)
    return rl.rand(*shape, dtype=rl.float64).add_(0.2).requires_grad_()


@FAST
def test_right_gradients_pass(fast):
    x, y = point(2, 3), point(3)
    for f in (lambda x, y: x * y, lambda x, y: (x.sum(1), (x / y).exp()), lambda x, y: (x @ y).sin()):
        assert gradcheck(f, (x, y), fast_mode=fast)
        assert gradgradcheck(f, (x, y), fast_mode=fast)


@FAST
def test_complex_gradients_pass(fast):
    z = rl.tensor([1 + 2j, 0.5 - 1j], dtype=rl.complex128, requires_grad=True)
    assert gradcheck(lambda z: z * z, (z,), fast_mode=fast)
    assert gradcheck(lambda z: z.abs(), (z,), fast_mode=fast)
    assert not gradcheck(lambda z: z.detach() * z, (z,), fast_mode=fast, raise_exception=False)


@FAST
def test_wrong_gradients_fail(fast):
    x = point(3)
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"):
        gradcheck(lambda x: x.detach() * x, (x,), fast_mode=fast)
    assert gradcheck(lambda x: x.detach() * x, (x,), fast_mode=fast, raise_exception=False) is False


def test_a_missing_gradient_fails():
    with pytest.raises(GradcheckError, match="Numerical gradient for function expected to be zero"):
        gradcheck(lambda x: x.detach() * 2, (point(3),))
    assert gradcheck(lambda x: x.detach() * 0, (point(3),))


class Noisy(Function):
    calls = 0

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        Noisy.calls += 1
        return g * (2 + 1e-7 * Noisy.calls)


class Shifted(Noisy):
    @staticmethod
    def backward(ctx, g):
        return g * 2 + 1e-7


class Strict(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, a, b):
        if a is None or b is None:
            raise RuntimeError("a gradient is missing")
        return a * 2 + b * 3


def test_noise_and_offsets_fail():
    with pytest.raises(GradcheckError, match="Backward is not reentrant"):
        gradcheck(Noisy.apply, (point(3),))
    assert gradcheck(Noisy.apply, (point(3),), nondet_tol=1e-2)
    with pytest.raises(GradcheckError, match="backward not multiplied by grad_output"):
        gradcheck(Shifted.apply, (point(3),))


@pytest.mark.filterwarnings("ignore:Backwards compatibility")
def test_undefined_gradients():
    with pytest.raises((GradcheckError, RuntimeError)):
        gradcheck(Strict.apply, (point(3),))


def test_refusals():
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(lambda x: x, (rl.ones(2),))
    with pytest.warns(UserWarning, match="not a double precision"):
        gradcheck(lambda x: x * 1, (rl.ones(2, requires_grad=True),), atol=1.0)
    with pytest.raises(RuntimeError, match="dimension with stride 0"):
        gradcheck(lambda x: x * 1, (rl.ones(1, dtype=rl.float64).expand(3).requires_grad_(),))


def test_the_inputs_come_back_unchanged():
    x = point(3)
    before = x.tolist()
    gradcheck(lambda x: x.exp(), (x,))
    assert x.tolist() == before and x.grad is None and x._version == 1


def test_kernels_run_and_no_programs():
    seen = []

    def f(x):
        seen.append(jit.on)
        return x.tanh().sum()

    x = rl.randn(3, dtype=rl.float64, requires_grad=True)
    before = jit.on
    assert gradcheck(f, (x,))
    assert not any(seen)
    with pytest.raises(ZeroDivisionError):
        gradcheck(lambda x: 1 / 0, (x,))
    assert jit.on is before
    with by_kernels, by_kernels:
        assert not jit.on
    assert jit.on is before
