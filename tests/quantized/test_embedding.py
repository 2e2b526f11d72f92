"""Embeddings of levels: torch 2.13's numbers."""

import io

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.torch.ao.quantization.quantize_fx import convert_fx, prepare_fx

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
q, nnq = torch.ao.quantization, torch.ao.nn.quantized
Q = q.float_qparams_weight_only_qconfig


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 3)
        self.bag = nn.EmbeddingBag(5, 3, mode="sum", include_last_offset=True)
        with torch.no_grad():
            for p in self.parameters():
                p.copy_(((torch.arange(15.0) * 7 % 11 - 5) / 8).reshape(5, 3))

    def forward(self, i, j, offsets):
        return self.table(i), self.bag(j, offsets)


INPUTS = (torch.tensor([[4, 1]]), torch.tensor([0, 4, 2, 3]), torch.tensor([0, 3, 4]))
ROWS = [[[0.250980406999588, -0.2499999850988388, 0.625], [0.6250000596046448, 0.12303924560546875, -0.375]]]
SUMS = [
    [0.1259804368019104, -0.0019607548601925373, -0.12598037719726562],
    [0.3750000596046448, -0.12696075439453125, -0.625],
]


def _eager():
    model = Model().eval()
    model.table.qconfig = model.bag.qconfig = Q
    return q.convert(q.prepare(model))


def _dynamic():
    return q.quantize_dynamic(Model(), {nn.Embedding: Q, nn.EmbeddingBag: Q})


def _traced():
    mapping = q.QConfigMapping().set_object_type(nn.Embedding, Q).set_object_type(nn.EmbeddingBag, Q)
    return convert_fx(prepare_fx(Model().eval(), mapping, INPUTS))


@pytest.mark.parametrize("made", [_eager, _dynamic, _traced])
def test_rows_and_sums(made):
    model = made()
    rows, sums = model(*INPUTS)
    assert rows.tolist() == ROWS and sums.tolist() == SUMS
    assert type(model.bag) is nnq.EmbeddingBag
    weights = torch.tensor([1.0, 2.0, 0.5, -1.0])
    assert model.bag(*INPUTS[1:], weights).tolist() == [
        [0.12696081399917603, -0.25098034739494324, 0.7490196228027344],
        [-0.3750000596046448, 0.12696075439453125, 0.625],
    ]
    assert model.bag(INPUTS[1].reshape(2, 2)).shape == (1, 3)  # as torch's, where the last offset is the end


def test_states_are_written_and_read():
    model, other, file = _eager(), nnq.Embedding(5, 3), io.BytesIO()
    torch.save(model.table.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file))
    assert torch.equal(other(INPUTS[0]), model.table(INPUTS[0]))
    assert repr(other) == (
        "QuantizedEmbedding(num_embeddings=5, embedding_dim=3, dtype=torch.quint8, "
        "qscheme=torch.per_channel_affine_float_qparams)"
    )


def test_what_is_refused():
    table = _eager().table
    with pytest.raises(RuntimeError, match="Index 1 is out of bounds: 5, range 0 to 5"):
        table(torch.tensor([0, 5]))
    with pytest.raises(RuntimeError, match="expects offsets to be set for 1D indices"):
        _eager().bag(torch.tensor([0, 1]))
    with pytest.raises(NotImplementedError, match="Supports quint8 and quint4x2"):
        nnq.Embedding(2, 3, dtype=torch.qint8)
    with pytest.raises(NotImplementedError, match="pruned"):
        torch.ops.quantized.embedding_byte(table._packed_params._packed_weight, torch.tensor([0]), True)
    with pytest.raises(AssertionError, match="only works for Embedding"):
        nnq.Embedding.from_float(nn.Linear(2, 2))


class Bag(nn.Module):
    """A bag of rows of 4 bits: torch 2.13's numbers."""

    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(6, 4, mode="sum", include_last_offset=True)
        self.bag.weight.data = (torch.arange(24.0).reshape(6, 4) * 1.7).sin()
        self.bag.qconfig = q.float_qparams_weight_only_qconfig_4bit

    def forward(self, i, offsets):
        return self.bag(i, offsets)


def _bag():
    return q.convert(q.prepare(Bag().eval()))


def test_bags_of_four_bits():
    model, inputs = _bag(), (torch.tensor([0, 1, 2, 3, 5]), torch.tensor([0, 2, 3, 5]))
    assert repr(model.bag) == (
        "QuantizedEmbeddingBag(num_embeddings=6, embedding_dim=4, dtype=torch.quint4x2, "
        "qscheme=torch.per_channel_affine_float_qparams)"
    )
    expected = [
        [0.4681396484375, 1.79034423828125, -0.9864501953125, -1.52557373046875],
        [0.85955810546875, 0.37396240234375, -0.96142578125, -0.11163330078125],
        [1.48046875, -0.9610595703125, -1.2496337890625, 1.3284912109375],
    ]
    assert model(*inputs).tolist() == expected
    assert model.state_dict()["bag._packed_params.dtype"] is torch.quint4x2
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    other = _bag()
    other.bag.set_weight(nnq.EmbeddingBag(6, 4, dtype=torch.quint4x2).weight())
    other.load_state_dict(torch.load(file))
    assert other(*inputs).tolist() == expected and torch.equal(other.bag.weight(), model.bag.weight())


def test_embeddings_of_four_bits():
    mapping = q.QConfigMapping().set_object_type(nn.Embedding, q.float_qparams_weight_only_qconfig_4bit)
    table = nn.Embedding(5, 3)
    x = torch.tensor([[4, 1]])
    model = convert_fx(prepare_fx(nn.Sequential(table).eval(), mapping, (x,)))
    made = getattr(model, "0")
    assert made.weight().dtype is torch.quint4x2 and model(x).shape == (1, 2, 3)
    # the scale and the bias of a row are rounded to 16 bits
    torch.testing.assert_close(model(x), made.weight().dequantize()[x], atol=2e-3, rtol=0)
    torch.testing.assert_close(model(x), table(x).detach(), atol=0.2, rtol=0)


@pytest.mark.parametrize("by_channel", [False, True])
def test_levels_of_four_bits(by_channel):
    x = torch.arange(12.0).reshape(3, 4).sin()
    if by_channel:
        t = torch.quantize_per_channel(
            x, torch.tensor([0.1, 0.2, 0.3]), torch.tensor([7.0, 8.0, 5.5]), 0, torch.quint4x2
        )
        packed = [247, 143, 52, 183, 121, 36]
    else:
        t = torch.quantize_per_tensor(x, 0.1, 7, torch.quint4x2)
        packed = [247, 143, 0, 228, 191, 2]
    assert t.int_repr().tolist() == packed and t.int_repr().dtype is torch.uint8
    assert t[1].dequantize().tolist() == t.dequantize()[1].tolist()
    assert torch.equal(t, t) and not torch.equal(t, t[:1] if not by_channel else x)
    file = io.BytesIO()
    torch.save(t, file)
    file.seek(0)
    assert torch.equal(torch.load(file), t)
    with pytest.raises(NotImplementedError, match="not implemented for 'QUInt4x2'"):
        torch.quantize_per_channel(x, torch.ones(3), torch.zeros(3, dtype=torch.int64), 0, torch.quint4x2)
    with pytest.raises(RuntimeError, match="above upper bound"):
        torch.quantize_per_tensor(x, 0.1, 256, torch.quint4x2)
