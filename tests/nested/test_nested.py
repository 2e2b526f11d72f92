"""Nested tensors: numbers, texts and errors as torch 2.13 gives them."""

import re

import pytest

import rushlight as torch

F = torch.nn.functional
A = [[1.0, -2.0], [3.0, 4.0]]
B = [[5.0, 6.0], [-7.0, 8.0], [9.0, -1.0]]


def made(layout, **options):
    return torch.nested.nested_tensor([torch.tensor(A), torch.tensor(B)], layout=layout, **options)


@pytest.fixture(params=["strided", "jagged"])
def nt(request):
    return made(getattr(torch, request.param))


def lists(t):
    return [p.tolist() for p in t.unbind()]


def test_what_it_is_made_of(nt):
    assert nt.is_nested and nt.dim() == 3 and nt.numel() == 10 and nt.size(0) == 2 and nt.size(2) == 2
    assert lists(nt) == [A, B]
    assert nt.to_padded_tensor(0.0).tolist() == [[*A, [0.0, 0.0]], B]
    assert torch.nested.to_padded_tensor(nt, -1.0, (2, 4, 2))[0].tolist() == [*A, [-1.0, -1.0], [-1.0, -1.0]]
    assert nt[0].tolist() == A and nt[1, 2].tolist() == [9.0, -1.0]
    with pytest.raises(RuntimeError, match="Truncation is not supported"):
        nt.to_padded_tensor(0.0, (2, 2, 2))


def test_sizes_and_texts():
    strided, jagged = made(torch.strided), made(torch.jagged)
    assert repr(strided) == (
        "nested_tensor([\n  tensor([[ 1., -2.],\n          [ 3.,  4.]]),\n  tensor([[ 5.,  6.],\n          [-7.,  8.],\n"
        "          [ 9., -1.]])\n])"
    )
    assert re.fullmatch(
        r"NestedTensor\(size=\(2, j\d+, 2\), offsets=tensor\(\[0, 2, 5\]\), contiguous=True\)", repr(jagged)
    )
    assert jagged.shape[0] == 2 and jagged.shape[1] == jagged.size(1) and jagged.shape[1] != made(torch.jagged).shape[1]
    assert jagged.offsets().tolist() == [0, 2, 5] and jagged.values().tolist() == A + B and jagged.lengths() is None
    with pytest.raises(RuntimeError, match="doesn't support sizes"):
        _ = strided.shape
    with pytest.raises(RuntimeError, match="Given dimension 1 is irregular"):
        strided.size(1)
    assert repr(torch.nested.nested_tensor([])) == "nested_tensor([\n\n])"
    assert lists(torch.nested.nested_tensor([[1, 2, 3], [4]])) == [[1, 2, 3], [4]]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda t: t + t, [[[2.0, -4.0], [6.0, 8.0]], [[10.0, 12.0], [-14.0, 16.0], [18.0, -2.0]]]),
        (lambda t: (t * 2 - 1).relu(), [[[1.0, 0.0], [5.0, 7.0]], [[9.0, 11.0], [0.0, 15.0], [17.0, 0.0]]]),
        (lambda t: F.linear(t, torch.ones(1, 2)), [[[-1.0], [7.0]], [[11.0], [1.0], [8.0]]]),
        (lambda t: t.transpose(1, 2), [[[1.0, 3.0], [-2.0, 4.0]], [[5.0, -7.0, 9.0], [6.0, 8.0, -1.0]]]),
        (lambda t: t.sum(-1, keepdim=True), [[[-1.0], [7.0]], [[11.0], [1.0], [8.0]]]),
        (lambda t: t.chunk(2, -1)[1], [[[-2.0], [4.0]], [[6.0], [8.0], [-1.0]]]),
        (lambda t: t.masked_fill(t > 0, 0.0), [[[0.0, -2.0], [0.0, 0.0]], [[0.0, 0.0], [-7.0, 0.0], [0.0, -1.0]]]),
        (lambda t: torch.cat([t, t], -1).chunk(2, -1)[0], [A, B]),
        (lambda t: t.view(2, -1, 1, 2).squeeze(2), [A, B]),
        (lambda t: t.clone().zero_(), [[[0.0] * 2] * 2, [[0.0] * 2] * 3]),
    ],
)  # fmt: skip
def test_operators_of_both_layouts(nt, call, expected):
    assert lists(call(nt)) == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda t: t.sum(1), [[4.0, 2.0], [7.0, 13.0]]),
        (lambda t: t.mean(1), [[2.0, 1.0], [7.0 / 3, 13.0 / 3]]),
        (lambda t: t.amax(1), [[3.0, 4.0], [9.0, 8.0]]),
        (lambda t: (t + torch.tensor([10.0, 20.0])).amax(1), [[13.0, 24.0], [19.0, 28.0]]),
        (lambda t: (t - t.amax(1, keepdim=True)).amin(1), [[-2.0, -6.0], [-16.0, -9.0]]),
        (lambda t: torch.softmax(t, 1).sum(1), [[1.0, 1.0], [1.0, 1.0]]),
        (lambda t: (t @ torch.ones(2, 2, 1)).sum(1), [[6.0], [20.0]]),
    ],
)
def test_reductions_over_the_lengths(call, expected):
    found = call(made(torch.jagged))
    assert not found.is_nested
    torch.testing.assert_close(found, torch.tensor(expected))


def test_attention():
    t = made(torch.jagged)
    heads = t.unflatten(-1, (2, 1)).transpose(1, 2)
    found = F.scaled_dot_product_attention(heads, heads, heads).transpose(1, 2).flatten(-2)
    for part, whole in zip(found.unbind(), t.unbind(), strict=True):
        h = whole.unflatten(-1, (2, 1)).transpose(0, 1)
        expected = F.scaled_dot_product_attention(h[None], h[None], h[None])[0].transpose(0, 1).flatten(1)
        torch.testing.assert_close(part, expected)


def test_gradients(nt):
    leaf = nt.clone().detach().requires_grad_()
    (leaf * leaf).to_padded_tensor(0.0).sum().backward()
    assert lists(leaf.grad) == [[[2 * v for v in row] for row in part] for part in (A, B)]
    a, b = (torch.tensor(v, requires_grad=True) for v in (A, B))
    (torch.nested.as_nested_tensor([a, b], layout=nt.layout) * 3).to_padded_tensor(0.0).sum().backward()
    assert a.grad.tolist() == [[3.0] * 2] * 2 and b.grad.tolist() == [[3.0] * 2] * 3


def test_training_of_layers():
    torch.manual_seed(0)
    a, b = torch.randn(2, 4), torch.randn(3, 4)
    t = torch.nested.nested_tensor([a, b], layout=torch.jagged)
    torch.manual_seed(1)
    layers = torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.LayerNorm(8), torch.nn.GELU(), torch.nn.Dropout(0.0), torch.nn.Linear(8, 2)
    )
    optimizer = torch.optim.Adam(layers.parameters(), 0.05)
    losses = []
    for _ in range(6):
        loss = F.cross_entropy(layers(t).mean(1), torch.tensor([0, 1]))
        means = torch.stack([layers(p).mean(0) for p in (a, b)])
        torch.testing.assert_close(F.cross_entropy(means, torch.tensor([0, 1])), loss)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 4


def test_other_ways_to_make_one():
    nested = torch.nested
    t = nested.nested_tensor_from_jagged(torch.arange(5.0), torch.tensor([0, 2, 5]))
    assert lists(t) == [[0.0, 1.0], [2.0, 3.0, 4.0]]
    assert lists(nested.nested_tensor_from_jagged(torch.arange(5.0), lengths=torch.tensor([2, 3]))) == lists(t)
    x = torch.arange(8.0).view(2, 4)
    parts = nested.narrow(x, 1, torch.tensor([0, 1]), torch.tensor([2, 3]), layout=torch.jagged)
    assert lists(parts) == [[0.0, 1.0], [5.0, 6.0, 7.0]]
    assert lists(nested.masked_select(x, x % 2 == 0)) == [[0.0, 2.0], [4.0, 6.0]]
    words = nested.nested_tensor([torch.tensor([0, 1]), torch.tensor([2])], layout=torch.jagged)
    assert lists(F.embedding(words, torch.eye(3)))[1] == [[0.0, 0.0, 1.0]]


@pytest.mark.parametrize("p", [0.0, 0.4, 1.0])
def test_dropout_draws_for_each_element_whatever_its_probability(p):
    x = torch.nested.nested_tensor([torch.ones(3, 4), torch.ones(2, 4)], layout=torch.jagged, requires_grad=True)
    torch.manual_seed(3)
    dropped = F.dropout(x, p)
    assert round(torch.rand(1).item(), 4) == 0.5824  # torch's; dense tensors draw nothing for 0: 0.0043
    assert type(dropped.grad_fn).__name__ == "NativeDropoutBackward0"
    dropped.sum().backward()
    kept = (dropped.values() != 0).double()
    torch.testing.assert_close(x.grad.values().double(), kept * (0 if p == 1 else 1 / (1 - p)))
    torch.manual_seed(3)
    assert lists(F.dropout(x, p, False)) == lists(x) and round(torch.rand(1).item(), 4) == 0.0043


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda s, j: torch.nested.nested_tensor(torch.ones(2, 2)), TypeError, "Only lists"),
        (lambda s, j: torch.nested.nested_tensor([torch.ones(2), torch.ones(2, 2)]), RuntimeError,
         "must have the same dimension. Found dimension 2 for Tensor at index 1 and dimension 1 for Tensor at index 0"),
        (lambda s, j: s.exp(), NotImplementedError, "Could not run 'aten::exp' with arguments from the 'NestedTensorCPU'"),
        (lambda s, j: s + torch.ones(2), RuntimeError, "Expected both self and other to be nested"),
        (lambda s, j: s @ torch.ones(2, 2), RuntimeError, "Expected both to be nested, but got a nested self and non-nested"),
        (lambda s, j: s.sum(1), RuntimeError, "can only be reduced across the last dimension"),
        (lambda s, j: F.layer_norm(s, (2,)), ValueError, "requires weight and bias"),
        (lambda s, j: j + made(torch.jagged), RuntimeError, "cannot call binary pointwise function add with inputs of shapes"),
        (lambda s, j: j[:, 0], RuntimeError, "slice.*not supported for NestedTensor on dim=0"),
        (lambda s, j: torch.cat([j, j]), RuntimeError, "cat.*not supported for NestedTensor on dim=0"),
        (lambda s, j: j.cumsum(1), NotImplementedError, "cumsum"),
        (lambda s, j: F.dropout(j, 0.3, inplace=True), NotImplementedError, "bernoulli_"),
        (lambda s, j: F.dropout(j, 1.5), ValueError, "dropout probability has to be between 0 and 1"),
        (lambda s, j: F.alpha_dropout(j, 0.3, True), NotImplementedError, "alpha_dropout"),
        (lambda s, j: bool(j), RuntimeError, "Boolean value of Tensor with more than one value is ambiguous"),
        (lambda s, j: j.numpy(), RuntimeError, "not supported for tensor subclasses"),
    ],
)  # fmt: skip
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call(made(torch.strided), made(torch.jagged))
