"""The largest and smallest eigenvalues of symmetric matrices by `lobpcg`."""

import pytest

import rushlight as torch


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("general", [True, False])
def test_pairs(largest, general):
    torch.manual_seed(0)
    a = torch.randn(12, 12, dtype=torch.float64)
    a, b = a + a.mT, torch.eye(12, dtype=torch.float64) + 0.1 * (a @ a.mT)
    values, vectors = torch.lobpcg(a, 3, b if general else None, largest=largest)
    expected = torch.linalg.eigvals(torch.linalg.solve(b, a) if general else a).real.sort(descending=largest)[0][:3]
    assert torch.allclose(values, expected)
    assert torch.allclose(a @ vectors, (b if general else torch.eye(12, dtype=torch.float64)) @ vectors * values)


def test_sparse_and_refusals():
    d = torch.diag(torch.arange(1.0, 10.0))
    assert torch.lobpcg(d.to_sparse(), 2)[0].tolist() == [9.0, 8.0]
    assert torch.lobpcg(d, X=torch.ones(9, 2))[1].shape == (9, 2)
    with pytest.raises(ValueError, match="smaller than 3 x"):
        torch.lobpcg(d, 4)
    with pytest.raises(ValueError, match="method"):
        torch.lobpcg(d, 1, method="x")
    with pytest.raises(NotImplementedError, match="tracker"):
        torch.lobpcg(d, 1, tracker=print)
