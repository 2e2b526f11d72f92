"""Numbers that a type cannot hold, histograms between edges in disorder, and types that single kernels lack."""

import pytest

import rushlight as torch
import rushlight.nn.functional as F


def test_large_integers_in_bfloat16():
    zero = torch.zeros(1, dtype=torch.bfloat16)
    for r in (
        torch.full((1,), 2**63, dtype=torch.bfloat16),
        zero + 2**63,
        zero.clone().fill_(2**63),
        zero.clamp(2**63),
    ):
        assert r.tolist() == [2.0**63]


def test_integers_that_no_type_of_64_bits_holds():
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        torch.zeros(2)[0] = 2**63
    with pytest.raises(RuntimeError, match="attempted to promote Bool and UInt64"):
        torch.zeros(1, dtype=torch.bool) + 2**63
    with pytest.raises(RuntimeError, match="uint8_t without overflow"):
        F.pad(torch.ones(1, dtype=torch.uint8), (1, 0), value=-129)


def test_edges_in_disorder():
    """A bin is searched for by halving, as in torch."""
    edges = torch.tensor([0.0, 0.7, 0.5, 1.0])
    x = torch.tensor([0.1, 0.55, 0.6, 0.9])
    assert torch.histogram(x, edges).hist.tolist() == [1.0, 0.0, 3.0]
    hist = torch.histogramdd(x.unsqueeze(1), [edges]).hist
    assert hist.tolist() == [1.0, 0.0, 3.0]


def test_transposed_convolution_of_integers():
    x, w = torch.ones(1, 2, 3, 3, dtype=torch.int64), torch.ones(2, 2, 2, 2, dtype=torch.int64)
    assert F.conv_transpose2d(x, w).sum().item() == 144
    with pytest.raises(NotImplementedError, match="'Int'"):
        F.conv_transpose2d(x.int(), w.int())


def test_distances_in_bfloat16():
    few, many = torch.ones(2, 4, dtype=torch.bfloat16), torch.zeros(30, 4, dtype=torch.bfloat16)
    with pytest.raises(NotImplementedError, match="\"cdist\" not implemented for 'BFloat16'"):
        torch.cdist(few, few)
    assert torch.cdist(few, many).dtype is torch.bfloat16
    assert torch.cdist(few, many).unique().tolist() == [2.0]


def test_sum_to_no_dimensions_is_a_sum():
    assert torch.tensor(True).sum_to_size(()).dtype is torch.int64


def test_results_that_do_not_fit_in_place():
    few = torch.ones(1)
    with pytest.raises(
        RuntimeError, match=r"Bad in-place call: input tensor size \[1\] and output tensor size \[5, 4\]"
    ):
        few.addmm_(torch.ones(5, 3), torch.ones(3, 4))
    with pytest.raises(RuntimeError, match="expand"):
        few.bernoulli_(torch.full((5, 4), 0.5))


def test_a_least_common_multiple_that_does_not_fit_is_wrapped_before_its_size_is_taken():
    for kind, expected in ((torch.int16, -2), (torch.int32, 2), (torch.int64, 2)):
        largest = torch.tensor([torch.iinfo(kind).max], dtype=kind)
        assert torch.lcm(largest, torch.tensor([-2], dtype=kind)).tolist() == [expected]
    lowest = torch.tensor([torch.iinfo(torch.int32).min, 0, 12], dtype=torch.int32)
    assert torch.lcm(lowest, torch.tensor([3, 0, -18], dtype=torch.int32)).tolist() == [-(2**31), 0, 36]
