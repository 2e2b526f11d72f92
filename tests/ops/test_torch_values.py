"""Values and gradients where the formula at hand gives another answer than torch 2.13, whose numbers these are."""

import pytest

import rushlight as torch
import rushlight.nn.functional as F


def test_cosine_similarity_at_a_zero_vector():
    a = torch.zeros(1, 3, requires_grad=True)
    F.cosine_similarity(a, torch.ones(1, 3)).backward()
    torch.testing.assert_close(a.grad, torch.full((1, 3), 57735028.0))


def test_cosine_similarity_below_eps():
    a = torch.tensor([[1e-5, 2e-5]], requires_grad=True)
    b = torch.tensor([[1e-3, 1.0]], requires_grad=True)
    F.cosine_similarity(a, b, eps=1e-3).backward()
    torch.testing.assert_close(a.grad, torch.tensor([[-7.948738, 982.10199]]))
    torch.testing.assert_close(b.grad, torch.tensor([[0.0099799838, -9.981915e-06]]))


def test_atan2_at_the_origin():
    a, b = torch.zeros(2, requires_grad=True), torch.tensor([0.0, 1.0], requires_grad=True)
    torch.atan2(a, b).sum().backward()
    assert a.grad.tolist() == [0, 1] and b.grad.tolist() == [0, 0]


def test_degrees_of_half_types():
    x = torch.tensor([90.0, 0.1])
    assert torch.deg2rad(x.bfloat16()).tolist() == [1.5703125, 0.00174713134765625]
    assert torch.deg2rad(x.half())[0] == 1.5703125
    assert torch.rad2deg(x.bfloat16()).tolist() == [5152, 5.75]


@pytest.mark.parametrize("f", [torch.xlogy, torch.special.xlog1py])
def test_xlogy_has_no_complex_numbers(f):
    with pytest.raises(NotImplementedError, match="not implemented for 'ComplexDouble'"):
        f(torch.ones(2, dtype=torch.float64), torch.ones(2, dtype=torch.complex64))


@pytest.mark.parametrize(
    ("view", "rows"),
    [(lambda: torch.zeros(3, 6).t(), [0, 1, 2, 4, 5]), (lambda: torch.zeros(9, 4)[1:, :3], [0, 1, 2, 4, 5, 6])],
)
def test_fill_diagonal_wraps_in_views(view, rows):
    x = view().fill_diagonal_(5, wrap=True)
    assert x.sum(1).nonzero().flatten().tolist() == rows


@pytest.mark.parametrize("name", ["arange", "linspace", "logspace", "range"])
@pytest.mark.filterwarnings("ignore:torch.range")
def test_counted_numbers_fill_a_view(name):
    x = torch.zeros(2, 3)
    view = x.narrow(1, 1, 2)
    want = {"arange": (0, 4), "range": (0, 3)}.get(name, (0, 3, 4))
    getattr(torch, name)(*want, out=view)
    assert view.shape == (2, 2)
    assert x[:, 1:].tolist() == ([[1, 10], [100, 1000]] if name == "logspace" else [[0, 1], [2, 3]])


def test_gradient_takes_the_type_of_the_coordinates():
    (g,) = torch.gradient(torch.arange(5.0) ** 2, spacing=(torch.tensor([0, 1, 2.5, 3, 4], dtype=torch.float64),))
    assert g.dtype is torch.float64
    torch.testing.assert_close(g, torch.tensor([1, 1.4, 8, 9, 7], dtype=torch.float64))


def test_affine_grid_counts_in_the_type_of_theta():
    theta = torch.eye(2, 3)[None]
    (grid,) = F.affine_grid(theta, (1, 1, 28, 1), align_corners=False)
    assert torch.equal(grid[:, 0, 1], torch.linspace(-1, 1, 28) * 27 / 28)
