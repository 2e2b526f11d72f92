"""NumPy's words for `dim` and `keepdim`, which torch takes as well."""

import pytest

import rushlight as torch

KEEPING = [
    "sum",
    "mean",
    "prod",
    "var",
    "std",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "all",
    "any",
    "median",
    "mode",
    "logsumexp",
    "nansum",
    "nanmean",
    "aminmax",
]
ALONG = [
    "cumsum",
    "cumprod",
    "cummax",
    "logcumsumexp",
    "softmax",
    "log_softmax",
    "sort",
    "argsort",
    "squeeze",
    "unsqueeze",
    "unbind",
]


def flat(result):
    return [t.tolist() for t in result] if isinstance(result, (tuple, list)) else result.tolist()


@pytest.mark.parametrize("name", KEEPING)
def test_axis_and_keepdims(name):
    x = torch.tensor([[3.0, 1.0, 2.0], [1.0, 1.0, 5.0]])
    for call in (getattr(torch, name), getattr(torch.Tensor, name)):
        assert flat(call(x, axis=1)) == flat(call(x, dim=1))
        assert flat(call(x, axis=1, keepdims=True)) == flat(call(x, dim=1, keepdim=True))


@pytest.mark.parametrize("name", ALONG)
def test_axis(name):
    x = torch.tensor([[3.0, 1.0, 2.0], [1.0, 1.0, 5.0]])
    for call in (getattr(torch, name), getattr(torch.Tensor, name)):
        assert flat(call(x, axis=0)) == flat(call(x, dim=0)) == flat(call(x, 0))


def test_others():
    x = torch.arange(6.0).reshape(2, 3)
    assert flat(torch.stack([x, x], axis=1)) == flat(torch.stack([x, x], 1))
    assert flat(torch.cat([x, x], axis=1)) == flat(torch.cat([x, x], 1))
    assert flat(x.chunk(3, axis=1)) == flat(x.chunk(3, 1))
    assert flat(torch.topk(x, 2, axis=1)) == flat(torch.topk(x, 2, 1))
    assert flat(torch.quantile(x, 0.5, axis=0, keepdims=True)) == flat(torch.quantile(x, 0.5, 0, True))
    assert flat(torch.var_mean(x, axis=0)) == flat(torch.var_mean(x, 0))


def test_one_of_both_words_is_needed():
    with pytest.raises(TypeError, match=r'cumsum\(\) missing 1 required positional arguments: "dim"'):
        torch.cumsum(torch.ones(2))
