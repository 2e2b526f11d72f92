"""Where a mask is true is looked at in each run: captured calls whose masks are true nowhere say nothing about later ones."""

import warnings

import pytest

import rushlight as torch
from rushlight import nn


def _put_number(x):
    y = x * 2
    y[y < 0] = 0
    return y


def _put_tensor(x):
    y = x * 2
    y[y < 0] = y.max()
    return y


def _put_columns(x):
    y = x * 2
    y[:, y[0] < 0] = 7.0
    return y


def _put_rows(x):
    y = x * 2
    y[y[:, 0] < 0, ...] = 7.0
    return y


def _put_values(x):
    y = x * 2
    y[y < 0] = -x[x < 0]
    return y


def _put_several(x):
    y = x * 2
    y[y[:, 0] < 0, 1:] = 3.0
    return y


def _add_to(x):
    y = x * 2
    y[y < 0] += 1
    return y


def _columns(x):
    return x[:, x[0] < 0].sum()


def _placed(x):
    return torch.index_put(x, (x < 0,), torch.tensor(5.0))


def _placed_in_place(x):
    return (x * 1).index_put_((x < 0,), torch.tensor(5.0))


def _placed_several(x):
    return torch.index_put(x * 1, (x[:, 0] < 0, torch.tensor(1)), torch.tensor(5.0))


def _counted(x):
    return torch.nonzero_static(x < 0, size=3)


def _selected(x):
    return torch.masked_select(x, x < 0).sum()


def _copied(x):
    return (x * 1).masked_scatter_(x < 0, torch.arange(8.0))


def _where_places(x):
    return x.index_put(torch.where(x < 0), torch.tensor(3.0))


class _OfFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        g = g.clone()
        g[x < 0] = 0
        return g


def _gradient(x):
    x = x.detach().requires_grad_()
    _OfFunction.apply(x).sum().backward()
    return x.grad


FUNCTIONS = [
    _put_number, _put_tensor, _put_columns, _put_rows, _put_values, _put_several, _add_to, _columns, _placed, _placed_in_place,
    _placed_several, _counted, _selected, _copied, _where_places, _gradient,
]  # fmt: skip
NOWHERE, SOMEWHERE = torch.arange(1.0, 9.0).reshape(2, 4), torch.tensor([[-1.0, 2, -3, 4], [5, -6, 7, 8]])


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("first", ["nowhere", "somewhere"])
def test_later_runs_look_again(function, first):
    inputs = [NOWHERE, SOMEWHERE, SOMEWHERE.flip(0), -NOWHERE]
    inputs = inputs if first == "nowhere" else inputs[::-1]
    compiled = torch.compile(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it runs eagerly
        for x in [inputs[0]] * 5 + inputs[1:]:
            assert torch.equal(compiled(x.clone()), function(x.clone()))


@pytest.mark.parametrize(
    "function", [_put_number, _put_tensor, _put_columns, _put_rows, _placed, _placed_in_place, _gradient]
)
def test_numbers_at_whole_masks_are_compiled(function):
    compiled = torch.compile(function, fullgraph=True)
    for x in [SOMEWHERE] * 4 + [NOWHERE, -NOWHERE]:
        assert torch.equal(compiled(x.clone()), function(x.clone()))


class _Clipping(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(4, 4)

    def forward(self, x):
        y = self.line(x)
        y[y.abs() > 50] = 0
        return y


def test_modules_of_plain_loops_look_again():
    net = _Clipping()
    for i in range(12):
        x = torch.ones(3, 4) * (1e6 if i >= 9 else 1.0)
        y = net(x)
        y.sum().backward()
        plain = net.line(x)
        assert torch.equal(y, torch.where(plain.abs() > 50, 0.0, plain))
