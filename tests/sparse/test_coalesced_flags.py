"""Which sparse tensors count as coalesced; the flags are torch 2.13's."""

import pytest

import rushlight as torch


def matrix(n):
    places = torch.tensor([[0, 1, 1][:n], [2, 0, 3][:n]]).reshape(2, n)
    return torch.sparse_coo_tensor(places, torch.ones(n), (4, 4))


@pytest.mark.parametrize(("n", "coalesced"), [(0, True), (1, True), (2, False), (3, False)])
def test_at_most_one_element_is_coalesced(n, coalesced):
    s = matrix(n)
    assert s.is_coalesced() is s.clone().is_coalesced() is (s * 2).is_coalesced() is coalesced
    places = s._indices()
    assert not torch.sparse_coo_tensor(places, s._values(), (4, 4), is_coalesced=False).is_coalesced()
    assert torch.sparse_coo_tensor((3, 3)).is_coalesced()


@pytest.mark.parametrize(
    "make",
    [
        lambda s: torch.cat([s, s]), lambda s: torch.stack([s, s]), lambda s: s.unsqueeze(0), lambda s: s[1],
        lambda s: s.index_select(0, torch.tensor([1, 0])), lambda s: torch.hspmm(s, torch.ones(4, 2)),
    ],
)  # fmt: skip
def test_parts_and_joins_are_not_coalesced(make):
    whole = matrix(3).coalesce()
    assert not make(whole).is_coalesced()
    assert make(whole).to_dense().equal(make(whole).coalesce().to_dense())
