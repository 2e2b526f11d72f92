"""Quantized cells beside the quantized networks of one layer, which do the same steps."""

import io

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn.quantization import cells

pytestmark = pytest.mark.filterwarnings("ignore:torch.ao.quantization is deprecated:DeprecationWarning")


def quantized(**layers):
    return torch.ao.quantization.quantize_dynamic(nn.ModuleDict(layers))


def same_weights(cell, network):
    for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        getattr(cell, part).data = getattr(network, part + "_l0").data.clone()


def test_a_step_is_that_of_the_network():
    torch.manual_seed(0)
    long, gated, lstm, gru = nn.LSTMCell(5, 4), nn.GRUCell(5, 4), nn.LSTM(5, 4), nn.GRU(5, 4)
    same_weights(long, lstm)
    same_weights(gated, gru)
    q = quantized(long=long, gated=gated, lstm=lstm, gru=gru)
    x, h, c = torch.randn(3, 5), torch.randn(3, 4), torch.randn(3, 4)
    _, (h1, c1) = q["lstm"](x[None], (h[None], c[None]))
    new_h, new_c = q["long"](x, (h, c))
    assert torch.equal(new_h, h1[0]) and torch.equal(new_c, c1[0])
    assert torch.equal(q["gated"](x, h), q["gru"](x[None], h[None])[1][0])
    assert torch.equal(q["gated"](x), q["gru"](x[None])[1][0])


@pytest.mark.parametrize("nonlinearity", ["tanh", "relu"])
def test_simple_cell_is_near_the_float_one(nonlinearity):
    torch.manual_seed(0)
    cell = nn.RNNCell(5, 4, nonlinearity=nonlinearity)
    q = quantized(cell=cell)["cell"]
    x, h = torch.randn(3, 5), torch.randn(3, 4)
    assert (q(x, h) - cell(x, h)).abs().max() < 0.05
    assert q.extra_repr() == "5, 4" + ("" if nonlinearity == "tanh" else ", nonlinearity=relu")


def test_printed_form_and_state():
    torch.manual_seed(0)
    q, other = (quantized(cell=nn.LSTMCell(5, 4)) for _ in range(2))
    assert repr(q["cell"]) == "DynamicQuantizedLSTMCell(5, 4)"
    assert list(q.state_dict()) == ["cell._packed_weight_ih", "cell._packed_weight_hh"]
    file = io.BytesIO()
    torch.save(q.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=False))
    x = torch.randn(2, 5)
    assert torch.equal(q["cell"](x)[0], other["cell"](x)[0])
    assert sorted(q["cell"].get_weight()) == ["weight_hh", "weight_ih"]
    q["cell"].set_weight_bias(other["cell"]._weight_bias())
    assert cells.GRUCell(2, 3, bias=False)(torch.ones(1, 2)).shape == (1, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda q: q(torch.ones(2, 3)), "input has inconsistent input_size: got 3, expected 5"),
        (
            lambda q: q(torch.ones(2, 5), (torch.ones(1, 4), torch.ones(2, 4))),
            r"doesn't match hidden\[0\] batch size 1",
        ),
        (
            lambda q: q(torch.ones(2, 5), (torch.ones(2, 4), torch.ones(2, 9))),
            r"hidden\[1\] has inconsistent hidden_size",
        ),
    ],
)
def test_wrong_shapes(call, message):
    with pytest.raises(RuntimeError, match=message):
        call(quantized(cell=nn.LSTMCell(5, 4))["cell"])


def test_only_cells_become_cells():
    with pytest.raises(AssertionError, match=r"only works for nn\.LSTMCell"):
        cells.RNNCellBase.from_float(nn.Linear(2, 2))
