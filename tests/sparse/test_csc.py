"""Sparse matrices by columns: parts, printed form, operators, gradients and files, as torch 2.13 has them."""

import copy
import io

import pytest

import rushlight as torch

DENSE = torch.tensor([[1.0, 0, 2], [0, 0, 3], [4, 5, 0], [0, 6, 0]])


def test_parts_and_printed_form():
    s = DENSE.to_sparse_csc()
    assert repr(s) == (
        "tensor(ccol_indices=tensor([0, 2, 4, 6]),\n       row_indices=tensor([0, 2, 2, 3, 0, 1]),\n"
        "       values=tensor([1., 4., 5., 6., 2., 3.]), size=(4, 3), nnz=6,\n       layout=torch.sparse_csc)"
    )
    assert s.layout is torch.sparse_csc and not s.is_sparse and not s.is_sparse_csr and s._nnz() == 6
    with pytest.raises(
        RuntimeError, match="crow_indices expected sparse row compressed tensor layout but got SparseCsc"
    ):
        s.crow_indices()
    with pytest.raises(
        RuntimeError, match="ccol_indices expected sparse column compressed tensor layout but got Strided"
    ):
        DENSE.ccol_indices()


def test_forms_go_over_into_each_other():
    s = DENSE.to_sparse_csc()
    for other in (
        s,
        s.to_sparse_csr(),
        s.to_sparse(),
        DENSE.to_sparse_csr().to_sparse_csc(),
        DENSE.to_sparse(layout=torch.sparse_csc),
    ):
        assert torch.equal(other.to_dense(), DENSE)
    assert s.t().layout is torch.sparse_csr and torch.equal(s.t().to_dense(), DENSE.t())
    assert DENSE.to_sparse_csr().t().layout is torch.sparse_csc


def test_operators_keep_the_layout():
    s = DENSE.to_sparse_csc()
    for made, expected in (
        (s * 2, DENSE * 2),
        (s + s, DENSE * 2),
        (-s, -DENSE),
        (s.sin(), DENSE.sin()),
        (s.double(), DENSE),
    ):
        assert made.layout is torch.sparse_csc and made.to_dense().float().equal(expected)
    x = torch.ones(3, 2)
    assert (s @ x).equal(DENSE @ x) and (s @ x[:, 0]).equal(DENSE @ x[:, 0])
    assert (torch.ones(2, 4) @ s).equal(torch.ones(2, 4) @ DENSE) and s.sum().item() == 21
    assert torch.addmm(torch.ones(4, 2), s, x).equal(DENSE @ x + 1)


def test_gradients_flow_to_the_entries():
    x = DENSE.clone().requires_grad_()
    x.to_sparse_csc().to_dense().sum().backward()
    assert x.grad.equal((DENSE != 0).float())
    s = DENSE.to_sparse_csc().requires_grad_()
    (s * 3).to_dense().sum().backward()
    assert s.grad.layout is torch.sparse_csc and s.grad.values().tolist() == [3.0] * 6


def test_constructors_check_the_parts():
    parts = torch.tensor([0, 1, 2]), torch.tensor([0, 1]), torch.tensor([1.0, 2.0])
    for made in (torch.sparse_csc_tensor(*parts), torch.sparse_compressed_tensor(*parts, layout=torch.sparse_csc)):
        assert made.to_dense().tolist() == [[1.0, 0.0], [0.0, 2.0]]
    with pytest.raises(
        RuntimeError, match=r"ccol_indices\.shape\[-1\] must be equal to the number of columns \+ 1 as 4"
    ):
        torch.sparse_csc_tensor(*parts, (2, 3))
    with pytest.raises(RuntimeError, match="0 <= row_indices < nrows"):
        torch.sparse_csc_tensor(torch.tensor([0, 1]), torch.tensor([5]), torch.ones(1), (2, 1))
    with pytest.raises(NotImplementedError, match="sparse_csr and sparse_csc"):
        torch.sparse_compressed_tensor(*parts, layout=torch.strided)


def test_copies_and_files():
    s = DENSE.to_sparse_csc()
    assert copy.deepcopy(s).to_dense().equal(DENSE) and s.clone().to_dense().equal(DENSE)
    file = io.BytesIO()
    torch.save(s, file)
    file.seek(0)
    again = torch.load(file)
    assert again.layout is torch.sparse_csc and again.to_dense().equal(DENSE)


def test_zeros_like_keeps_the_layout():
    x = torch.tensor([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]])
    for layout in (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc):
        zeros = torch.zeros_like(x.to_sparse(layout=layout))
        assert zeros.layout is layout and zeros.shape == (2, 3) and zeros._nnz() == 0


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
def test_a_compiled_function_gets_the_entries_of_each_call():
    """A capture is told of matrices by columns, as of those by rows."""
    compiled = torch.compile(lambda values: torch.sparse_csc_tensor(ccol, row, values, (2, 3)).to_dense() * 2)
    ccol, row = torch.tensor([0, 1, 2, 3]), torch.tensor([1, 0, 1])
    for n in range(6):
        values = torch.tensor([1.0, 2.0, 3.0]) + n
        assert compiled(values).tolist() == [[0, 2 * (2 + n), 0], [2 * (1 + n), 0, 2 * (3 + n)]]
