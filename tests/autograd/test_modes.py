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


def _view_before():
    base = rl.arange(4.0)
    return base, base[:2]


def test_a_view_requires_grad_while_its_base_does():
    base, view = _view_before()
    earlier = view * 2
    base.requires_grad_()
    assert view.requires_grad and view.is_leaf and view.grad_fn is None and not earlier.requires_grad
    assert repr(view) == "tensor([0., 1.], requires_grad=True)"
    result = view * 3
    assert result.grad_fn.next_functions == ((None, 0), (None, 0))
    result.sum().backward()
    assert view.grad is None and base.grad is None  # the view was made before there was a history
    assert rl.autograd.grad((view * base[:2]).sum(), base)[0].tolist() == [0.0, 1.0, 0.0, 0.0]
    with pytest.raises(RuntimeError, match="Can't call numpy"):
        view.numpy()
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        view.mul_(2)
    view.requires_grad_(False)
    assert view.requires_grad
    base.requires_grad_(False)
    assert not view.requires_grad
    assert view.mul_(2).tolist() == [0.0, 2.0]


def test_a_view_of_a_leaf_may_be_a_leaf_itself():
    base, view = _view_before()
    base.requires_grad_()
    view.requires_grad_()
    (view * 2).sum().backward()
    assert view.grad.tolist() == [2.0, 2.0] and base.grad is None
    base.requires_grad_(False)
    assert view.requires_grad


@pytest.mark.parametrize(
    "make", [lambda b: b.split(2)[0], lambda b: b.unbind()[1], lambda b: b.view(2, 2)[0], lambda b: b.real]
)
def test_every_view_asks_its_base(make):
    base = rl.arange(4.0)
    view, integers, detached = make(base), base.view(rl.int32), base.detach()
    base.requires_grad = True
    assert view.requires_grad and not integers.requires_grad and not detached.requires_grad
    assert not detached[:2].requires_grad
    base.detach_()
    assert not view.requires_grad


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


@pytest.mark.parametrize("alias", [lambda t: t.data, lambda t: t.detach()])
def test_an_alias_of_an_inference_tensor_counts_its_writes(alias):
    with rl.inference_mode():
        t = rl.ones(3)
    other = alias(t)
    other.add_(1)
    assert t.tolist() == [2, 2, 2]
    assert other._version == 1
    assert other.is_inference()
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        other[0] = 5
    with pytest.raises(RuntimeError, match="do not track version counter"):
        _ = t._version
    with pytest.raises(RuntimeError, match="cannot be saved for backward"):
        rl.ones(3, requires_grad=True) * other
