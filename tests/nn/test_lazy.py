"""Lazy layers, parametrizations, pruning and fusion."""

import copy

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn.utils import fusion, parametrizations, parametrize, prune, skip_init


def _lazy():
    return nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(5))


def test_the_first_call_makes_ordinary_layers_with_the_same_draws():
    x = torch.ones(2, 3, 5, 5)
    torch.manual_seed(0)
    model = _lazy()
    model(x)
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(36, 5))
    assert repr(model) == repr(plain) and type(model[0]) is nn.Conv2d
    for a, b in zip(model.parameters(), plain.parameters(), strict=True):
        assert torch.equal(a, b) and type(a) is nn.Parameter and a.requires_grad


def test_before_that_they_refuse():
    layer = nn.LazyLinear(2)
    assert nn.parameter.is_lazy(layer.weight) and isinstance(layer.weight, nn.Parameter)
    for use in (lambda: layer.weight * 2, lambda: layer.weight.sum(), lambda: layer.weight.detach().add_(1)):
        with pytest.raises(ValueError, match="uninitialized parameter"):
            use()
    with pytest.raises(RuntimeError, match="Can't access the shape"):
        _ = layer.weight.shape


def test_a_state_gives_the_shapes():
    model, other = _lazy(), _lazy()
    model(torch.randn(2, 3, 5, 5))
    other.load_state_dict(model.state_dict())
    x = torch.randn(2, 3, 5, 5)
    assert torch.equal(other.eval()(x), model.eval()(x))


def test_an_optimizer_made_before_the_first_call_trains():
    layer = nn.LazyLinear(2)
    optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
    layer(torch.ones(1, 3)).sum().backward()
    before = layer.weight.detach().clone()
    optimizer.step()
    assert torch.equal(layer.weight, before - 1)


class _Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).t()

    def right_inverse(self, a):
        return a.triu()


def test_a_parametrized_weight_is_computed_and_can_be_written():
    layer = parametrize.register_parametrization(nn.Linear(3, 3), "weight", _Symmetric())
    assert torch.equal(layer.weight, layer.weight.t()) and parametrize.is_parametrized(layer, "weight")
    layer.weight = torch.eye(3) * 2
    assert torch.equal(layer.weight, torch.eye(3) * 2)
    layer(torch.ones(1, 3)).sum().backward()
    assert layer.parametrizations.weight.original.grad is not None
    with parametrize.cached():
        assert layer.weight is layer.weight
    other = copy.deepcopy(layer)
    assert torch.equal(other.weight, layer.weight) and other.parametrizations is not layer.parametrizations
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and torch.equal(layer.weight, torch.eye(3) * 2)


@pytest.mark.parametrize("how", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5)])
def test_orthogonal_weights(how, shape):
    weight = parametrizations.orthogonal(nn.Linear(*shape), orthogonal_map=how).weight
    product = weight @ weight.t() if shape[0] >= shape[1] else weight.t() @ weight
    assert torch.allclose(product, torch.eye(min(shape)), atol=1e-5)


def test_normalized_weights():
    layer = nn.Linear(3, 4)
    before = layer.weight.detach().clone()
    parametrizations.weight_norm(layer)
    assert torch.allclose(layer.weight, before)
    spectral = parametrizations.spectral_norm(nn.Linear(6, 4))
    for _ in range(30):
        spectral(torch.ones(1, 6))
    assert abs(torch.linalg.matrix_norm(spectral.eval().weight, 2).item() - 1) < 1e-3


def test_pruning():
    layer = nn.Linear(4, 3)
    smallest = layer.weight.abs().flatten().argsort()[:6]
    prune.l1_unstructured(layer, "weight", 0.5)
    assert layer.weight.flatten()[smallest].abs().sum() == 0 and prune.is_pruned(layer)
    layer(torch.ones(1, 4)).sum().backward()
    assert layer.weight_orig.grad.flatten()[smallest].abs().sum() == 0
    prune.ln_structured(layer, "weight", 1, n=2, dim=0)
    assert (layer.weight_mask.sum(1) == 0).sum() >= 1
    prune.remove(layer, "weight")
    assert not prune.is_pruned(layer) and isinstance(layer.weight, nn.Parameter)


def test_fused_layers_do_the_same():
    conv, norm = nn.Conv2d(2, 3, 2).eval(), nn.BatchNorm2d(3).eval()
    norm.running_mean.uniform_()
    norm.running_var.uniform_(0.5, 1.0)
    x = torch.randn(1, 2, 4, 4)
    assert torch.allclose(fusion.fuse_conv_bn_eval(conv, norm)(x), norm(conv(x)), atol=1e-5)


def test_skip_init_draws_nothing():
    torch.manual_seed(0)
    first = torch.rand(1)
    torch.manual_seed(0)
    skip_init(nn.Linear, 3, 2)
    assert torch.equal(torch.rand(1), first)


@pytest.mark.parametrize("name", ["numel", "nelement", "dim", "stride", "element_size", "is_contiguous", "__len__"])
def test_what_depends_on_the_shape_is_refused_before_there_is_one(name):
    weight = nn.LazyLinear(3).weight
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in "):
        getattr(weight, name)()


def test_values_that_are_set_before_the_size_is_known():
    """`net.weight.data.normal_()` on a lazy layer changes nothing, as in torch; on the parameter it raises ValueError."""
    net = nn.LazyLinear(3)
    assert net.weight.data.shape == (0,)
    assert net.weight.data.normal_(0, 0.01).numel() == 0 and net.bias.data.fill_(0).sum() == 0
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
        nn.init.zeros_(net.weight)
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in requires_grad_"):
        net.requires_grad_(False)
    assert net(torch.ones(2, 4)).shape == (2, 3)
