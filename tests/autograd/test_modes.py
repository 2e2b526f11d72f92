"""no_grad, enable_grad, set_grad_enabled and inference_mode."""

import threading

import pytest

import rushlight as rl

X = [1.0, 2.0]


def leaf():
    return rl.tensor(X, requires_grad=True)


def test_context_managers_nest_and_restore():
    assert rl.is_grad_enabled()
    with rl.no_grad():
        assert not rl.is_grad_enabled()
        with rl.enable_grad():
            assert rl.is_grad_enabled()
            with rl.set_grad_enabled(False):
                assert not rl.is_grad_enabled()
            assert rl.is_grad_enabled()
        assert not rl.is_grad_enabled()
    assert rl.is_grad_enabled()


def test_a_mode_is_restored_after_an_exception():
    with pytest.raises(ZeroDivisionError), rl.no_grad():
        1 / 0  # noqa: B018
    assert rl.is_grad_enabled()


def test_set_grad_enabled_as_a_function():
    rl.set_grad_enabled(False)
    try:
        assert not (leaf() * 2).requires_grad
    finally:
        rl.set_grad_enabled(True)
    assert (leaf() * 2).requires_grad


@pytest.mark.parametrize("decorator", ["no_grad()", "no_grad", "inference_mode()", "set_grad_enabled(False)"])
def test_decorators(decorator):
    @eval("rl." + decorator)
    def f(x):
        return x * 2, rl.is_grad_enabled()

    y, enabled = f(leaf())
    assert not y.requires_grad and not enabled and rl.is_grad_enabled()


def test_a_decorated_generator_switches_at_every_step():
    @rl.no_grad()
    def steps():
        for _ in range(2):
            yield rl.is_grad_enabled()

    seen = []
    for inside in steps():
        seen.append((inside, rl.is_grad_enabled()))
    assert seen == [(False, True), (False, True)]


def test_no_grad_results_are_leaves_without_history():
    x = leaf()
    with rl.no_grad():
        y = x * 2
        assert rl.zeros(2, requires_grad=True).requires_grad
    assert not y.requires_grad and y.is_leaf
    y.requires_grad_()
    (y * 3).sum().backward()
    assert x.grad is None and y.grad.tolist() == [3.0, 3.0]


def test_updating_a_parameter_by_hand():
    w = leaf()
    (w * w).sum().backward()
    with rl.no_grad():
        w -= 0.5 * w.grad
    assert w.is_leaf and w.requires_grad and w.tolist() == [0.0, 0.0] and w._version == 1


def test_a_view_made_under_no_grad_still_says_that_it_requires_grad():
    w = leaf()
    with rl.no_grad():
        v = w[:1]
        t = w * 1
    assert v.requires_grad and v.is_leaf and not t.requires_grad
    with pytest.raises(RuntimeError, match="no_grad mode"):
        v.mul_(2)
    (v * 3).sum().backward()
    assert v.grad is None and w.grad is None


def test_inference_tensors():
    w = leaf()
    with rl.inference_mode():
        y = w * 2
        v = w[:1]
        assert y.is_inference() and not y.requires_grad
        y.add_(1)
    assert not w.is_inference() and not v.is_inference()
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        y.add_(1)
    with pytest.raises(RuntimeError, match="inference tensor"):
        y.requires_grad_()
    with rl.no_grad():
        w.mul_(2)  # a view made in inference mode does not make its base an inference tensor
    with rl.inference_mode(False):
        assert (w * 2).requires_grad
    with rl.inference_mode(), rl.inference_mode(False):
        assert rl.is_grad_enabled() and not rl.is_inference_mode_enabled()


def test_grad_mode_belongs_to_a_thread():
    seen = []
    with rl.no_grad():
        t = threading.Thread(target=lambda: seen.append((rl.is_grad_enabled(), (leaf() * 2).requires_grad)))
        t.start()
        t.join()
    assert seen == [(True, True)]


def test_tensors_of_inference_mode_are_not_kept():
    z = rl.ones(2, requires_grad=True)
    layer = rl.nn.Linear(2, 2)
    with rl.inference_mode():
        w = rl.ones(2) * 2
        view = w[:1]
    for keeps in (lambda: w * z, lambda: z / w, lambda: z / view, lambda: layer(w), lambda: z.pow(w), lambda: z @ w):
        with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
            keeps()
    for allowed in (lambda: w + z, lambda: w.clone() * z, lambda: w * 2, lambda: rl.addcmul(z, w, w)):
        assert allowed() is not None
