"""Calls in place write where they are told to: without a copy of the whole tensor, and not at all where they raise."""

import tracemalloc

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F

N = 1 << 18
PLACES = torch.tensor([3, 7, 7, N - 1])
VALUES = torch.tensor([1.0, 2.0, 4.0, 8.0])
ROWS, ROW_VALUES = torch.tensor([5, 1, 5]), torch.arange(3 * 512.0).reshape(3, 512)
SPARSE = torch.sparse_coo_tensor(ROWS[None], ROW_VALUES, (512, 512))

CALLS = {
    "index_add_": lambda x: x.view(512, 512).index_add_(0, ROWS, ROW_VALUES, alpha=2),
    "index_copy_": lambda x: x.view(512, 512).index_copy_(0, ROWS[:2], ROW_VALUES[:2]),
    "index_fill_": lambda x: x.view(512, 512).index_fill_(0, ROWS, 3.0),
    "index_reduce_": lambda x: x.view(512, 512)[:, :2].index_reduce_(0, ROWS, ROW_VALUES[:, :2], "amax"),
    "scatter_": lambda x: x.scatter_(0, PLACES[1:], VALUES[1:]),
    "scatter_ of a number": lambda x: x.scatter_(0, PLACES, 9.0),
    "scatter_ multiplied": lambda x: x.scatter_(0, PLACES, 3.0, reduce="multiply"),
    "scatter_add_": lambda x: x.scatter_add_(0, PLACES, VALUES),
    "scatter_reduce_": lambda x: x.scatter_reduce_(0, PLACES, VALUES, "sum", include_self=False),
    "index_put_": lambda x: x.index_put_((PLACES[1:],), VALUES[1:]),
    "index_put_ added": lambda x: x.index_put_((PLACES,), VALUES, accumulate=True),
    "x[places] = values": lambda x: x.__setitem__(PLACES[1:], VALUES[1:]),
    "put_": lambda x: x.put_(PLACES, VALUES, accumulate=True),
    "add_ of sparse": lambda x: x.view(512, 512).add_(SPARSE),
    "add_ of sparse to a parameter": lambda x: _as_parameter(x).add_(SPARSE),
    "clamp_": lambda x: x.clamp_(-0.5, 0.5),
    "clamp_min_": lambda x: x.clamp_min_(0.25),
    "clamp_max_": lambda x: x.clamp_max_(0.0),
    "relu_": lambda x: x.relu_(),
    "relu inplace": lambda x: F.relu(x, inplace=True),
}


def _as_parameter(x):
    p = nn.Parameter(torch.empty(0))
    p.data = x.view(512, 512)
    return p


def _numbers():
    return torch.linspace(-1, 1, N)


@pytest.mark.parametrize("name", CALLS)
def test_no_copy_is_made(name):
    x = _numbers()
    address = x.data_ptr()
    with torch.no_grad():
        CALLS[name](x)  # whatever is imported and made once
        tracemalloc.start()
        try:
            CALLS[name](x)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert x.data_ptr() == address
    assert peak < x.nbytes // 4


OUT_OF_PLACE = {
    "index_add_": lambda x: x.view(512, 512).index_add(0, ROWS, ROW_VALUES, alpha=2),
    "index_copy_": lambda x: x.view(512, 512).index_copy(0, ROWS[:2], ROW_VALUES[:2]),
    "index_fill_": lambda x: x.view(512, 512).index_fill(0, ROWS, 3.0),
    "scatter_": lambda x: x.scatter(0, PLACES[1:], VALUES[1:]),
    "scatter_ of a number": lambda x: x.scatter(0, PLACES, 9.0),
    "scatter_ multiplied": lambda x: x.scatter(0, PLACES, 3.0, reduce="multiply"),
    "scatter_add_": lambda x: x.scatter_add(0, PLACES, VALUES),
    "scatter_reduce_": lambda x: x.scatter_reduce(0, PLACES, VALUES, "sum", include_self=False),
    "index_put_": lambda x: x.index_put((PLACES[1:],), VALUES[1:]),
    "index_put_ added": lambda x: x.index_put((PLACES,), VALUES, accumulate=True),
    "put_": lambda x: x.put(PLACES, VALUES, accumulate=True),
    "add_ of sparse": lambda x: x.view(512, 512) + SPARSE,
    "clamp_": lambda x: x.clamp(-0.5, 0.5),
    "clamp_min_": lambda x: x.clamp_min(0.25),
    "clamp_max_": lambda x: x.clamp_max(0.0),
    "relu_": lambda x: x.relu(),
}


@pytest.mark.parametrize("name", OUT_OF_PLACE)
def test_the_result_is_that_of_the_call_out_of_place(name):
    x = _numbers()
    expected = OUT_OF_PLACE[name](_numbers())
    version = x._version
    CALLS[name](x)
    assert torch.equal(x.view(expected.shape), expected)
    assert x._version == version + 1
    assert not torch.equal(x, _numbers())


@pytest.mark.parametrize("name", sorted(OUT_OF_PLACE.keys() - {"scatter_ multiplied"}))  # which has none
def test_the_gradient_is_that_of_the_call_out_of_place(name):
    leaf, other = _numbers().requires_grad_(), _numbers().requires_grad_()
    weight = torch.linspace(0, 2, N)
    y = leaf * 1
    CALLS[name](y)
    (y * weight).sum().backward()
    (OUT_OF_PLACE[name](other * 1).reshape(-1) * weight).sum().backward()
    assert torch.equal(leaf.grad, other.grad)


BEYOND = torch.tensor([0, 1, N])
REFUSED = {
    "index_add_": lambda x: x.index_add_(0, BEYOND, VALUES[:3]),
    "index_copy_": lambda x: x.index_copy_(0, BEYOND, VALUES[:3]),
    "index_fill_": lambda x: x.index_fill_(0, BEYOND, 1.0),
    "scatter_": lambda x: x.scatter_(0, BEYOND, VALUES[:3]),
    "scatter_add_": lambda x: x.scatter_add_(0, BEYOND, VALUES[:3]),
    "scatter_reduce_": lambda x: x.scatter_reduce_(0, BEYOND, VALUES[:3], "prod"),
    "index_put_": lambda x: x.index_put_((BEYOND,), VALUES[:3]),
    "index_put_ added": lambda x: x.index_put_((BEYOND,), VALUES[:3], accumulate=True),
    "index_put_ of another shape": lambda x: x.index_put_((PLACES,), VALUES[:3]),
    "x[places] = values": lambda x: x.__setitem__(BEYOND, VALUES[:3]),
    "put_": lambda x: x.put_(BEYOND, VALUES[:3]),
    "sizes differ": lambda x: x.index_add_(0, PLACES, VALUES[:3]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_raises_writes_nothing(name):
    x = _numbers()
    with pytest.raises((RuntimeError, IndexError)):
        REFUSED[name](x)
    assert torch.equal(x, _numbers())
    x.scatter_add_(0, PLACES, VALUES)  # the next call finds nothing left behind
    assert torch.equal(x, _numbers().scatter_add(0, PLACES, VALUES))


def test_a_source_in_the_same_memory_is_read_before_it_is_written():
    x = torch.arange(8.0)
    x.index_add_(0, torch.tensor([1, 2, 3]), x[:3].clone())
    y = torch.arange(8.0)
    y[torch.tensor([1, 2, 3])] = y[:6:2]
    assert x.tolist() == [0, 1, 3, 5, 4, 5, 6, 7]
    assert y.tolist() == [0, 0, 2, 4, 4, 5, 6, 7]


def test_compiled_steps_write_the_same():
    def step(x, places, values):
        x.scatter_add_(0, places, values)
        x.index_fill_(0, places[:1], 0.5).clamp_min_(-0.75)
        return x.sum()

    compiled, x, y = torch.compile(step), _numbers(), _numbers()
    for _ in range(5):
        assert torch.isclose(compiled(x, PLACES, VALUES), step(y, PLACES, VALUES))
        assert torch.equal(x, y)
