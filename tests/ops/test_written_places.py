"""What torch gives where a tensor is written at places of another, and where a product is written into a row."""

import pytest

import rushlight as torch


def test_gradients_of_as_strided_scatter_are_torchs():
    x, part = torch.arange(12.0).reshape(3, 4).requires_grad_(), torch.ones(2, 2, requires_grad=True)
    y = torch.as_strided_scatter(x, part, (2, 2), (4, 1), 1)
    (y * torch.arange(12.0).reshape(3, 4)).sum().backward()
    assert y.grad_fn.name() == "AsStridedScatterBackward0"
    assert x.grad.tolist() == [[0, 1, 2, 0], [0, 5, 6, 0], [0, 0, 0, 0]]
    assert part.grad.tolist() == [[1, 2], [5, 6]]


def test_places_that_overlap_have_their_gradient_once():
    x, part = torch.tensor([1.0, 2, 3], requires_grad=True), torch.tensor([[2.0, 3], [4, 5]], requires_grad=True)
    y = torch.as_strided_scatter(x, part, (2, 2), (1, 1), 0)
    (y * torch.tensor([1.0, 2, 3])).sum().backward()
    assert y.tolist() == [2, 4, 5] and x.grad.tolist() == [1, 2, 3] and part.grad.tolist() == [[1, 2], [2, 3]]


def test_double_backward_of_as_strided_scatter():
    x, part = torch.arange(12.0).reshape(3, 4).requires_grad_(), torch.ones(2, 2, requires_grad=True)
    y = torch.as_strided_scatter(x, part, (2, 2), (4, 1), 1)
    (first,) = torch.autograd.grad((y**3).sum(), x, create_graph=True)
    second = torch.autograd.grad((first**2).sum(), (x, part))
    assert second[0].tolist() == [[0, 36, 36, 0], [0, 36, 36, 0], [0, 0, 0, 0]]
    assert second[1].tolist() == [[36, 36], [36, 36]]


def test_as_strided_scatter_refuses_rows_that_are_columns_only_with_gradients():
    x = torch.arange(6.0).reshape(2, 3).t()
    assert torch.as_strided_scatter(x, torch.full((2,), 9.0), (2,), (1,), 1).shape == (3, 2)
    with pytest.raises(RuntimeError, match="contiguous"):
        torch.as_strided_scatter(x.clone().requires_grad_(), torch.ones(2), (2,), (1,), 1)


@pytest.mark.parametrize("shape", [(1,), (1, 1), (), (4,), (1, 4)])
def test_addbmm_in_place_takes_the_shape_of_its_result(shape):
    a, b = torch.arange(30.0).reshape(2, 5, 3), torch.arange(24.0).reshape(2, 3, 4)
    n = torch.Size(shape).numel()
    row = torch.arange(1.0, 1 + n).reshape(shape)
    expected = torch.addbmm(row, a, b)
    x = row.clone()
    before = x._version
    assert x.addbmm_(a, b) is x and x.shape == (5, 4) and x._version == before + 1
    assert torch.equal(x, expected)


def test_addbmm_in_place_refuses_a_column():
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        torch.ones(5, 1).addbmm_(torch.ones(2, 5, 3), torch.ones(2, 3, 4))


@pytest.mark.parametrize("shape", [(1,), (4,), (1, 4), ()])
def test_addbmm_in_place_of_a_row_has_gradients(shape):
    a, b = torch.arange(30.0).view(2, 5, 3).requires_grad_(), torch.arange(24.0).view(2, 3, 4).requires_grad_()
    leaf, weights = torch.full(shape, 2.0, requires_grad=True), torch.arange(20.0).view(5, 4)
    x = leaf * 3
    assert x.addbmm_(a, b, beta=2) is x and x.grad_fn.name() == "AddbmmBackward0"
    (x * weights).sum().backward()
    expected = torch.autograd.grad((torch.addbmm(leaf * 3, a, b, beta=2) * weights).sum(), (leaf, a, b))
    for t, e in zip((leaf, a, b), expected, strict=True):
        assert torch.equal(t.grad, e)
