"""What rarely used names give: copies of views, results' memory, the order of checks."""

import re

import pytest

import rushlight as torch


def test_parts_of_complex_numbers_as_copies():
    z = torch.tensor([[1 + 2j, 3 - 1j]])
    real = torch.view_as_real_copy(z)
    assert real.tolist() == [[[1, 2], [3, -1]]] and not real._is_view()
    real[0, 0, 0] = 7
    assert z[0, 0] == 1 + 2j
    assert torch.view_as_complex_copy(real).tolist() == [[7 + 2j, 3 - 1j]]
    assert torch.view_as_real_copy(torch.ones(3, 2, dtype=torch.complex64).t()).is_contiguous()


def test_places_of_a_storage_with_gaps():
    x = torch.arange(12.0).reshape(3, 4)[::2]  # the first and third row
    r = torch.as_strided_scatter(x, torch.tensor([50.0]), (1,), (1,), 9)
    assert r.tolist() == [[0, 1, 2, 3], [8, 50, 10, 11]] and r.stride() == (8, 1) and not r._is_view()
    r = torch.as_strided_scatter(x, torch.tensor([50.0, 60.0]), (2,), (4,))
    assert r.tolist() == [[50, 1, 2, 3], [8, 9, 10, 11]]  # the second place is in the gap
    later = torch.arange(6.0)[2:]
    r = torch.as_strided_scatter(later, torch.tensor([9.0]), (1,), (1,))
    assert r.tolist() == [9, 3, 4, 5] and r.storage_offset() == 2
    assert later.tolist() == [2, 3, 4, 5]


def test_solutions_are_stored_by_columns():
    a = torch.tensor([[4.0, 1, 0], [1, 5, 2], [0, 2, 6]])
    lu, ldl, b = torch.linalg.lu_factor(a), torch.linalg.ldl_factor(a), torch.ones(3, 2)
    for x in (torch.linalg.lu_solve(*lu, b), torch.lu_solve(b, *lu), torch.linalg.ldl_solve(*ldl, b)):
        assert x.stride() == (1, 3) and torch.allclose(a @ x, b)
    assert torch.linalg.lu_solve(*lu, b.t(), left=False).stride() == (3, 1)
    assert torch.linalg.solve(a, b[:, :1]).stride() == (1, 3)


def test_levels_are_contiguous_or_channels_last():
    x = torch.randn(3, 2).t()
    q = torch.quantize_per_tensor(x, 0.1, 0, torch.quint8)
    assert q.stride() == q.int_repr().stride() == q.dequantize().stride() == (3, 1)
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    assert torch.quantize_per_tensor(x, 0.1, 0, torch.quint8).int_repr().stride() == (60, 1, 15, 3)
    ones, zeros = torch.ones(2), torch.zeros(2, dtype=torch.int64)
    assert torch.quantize_per_channel(x, ones, zeros, 0, torch.qint8).int_repr().stride() == (60, 20, 5, 1)


Z = torch.zeros


@pytest.mark.parametrize(
    ("target", "index", "source", "kind", "message"),
    [
        (Z(3, dtype=torch.float64), [0], Z(2, 2), IndexError, "their dimensionality must match. Source dimensionality (2)"),
        (Z(3, 2), [0], Z(3, 2, dtype=torch.float64), RuntimeError, "got (self) Float and (source) Double"),
        (Z(3, 2), [0.0], Z(1, 3), RuntimeError, "Expected a long tensor for index, but got Float"),
        (Z(3, 2), [0], Z(2, 3), RuntimeError, "Destination slice shape: 2 at dimension 0 and source slice shape: 3 at dimension 0."),
        (Z(3, 2), [0], Z(3, 2), IndexError, "Number of indices (1) should be equal to source.size(dim) (3)"),
        (Z(3, 2), [[0]], Z(1, 2), IndexError, "Index should have dimension 1 or 0 (got 2)"),
        (Z(3, 2), [7], Z(1, 2), IndexError, "index 7 is out of bounds for dimension 0 with size 3"),
        (Z(3, 2), [0, 1], Z(()), IndexError, "When source is scalar, index should have one element (got 2)"),
    ],
)  # fmt: skip
def test_index_copy_checks_in_torchs_order(target, index, source, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        torch.index_copy(target, 0, torch.tensor(index), source)


def test_products_with_a_sparse_second_matrix():
    s = torch.eye(3).to_sparse()
    with pytest.raises(RuntimeError, match="expected 'mat2' to have strided layout, got 'mat2' with layout Sparse"):
        torch.smm(s, s)
    with pytest.raises(RuntimeError, match="can only be called on sparse tensors"):
        torch.smm(torch.eye(3), torch.eye(3))
    assert torch.smm(s, torch.ones(3, 2)).to_dense().tolist() == [[1, 1]] * 3
    assert torch.sspaddmm(s, s, torch.ones(3, 3)).to_dense().tolist()[0] == [2, 1, 1]


@pytest.mark.parametrize(
    ("shape", "strides", "order"),
    [
        ((2, 1, 2, 3), (3, 1, 2, 2), (0, 3, 2, 1)), ((3, 2, 1), (6, 0, 6), (0, 1, 2)), ((3, 1), (0, 3), (0, 1)),
        ((2, 3), (1, 2), (1, 0)), ((2, 1), (0, 2), (0, 1)),
    ],
)  # fmt: skip
def test_order_of_dimensions_with_equal_steps(shape, strides, order):
    assert torch.zeros(99).as_strided(shape, strides).dim_order() == order
