"""Gradients of sparse leaves: which are dense and which sparse, and their numbers, are torch 2.13's."""

import pytest

import rushlight as torch

D = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
V = torch.tensor([1.0, 2.0, 3.0])
M = torch.ones(3, 2)
DENSE = [[5.0, 11.0, 17.0], [11.0, 25.0, 39.0], [17.0, 39.0, 61.0]]
STORED = [[5.0, 0.0, 17.0], [0.0, 0.0, 39.0], [17.0, 0.0, 0.0]]
LEFT = [[9.0, 12.0, 15.0], [19.0, 26.0, 33.0], [29.0, 40.0, 51.0]]
OUTER = [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [3.0, 6.0, 9.0]]
PLUS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]
CALLS = {
    "@": (lambda s: s @ D, DENSE),
    "mm": (lambda s: torch.mm(s, D), DENSE),
    "addmm": (lambda s: torch.addmm(M, s, D), DENSE),
    "addmm, scaled": (lambda s: torch.addmm(M, s, D, beta=0.5, alpha=2), [[2 * v for v in row] for row in DENSE]),
    "twice": (lambda s: (s * 2) @ D, [[2 * v for v in row] for row in DENSE]),
    "halves": (lambda s: -(s / -2) @ D, [[v / 2 for v in row] for row in DENSE]),
    "transposed": (lambda s: s.t().t() @ D, DENSE),
    "from the left": (lambda s: D.t() @ s, LEFT),
    "mv": (lambda s: torch.mv(s, V), OUTER),
    "vector @": (lambda s: V @ s, OUTER),
    "linear": (lambda s: torch.nn.functional.linear(D.t(), s), [[9.0, 19, 29], [12, 26, 40], [15, 33, 51]]),
    "sum": (lambda s: s.sum(), [[1.0] * 3] * 3),
    "dense + sparse": (lambda s: torch.zeros(3, 3) + s, PLUS),
    "sparse.mm": (lambda s: torch.sparse.mm(s, D), STORED),
    "sparse.addmm": (lambda s: torch.sparse.addmm(M, s, D), STORED),
    "to_dense": (lambda s: s.to_dense(), [[1.0, 0, 3], [0, 0, 6], [7, 0, 0]]),
}


def leaf(layout):
    dense = torch.tensor([[1.0, 0, 2], [0, 0, 3], [4, 0, 0]])
    if layout == "not coalesced":
        places = torch.tensor([[0, 0, 1, 2, 0], [0, 2, 2, 0, 0]])
        return torch.sparse_coo_tensor(places, torch.tensor([0.5, 2, 3, 4, 0.5]), (3, 3)).requires_grad_()
    return dense.to_sparse(layout=layout).requires_grad_()


def weigh(out):
    return (out * torch.arange(1.0, 1 + out.numel()).reshape(out.shape)).sum()


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize("layout", [torch.sparse_coo, "not coalesced", torch.sparse_csr])
@pytest.mark.parametrize("name", CALLS)
def test_layout_and_numbers(name, layout, computed):
    call, expected = CALLS[name]
    s = leaf(layout)
    for times in (1, 2):  # the second one is added to the first
        weigh(call(s.clone() if computed else s)).backward()
        wanted = s.layout if name in ("sparse.mm", "sparse.addmm", "to_dense") else torch.strided
        assert s.grad.layout is wanted
        assert s.grad.to_dense().tolist() == [[times * v for v in row] for row in expected]
    (g,) = torch.autograd.grad(weigh(call(s)), s)
    assert g.layout is s.grad.layout and g.to_dense().tolist() == expected


def test_a_sparse_and_a_dense_gradient_add_up_dense():
    for calls in ((torch.sparse.mm, torch.mm), (torch.mm, torch.sparse.mm)):
        s = leaf(torch.sparse_coo)
        for call in calls:
            weigh(call(s, D)).backward()
        assert s.grad.tolist() == (torch.tensor(DENSE) + torch.tensor(STORED)).tolist()
    s = leaf(torch.sparse_coo)
    (weigh(torch.sparse.mm(s, D)) + weigh(s @ D)).backward()
    assert s.grad.tolist() == (torch.tensor(DENSE) + torch.tensor(STORED)).tolist()


def test_a_batch_of_matrices():
    dense = torch.tensor([[1.0, 0, 2], [0, 0, 3], [4, 0, 0]])
    s = torch.stack([dense, dense.t()]).to_sparse().requires_grad_()
    d = torch.stack([D, D]).requires_grad_()
    weigh(torch.bmm(s, d)).backward()
    second = [[23.0, 53, 83], [29, 67, 105], [35, 81, 127]]
    assert s.grad.tolist() == [DENSE, second]
    assert d.grad.tolist() == [[[21.0, 26], [0, 0], [11, 16]], [[29.0, 32], [33, 36], [28, 32]]]


def test_second_derivatives_reach_what_is_not_stored():
    s, x = leaf(torch.sparse_coo), leaf(torch.sparse_coo).detach().to_dense().requires_grad_()
    for m, product in ((s, torch.mm), (x, torch.mm)):
        d = D.clone().requires_grad_()
        (g,) = torch.autograd.grad(product(m, d).square().sum(), d, create_graph=True)
        g.square().sum().backward()
    torch.testing.assert_close(s.grad, x.grad)


def test_hooks_and_flags():
    s, seen = leaf(torch.sparse_coo), []
    s.register_hook(lambda g: seen.append(g) or g * 2)
    weigh(s @ D).backward()
    assert seen[0].tolist() == DENSE and s.grad.tolist() == [[2 * v for v in row] for row in DENSE]
    s.requires_grad = False
    assert not s.requires_grad and not (s @ D).requires_grad and not s.detach().requires_grad
    s.requires_grad_()
    with torch.no_grad():
        assert s.requires_grad and not (s @ D).requires_grad and s._values().tolist() == [1.0, 2.0, 3.0, 4.0]


def test_a_leaf_takes_no_memory_for_what_it_does_not_store():
    n = 1_000_000  # as a whole 4 TB
    s = torch.sparse_coo_tensor(torch.tensor([[0, n - 1], [1, 0]]), torch.ones(2), (n, n)).requires_grad_()
    out = torch.sparse.mm(s * 2, torch.ones(n, 1))
    out.sum().backward()
    assert s.grad.is_sparse and s.grad._values().tolist() == [2.0, 2.0]
