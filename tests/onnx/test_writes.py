"""Writes in place: into slices of any step and place, through masks and indices, and into views of views."""

import copy

import pytest

import rushlight as torch
from rushlight import nn

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


class Written(nn.Module):
    """A function of a buffer and of a copy of the input."""

    def __init__(self, function):
        super().__init__()
        self.function = function
        self.register_buffer("state", torch.zeros(4, 3))

    def forward(self, x):
        return self.function(self.state, x, x.clone())


def once_through_another_view(state, x, y):
    v = y[0]
    v.add_(1)
    w = y.view(-1)
    v.add_(1)
    return w + 0


def into_the_result_of_a_write(state, x, y):
    z = y.add_(1)
    z.mul_(2)
    w = y.mul_(3)
    y.sub_(1)
    return y + 0, w + 0, z * 1


def into_a_buffer(state, x, y):
    state[1:3] = x
    state.add_(1)
    return state.sum(0), state * 1


def row_by_row(state, x, y):
    for row in y:
        row.add_(1)
    first, second = y.chunk(2)
    second += first
    p, q, _ = y.unbind(1)
    q *= p
    return y, first * 1


def into_other_shapes(state, x, y):
    y.T[0] = 1
    y.view(-1)[::2] = 7
    y[:, None][0] = x[1]
    y.diagonal().fill_(4)
    y.transpose(0, 1)[2] += 1
    y.diagonal(-1).mul_(3)
    y.detach().flatten()[1:5:3] = 2
    return y


def at_places_of_sizes(state, x, y):
    n = y.size(0)
    y[:, : n - 1 : 2] = 5
    y[n // 2] = 2
    y.narrow(1, 1, n - 1).mul_(2)
    wide = torch.zeros(n + 2, 3)
    wide[1 : n + 1] = x
    wide[::2] += 1
    return y, wide


def at_places_of_elements(state, x, y):
    i = (x[0, 0] > 0.7).long()
    y[i] = 7
    y[i, i + 1] = x[1, 2]
    y[:, i:2] = 1
    return y


def at_indices(state, x, y):
    y[:, torch.tensor([0, 2])] = 5
    y[:, torch.tensor([1])] = x[:, :1]
    y[torch.tensor([1]), 1:] = 4
    z = x[None].clone()
    t = torch.tensor([[0, 0, 0]])
    z[t, 0, t] = 3
    z[:, t[0], torch.tensor([1, 1, 2])] += 1
    return y, z


def through_masks(state, x, y):
    y[y > 0] = y[y > 0] * 2
    y[:, y[0] > 0] = 3
    y[x[:, 0] > 0, 1] = 7.0
    y[x > 0] += 1
    return y, x[:, x[0] > 0], x[torch.tensor([1]), x[0] > 0]


def seen_before_and_after(state, x, y):
    w = y.view(-1)
    y.add_(1)
    return w + y.view(-1)


CASES = (
    once_through_another_view, into_the_result_of_a_write, into_a_buffer, row_by_row, into_other_shapes, at_places_of_sizes,
    at_places_of_elements, at_indices, through_masks, seen_before_and_after,
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_writes_in_place(case):
    model, x = Written(case), torch.tensor([[0.7, 0.3, 0.1], [-0.4, -1.5, -1.2]])
    program = torch.onnx.export(model, (x,))
    assert not model.state.any()
    for given in (x, -x, x * 3 + 1):
        expected = copy.deepcopy(model)(given)
        expected = expected if isinstance(expected, tuple) else (expected,)
        for ours, theirs in zip(expected, program(given), strict=True):
            torch.testing.assert_close(theirs, ours, rtol=1e-6, atol=1e-6)


def test_writes_that_are_refused():
    def unknown_view(state, x, y):
        w = y.unfold(0, 1, 1)
        y.add_(1)
        return w + 0

    def another_shape(state, x, y):
        w = y[0]
        y.unsqueeze_(0)
        return w + y

    for case, message in ((unknown_view, "used later"), (another_shape, "changes the shape")):
        with pytest.raises(torch.onnx.OnnxExporterError, match=rf"test_writes.py:\d+.*{message}"):
            torch.onnx.export(Written(case), (torch.ones(2, 3),))


class Copied(nn.Module):
    """A view for one example, and a copy for more."""

    def __init__(self, written):
        super().__init__()
        self.written = written

    def forward(self, x):
        y = x + 0
        flat = y.transpose(0, 1).reshape(-1)
        (y if self.written == "y" else flat).add_(1)
        return y * 2 if self.written == "flat" else flat * 2


@pytest.mark.parametrize("count", [1, 2])
def test_what_is_a_view_for_some_sizes(count):
    x, changes = torch.ones(count, 3), ({0: "n"},)
    for written in ("flat", "y"):
        with pytest.raises(torch.onnx.OnnxExporterError, match="a view for some sizes and a copy for others"):
            torch.onnx.export(Copied(written), (x,), dynamic_shapes=changes)
    program = torch.onnx.export(Copied("flat alone"), (x,), dynamic_shapes=changes)
    assert program(torch.ones(3, 3))[0].tolist() == [4.0] * 9
