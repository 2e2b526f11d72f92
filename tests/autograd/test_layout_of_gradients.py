"""A leaf's first gradient lies in memory as the leaf does where that has no gaps, else row by row, as in torch."""

import pytest

import rushlight as torch
import rushlight.nn.functional as F


@pytest.mark.parametrize(
    ("make", "strides"),
    [
        (lambda: torch.randn(2, 3, 4, 5).permute(0, 3, 1, 2), (60, 1, 20, 5)),
        (lambda: torch.randn(2, 3, 4).permute(2, 0, 1), (1, 12, 4)),
        (lambda: torch.randn(3, 4).t(), (1, 4)),
        (lambda: torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last), (48, 1, 12, 3)),
        (lambda: torch.randn(4, 8, 1, 1).to(memory_format=torch.channels_last), (8, 1, 8, 8)),
        (lambda: torch.randn(4, 1, 3, 3).to(memory_format=torch.channels_last), (9, 1, 3, 1)),
        (lambda: torch.randn(1, 4, 1, 1).to(memory_format=torch.channels_last), (4, 1, 4, 4)),
        (lambda: torch.randn(4, 6)[:, ::2], (3, 1)),
        (lambda: torch.randn(4, 6, 2).transpose(0, 1)[:, ::2], (4, 2, 1)),
    ],
)
@pytest.mark.parametrize(
    "loss", [lambda x: x.sum(), lambda x: (x.relu() * 2).sum(), lambda x: x.reshape(-1).pow(2).sum()]
)
def test_first_gradient(make, strides, loss):
    x = make().requires_grad_()
    for _ in range(4):
        x.grad = None
        loss(x).backward()
        assert x.grad.stride() == strides
    first = x.grad.clone()
    loss(x).backward()
    assert x.grad.stride() == strides and torch.allclose(x.grad, 2 * first)


def test_while_calls_are_recorded():
    x = torch.randn(2, 3, 4).permute(2, 0, 1).requires_grad_()
    step = torch.compile(lambda: x.relu().sum().backward())
    for _ in range(3):
        x.grad = None
        step()
        assert x.grad.stride() == (1, 12, 4) and torch.equal(x.grad, (x > 0).float())


def columns(*shape):
    return torch.randn(*shape[:-2], shape[-1], shape[-2]).transpose(-1, -2).requires_grad_()


def rows(*shape):
    return torch.randn(*shape).requires_grad_()


def gaps(n, m):
    return torch.randn(n, 2 * m)[:, ::2].requires_grad_()


# (product, its factors, the strides of their gradients in torch 2.13)
PRODUCTS = [
    (torch.mm, (rows(3, 4), rows(4, 5)), [(4, 1), (5, 1)]),
    (torch.mm, (columns(3, 4), columns(4, 5)), [(1, 3), (1, 4)]),
    (torch.mm, (gaps(3, 4), columns(4, 5)), [(4, 1), (1, 4)]),
    (torch.mm, (columns(3, 1), columns(1, 5)), [(1, 3), (1, 1)]),
    (torch.addmm, (rows(5), columns(3, 4), columns(4, 5)), [(1,), (1, 3), (1, 4)]),
    (torch.matmul, (rows(4), columns(4, 5)), [(1,), (1, 4)]),
    (torch.matmul, (columns(2, 3, 4), columns(4, 5)), [(12, 4, 1), (1, 4)]),
    (torch.matmul, (columns(3, 4), rows(2, 4, 5)), [(1, 3), (20, 1, 4)]),
    (torch.matmul, (rows(1, 3, 4), rows(2, 4, 5)), [(12, 4, 1), (20, 1, 4)]),
    (torch.matmul, (rows(4), rows(2, 4, 5)), [(1,), (20, 1, 4)]),
    (torch.matmul, (columns(2, 3, 4), rows(4)), [(12, 4, 1), (1,)]),
    (torch.nn.functional.linear, (columns(3, 4), rows(5, 4)), [(1, 3), (4, 1)]),
    (torch.nn.functional.linear, (rows(3, 4), columns(5, 4), rows(5)), [(4, 1), (1, 5), (1,)]),
    (torch.nn.functional.linear, (rows(2, 3, 4), gaps(5, 4)), [(12, 4, 1), (1, 5)]),
]


@pytest.mark.parametrize(("product", "factors", "strides"), PRODUCTS)
def test_products_of_columns(product, factors, strides):
    for _ in range(8):  # the last of them as programs
        out = product(*factors)
        g = torch.randn(*out.shape)
        gradients = torch.autograd.grad(out, factors, g)
        assert [x.stride() for x in gradients] == strides
    plain = [x.detach().contiguous().requires_grad_() for x in factors]
    for x, y in zip(gradients, torch.autograd.grad(product(*plain), plain, g), strict=True):
        torch.testing.assert_close(x, y)


def test_convolution_gradients_follow_its_operands_and_not_the_incoming_gradient():
    x, w = rows(2, 3, 5, 5), rows(4, 3, 3, 3)
    out = torch.nn.functional.conv2d(x, w)
    g = torch.randn(*out.shape)
    plain = torch.autograd.grad(out, (x, w), g.contiguous(memory_format=torch.channels_last))
    assert [a.stride() for a in plain] == [(75, 25, 5, 1), (27, 9, 3, 1)]
    last = x.detach().contiguous(memory_format=torch.channels_last).requires_grad_()
    laid = torch.autograd.grad(torch.nn.functional.conv2d(last, w), (last, w), g)
    assert [a.stride() for a in laid] == [(75, 1, 15, 3), (27, 1, 9, 3)]
    for a, b in zip(plain, laid, strict=True):
        torch.testing.assert_close(a, b)


def test_one_matrix_for_a_batch_shows_the_graph_of_torch():
    out = rows(3, 4) @ rows(2, 4, 5)
    assert out.grad_fn.name() == "CloneBackward0" and out.stride() == (15, 5, 1)
    assert out.grad_fn.next_functions[0][0].name() == "TransposeBackward0"


@pytest.mark.parametrize(
    ("f", "strides"),  # torch 2.13's
    [
        (lambda x, y: torch.where(y > 0, x, x * 2), (12, 4, 1)),
        (lambda x, y: x.clamp(-0.5, 0.5) * y, (1, 2, 6)),
        (lambda x, y: torch.maximum(x, y), (1, 2, 6)),
    ],
)
def test_chosen_elements(f, strides):
    x = torch.randn(4, 3, 2).permute(2, 1, 0).requires_grad_()
    y = torch.randn(2, 3, 4)
    for _ in range(8):  # the last of them as programs
        (g,) = torch.autograd.grad((f(x, y) ** 2).mean(), x)
        assert g.stride() == strides


ROWS, COLUMNS = (4, 1), (1, 3)  # strides of a (3, 4) tensor
OF_TWO = {  # operators of an input in columns: the strides of its gradient where the incoming one is in rows, as in torch
    "incoming": (
        ROWS,
        [F.gelu, F.elu, F.selu, F.celu, F.hardshrink, F.softshrink, F.hardtanh, F.hardsigmoid, F.softplus, torch.sigmoid,
         torch.nan_to_num, lambda x: F.hinge_embedding_loss(x, torch.ones(3, 4), reduction="none")],
    ),
    "input": (
        COLUMNS,
        [torch.erf, torch.erfc, torch.erfinv, torch.angle, lambda x: x.prod(0), F.leaky_relu, lambda x: F.threshold(x, 0.1, 0.2), lambda x: x.norm(dim=0), lambda x: x.nansum(0)],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("which", "i"), [(w, i) for w, (_, all_of) in OF_TWO.items() for i in range(len(all_of))])
def test_the_incoming_gradient_or_the_input_tells_the_order(which, i):
    strides, functions = OF_TWO[which]
    x = (torch.arange(12.0).view(4, 3) / 7 - 0.8).t().requires_grad_()
    y = functions[i](x)
    (g,) = torch.autograd.grad((y * torch.arange(float(y.numel())).view(y.shape)).sum(), x)
    assert g.stride() == strides


def test_gradients_in_rows_whatever_the_input():
    x = torch.rand(4, 3).t().requires_grad_()
    y = torch.rand(3, 4)
    for f in (lambda x: x.max(), lambda x: x.median(), lambda x: F.glu(x, 1), lambda x: torch.fmax(x, y)):
        (g,) = torch.autograd.grad(f(x).sum(), x)
        assert g.stride() == ROWS


def test_an_index_that_leaves_nothing_out_passes_the_gradient_on():
    x = torch.rand(3, 4, requires_grad=True)
    for index, shape in ((None, (1, 3, 4)), ((..., None), (3, 4, 1)), ((slice(None), None), (3, 1, 4)), (..., (3, 4))):
        (g,) = torch.autograd.grad(x[index].sum(), x)
        assert x[index].shape == shape and g.stride() == (0, 0) and torch.equal(g, torch.ones(3, 4))
        (g,) = torch.autograd.grad((x[index] ** 2).sum(), x)
        assert torch.equal(g, 2 * x.detach())
    (g,) = torch.autograd.grad(x[1:, None].sum(), x)
    assert g.tolist() == [[0.0] * 4, [1.0] * 4, [1.0] * 4]


def test_the_gradient_of_an_extreme_or_a_product_has_the_order_of_its_formula():
    x = torch.rand(6, 4, 3).permute(2, 1, 0).requires_grad_()
    for f in (lambda x: x.amax(0), lambda x: x.prod(0)):
        (g,) = torch.autograd.grad(f(x), x, torch.ones(4, 6))
        assert g.stride() == (1, 18, 3)


def test_writing_in_place_keeps_the_order_of_what_it_read():
    x = torch.rand(4, 3).t().requires_grad_()
    for f in (lambda x: x.clone().pow_(2), lambda x: x.clone().clamp_(0.2, 0.6)):
        (g,) = torch.autograd.grad(f(x).sum(), x)
        assert g.stride() == COLUMNS


def test_the_gradient_of_a_product_along_a_dimension_rounds_as_torchs():
    x = torch.tensor([[1.1, 0.7, -2.3], [0.3, 1.9, 0.9]], requires_grad=True)
    g, out = torch.tensor([0.3, -1.7]), x.detach().prod(1)
    x.prod(1).backward(g)
    assert torch.equal(x.grad, g[:, None] * (out[:, None] / x.detach()))


@pytest.mark.parametrize(
    "write",
    [
        lambda t: t.__setitem__(0, 1.0),
        lambda t: t[0].mul_(2),
        lambda t: t[:, 1:3].zero_(),
    ],
    ids=["set", "row", "columns"],
)
@pytest.mark.parametrize("turned", [False, True])
def test_the_gradient_of_a_base_whose_view_was_written_has_its_strides(write, turned):
    leaf = torch.rand(6, 4).t() if turned else torch.rand(4, 6)
    x = leaf.requires_grad_()
    y = x.clone()
    write(y)
    for g in (torch.ones(4, 6), torch.ones(6, 4).t()):
        assert torch.autograd.grad(y, x, g, retain_graph=True)[0].stride() == x.stride()


@pytest.mark.parametrize(
    ("f", "make", "strides"),
    [
        (lambda x: x.take(torch.tensor([0, 2])), lambda: torch.ones(5, 4).t(), (1, 4)),
        (
            lambda x: F.grid_sample(x, torch.zeros(2, 3, 3, 2), align_corners=False),
            lambda: torch.ones(2, 4, 6, 6).to(memory_format=torch.channels_last),
            (144, 36, 6, 1),
        ),
        (lambda x: F.poisson_nll_loss(x, torch.ones(4, 5), reduction="none"), lambda: torch.ones(5, 4).t(), (1, 4)),
    ],
)
def test_of_results_of_a_given_order(f, make, strides):
    h = make().requires_grad_() * 1.0
    (g,) = torch.autograd.grad(f(h).sum(), h)
    assert g.stride() == strides


def test_the_gradient_of_a_mean_has_the_order_of_what_arrives():
    x = torch.ones(3, 4, 5, requires_grad=True)
    y = x.mean(0)
    (g,) = torch.autograd.grad(y, x, torch.ones(5, 4).t())
    assert g.stride() == (20, 1, 4)
    assert torch.equal(g, torch.full((3, 4, 5), 1 / 3))
