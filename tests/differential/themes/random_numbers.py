"""Random streams and distributions."""

THEMES = {"streams", "distributions"}

_DRAWS = [
    "torch.{rand|randn}({shape})",
    "torch.{rand|randn}({17|100|1000})",
    "torch.randint({0|-5}, {10|1000}, {shape})",
    "torch.randint(7, (3,), dtype={torch.int32|torch.uint8|torch.float32|torch.int64})",
    "torch.randperm({n|10|100})".replace("{n|10|100}", "{10|3|100}"),
    "torch.{rand|randn}({shape}, dtype={fdtype})",
    "torch.normal({0.|1.}, {1.|2.}, (3,))",
    "torch.normal(torch.zeros(3), torch.ones(3))",
    "torch.normal(torch.arange(3.), 2.0)",
    "torch.bernoulli(torch.full((5,), {0.3|0.5}))",
    "torch.empty(5).{normal_|uniform_|exponential_|cauchy_|log_normal_}()",
    "torch.empty(5).{geometric_(0.3)|bernoulli_(0.4)|random_(10)|random_()|random_(2, 5)}",
    "torch.multinomial(torch.tensor([0.1, 0.5, {0.4|0.0}]), {1|2|5}, replacement={bool})",
    "torch.poisson(torch.tensor([1., 4., 20.]))",
    "F.dropout(torch.ones(10), {0.5|0.2})",
    "torch.{rand_like|randn_like}({f})",
    "torch.randint_like({f}, 5)",
    "torch.empty({4}, dtype=torch.int64).random_({5|100})",
    "F.gumbel_softmax(torch.zeros(3), hard={bool})",
    "torch.binomial(torch.tensor([10.]), torch.tensor([0.3]))",
    "nn.init.kaiming_uniform_(torch.empty(3, 4))",
    "torch.rand(3, generator=g)",
    "torch.randn(20, generator=g)",
    "torch.randperm(5, generator=g)",
    "nn.Linear(3, 2).weight",
    "torch.rrelu(torch.randn(4), training=True)",
    "torch.randn(2, 2, dtype=torch.complex64)",
    "F.alpha_dropout(torch.ones(5), 0.5, True)",
    "torch.initial_seed()",
    "g.initial_seed()",
]


def streams(p):
    p.do("g = torch.Generator().manual_seed({0|42|2**31|7})")
    for _ in range(9):
        p.let(p.choice(*_DRAWS))
        if p.chance(0.15):
            p.do(
                p.choice(
                    "torch.manual_seed({0|1|2**40|-3})",
                    "state = torch.get_rng_state()",
                    "torch.set_rng_state(state) if 'state' in globals() else None",
                    "gs = g.get_state()",
                    "g.manual_seed(1)",
                    "torch.seed() and torch.manual_seed(3)",
                    "with torch.random.fork_rng(): torch.rand(3)",
                )
            )


_DISTRIBUTIONS = [
    "Normal({a}, {b})",
    "Uniform({a}, {a} + {b})",
    "Bernoulli({u})",
    "Bernoulli(logits={a})",
    "Categorical({v}.softmax(-1))",
    "Categorical(logits={v})",
    "Exponential({b})",
    "Gamma({b}, {b})",
    "Beta({b}, {b})",
    "Dirichlet({v}.exp())",
    "Laplace({a}, {b})",
    "Cauchy({a}, {b})",
    "HalfNormal({b})",
    "HalfCauchy({b})",
    "Gumbel({a}, {b})",
    "LogNormal({a}, {b})",
    "Poisson({b})",
    "Geometric({u})",
    "Binomial({3|10}, {u})",
    "NegativeBinomial({3|5}, {u})",
    "StudentT({b} + 2)",
    "Chi2({b})",
    "Pareto({b}, {b} + 2)",
    "Weibull({b}, {b})",
    "Kumaraswamy({b}, {b})",
    "VonMises({a}, {b})",
    "MultivariateNormal({v}, torch.eye(3))",
    "LowRankMultivariateNormal({v}, torch.ones(3, 1), torch.ones(3))",
    "OneHotCategorical({v}.softmax(-1))",
    "Independent(D.Normal({v}, 1.0), 1)",
    "MixtureSameFamily(D.Categorical(torch.ones(3)), D.Normal({v}, torch.ones(3)))",
    "TransformedDistribution(D.Normal({a}, {b}), [D.{SigmoidTransform()|ExpTransform()|AffineTransform(1., 2.)|TanhTransform()}])",
    "RelaxedBernoulli(torch.tensor(0.5), {u})",
    "ContinuousBernoulli({u})",
    "LogisticNormal({v}, torch.ones(3))",
    "Multinomial(5, {v}.softmax(-1))",
    "InverseGamma({b} + 2, {b})",
    "FisherSnedecor({b} + 3, {b} + 5)",
    "Normal({a}, -{b})",
]


def distributions(p):
    p.do("import torch.distributions as D")
    p.do("a = torch.randn({(2,)|()|(2, 1)}, requires_grad={bool})")
    p.do("b = torch.rand({(2,)|()}) + 0.5")
    p.do("u = torch.rand({(2,)|()})")
    p.do("v = torch.randn({(3,)|(2, 3)}, requires_grad={bool})")
    for i in range(2):
        text = p.choice(*_DISTRIBUTIONS)
        for name in "abuv":
            text = text.replace("{" + name + "}", name)
        if not p.do(f"d{i} = D.{text}"):
            continue
        p.do(f"x = d{i}.sample({{()|(2,)|(3, 2)}})")
        for _ in range(4):
            p.do(
                p.choice(
                    f"d{i}.log_prob(x)",
                    f"d{i}.entropy()",
                    f"d{i}.{{mean|variance|stddev|mode|support|batch_shape|event_shape|has_rsample}}",
                    f"d{i}.cdf(x)",
                    f"d{i}.icdf(torch.tensor(0.3))",
                    f"repr(d{i})",
                    f"d{i}.rsample((2,))",
                    f"d{i}.expand((4, *d{i}.batch_shape)).batch_shape",
                    f"d{i}.log_prob({{num}})",
                    f"d{i}.enumerate_support()",
                    f"D.kl_divergence(d{i}, D.{text})",
                    f"d{i}.perplexity()",
                    f"torch.autograd.grad(d{i}.log_prob(x).sum(), [t for t in (a, v) if t.requires_grad], allow_unused=True)",
                    f"d{i}.sample_n(2)",
                    f"[k for k in type(d{i}).arg_constraints]",
                )
            )
