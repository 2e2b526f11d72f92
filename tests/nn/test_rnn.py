"""Recurrent modules: torch's numbers with torch's random stream, their parameters, shapes, errors and copies."""

import copy
import pathlib
import pickle

import numpy as np
import pytest
import recurrent_cases

import rushlight as torch
from rushlight import nn
from rushlight.nn.utils.rnn import PackedSequence, pack_sequence, pad_packed_sequence, pad_sequence

GOLDEN = np.load(pathlib.Path(__file__).parents[1] / "golden" / "recurrent.npz")
NETWORKS = [nn.RNN, nn.LSTM, nn.GRU]


def test_numbers():
    """Results, gradients and the losses of three steps, dropout and initial weights drawn as torch draws them."""
    found = recurrent_cases.recorded(torch)
    assert list(found) == GOLDEN.files
    for key, got in found.items():
        want, tolerance = GOLDEN[key], 2e-5 if "float32" in key else 1e-10
        assert (got.shape, got.dtype) == (want.shape, want.dtype), key
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance, err_msg=key)


# ---------------------------------------------------------------------------------------------- parameters


def test_parameters():
    net = nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2)
    stems = {"weight_ih": (16, 3), "weight_hh": (16, 2), "bias_ih": (16,), "bias_hh": (16,), "weight_hr": (2, 4)}
    later = stems | {"weight_ih": (16, 4)}
    expected = {
        f"{stem}_l{layer}{suffix}": shape
        for layer, shapes in enumerate((stems, later))
        for suffix in ("", "_reverse")
        for stem, shape in shapes.items()
    }
    assert {name: tuple(p.shape) for name, p in net.named_parameters()} == expected
    assert list(net.state_dict()) == list(expected)
    assert [len(weights) for weights in net.all_weights] == [5] * 4
    assert all(float(p.detach().abs().max()) <= 0.5 for p in net.parameters())


@pytest.mark.parametrize("kind", NETWORKS)
def test_replaced_weights_are_used(kind):
    net, x = kind(3, 4), torch.ones(2, 1, 3)
    net.weight_ih_l0 = nn.Parameter(torch.zeros_like(net.weight_ih_l0))
    net.weight_hh_l0 = nn.Parameter(torch.zeros_like(net.weight_hh_l0))
    assert net._flat_weights[0] is net.weight_ih_l0
    for bias in (net.bias_ih_l0, net.bias_hh_l0):
        nn.init.zeros_(bias)
    assert float(net(x)[0].abs().max()) == 0
    assert net.flatten_parameters() is None


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["deepcopy", "pickle"])
def test_copies(kind, copied):
    net, x = kind(3, 4, 2), torch.randn(2, 1, 3)
    twin = copied(net)
    assert torch.equal(net(x)[0], twin(x)[0]) and twin.weight_ih_l0 is not net.weight_ih_l0
    assert twin._flat_weights[0] is twin.weight_ih_l0
    assert twin.double()(x.double())[0].dtype is torch.float64


REPRS = [
    (lambda: nn.LSTM(3, 4), "LSTM(3, 4)"),
    (lambda: nn.LSTM(3, 4, proj_size=2), "LSTM(3, 4, proj_size=2)"),
    (
        lambda: nn.RNN(3, 4, 2, "relu", bias=False, batch_first=True, dropout=0.1, bidirectional=True),
        "RNN(3, 4, num_layers=2, bias=False, batch_first=True, dropout=0.1, bidirectional=True)",
    ),
    (lambda: nn.RNNCell(3, 4, False, "relu"), "RNNCell(3, 4, bias=False, nonlinearity=relu)"),
    (lambda: nn.GRUCell(3, 4), "GRUCell(3, 4)"),
]


@pytest.mark.parametrize(("make", "text"), REPRS)
def test_repr(make, text):
    assert repr(make()) == text


# ---------------------------------------------------------------------------------------------- inputs


@pytest.mark.parametrize("kind", NETWORKS)
def test_layouts_agree(kind):
    """batch_first, one sequence alone, and packed sequences of equal length give the same numbers."""
    net, x = kind(3, 4, 2, bidirectional=True, dtype=torch.float64), torch.randn(5, 2, 3, dtype=torch.float64)
    output, state = net(x)
    swapped = copy.deepcopy(net)
    swapped.batch_first = True
    torch.testing.assert_close(swapped(x.transpose(0, 1))[0].transpose(0, 1), output)
    torch.testing.assert_close(net(x[:, 1])[0], output[:, 1])
    packed, last = net(pack_sequence([x[:, 0], x[:, 1]]))
    torch.testing.assert_close(pad_packed_sequence(packed)[0], output)
    torch.testing.assert_close(last, state)


@pytest.mark.parametrize("kind", NETWORKS)
def test_packed_as_each_alone(kind):
    """Sequences of different lengths, in any order, give what each gives alone, initial state included."""
    net = kind(3, 4, 2, bidirectional=True, dtype=torch.float64)
    sequences = [torch.randn(n, 3, dtype=torch.float64) for n in (2, 4, 1)]
    h = torch.randn(4, 3, 4, dtype=torch.float64)
    states = (h, h * 0.5) if kind is nn.LSTM else h
    output, last = net(pack_sequence(sequences, enforce_sorted=False), states)
    assert isinstance(output, PackedSequence)
    padded, lengths = pad_packed_sequence(output)
    for i, sequence in enumerate(sequences):
        alone, end = net(sequence, tuple(s[:, i] for s in states) if kind is nn.LSTM else states[:, i])
        torch.testing.assert_close(padded[: int(lengths[i]), i], alone)
        for whole, one in zip(last, end, strict=True) if kind is nn.LSTM else [(last, end)]:
            torch.testing.assert_close(whole[:, i], one)


@pytest.mark.parametrize("kind", NETWORKS)
def test_empty_batch(kind):
    net = kind(3, 4)
    output, _ = net(torch.ones(5, 0, 3))
    assert output.shape == (5, 0, 4)
    output.sum().backward()
    assert float(net.weight_hh_l0.grad.abs().max()) == 0
    with pytest.raises(RuntimeError, match="Expected sequence length to be larger than 0 in RNN"):
        net(torch.ones(0, 2, 3))


@pytest.mark.parametrize("kind", [nn.RNNCell, nn.LSTMCell, nn.GRUCell])
def test_cell_without_batch(kind):
    cell, x = kind(3, 4), torch.randn(2, 3)
    rows, row = cell(x), cell(x[1])
    for whole, one in zip(rows, row, strict=True) if kind is nn.LSTMCell else [(rows, row)]:
        torch.testing.assert_close(whole[1], one)


# ---------------------------------------------------------------------------------------------- errors

X, H3 = torch.ones(5, 2, 3), torch.zeros(1, 2, 4)
ERRORS = [
    (lambda: nn.RNN(3, 4, nonlinearity="x"), ValueError, "Unknown nonlinearity 'x'. Select from 'tanh' or 'relu'."),
    (lambda: nn.LSTM(3, 4, dropout=2), ValueError, "dropout should be a number in range"),
    (lambda: nn.LSTM(3, 4, dropout=True), ValueError, "dropout should be a number in range"),
    (lambda: nn.LSTM(3, 4.5), TypeError, "hidden_size should be of type int, got: float"),
    (lambda: nn.LSTM(3, 4, bias=1), TypeError, "bias should be of type bool, got: int"),
    (lambda: nn.LSTM(3, 0), ValueError, "hidden_size must be greater than zero"),
    (lambda: nn.LSTM(3, 4, 0), ValueError, "num_layers must be greater than zero"),
    (lambda: nn.LSTM(3, 4, proj_size=4), ValueError, "proj_size has to be smaller than hidden_size"),
    (lambda: nn.LSTM(3, 4, proj_size=-1), ValueError, "proj_size should be a positive integer or zero"),
    (lambda: nn.GRU(3, 4, proj_size=2), ValueError, "proj_size argument is only supported for LSTM"),
    (lambda: nn.RNNBase("X", 3, 4), ValueError, "Unrecognized RNN mode: X"),
    (lambda: nn.LSTM(3, 4)(X.double()), ValueError, "RNN input dtype .torch.float64. does not match weight dtype"),
    (lambda: nn.LSTM(2, 4)(X), RuntimeError, "input.size.-1. must be equal to input_size. Expected 2, got 3"),
    (lambda: nn.LSTM(3, 4)(X[0, 0]), ValueError, "LSTM: Expected input to be 2D or 3D, got 1D instead"),
    (lambda: nn.RNN(3, 4)(X[0, 0]), ValueError, "RNN: Expected input to be 2D or 3D, got 1D tensor instead"),
    (lambda: nn.GRU(3, 4)(X, H3[0]), RuntimeError, "For batched 3-D input, hx should also be 3-D but got 2-D tensor"),
    (lambda: nn.GRU(3, 4)(X[0], H3), RuntimeError, "For unbatched 2-D input, hx should also be 2-D but got 3-D"),
    (lambda: nn.LSTM(3, 4)(X, (H3, H3[0])), RuntimeError, "hx and cx should also be 3-D but got .3-D, 2-D. tensors"),
    (lambda: nn.GRU(3, 4, 2)(X, H3), RuntimeError, r"Expected hidden size \(2, 2, 4\), got \[1, 2, 4\]"),
    (lambda: nn.LSTM(3, 4)(X, (H3, H3[:, :1])), RuntimeError, r"Expected hidden\[1\] size \(1, 2, 4\), got \[1, 1, 4\]"),
    (lambda: nn.GRU(3, 4)(X, H3.double()), RuntimeError, "mat1 and mat2 must have the same dtype, but got Double and Float"),
    (lambda: nn.LSTMCell(3, 4)(X), ValueError, "LSTMCell: Expected input to be 1D or 2D, got 3D instead"),
    (lambda: nn.GRUCell(3, 4)(X[0], H3), ValueError, "GRUCell: Expected hidden to be 1D or 2D, got 3D instead"),
    (lambda: nn.LSTMCell(3, 4)(X[0], (H3[0], H3)), ValueError, r"LSTMCell: Expected hx\[1\] to be 1D or 2D, got 3D"),
    (lambda: nn.RNNCell(3, 4, nonlinearity="x")(X[0]), RuntimeError, "Unknown nonlinearity: x"),
    (lambda: nn.GRU(3, 4)(PackedSequence(torch.ones(6, 3), torch.tensor([2, 3, 1]))), RuntimeError, "The size of tensor a"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), ERRORS, ids=[e[2] for e in ERRORS])
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(("kind", "first"), [("LSTMCell", "ih"), ("GRUCell", "hh"), ("RNNCell", "ih")])
def test_gradients_of_cells_come_in_torchs_order(kind, first):
    cell, order, h = getattr(nn, kind)(3, 4), [], torch.ones(2, 4)
    for name, p in cell.named_parameters():
        p.register_hook(lambda g, name=name: order.append(name))
    result = cell(torch.ones(2, 3), (h, h) if kind == "LSTMCell" else h)
    (result[0] if kind == "LSTMCell" else result).sum().backward()
    second = "hh" if first == "ih" else "ih"
    assert order == [f"bias_{first}", f"weight_{first}", f"bias_{second}", f"weight_{second}"]


# what torch 2.13 prints; computed: the input is no leaf
ORDERS = [
    ("LSTM", {}, "", "w_ih0 b_ih0 w_hh0 b_hh0"),
    ("LSTM", {}, "packed", "b_hh0 w_hh0 b_ih0 w_ih0"),
    ("LSTM", {}, "x", "x w_hh0 b_hh0 w_ih0 b_ih0"),
    ("LSTM", {}, "x computed", "w_ih0 w_hh0 b_hh0 b_ih0 x"),
    ("LSTM", {}, "x state", "x w_hh0 w_ih0 b_hh0 b_ih0 c h"),
    ("LSTM", {}, "x state computed", "w_ih0 w_hh0 b_ih0 b_hh0 c h x"),
    ("LSTM", {"num_layers": 2}, "", "w_ih1 w_hh1 b_hh1 b_ih1 w_ih0 b_ih0 w_hh0 b_hh0"),
    ("LSTM", {"bidirectional": True}, "state", "w_ih0r w_hh0r b_ih0r b_hh0r w_ih0 b_ih0 w_hh0 b_hh0 c h"),
    ("LSTM", {"bidirectional": True}, "x", "w_ih0r w_hh0r b_hh0r b_ih0r x w_hh0 b_hh0 w_ih0 b_ih0"),
    ("LSTM", {"bias": False}, "", "w_ih0 w_hh0"),
    ("LSTM", {"proj_size": 2}, "", "w_hr0 b_hh0 w_hh0 b_ih0 w_ih0"),
    ("GRU", {}, "", "b_hh0 w_hh0 b_ih0 w_ih0"),
    ("GRU", {}, "x state", "b_hh0 w_hh0 b_ih0 w_ih0 x h"),
    ("GRU", {"num_layers": 2}, "packed", "b_hh1 w_hh1 b_ih1 w_ih1 b_hh0 w_hh0 b_ih0 w_ih0"),
    ("RNN", {"bidirectional": True}, "", "b_hh0r w_hh0r b_ih0r w_ih0r b_hh0 w_hh0 b_ih0 w_ih0"),
]


@pytest.mark.parametrize(("kind", "options", "given", "order"), ORDERS, ids=lambda x: str(x).replace("'", ""))
def test_gradients_of_layers_come_in_torchs_order(kind, options, given, order):
    network, seen = getattr(nn, kind)(3, 4, **options), []
    states = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    x = torch.randn(5, 2, 3, requires_grad="x" in given)
    h, c = (torch.randn(states, 2, k, requires_grad="state" in given) for k in (options.get("proj_size", 4), 4))
    for name, p in [*network.named_parameters(), ("x", x), ("h", h), ("c", c)]:
        short = name.replace("weight", "w").replace("bias", "b").replace("_l", "").replace("_reverse", "r")
        if p.requires_grad:
            p.register_post_accumulate_grad_hook(lambda _, short=short: seen.append(short))
    sequence = x * 2 if "computed" in given else x
    sequence = nn.utils.rnn.pack_padded_sequence(sequence, [5, 3]) if "packed" in given else sequence
    result, _ = network(sequence, (h, c) if kind == "LSTM" else h)
    (result.data if "packed" in given else result).sum().backward()
    assert " ".join(seen) == order


def test_dropout_of_one_layer_warns():
    with pytest.warns(UserWarning, match="dropout option adds dropout after all but last recurrent layer"):
        nn.LSTM(3, 4, dropout=0.5)


@pytest.mark.parametrize(
    ("sizes", "is_sorted", "strides"),
    [([3, 5], False, (20, 4, 1)), ([5, 3], True, (4, 8, 1))],
    ids=["sorted here", "given"],
)
def test_memory_of_padded_sequences(sizes, is_sorted, strides):
    """torch's: dropout draws in the order of memory."""
    packed = nn.utils.rnn.pack_padded_sequence(
        torch.ones(2, 5, 4), torch.tensor(sizes), batch_first=True, enforce_sorted=is_sorted
    )
    assert pad_packed_sequence(packed, batch_first=True)[0].stride() == strides
    assert pad_packed_sequence(packed)[0].stride() == (8, 4, 1)


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("batch_first", [False, True])
def test_padded_sequences(batch_first, side, grad):
    """Written row by row without a gradient, or joined; the type is the first one's, as if all were copied into a tensor."""
    rows = [torch.arange(1.0, 7.0).reshape(3, 2), torch.ones(1, 2, dtype=torch.float64) / 3, torch.zeros(2, 1)]
    for kinds in (rows, [row.float().expand(len(row), 2) for row in rows]):
        padded = pad_sequence([row.requires_grad_(grad) for row in kinds], batch_first, -7.5, side)
        want = np.full((3, 3, 2), -7.5, np.float32)
        for of_row, row in zip(want, kinds, strict=True):
            of_row[3 - len(row) if side == "left" else 0 :][: len(row)] = row.detach().numpy()
        assert padded.dtype == torch.float32 and padded.is_contiguous()
        np.testing.assert_array_equal(padded.detach().numpy(), want if batch_first else want.swapaxes(0, 1))
        if grad:
            padded.sum().backward()
            assert all((row.grad == row.grad.flatten()[0]).all() for row in kinds if row.is_leaf)
    with pytest.raises(
        RuntimeError, match=r"tensor a \(2\) must match the size of tensor b \(3\) at non-singleton dimension 1"
    ):
        pad_sequence([torch.ones(2, 2), torch.ones(2, 3)])
