"""The graph as programs that draw it see it: names and `next_functions`, as torch 2.13 has them."""

import pytest

import rushlight as torch

nn, F = torch.nn, torch.nn.functional
LEAF = "AccumulateGrad"


def tree(node):
    """(name, what follows), nested; a leaf is its name, no history None."""
    if node is None:
        return None
    following = [tree(n) for n, _ in node.next_functions]
    return (type(node).__name__, *following) if following else type(node).__name__


SIN = ("SinBackward0", LEAF)
T = ("TBackward0", LEAF)
H = torch.randn(4, 3, requires_grad=True)
FIRST = nn.Linear(3, 2)
PLAIN = nn.Linear(3, 2, bias=False)
ADDMM = ("AddmmBackward0", LEAF, SIN, T)
ROWS = ("ViewBackward0", ("UnsqueezeBackward0", SIN))
CASES = {
    "2 * x": (lambda h: 2 * h, ("MulBackward0", SIN, None)),
    "2 + x": (lambda h: 2 + h, ("AddBackward0", SIN, None)),
    "x * 2": (lambda h: h * 2, ("MulBackward0", SIN, None)),
    "linear": (FIRST, ADDMM),
    "linear without bias": (PLAIN, ("MmBackward0", SIN, T)),
    "linear, three dimensions": (
        lambda h: FIRST(h[None]),
        ("ViewBackward0", ("AddmmBackward0", LEAF, ROWS, T)),
    ),
    "linear without bias, three": (lambda h: PLAIN(h[None]), ("UnsafeViewBackward0", ("MmBackward0", ROWS, T))),
    "linear of data": (lambda h: FIRST(h.detach()), ("AddmmBackward0", LEAF, None, T)),
    "where": (lambda h: torch.where(h > 0, h, 2 * h), ("WhereBackward0", SIN, ("MulBackward0", SIN, None))),
    "cross entropy": (
        lambda h: F.cross_entropy(FIRST(h), torch.tensor([0, 1, 0, 1])),
        ("NllLossBackward0", ("LogSoftmaxBackward0", ADDMM)),
    ),
    "mse": (lambda h: F.mse_loss(FIRST(h), torch.zeros(4, 2)), ("MseLossBackward0", ADDMM, None)),
}


@pytest.mark.parametrize("name", CASES)
def test_graph(name):
    function, wanted = CASES[name]
    assert tree(function(H.sin()).grad_fn) == wanted


def test_what_is_inside_an_operator_is_one_object_and_takes_no_hooks():
    node = FIRST(H).grad_fn
    transpose = node.next_functions[2][0]
    assert transpose is node.next_functions[2][0] and transpose.next_functions[0][0].variable is FIRST.weight
    assert transpose.name() == "TBackward0"
    with pytest.raises(NotImplementedError, match="TBackward0"):
        transpose.register_hook(lambda *grads: None)


A, B = (torch.rand(3, 3, requires_grad=True) for _ in range(2))
SAVED = {
    "product": (lambda: A * B, {"self": A, "other": B}),
    "product with a number": (lambda: A * 2, {"self": None, "other": torch.tensor(2)}),
    "power": (lambda: A**2, {"self": A}),
    "result": (lambda: A.exp(), {"result": A.exp()}),
    "softmax": (lambda: A.softmax(0), {"result": A.softmax(0)}),
    "sum": (lambda: A.sum(), {"self_sym_sizes": (3, 3)}),
    "linear": (lambda: FIRST(A), {"mat1": A, "mat2": FIRST.weight.t()}),
    "embedding": (lambda: F.embedding(torch.tensor([1]), A), {"indices": torch.tensor([1])}),
    "layer norm": (lambda: F.layer_norm(A, (3,)), {"input": A, "result1": A.mean(1, keepdim=True), "weight": None}),
}


@pytest.mark.parametrize("name", SAVED)
def test_saved_values_by_torch_s_names(name):
    function, wanted = SAVED[name]
    node = function().grad_fn
    for key, value in wanted.items():
        found = getattr(node, "_saved_" + key)
        if isinstance(value, torch.Tensor):
            torch.testing.assert_close(found, value, check_dtype=False)
        else:
            assert found == value
        assert "_saved_" + key in dir(node)


def test_a_saved_value_is_the_tensor_and_takes_hooks():
    y = A * B
    assert y.grad_fn._saved_self is A
    (y := A.exp()).grad_fn._raw_saved_result.register_hooks(lambda t: t.tolist(), lambda kept: torch.tensor(kept) * 2)
    assert torch.autograd.grad(y.sum(), A)[0].allclose(2 * A.exp())
    with pytest.raises(RuntimeError, match="second time"):
        y.grad_fn._saved_result  # noqa: B018
    with pytest.raises(AttributeError, match="_saved_other"):
        A.exp().grad_fn._saved_other  # noqa: B018


NAMES = {
    "log1p": ("Log1PBackward0", lambda h: h.log1p()),
    "i0e": ("SpecialI0EBackward0", lambda h: torch.special.i0e(h)),
    "fill by a number": ("FillBackward2", lambda h: h.fill_(1)),
    "fill by a tensor": ("FillBackward3", lambda h: h.fill_(torch.tensor(1.0))),
    "a filled copy": ("FillBackward0", lambda h: torch.fill(h, 1)),
    "real part": ("SelectBackward0", lambda h: torch.complex(h, h).real),
    "polar": ("PolarBackward0", lambda h: torch.polar(h, h)),
    "ldexp": ("LdexpBackward0", lambda h: torch.ldexp(h, h)),
    "mvlgamma": ("MvlgammaBackward0", lambda h: torch.mvlgamma(h + 5, 2)),
    "quantile": ("SqueezeBackward4", lambda h: h.quantile(0.5)),
    "trapezoid": ("MulBackward1", lambda h: torch.trapezoid(h)),
    "diagonal": ("DiagonalBackward0_copy", lambda h: torch.diag(h)),
    "repeat": ("ViewBackward0", lambda h: h.repeat_interleave(2)),
    "random integers": ("RandomBackward2", lambda h: h.random_()),
}


@pytest.mark.parametrize("name", NAMES)
def test_name(name):
    wanted, function = NAMES[name]
    assert type(function(H * 1).grad_fn).__name__ == wanted


def test_modules_show_the_nodes_of_torch():
    x = torch.ones(2, 3, 4)
    output, _ = torch.nn.GRU(4, 5, batch_first=True)(x)
    assert _name(output) == "TransposeBackward1"
    assert _name(torch.nn.LSTM(4, 5, batch_first=True)(x)[0]) == "TransposeBackward0"
    assert _name(torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2)).weight) == (
        "WeightNormInterfaceBackward0"
    )
    y = torch.ones(3, requires_grad=True)
    assert _name(torch.sort(y, stable=True)[0]) == "SortBackward1"
    assert _name(torch.atleast_2d(y)) == "UnsqueezeBackward0"


def _name(t):
    return type(t.grad_fn).__name__


WITH_NUMBERS = {  # torch has an operator of its own for a number: (name, its edges), then the call on x, which is a leaf
    "remainder": (("RemainderBackward0", LEAF), lambda x: x % 2),
    "remainder of tensors": (("RemainderBackward1", LEAF, LEAF), lambda x: x % x),
    "remainder of a number": (("NotImplemented", LEAF), lambda x: 2 % x),
    "remainder in place": (("RemainderBackward0", ("MulBackward0", LEAF, None)), lambda x: (x * 1).remainder_(2)),
    "fmod": (("FmodBackward0", LEAF), lambda x: x.fmod(2.0)),
    "fmod of tensors": (("FmodBackward1", LEAF, LEAF), lambda x: x.fmod(x)),
    "xlogy": (("XlogyBackward2", LEAF), lambda x: x.xlogy(2)),
    "xlogy of a number": (("XlogyBackward1", LEAF), lambda x: torch.xlogy(2, x)),
    "xlog1py of a number": (("SpecialXlog1PyBackward1", LEAF), lambda x: torch.special.xlog1py(2, x)),
    "zeta": (("SpecialZetaBackward2", LEAF), lambda x: torch.special.zeta(x, 2)),
    "zeta of a number": (("SpecialZetaBackward1", LEAF), lambda x: torch.special.zeta(2.0, x)),
    "zeta of tensors": (("SpecialZetaBackward0", LEAF, LEAF), lambda x: torch.special.zeta(x, x)),
    "copysign": (("CopysignBackward1", LEAF), lambda x: x.copysign(-1)),
    "copysign in place": (("CopysignBackward1", ("MulBackward0", LEAF, None)), lambda x: (x * 1).copysign_(2)),
    "2 - x": (("RsubBackward1", LEAF), lambda x: 2 - x),
    "rsub": (("RsubBackward0", LEAF, LEAF), lambda x: torch.rsub(x, x)),
    "rsub with alpha": (("RsubBackward0", LEAF, LEAF), lambda x: torch.rsub(x, x, alpha=2)),
    "rsub by a number with alpha": (("RsubBackward1", LEAF), lambda x: torch.rsub(x, 3, alpha=2)),
    "masked_fill": (("MaskedFillBackward0", LEAF), lambda x: x.masked_fill(x > 0, 2)),
    "masked_fill by a tensor": (("MaskedFillBackward1", LEAF, None), lambda x: x.masked_fill(x > 0, torch.tensor(2.0))),
    "masked_fill in place": (
        ("MaskedFillBackward0", ("MulBackward0", LEAF, None)),
        lambda x: (x * 1).masked_fill_(x > 0, 2.0),
    ),
    "index_fill": (("IndexFillBackward0", LEAF), lambda x: x.index_fill(0, torch.tensor([0]), 2.0)),
    "index_fill by a tensor": (
        ("IndexFillBackward1", LEAF, None),
        lambda x: x.index_fill(0, torch.tensor([0]), value=torch.tensor(2.0)),
    ),
    "clamp_min": (("ClampMinBackward0", LEAF), lambda x: x.clamp_min(1)),
    "clamp_min by a tensor": (("ClampMinBackward1", LEAF, LEAF), lambda x: x.clamp_min(x)),
    "clamp_max in place": (
        ("ClampMaxBackward1", ("MulBackward0", LEAF, None), LEAF),
        lambda x: (x * 1).clamp_max_(x),
    ),
    "eq in place": (("EqBackward0", ("MulBackward0", LEAF, None)), lambda x: (x * 1).eq_(2)),
    "lt in place": (("LtBackward1", ("MulBackward0", LEAF, None), LEAF), lambda x: (x * 1).lt_(x)),
    "igamma": (("IgammaBackward0", None, LEAF), lambda x: torch.igamma(torch.ones(3), x)),
    "floor_divide": (("NotImplemented", LEAF), lambda x: x // 2),
    "scatter with reduce": (
        ("NotImplemented", LEAF),
        lambda x: x.scatter(0, torch.tensor([0, 1]), 2.0, reduce="multiply"),
    ),
    "bernoulli by a number": (("NotImplemented", LEAF), lambda x: torch.bernoulli(x, 0.5)),
    "index_reduce": (
        ("IndexReduceBackward0", LEAF, LEAF),
        lambda x: x.index_reduce(0, torch.tensor([0, 1, 1]), x, "prod"),
    ),
}


@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_operators_of_a_number_have_names_and_edges_of_their_own(name):
    wanted, function = WITH_NUMBERS[name]
    assert tree(function(torch.tensor([0.5, 1.5, 2.5], requires_grad=True)).grad_fn) == wanted


@pytest.mark.parametrize("reduce", ["add", "multiply"])
def test_scatter_with_reduce_has_no_gradient(reduce):
    x = torch.ones(3, requires_grad=True)
    for y in (
        x.scatter(0, torch.tensor([0]), 2.0, reduce=reduce),
        (x * 1).scatter_(0, torch.tensor([0]), 2.0, reduce=reduce),
    ):
        with pytest.raises(RuntimeError, match="derivative for aten::scatter is not implemented"):
            y.sum().backward()


def test_a_remainder_of_a_number_has_no_gradient():
    with pytest.raises(RuntimeError, match="derivative for aten::remainder is not implemented"):
        (2 % torch.ones(3, requires_grad=True)).sum().backward()


def test_indices_have_no_edges():
    x, i = torch.ones(3, 4, requires_grad=True) * 1, torch.tensor([0, 1])
    assert [n.name() for n, _ in x[i].grad_fn.next_functions] == ["MulBackward0"]
    assert [n.name() for n, _ in x[:, i].grad_fn.next_functions] == ["MulBackward0"]
    y = torch.zeros(3, 4).index_put((i,), x[:2])
    assert [n and n.name() for n, _ in y.grad_fn.next_functions] == [None, "SliceBackward0"]


def test_replaced_parts_and_rounding_modes():
    a, b = torch.rand(3, 4, requires_grad=True), torch.rand(3, 4, requires_grad=True)
    made = {
        "SelectScatterBackward0": torch.select_scatter(a, b[0], 0, 1),
        "SliceScatterBackward0": torch.slice_scatter(a, b[:2], 0, 0, 2),
        "DiagonalScatterBackward0": torch.diagonal_scatter(a, b[0, :3]),
        "DivBackward2": torch.div(a, b, rounding_mode=None),
        "DivBackward0": torch.div(a, b),
        "LdexpBackward0": (a * 1).ldexp_(b),
        "RenormBackward0": torch.renorm(a, 2, 0, 0.1),
        "DistBackward0": torch.dist(a, b),
    }
    for name, y in made.items():
        assert y.grad_fn.name() == name
        assert len(y.grad_fn.next_functions) == (1 if name == "RenormBackward0" else 2)
    ga, gb = torch.autograd.grad(made["SliceScatterBackward0"].sum(), (a, b))
    assert ga.sum().item() == 4 and gb.sum().item() == 8


@pytest.mark.parametrize(
    ("name", "f"),
    [
        ("MseLossBackwardBackward0", lambda x: F.mse_loss(x, x.detach() + 1)),
        ("SmoothL1LossBackwardBackward0", lambda x: F.smooth_l1_loss(x, x.detach() + 1)),
        ("HuberLossBackwardBackward0", lambda x: F.huber_loss(x, x.detach() + 1)),
        ("SoftMarginLossBackwardBackward0", lambda x: F.soft_margin_loss(x, x.detach().sign())),
        ("SoftmaxBackwardDataBackward0", lambda x: x.softmax(0)),
        ("LogSoftmaxBackwardDataBackward0", lambda x: F.cross_entropy(x, torch.tensor([0, 1]))),
        ("TanhBackwardBackward0", torch.tanh),
        ("EluBackwardBackward0", F.selu),
        ("EluBackwardBackward0", F.celu),
        ("HardshrinkBackwardBackward0", F.hardshrink),
        ("SoftshrinkBackwardBackward0", F.softshrink),
        ("ThresholdBackwardBackward0", lambda x: F.threshold(x, 0.0, 1.0)),
        ("HardswishBackwardBackward0", F.hardswish),
        ("IndexPutImplBackward0", lambda x: x[torch.tensor([0, 0])] ** 2),
    ],
)  # fmt: skip
def test_gradients_have_torchs_nodes(name, f):
    x = torch.tensor([[0.3, -0.6, 2.0], [1.0, 4.0, -3.0]], requires_grad=True)
    (g,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
    assert g.grad_fn.name() == name
