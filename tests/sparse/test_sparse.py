"""Sparse tensors as a program uses them: gradients of lookups, optimizers, files, and operators that refuse."""

import copy
import io
import pickle

import numpy as np
import pytest

import rushlight as torch


def _matrix():
    return torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))


def _table(sparse, values):
    table = torch.nn.Embedding.from_pretrained(torch.tensor(values), freeze=False, sparse=sparse)
    table(torch.tensor([1, 2, 1])).pow(2).sum().backward()
    return table


ROWS = [[1.0, 2.0], [3.0, -4.0], [0.5, 6.0], [7.0, 8.0]]


def test_a_lookup_has_a_sparse_gradient_equal_to_the_dense_one():
    dense, sparse = _table(False, ROWS), _table(True, ROWS)
    assert sparse.weight.grad.is_sparse and sparse.weight.grad.layout is torch.sparse_coo
    assert sparse.weight.grad.to_dense().tolist() == dense.weight.grad.tolist()
    for table in (dense, sparse):
        table(torch.tensor([3])).sum().backward()
        (table.weight.sum() + table(torch.tensor([0])).sum()).backward()
    assert not sparse.weight.grad.is_sparse
    assert sparse.weight.grad.tolist() == dense.weight.grad.tolist()


@pytest.mark.parametrize("make", [lambda p: torch.optim.SGD(p, 0.1), lambda p: torch.optim.Adagrad(p, 0.1)])
def test_optimizers_update_the_rows_in_use_as_dense_ones_do(make):
    results = []
    for sparse in (False, True):
        table = _table(sparse, ROWS)
        optimizer = make(table.parameters())
        for _ in range(3):
            optimizer.step()
            optimizer.zero_grad()
            table(torch.tensor([0, 2])).pow(3).sum().backward()
        results.append(table.weight.detach().numpy().copy())
    np.testing.assert_allclose(*results, rtol=1e-6)


def test_sparse_adam_moves_named_rows_only():
    table = _table(True, ROWS)
    optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.1)
    optimizer.step()
    moved = table.weight.detach() - torch.tensor(ROWS)
    expected = [[0, 0], [-0.1, 0.1], [-0.1, -0.1], [0, 0]]  # the first step of Adam has the size of lr
    np.testing.assert_allclose(moved.numpy(), expected, atol=1e-6)
    with pytest.raises(RuntimeError, match="does not support dense gradients"):
        table.weight.grad = torch.ones(4, 2)
        optimizer.step()


def test_other_optimizers_refuse():
    with pytest.raises(RuntimeError, match="Adam does not support sparse gradients"):
        torch.optim.Adam(_table(True, ROWS).parameters()).step()


def test_a_long_loop_over_a_lookup_stays_right():
    """The engine compiles backward passes that repeat; those with sparse gradients stay as they are."""
    table = torch.nn.Embedding(5, 2, sparse=True)
    for k in range(8):
        table.zero_grad()
        table(torch.tensor([k % 5, 1])).sum().backward()
        expected = np.zeros((5, 2))
        for row in (k % 5, 1):
            expected[row] += 1
        assert table.weight.grad.is_sparse and table.weight.grad.to_dense().tolist() == expected.tolist()


@pytest.mark.parametrize("make", [lambda: _matrix().coalesce(), lambda: _matrix().to_sparse_csr()])
def test_copies_and_files(make):
    s = make()
    file = io.BytesIO()
    torch.save({"s": s}, file)
    file.seek(0)
    for other in (pickle.loads(pickle.dumps(s)), copy.deepcopy(s), torch.load(file)["s"], s.clone(), s.detach()):
        assert other is not s and other.layout is s.layout and repr(other) == repr(s)


def test_a_custom_function_may_save_one():
    class Multiply(torch.autograd.Function):
        @staticmethod
        def forward(ctx, values, dense):
            s = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], values, (2, 3))
            ctx.save_for_backward(s, dense)
            return s @ dense

        @staticmethod
        def backward(ctx, g):
            s, dense = ctx.saved_tensors
            return g.matmul(dense.t())[s._indices()[0], s._indices()[1]], s.t() @ g

    v, d = torch.tensor([3.0, 4.0, 5.0], requires_grad=True), torch.ones(3, 2, requires_grad=True)
    Multiply.apply(v, d).sum().backward()
    assert v.grad.tolist() == [2.0, 2.0, 2.0] and d.grad.tolist() == [[4.0, 4.0], [0.0, 0.0], [8.0, 8.0]]


def test_gradients_by_differences():
    indices, d = torch.tensor([[0, 1, 1], [2, 0, 2]]), torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    v = torch.tensor([3.0, 4.0, 5.0], dtype=torch.float64, requires_grad=True)
    product = lambda v, d: torch.sparse.mm(torch.sparse_coo_tensor(indices, v, (2, 3)), d)  # noqa: E731
    assert torch.autograd.gradcheck(product, (v, d)) and torch.autograd.gradgradcheck(product, (v, d))


def test_a_leaf_has_a_sparse_grad():
    s = _matrix().coalesce().requires_grad_()
    assert s.is_leaf and s.requires_grad
    torch.sparse.mm(s, torch.ones(3, 1)).sum().backward()
    assert s.grad.is_sparse and s.grad._values().tolist() == [1.0, 1.0, 1.0]
    (g,) = torch.autograd.grad(torch.sparse.mm(s, torch.ones(3, 1)).sum(), s)
    assert g.is_sparse


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([[0, 2], [0, 0]], "size is 2 but found index 2"),
        ([[0, -1], [0, 0]], "negative index -1"),
        ([0, 1], "sparse_dim x nnz"),
    ],
)
def test_indices_are_checked(indices, message):
    with pytest.raises(RuntimeError, match=message):
        torch.sparse_coo_tensor(indices, [1.0, 2.0], (2, 3))


def test_old_constructors():
    with pytest.warns(UserWarning, match="is deprecated"):
        s = torch.sparse.FloatTensor(torch.tensor([[0], [1]]), torch.tensor([2.0]), torch.Size([2, 2]))
    assert s.type() == "torch.sparse.FloatTensor" and isinstance(s, torch.sparse.FloatTensor) and s[0, 1].item() == 2
    with pytest.warns(UserWarning, match="deprecated"):
        d = torch.sparse.FloatTensor(
            torch.tensor([[0], [1]]), torch.tensor([2.0], dtype=torch.float64), torch.Size([2, 2])
        )
    assert d.dtype is torch.float64  # the values' type, as in torch


# ---------------------------------------------------------------------------------------------- no silent dense result


def _calls():
    """Every operator that has samples, with the first tensor of a call made sparse."""
    from rushlight.testing.samples import covered, function_of

    seen = set()
    for name, sample in covered():
        args, kwargs = sample.make()
        if name not in seen and args and isinstance(args[0], torch.Tensor) and args[0].dim():
            seen.add(name)
            yield pytest.param(function_of(name), args, kwargs, id=name)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("function", "args", "kwargs"), list(_calls()))
def test_an_operator_gives_the_dense_result_or_refuses(function, args, kwargs):
    dense = copy.deepcopy(args)
    try:
        got = function(dense[0].to_sparse(), *dense[1:], **kwargs)
    except (NotImplementedError, RuntimeError, TypeError, IndexError, AttributeError):
        return
    expected = function(args[0], *args[1:], **kwargs)
    for a, b in zip(_flat(got), _flat(expected), strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a.to_dense().detach().numpy(), b.detach().numpy(force=True), atol=1e-9)


def _flat(value):
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in _flat(v)]
    return [value if isinstance(value, torch.Tensor) else torch.tensor(value)]


def test_row_numbers_become_row_starts_and_back():
    """What PyTorch Geometric asks of index tensors."""
    rows, columns = torch.tensor([0, 0, 2, 3, 3]), torch.tensor([1, 2, 0, 1, 4])
    starts = torch._convert_indices_from_coo_to_csr(rows, 5)
    assert starts.tolist() == [0, 2, 2, 3, 5, 5] and starts.dtype is torch.int64
    assert torch._convert_indices_from_coo_to_csr(rows, 5, out_int32=True).dtype is torch.int32
    assert torch._convert_indices_from_coo_to_csr(rows[:0], 2).tolist() == [0, 0, 0]
    places = torch._convert_indices_from_csr_to_coo(starts, columns)
    assert places.tolist() == [rows.tolist(), columns.tolist()]
    turned = torch._convert_indices_from_csr_to_coo(starts, columns, transpose=True)
    assert turned.tolist() == [columns.tolist(), rows.tolist()]
    for wrong in (torch.tensor([0, 5]), torch.tensor([1, 0]), torch.tensor([0.5]), torch.tensor([[0]])):
        with pytest.raises(RuntimeError, match="_convert_indices_from_coo_to_csr"):
            torch._convert_indices_from_coo_to_csr(wrong, 5)
    with pytest.raises(RuntimeError, match="crow_indices must rise from 0 to 4"):
        torch._convert_indices_from_csr_to_coo(starts, columns[:4])


@pytest.mark.parametrize("coalesced", [False, True])
def test_scaled_sums_in_place(coalesced):
    """`add_` and `sub_` with `alpha` asked for the strides of an array that there is none of."""
    s = torch.sparse_coo_tensor([[0, 2, 2]], torch.tensor([1.0, 2.0, 3.0]), (4,))
    s = s.coalesce() if coalesced else s
    a = s.clone()
    assert a.add_(s * s, alpha=0.5) is a
    assert a.to_dense().tolist() == [1.5, 0, 17.5, 0]  # torch's, as are the next
    assert a.sub_(s, alpha=2).to_dense().tolist() == [-0.5, 0, 7.5, 0]


def test_new_tensors_of_a_sparse_one():
    s = torch.sparse_coo_tensor([[0, 2, 2]], torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64), (4,))
    made = s.new(s._indices(), s._values().float(), s.size())
    assert made.dtype is torch.float32 and made.to_dense().tolist() == [1, 0, 5, 0]
    assert s.new(s._indices(), s._values()).shape == (3,)
    for empty, shape in ((s.new(), (0,)), (s.new(3, 2), (3, 2)), (s.new_zeros((3,)), (3,)), (s.new_empty(3), (3,))):
        assert empty.shape == shape and empty.is_sparse and empty.is_coalesced() and empty.dtype is torch.float64
    with pytest.raises(TypeError, match="sizes"):
        s.new([1, 2])


def test_ellipsis_and_nan_to_num():
    c = torch.tensor([[0.0, 0.0, 4.0], [torch.nan, 0.0, 5.0]]).to_sparse()
    assert c[..., 2].to_dense().tolist() == c.to_dense()[..., 2].tolist()
    assert c[0, ...].to_dense().tolist() == [0.0, 0.0, 4.0]
    assert c.nan_to_num().to_dense().tolist() == [[0.0, 0.0, 4.0], [0.0, 0.0, 5.0]]


def test_the_error_of_a_missing_operator_is_called_as_torchs():
    s = torch.eye(2).to_sparse()
    with pytest.raises(NotImplementedError, match="Could not run 'aten::equal'") as caught:
        torch.equal(s, s)
    assert caught.type.__name__ == "NotImplementedError" and caught.type.__module__ == "builtins"
