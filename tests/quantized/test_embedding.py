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
