"""Writes by index whose values are in the memory that is written follow the order of the strides. Numbers from torch 2.13."""

import rushlight as torch


def memory():
    return (torch.arange(60) * 37 % 41) - 15


def test_by_index():
    b = memory()
    x, y = b.as_strided((3, 3), (4, 1), 28), b.as_strided((3, 3), (1, 3), 29)
    x[torch.tensor([2, 0, 1])] = y
    assert x.tolist() == [[-12, 17, -8], [25, 13, 25], [-8, 25, 9]]


def test_by_index_copy():
    b = memory()
    x, y = b.as_strided((3, 3), (1, 1), 29), b.as_strided((3, 3), (1, 3), 20)
    x.index_copy_(0, torch.tensor([0, 1, 2]), y)
    assert x.tolist() == [[-13, 16, 4], [16, 4, 0], [4, 0, -4]]


def test_a_source_with_gaps_is_read_before_a_mask_writes():
    b = memory()
    x, y = b[20:29].view(3, 3), b.as_strided((3, 3), (6, 2), 19)
    x.masked_scatter_(torch.arange(9).view(3, 3) > 3, y)
    assert x.tolist() == [[-13, 24, 20], [16, -9, 24], [16, 8, 0]]
