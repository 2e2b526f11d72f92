"""Rows and elements of matrices in compressed form."""

import pytest

import rushlight as rl


@pytest.mark.parametrize("to", ["to_sparse_csr", "to_sparse_csc"])
def test_a_row_of_a_compressed_matrix_is_a_sparse_vector(to):
    dense = rl.ones(3, 3).triu()
    matrix = getattr(dense, to)()
    assert matrix[1].layout is rl.sparse_coo
    assert matrix[1].to_dense().tolist() == [0.0, 1.0, 1.0]
    assert matrix[1, 2].item() == 1.0
    with pytest.raises(NotImplementedError, match="slicing"):
        matrix[0:2]
