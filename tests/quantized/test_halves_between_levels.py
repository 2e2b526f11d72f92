"""Values halfway between two levels, recorded from torch 2.13: the sum with the zero point is what is rounded."""

import rushlight as torch


def test_per_channel():
    x = torch.tensor([[0.1, -0.5, 2.1], [-3.1, 0.5, -0.5]])
    q = torch.quantize_per_channel(x, torch.tensor([0.2, 0.2]), torch.tensor([0, 3]), 0, torch.qint8)
    assert q.int_repr().tolist() == [[0, -2, 10], [-12, 6, 0]]
