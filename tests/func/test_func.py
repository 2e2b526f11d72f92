"""Function transforms mixed with the rest of autograd."""

import pytest

import rushlight as torch
from rushlight.func import functional_call, grad, jvp, replace_all_batch_norm_modules_, stack_module_state, vjp, vmap

X = torch.tensor([0.5, -1.0, 2.0])


def test_results_have_the_history_of_what_is_closed_over_only():
    w = torch.ones(3, requires_grad=True)
    plain = grad(lambda x: (x**2).sum())(X)
    assert not plain.requires_grad
    mixed = grad(lambda x: (x**2 * w).sum())(X)
    mixed.sum().backward()
    assert w.grad.tolist() == (2 * X).tolist()
    assert X.grad is None and not X.requires_grad


def test_inside_no_grad():
    with torch.no_grad():
        assert grad(lambda x: (x**3).sum())(X).tolist() == (3 * X**2).tolist()


def test_an_input_with_history_keeps_it():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    value, pull = vjp(lambda t: t**2, x * 3)
    (pull(torch.ones(2))[0].sum() + value.sum()).backward()
    assert x.grad.tolist() == [2 * 9 * 1.0 + 6, 2 * 9 * 2.0 + 6]


def test_has_aux():
    assert [t.tolist() for t in grad(lambda x: (x.sum(), x * 2), has_aux=True)(X)] == [[1.0] * 3, (X * 2).tolist()]
    assert jvp(lambda x: (x, x.sum()), (X,), (X,), has_aux=True)[2].item() == X.sum().item()


def test_randomness_of_vmap():
    x = torch.zeros(3)
    torch.manual_seed(0)
    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(lambda t: t + torch.rand(()))(x)
    torch.manual_seed(0)
    same = vmap(lambda t: t + torch.rand(()), randomness="same")(x)
    torch.manual_seed(0)
    different = vmap(lambda t: t + torch.rand(()), randomness="different")(x)
    assert len(set(same.tolist())) == 1 and len(set(different.tolist())) == 3
    assert same[0] == different[0]


def test_per_sample_gradients_are_those_of_a_loop():
    model = torch.nn.Linear(3, 1)
    params = {k: v.detach() for k, v in model.named_parameters()}
    x, y = torch.randn(4, 3), torch.randn(4, 1)
    loss = lambda p, x, y: (functional_call(model, p, (x,)) - y).pow(2).sum()  # noqa: E731
    got = vmap(grad(loss), in_dims=(None, 0, 0))(params, x, y)
    for i in range(4):
        model.zero_grad()
        (model(x[i]) - y[i]).pow(2).sum().backward()
        assert torch.allclose(got["weight"][i], model.weight.grad)


def test_ensembles_and_batch_norm():
    models = [torch.nn.Linear(2, 3) for _ in range(4)]
    params, buffers = stack_module_state(models)
    out = vmap(lambda p, x: functional_call(models[0], p, (x,)), in_dims=(0, None))(params, torch.ones(2))
    assert not buffers and torch.allclose(out[2], models[2](torch.ones(2)))
    norm = replace_all_batch_norm_modules_(torch.nn.Sequential(torch.nn.BatchNorm1d(2)))
    assert norm[0].running_mean is None


def test_buffers_written_by_the_call_come_back():
    norm = torch.nn.BatchNorm1d(2)
    state = {k: v.clone() for k, v in norm.named_buffers()}
    functional_call(norm, (dict(norm.named_parameters()), state), torch.randn(8, 2))
    assert state["num_batches_tracked"].item() == 1 and norm.num_batches_tracked.item() == 0


def test_tied_weights_stay_tied():
    layer = torch.nn.Linear(2, 2)
    pair = torch.nn.ModuleList([layer, torch.nn.Linear(2, 2)])
    pair[1].weight = layer.weight
    pair.forward = lambda x: pair[1](pair[0](x))
    zero = functional_call(pair, {"0.weight": torch.zeros(2, 2)}, torch.ones(1, 2))
    assert zero.tolist() == [layer.bias.tolist()] or torch.allclose(zero[0], pair[1].bias)
    with pytest.raises(RuntimeError, match="Missing key"):
        functional_call(pair, {"0.weight": torch.zeros(2, 2)}, torch.ones(1, 2), strict=True)


@pytest.mark.parametrize("call", [lambda: torch.func.rearrange(X, "a -> a")])
def test_what_is_missing_says_so(call):
    with pytest.raises(NotImplementedError, match=r"torch\.func"):
        call()


def test_functionalize_computes_what_the_function_does():
    x = torch.zeros(2)
    assert torch.func.functionalize(lambda a: a.add_(1) * 2)(x).tolist() == [2.0, 2.0] and x.tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="received invalid argument for remove=x"):
        torch.func.functionalize(abs, remove="x")


def test_draws_within_forward_mode_jacobians_raise_unless_they_are_allowed():
    x, drop = torch.ones(4), torch.nn.Dropout(0.5)
    for f in (torch.func.jacfwd(drop), torch.func.hessian(lambda x: (drop(x) ** 2).sum())):
        with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
            f(x)
    torch.manual_seed(0)
    assert torch.func.jacfwd(drop, randomness="same")(x).tolist() == torch.diag(torch.tensor([0.0, 0, 2, 0])).tolist()
    assert torch.func.jacrev(drop)(x).shape == (4, 4)


def test_running_statistics_of_an_ensemble_move():
    torch.manual_seed(0)
    nets = [torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)) for _ in range(3)]
    parameters, buffers = torch.func.stack_module_state(nets)
    x = torch.randn(5, 3)
    out = torch.vmap(lambda p, b: torch.func.functional_call(nets[0], (p, b), (x,)))(parameters, buffers)
    for i, net in enumerate(nets):
        torch.testing.assert_close(out[i], net(x))
        torch.testing.assert_close(buffers["1.running_mean"][i], net[1].running_mean)
        torch.testing.assert_close(buffers["1.running_var"][i], net[1].running_var)
    assert buffers["1.num_batches_tracked"].tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "f",
    [
        lambda a: torch.matrix_exp(a @ a.mT),
        lambda a: torch.nn.functional.avg_pool1d(a, 2),
        lambda a: torch.nn.functional.max_pool1d(a, 2),
        lambda a: torch.nn.functional.conv1d(a[None], torch.ones(1, 2, 2)),
    ],
)
def test_products_have_no_history(f):
    """The vectors by which a product is differentiated are no variables of the caller's."""
    a = torch.randn(2, 3)
    assert not torch.func.jvp(f, (a,), (a,))[1].requires_grad
    assert not torch.func.jvp(torch.func.grad(lambda q: f(q).square().sum()), (a,), (a,))[1].requires_grad
    assert not torch.func.hessian(lambda q: f(q).square().sum())(a).requires_grad
    w = torch.randn(2, 3, requires_grad=True)
    assert torch.func.jvp(lambda q: f(q * w), (a,), (a,))[1].requires_grad


def test_flat_functions_have_a_tangent_of_zeros():
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.ones(2), torch.ones(2))
        assert forward_ad.unpack_dual(x.floor()).tangent.tolist() == [0.0, 0.0]
        assert forward_ad.unpack_dual(torch.ones(2)).tangent is None


def test_a_jacobian_by_rows_is_of_decimals():
    with pytest.raises(
        RuntimeError, match=r"All outputs of f must be floating-point .* got Tensor with dtype torch.int64"
    ):
        torch.func.jacrev(lambda x: (x, x.long()))(torch.ones(2))
    with pytest.raises(RuntimeError, match=r"vjp\(f, \*primals\): expected f\(\*primals\) to return only tensors"):
        torch.func.jacrev(lambda x: 3.0)(torch.ones(2))
