"""Distributions as programs use and extend them."""

from __future__ import annotations

import copy
import io
import math
import os
import pathlib
import pickle
import subprocess
import sys

import pytest

import rushlight as torch
from rushlight import distributions as D
from rushlight.distributions import constraints
from rushlight.distributions.utils import broadcast_all, lazy_property

ROOT = pathlib.Path(__file__).parents[2]


def printed(program: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    assert not done.returncode, done.stderr
    return done.stdout


def test_loads_when_first_named():
    program = "import sys, rushlight; name = 'rushlight.distributions'; print(name in sys.modules, end=' ');"
    assert printed(program + "rushlight.distributions.Normal; print(name in sys.modules)") == "False True\n"


def test_every_way_to_import_it():
    program = """
import rushlight.alias; rushlight.alias.install(children=False)
import torch
print(torch.distributions.Normal(0.0, 1.0))
import torch.distributions as dist, torch.distributions.transforms as transforms
from torch.distributions import Categorical, Normal, Independent, kl_divergence, constraints
from torch.distributions.categorical import Categorical as C
from torch.distributions.kl import register_kl
from torch.distributions.studentT import StudentT
from torch.distributions.utils import _standard_normal, _sum_rightmost, broadcast_all, lazy_property
from torch.distributions.multivariate_normal import _batch_mahalanobis, _batch_mv
print(C is Categorical, dist.kl.kl_divergence is kl_divergence, transforms.TanhTransform is dist.TanhTransform)
"""
    assert printed(program) == "Normal(loc: 0.0, scale: 1.0)\nTrue True True\n"


# ---------------------------------------------------------------------------------------------- subclasses


class Doubled(D.Normal):
    """A subclass with a constructor of its own, which says how to expand it."""

    def __init__(self, loc, validate_args=None):
        super().__init__(2 * loc, 1.0, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, _instance=self._get_checked_instance(Doubled, _instance))


class Silent(D.Normal):
    def __init__(self, loc):
        super().__init__(loc, 1.0)


class Written(D.Distribution):
    """A distribution from scratch, in the way of torch's own."""

    arg_constraints = {"high": constraints.positive}
    has_rsample = True

    def __init__(self, high, validate_args=None):
        (self.high,) = broadcast_all(high)
        super().__init__(self.high.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Written, _instance)
        new.high = self.high.expand(batch_shape)
        super(Written, new).__init__(torch.Size(batch_shape), validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        return constraints.interval(0, self.high)

    @lazy_property
    def width(self):
        return self.high * 1

    def rsample(self, sample_shape=()):
        return torch.rand(self._extended_shape(sample_shape)) * self.high

    def log_prob(self, value):
        self._validate_sample(value)
        return -self.high.log().expand(value.shape)


def test_subclasses():
    wide = Doubled(torch.tensor(1.5)).expand((2, 3))
    assert type(wide) is Doubled and wide.batch_shape == (2, 3) and wide.mean[1, 2] == 3
    with pytest.raises(NotImplementedError, match=r"Silent of Normal that defines a custom __init__ method must also"):
        Silent(0.0).expand((2,))
    class_without_constructor = type("Same", (D.Normal,), {})
    assert type(class_without_constructor(0.0, 1.0).expand((2,))) is class_without_constructor


def test_a_distribution_from_scratch():
    high = torch.tensor([1.0, 2.0], requires_grad=True)
    d = Written(high)
    assert repr(d) == "Written(high: torch.Size([2]))" and constraints.is_dependent(Written.support)
    assert d.expand((3, 2)).rsample((4,)).shape == (4, 3, 2)
    assert not d.sample().requires_grad
    with torch.no_grad():
        assert d.width.requires_grad and d.width is d.width
    with pytest.raises(ValueError, match="within the support"):
        d.log_prob(torch.tensor([1.5, 1.5]))
    with pytest.raises(ValueError, match="GreaterThan"):
        Written(-1.0)


def test_registered_divergences():
    @D.register_kl(Written, D.Normal)
    def _(p, q):
        return p.high * 0 + 7

    assert D.kl_divergence(Written(1.0), Doubled(torch.tensor(1.0))) == 7
    with pytest.raises(NotImplementedError, match=r"No KL\(p \|\| q\) is implemented for p type Written"):
        D.kl_divergence(Written(1.0), D.Poisson(1.0))
    assert D.kl_divergence(Doubled(torch.tensor(0.5)), D.Normal(1.0, 1.0)) == 0

    class A(D.Normal):
        pass

    D.register_kl(A, D.Normal)(lambda p, q: torch.tensor(1.0))
    D.register_kl(D.Normal, A)(lambda p, q: torch.tensor(2.0))
    with pytest.warns(RuntimeWarning, match=r"Ambiguous kl_divergence\(A, A\). Please register_kl\(A, A\)"):
        assert D.kl_divergence(A(0.0, 1.0), A(0.0, 1.0)) == 1


# ---------------------------------------------------------------------------------------------- arguments


def test_validation_can_be_turned_off():
    assert D.Normal(0.0, -1.0, validate_args=False).scale == -1
    D.Distribution.set_default_validate_args(False)
    try:
        assert D.Normal(0.0, -1.0).scale == -1
    finally:
        D.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError):
        D.Normal(0.0, -1.0)


def test_distribution_without_declarations():
    bare = type("Bare", (D.Distribution,), {})
    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        d = bare()
    with pytest.warns(UserWarning, match="does not define `support`"):
        d._validate_sample(torch.tensor(1.0))
    with pytest.warns(FutureWarning, match="sample_n"):
        assert D.Normal(0.0, 1.0).sample_n(3).shape == (3,)


def test_numbers_take_the_type_of_tensors():
    d = D.Normal(torch.zeros(2, dtype=torch.float64), 1)
    assert d.scale.dtype is torch.float64 and d.sample().dtype is torch.float64
    loc = torch.zeros(2, requires_grad=True)
    assert D.Normal(loc, torch.ones(2)).loc is loc


def test_wishart_says_what_torch_says():
    with pytest.warns(UserWarning, match="Low df values detected"):
        D.Wishart(torch.tensor(1.5), torch.eye(2))
    with pytest.warns(UserWarning, match="Singular sample detected"):
        sample = D.Wishart(torch.tensor(4.0), torch.eye(2)).sample((3,))
    assert constraints.positive_definite.check(sample).all()


# ---------------------------------------------------------------------------------------------- transforms


def test_caches():
    tanh, x = D.TanhTransform(cache_size=1), torch.tensor([0.3, 20.0])
    assert tanh.inv(tanh(x)) is x and tanh.inv.inv is tanh
    assert not torch.equal(D.TanhTransform().inv(D.TanhTransform()(x)), x)
    assert D.ExpTransform().with_cache() == D.ExpTransform() and tanh.with_cache() is tanh
    chain = D.ComposeTransform([D.ExpTransform(), D.AffineTransform(0.0, 2.0)], cache_size=1)
    assert chain.inv(chain(x)) is x and chain.inv.inv is chain
    squashed = D.TransformedDistribution(D.Normal(12.0, 0.1), D.TanhTransform(cache_size=1))
    y = squashed.rsample()  # 1 in float32, where atanh is infinite
    assert bool(y == 1) and squashed.log_prob(y).isfinite() and not squashed.log_prob(y.clone()).isfinite()


def test_equality_and_copies():
    affine = D.AffineTransform(torch.tensor([1.0, 2.0]), 3.0)
    assert affine == D.AffineTransform(torch.tensor([1.0, 2.0]), 3) != D.AffineTransform(0.0, 3.0)
    assert D.ExpTransform().inv == D.ExpTransform().inv != D.ExpTransform()
    for transform in (affine, affine.inv, D.ComposeTransform([affine, D.ExpTransform()])):
        for again in (copy.deepcopy(transform), pickle.loads(pickle.dumps(transform))):
            assert again == transform


def test_biject_to_reaches_the_whole_region():
    for region in (
        constraints.simplex,
        constraints.corr_cholesky,
        constraints.greater_than(2.0),
        constraints.interval(-1, 3),
    ):
        transform = D.biject_to(region)
        x = torch.randn(4, 3, requires_grad=True)
        y = transform(x)
        assert region.check(y).all()
        torch.testing.assert_close(transform.inv(y), x, rtol=1e-4, atol=1e-4)


# ---------------------------------------------------------------------------------------------- gradients of draws


def _slope_of_quantile(make, x, parameter, step=1e-4):
    """dx/d parameter of the quantile that x is, by differences of the cdf: -(d cdf / d parameter) / pdf."""
    up, down = make(parameter + step), make(parameter - step)
    density = make(parameter).log_prob(x).exp()
    return -(up.cdf(x) - down.cdf(x)) / (2 * step) / density


@pytest.mark.parametrize("concentration", [0.05, 0.4, 1.0, 3.0, 7.9, 8.1, 30.0, 300.0])
def test_gamma_samples_move_along_their_quantiles(concentration):
    torch.manual_seed(0)
    a = torch.full((50,), concentration, dtype=torch.float64, requires_grad=True)
    x = D.Gamma(a, 1.0).rsample()
    (slope,) = torch.autograd.grad(x.sum(), a)
    x, large = x.detach(), x.detach() > 1e-8  # below, the difference of distribution functions is rounded off
    expected = _slope_of_quantile(lambda a: D.Gamma(a, torch.ones((), dtype=torch.float64)), x, a.detach())
    torch.testing.assert_close(slope[large], expected[large], rtol=5e-3, atol=1e-6)


@pytest.mark.parametrize("a, b", [(0.3, 0.6), (1.0, 1.0), (2.0, 5.0), (0.5, 40.0), (7.0, 9.0), (80.0, 60.0)])
def test_beta_samples_move_along_their_quantiles(a, b):
    """The distribution function of Beta(a, b) by a sum of the density over a fine grid in logits."""
    torch.manual_seed(0)
    first = torch.full((20,), a, dtype=torch.float64, requires_grad=True)
    x = D.Beta(first, torch.tensor(b, dtype=torch.float64)).rsample()
    (slope,) = torch.autograd.grad(x.sum(), first)
    logits = torch.linspace(-60.0, 20.0, 40001, dtype=torch.float64)
    grid, width = logits.sigmoid(), logits[1] - logits[0]

    def cdf(a, x):
        log_density = (a - 1) * grid.log() + (b - 1) * torch.log1p(-grid)
        beta = math.exp(math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b))
        density = log_density.exp() * grid * (1 - grid) / beta
        weight = ((x.logit() - logits) / width + 0.5).clamp(0, 1)
        return (density * weight).sum() * width

    for i, x_i in enumerate(x.detach()):
        log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
        density = math.exp((a - 1) * math.log(x_i) + (b - 1) * math.log1p(-x_i) - log_beta)
        expected = -(cdf(a + 1e-4, x_i) - cdf(a - 1e-4, x_i)) / 2e-4 / density
        assert math.isclose(slope[i], expected, rel_tol=0.02, abs_tol=1e-5)


def test_there_is_no_second_derivative_of_a_draw():
    a = torch.ones(2, requires_grad=True)
    for d, name in ((D.Gamma(a, 1.0), "_standard_gamma_grad"), (D.Dirichlet(a), "_dirichlet_grad")):
        (g,) = torch.autograd.grad((d.rsample() ** 2).sum(), a, create_graph=True)
        with pytest.raises(NotImplementedError, match=name):
            g.sum().backward()


# ---------------------------------------------------------------------------------------------- in use


def test_saved_under_torchs_names():
    d = D.TransformedDistribution(D.Normal(torch.zeros(2), 1.0), [D.ExpTransform()])
    file = io.BytesIO()
    torch.save(d, file)
    text = file.getvalue()
    assert b"torch.distributions.transforms" in text and b"rushlight" not in text
    file.seek(0)
    again = torch.load(file, weights_only=False)
    assert again.transforms == d.transforms and torch.equal(again.base_dist.loc, d.base_dist.loc)
    assert pickle.loads(pickle.dumps(D.Categorical(torch.ones(3)))).probs[0] == torch.tensor(1 / 3)


def test_policy_gradient_and_pathwise_learning():
    torch.manual_seed(1)
    logits = torch.zeros(3, requires_grad=True)
    loc, log_scale = torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.Adam([logits, loc, log_scale], lr=0.05)
    for _ in range(200):
        policy = D.Categorical(logits=logits)
        action = policy.sample((16,))
        reward = (action == 2).float() - 0.5
        x = D.Normal(loc, log_scale.exp()).rsample((16,))
        loss = -(policy.log_prob(action) * reward).mean() + (x - 3).square().mean() - 0.01 * policy.entropy()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert logits.argmax() == 2 and abs(loc.item() - 3) < 0.3 and log_scale.item() < -0.7


def test_compiled():
    """The draws and numbers of the eager function; values are not checked within a compiled one."""
    scale = torch.tensor([0.5, 2.0], requires_grad=True)

    def loss(loc):
        x = D.Normal(loc, scale).rsample() + D.Gamma(scale, 1.0).rsample() + D.Dirichlet(scale).rsample()
        return D.Normal(loc, scale).log_prob(x).sum() + D.Categorical(logits=loc).entropy()

    answers = []
    for f in (loss, torch.compile(loss)):
        torch.manual_seed(3)
        values = [f(torch.tensor([0.0, i])) for i in (1.0, 2.0, 3.0)]
        answers.append([*values, *torch.autograd.grad(sum(values), scale)])
    torch.testing.assert_close(answers[1], answers[0])


REGIONS = [
    D.constraints.real, D.constraints.real_vector, D.constraints.positive, D.constraints.nonnegative, D.constraints.unit_interval,
    D.constraints.boolean, D.constraints.nonnegative_integer, D.constraints.integer_interval(0, 3), D.constraints.less_than(0.5),
    D.constraints.half_open_interval(0, 1), D.constraints.interval(torch.tensor(0.0), torch.tensor(1.0)), D.constraints.simplex,
]  # fmt: skip


@pytest.mark.parametrize("region", REGIONS, ids=repr)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool], ids=str)
def test_values_are_inside_where_each_of_them_is(region, dtype):
    values = [[0.0, 1.0], [1.0, 1.0], [0.25, 0.75], [-1.0, 0.0], [3.0, 2.0], [0.5, math.nan], [math.inf, 0.0]]
    for row in values:
        if dtype.is_floating_point or all(map(math.isfinite, row)):
            value = torch.tensor(row).to(dtype)
            assert D.constraints.holds(region, value) is bool(region.check(value).all())
