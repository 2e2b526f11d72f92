"""A bool is no size for torch, nor a dim, where it is the first of a list; those after it are not looked at."""

import pytest

import rushlight as torch

X = torch.ones(2, 3)
CALLS = {
    "sum_to_size": lambda size: X.sum_to_size(size),
    "expand": lambda size: X[:1, :1].expand(size),
    "view": lambda size: X.view(size),
    "zeros": lambda size: torch.zeros(size),
    "new_zeros": lambda size: X.new_zeros(size),
    "repeat": lambda size: X.repeat(size),
    "flip": lambda size: X.flip(size),
    "sum": lambda size: X.sum(size),
}


@pytest.mark.parametrize("name", CALLS)
def test_first(name):
    with pytest.raises(TypeError):
        CALLS[name]([True, True])
    with pytest.raises(TypeError):
        CALLS[name]((True,))


def test_later():
    assert torch.zeros([2, True]).shape == (2, 1)
    assert X.repeat((1, True)).shape == (2, 3)
    assert X.sum([0, True]).shape == ()
