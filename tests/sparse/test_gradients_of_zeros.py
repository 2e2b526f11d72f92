"""Gradients of what `to_sparse()` makes of a dense tensor: products and sums reach all of its elements, as in torch 2.13."""

import pytest

import rushlight as torch

D = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
W = torch.tensor([[1.0, -2.0], [0.5, 3.0]])
WHOLE = [[-3.0, -5.0, -7.0], [6.5, 13.5, 20.5]]
STORED = [[0.0, -5.0, 0.0], [6.5, 0.0, 20.5]]
LAYOUTS = ["to_sparse", "to_sparse_csr", "to_sparse_csc"]
CALLS = {
    "@": (lambda s, d: s @ d, WHOLE),
    "mm": (torch.mm, WHOLE),
    "spmm": (torch.spmm, WHOLE),
    "addmm": (lambda s, d: torch.addmm(W, s, d), WHOLE),
    "linear": (lambda s, d: torch.nn.functional.linear(s, d.t()), WHOLE),
    "from the right": (lambda s, d: (d.t() @ s.t()).t(), WHOLE),
    "transposed twice": (lambda s, d: s.t().t() @ d, WHOLE),
    "negative": (lambda s, d: (-s) @ -d, WHOLE),
    "times 2": (lambda s, d: (s * 2) @ (d / 2), WHOLE),
    "divided": (lambda s, d: (s / 2) @ (d * 2), WHOLE),
    "clone": (lambda s, d: s.clone() @ d, WHOLE),
    "sparse.mm": (torch.sparse.mm, STORED),
    "sparse.addmm": (lambda s, d: torch.sparse.addmm(W, s, d), STORED),
    "to_dense": (lambda s, d: s.to_dense() @ d, STORED),
}


def matrix():
    return torch.tensor([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]], requires_grad=True)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", CALLS)
def test_products(name, layout):
    call, expected = CALLS[name]
    x, d = matrix(), D.clone().requires_grad_()
    y = call(getattr(x, layout)(), d)
    assert y.tolist() == (call(x.detach(), d.detach()) if "sparse" not in name else y).tolist()
    (y * W).sum().backward()
    assert x.grad.tolist() == expected
    assert d.grad.tolist() == (x.detach().t() @ W).tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sums_and_matrix_times_vector(layout):
    x = matrix()
    total = getattr(x, layout)().sum()
    assert total.item() == 6 and total.grad_fn.name() == "SumBackward0"
    (total * 3).backward()
    assert x.grad.tolist() == [[3.0] * 3] * 2
    x = matrix()
    (getattr(x, layout)().mv(D[:, 0]) * W[0]).sum().backward()
    assert x.grad.tolist() == [[1.0, 3.0, 5.0], [-2.0, -6.0, -10.0]]


def test_dense_with_gradients_of_all_elements():
    x = matrix()
    (x.to_sparse().to_dense(masked_grad=False) @ D * W).sum().backward()
    assert x.grad.tolist() == WHOLE
    s = x.detach().to_sparse().requires_grad_()
    (s.to_dense(masked_grad=False) @ D * W).sum().backward()
    assert s.grad.tolist() == WHOLE
    values = torch.ones(3, requires_grad=True)
    with pytest.raises(NotImplementedError, match="masked_grad=False"):
        torch.sparse_coo_tensor(s.detach().indices(), values, (2, 3)).to_dense(masked_grad=False)


def test_second_derivatives():
    x, d = matrix(), D.clone().requires_grad_()
    (g,) = torch.autograd.grad((x.to_sparse() @ d).square().sum(), d, create_graph=True)
    y = x.detach().clone().requires_grad_()
    (h,) = torch.autograd.grad((y @ d).square().sum(), d, create_graph=True)
    g.square().sum().backward()
    h.square().sum().backward()
    torch.testing.assert_close(x.grad, y.grad)


def test_nothing_is_made_where_no_gradient_is_asked_for():
    assert matrix().detach().to_sparse()._rest is None
    with torch.no_grad():
        assert matrix().to_sparse()._rest is None
