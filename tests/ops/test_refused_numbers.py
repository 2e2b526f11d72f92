"""Numbers that an operator cannot take, and which of several errors comes first: as torch 2.13 raises."""

import pytest

import rushlight as torch
import rushlight.nn.functional as F

INF, NAN, LONG = float("inf"), float("nan"), 2**64
ONES = torch.ones(2, 2)


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.norm(torch.ones(2), LONG),
        lambda: torch.norm(torch.ones(2), -LONG),
        lambda: torch.linalg.norm(ONES, LONG),
        lambda: torch.linalg.matrix_norm(ONES, LONG),
        lambda: torch.linalg.vector_norm(ONES, LONG),
        lambda: torch.linalg.cond(ONES, LONG),
        lambda: torch.renorm(ONES, LONG, 0, 1.0),
        lambda: torch.renorm(ONES, 2, 0, LONG),
        lambda: torch.dist(ONES, ONES, LONG),
        lambda: F.normalize(ONES, LONG),
        lambda: torch.bucketize(LONG, torch.tensor([1, 2])),
        lambda: torch.searchsorted(torch.tensor([1, 2]), LONG),
    ],
)
def test_integers_beyond_64_bits_overflow(call):
    with pytest.raises(OverflowError, match=r"int too big to convert|can't convert negative int to unsigned"):
        call()


def test_where_torch_reads_a_double_they_do_not():
    assert F.pairwise_distance(ONES, ONES, LONG).tolist() == [0.0, 0.0]
    assert F.pdist(ONES, LONG).tolist() == [0.0]
    assert torch.cdist(ONES, ONES, LONG).tolist() == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    "value, kind, place", [(-1, "uint8", 3), (300, "uint8", 2), (128, "int8", 0), (2.5, "int64", 2)]
)
def test_numbers_are_sought_as_elements_of_the_boundaries_type(value, kind, place):
    boundaries = torch.tensor([1, 2, 100], dtype=getattr(torch, kind))
    assert torch.bucketize(value, boundaries).item() == torch.searchsorted(boundaries, value).item() == place


@pytest.mark.parametrize(
    "call, kind, words",
    [
        (lambda: F.rrelu(ONES, 0.0, INF), RuntimeError, "rrelu: upper bound must be finite, got inf"),
        (lambda: F.rrelu(ONES, NAN, 1.0, True), RuntimeError, "rrelu: lower bound must be finite, got nan"),
        (lambda: F.rrelu(ONES, 0.0, 1e39, True), RuntimeError, "type float without overflow"),
        (lambda: F.rrelu(ONES.half(), 0.0, 0.5, True), NotImplementedError, "rrelu_with_noise_out_cpu"),
        (lambda: F.gaussian_nll_loss(*[ONES.half()] * 3, eps=7e4), RuntimeError, "c10::Half without overflow"),
        (lambda: F.gaussian_nll_loss(*[ONES.bfloat16()] * 3, eps=1e39), RuntimeError, "c10::BFloat16 without overflow"),
        (lambda: F.gaussian_nll_loss(*[ONES] * 3, eps="a"), TypeError, "clamp_"),
        (lambda: torch.cdist(ONES, ONES, NAN), RuntimeError, "cdist only supports non-negative p values"),
        (lambda: F.pdist(ONES, NAN), RuntimeError, "pdist only supports non-negative p values"),
        (lambda: F.pad(torch.ones(1, 1, 5), (5, -1), "circular"), RuntimeError, "single memory location"),
        (lambda: F.pad(torch.ones(1, 1, 5), (-2, 4), "circular"), RuntimeError, "single memory location"),
        (lambda: torch.renorm(ONES, 1j, 0, 1.0), RuntimeError, "renorm: p must be real-valued"),
    ],
)
def test_numbers_without_a_result(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def test_infinite_slopes_where_torch_takes_them():
    assert F.rrelu_(torch.ones(2), 0.0, INF, True).tolist() == [1.0, 1.0]
    assert F.rrelu_(-torch.ones(2), 0.0, INF, False).tolist() == [-INF, -INF]
    assert F.pad(torch.arange(5.0)[None, None], (4, -1), "circular").tolist() == [[[0.0, 1, 2, 3] * 2]]


@pytest.mark.parametrize(
    "call, kind, words",
    [
        (lambda x, i: torch.index_add(x, 5, x, x), IndexError, "Dimension out of range"),
        (lambda x, i: x.scatter(1, i[:0], x[:0]), IndexError, "Dimension out of range"),
        (lambda x, i: x.scatter(1, i[:0], 1.0), IndexError, "Dimension out of range"),
        (lambda x, i: x.scatter_add(1, i[:0], x[:0]), IndexError, "Dimension out of range"),
        (lambda x, i: x.scatter_reduce(1, i[:0], x[:0], "mean"), IndexError, "Dimension out of range"),
        (lambda x, i: torch.split_with_sizes(x[0], [1]), RuntimeError, "split expects at least a 1-dimensional tensor"),
        (lambda x, i: i.mean(5), RuntimeError, r"mean\(\): could not infer output dtype. Input dtype"),
        (lambda x, i: x.mean(5, dtype=torch.int32), RuntimeError, "Optional dtype must be .* Got: Int"),
        (lambda x, i: i.std(5), RuntimeError, "std and var only support"),
        (lambda x, i: torch.var_mean(i, 5), RuntimeError, "var_mean only support"),
        (lambda x, i: torch.renorm(x, -1, 5, 1.0), RuntimeError, "renorm: non-positive-norm"),
        (lambda x, i: torch.movedim(x, (0, 5), (0,)), RuntimeError, r"movedim: .* source \(\[0, 5\] dims\)"),
    ],
)
def test_which_error_comes_first(call, kind, words):
    with pytest.raises(kind, match=words):
        call(torch.ones(2), torch.ones(2, dtype=torch.int64))
