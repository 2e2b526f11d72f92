"""Passes that programs add to Inductor's: `torch._inductor.config.post_grad_custom_post_pass` and patterns in them."""

import pytest

import rushlight as torch
from rushlight import nn

counters = torch._dynamo.utils.counters
matcher = torch._inductor.pattern_matcher
X, Y = torch.arange(-3.0, 3.0).reshape(2, 3), torch.ones(2, 3)


@pytest.fixture
def added():
    """Adds a pattern to a pass of `torch.compile`; afterwards there is none."""
    patterns = matcher.PatternMatcherPass()

    def add(search, replace, inputs, **options):
        matcher.register_replacement(search, replace, inputs, matcher.fwd_only, patterns, **options)

    with torch._inductor.config.patch(post_grad_custom_post_pass=patterns.apply):
        counters.clear()
        yield add


def ran(f, *args):
    """The results of a compiled function, and how many places were replaced."""
    before = counters["inductor"]["pattern_matcher_count"]
    compiled = torch.compile(f, backend="inductor")
    with torch.no_grad():
        results = [compiled(*args) for _ in range(4)]
    assert all(torch.equal(results[0], r) for r in results)
    return results[0], counters["inductor"]["pattern_matcher_count"] - before


def add_relu(x, y):
    return torch.relu(x + y)


def product(x, y):
    return torch.sigmoid(x * y)


@pytest.mark.parametrize(
    "f, expected, places",
    [
        (add_relu, product(X, Y), 1),
        (lambda x, y: torch.relu(x + y) + (x + y), product(X, Y) + (X + Y), 1),
        (lambda x, y: torch.relu(torch.relu(x + y) + x), product(product(X, Y), X), 2),
        (lambda x, y: torch.relu(x + 1), product(X, 1), 1),
        (lambda x, y: torch.relu(x + y[0]), product(X, Y[0]), 1),
        (lambda x, y: torch.relu(torch.add(x, y, alpha=2)), torch.relu(X + 2 * Y), 0),
        (lambda x, y: torch.relu(x * y), torch.relu(X * Y), 0),
    ],
)
def test_places_that_compute_a_pattern_are_replaced(added, f, expected, places):
    added(add_relu, product, [torch.ones(2), torch.ones(2)])
    found, count = ran(f, X, Y)
    assert count == places
    assert torch.equal(found, expected)


def test_numbers_of_a_pattern_count(added):
    added(lambda a: a.sum(1) * 2, lambda a: a.sum(1) * 3, [torch.ones(2, 2)])
    assert ran(lambda x: x.sum(1) * 2, X)[0].tolist() == [-18.0, 9.0]
    assert ran(lambda x: x.sum(0) * 2, X)[1] == ran(lambda x: x.sum(1) * 4, X)[1] == 0


def test_what_is_read_elsewhere_is_left(added):
    added(lambda x, y: (x + y).exp().sin(), product, [torch.ones(2), torch.ones(2)])

    def f(x, y):
        inner = (x + y).exp()
        return inner.sin() + inner

    assert ran(f, X, Y)[1] == 0


def test_a_check_may_refuse(added):
    seen = []
    added(add_relu, product, [torch.ones(2), torch.ones(2)], extra_check=lambda m: seen.append(m.kwargs))
    assert ran(add_relu, X, Y)[1] == 0
    assert [sorted(kwargs) for kwargs in seen] == [["x", "y"]]


def test_the_forward_of_a_graph_with_a_backward_is_changed(added):
    added(add_relu, product, [torch.ones(2), torch.ones(2)])
    w = torch.ones(3, requires_grad=True)
    loss = torch.compile(lambda x, w: torch.relu(x + w).sum())(X, w)
    loss.backward()
    assert torch.equal(loss, product(X, torch.ones(3)).sum())


def test_convolutions_take_in_their_norms(added):
    def normed(x, weight, bias, mean, var, scale, shift):
        out = nn.functional.conv2d(x, weight, bias)
        return nn.functional.batch_norm(out, mean, var, scale, shift, training=False, eps=1e-5)

    def fused(x, weight, bias, mean, var, scale, shift):
        factor = scale * torch.rsqrt(var + 1e-5)
        return nn.functional.conv2d(x, weight * factor.reshape(-1, 1, 1, 1), (bias - mean) * factor + shift)

    added(normed, fused, [torch.randn(1, 1, 4, 4), torch.randn(1, 1, 1, 1), *(torch.randn(1) for _ in range(5))])
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 4, 2), nn.BatchNorm2d(4)
    ).eval()
    x = torch.randn(2, 3, 8, 8)
    found, count = ran(model, x)
    assert count == 2
    torch.testing.assert_close(found, model(x))
    strided = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.BatchNorm2d(8)).eval()
    assert ran(strided, x)[1] == 0


def test_a_pass_gets_the_graph_of_operators():
    seen = []
    with torch._inductor.config.patch(post_grad_custom_pre_pass=lambda g: seen.extend(n.target for n in g.nodes)):
        torch.compile(lambda x: x.sin() + 1)(X)
    assert torch.ops.aten.sin.default in seen


def test_what_is_not_there_raises():
    config = torch._inductor.config
    with config.patch(joint_custom_pre_pass=print), pytest.raises(NotImplementedError, match="joint_custom_pre_pass"):
        torch.compile(lambda x: x)
    with pytest.raises(NotImplementedError, match="scalar_workaround"):
        matcher.register_replacement(add_relu, product, [X, X], matcher.fwd_only, [], scalar_workaround={"y": 1})
    with pytest.raises(NotImplementedError, match="several results"):
        matcher.register_replacement(lambda x: (x, x + 1), product, [X], matcher.fwd_only, [])
