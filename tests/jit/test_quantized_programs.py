"""Programs of quantized modules: scripted, traced, written, and read from files that torch 2.13 wrote."""

import importlib
import io
import json
import sys
from pathlib import Path

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.torch.jit.ir.packed import packed_of, state_of_packed

GOLDEN = Path(__file__).parent.parent / "golden"
sys.path.insert(0, str(GOLDEN))
from quantized_model import example, quantized  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
Q = torch.ao.quantization


def _written(program):
    file = io.BytesIO()
    torch.jit.save(program, file)
    file.seek(0)
    return torch.jit.load(file)


def _programs(model, x):
    return [torch.jit.script(model), torch.jit.trace(model, x)]


@pytest.mark.parametrize("name", ["script", "trace"])
def test_torchs_files_give_torchs_numbers(name):
    extra = {"run": ""}
    program = torch.jit.load(GOLDEN / "jit" / f"quantized_{name}.pt", _extra_files=extra)
    run = json.loads(extra["run"])
    x, expected = torch.tensor(run["input"]), torch.tensor(run["result"])
    torch.testing.assert_close(program(x), expected, rtol=1e-6, atol=1e-6)
    assert torch.equal(_written(program)(x), program(x))
    torch.testing.assert_close(quantized(torch)(x), expected, rtol=1e-6, atol=1e-6)


def test_own_files_give_the_numbers_of_the_model():
    model, x = quantized(torch), example(torch)
    for program in _programs(model, x):
        assert torch.equal(program(x), model(x))
        assert torch.equal(_written(program)(x), model(x))
        assert torch.equal(_written(_written(program))(x), model(x))
    assert "ops.quantized.conv2d_relu(" in torch.jit.script(model).first.code


def _static(layer, *shape):
    model = nn.Sequential(Q.QuantStub(), layer, Q.DeQuantStub()).eval()
    model.qconfig = Q.default_qconfig
    x = torch.linspace(-1, 1, torch.Size(shape).numel()).reshape(shape)
    model = Q.prepare(model)
    model(x)
    return Q.convert(model), x


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (lambda: nn.Conv1d(2, 3, 3, stride=2, padding=1), (2, 2, 9)),
        (lambda: nn.Conv3d(1, 2, 2, stride=(1, 2, 1), bias=False), (1, 1, 3, 4, 3)),
        (lambda: nn.ConvTranspose1d(2, 3, 3, stride=2, output_padding=1), (1, 2, 4)),
        (lambda: nn.ConvTranspose2d(2, 3, 3, padding=1), (1, 2, 4, 4)),
        (lambda: nn.Linear(4, 3, bias=False), (2, 4)),
        (lambda: nn.ReLU6(), (2, 4)),
        (lambda: nn.ELU(0.5), (2, 4)),
        (lambda: nn.LeakyReLU(0.2), (2, 4)),
        (lambda: nn.Sigmoid(), (2, 4)),
        (lambda: nn.LayerNorm(4), (2, 4)),
    ],
)
def test_each_kind_of_layer_is_written_and_read(layer, shape):
    model, x = _static(layer(), *shape)
    for program in _programs(model, x):
        assert torch.equal(_written(program)(x), model(x))


def test_dynamic_layers_are_written_and_read():
    x = torch.linspace(-1, 1, 24).reshape(4, 6)
    model = Q.quantize_dynamic(nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2)), {nn.Linear})
    for program in _programs(model, x):
        assert torch.equal(_written(program)(x), model(x))
    assert "ops.quantized.linear_dynamic(" in torch.jit.script(model)[0].code


def test_graph_modules_are_written_and_read():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.last = nn.Conv2d(1, 2, 3), nn.Linear(16, 4)

        def forward(self, x):
            x = torch.relu(self.conv(x))
            x = torch.cat([x + x, x], 1)[:, :1].flatten(1)
            return self.last(x)

    x = torch.linspace(-1, 1, 72).reshape(2, 1, 6, 6)
    fx = importlib.import_module("rushlight.torch.ao.quantization.quantize_fx")
    prepared = fx.prepare_fx(Net().eval(), Q.get_default_qconfig_mapping("fbgemm"), (x,))
    prepared(x)
    model = fx.convert_fx(prepared)
    for program in _programs(model, x):
        assert torch.equal(_written(program)(x), model(x))


def test_packed_convolutions_are_kept_as_torch_keeps_them():
    weight = torch.quantize_per_tensor(torch.ones(4, 2, 3), 0.1, 0, torch.qint8)
    packed = torch.ops.quantized.conv1d_prepack(weight, None, [2], [1], [1], 1)
    version, (config, kept), bias = state_of_packed(packed)
    assert (version, config.tolist(), config.dtype, bias) == (
        "2",
        [2, 1, 2, 0, 1, 1, 1, 0, 0, 1, 0],
        torch.int16,
        [None],
    )
    assert kept.shape == (4, 2, 1, 3)
    again = packed_of("__torch__.torch.classes.quantized.Conv2dPackedParamsBase", ("2", [config, kept], bias))
    x = torch.quantize_per_tensor(torch.ones(1, 2, 5), 0.1, 3, torch.quint8)
    conv1d = torch.ops.quantized.conv1d
    assert conv1d(x, again, 0.2, 1).equal(conv1d(x, packed, 0.2, 1))


def test_what_is_no_packed_weight_is_refused():
    name = "__torch__.torch.classes.quantized."
    with pytest.raises(RuntimeError, match="cannot be read"):
        packed_of(name + "LinearPackedParamsBase", ("2", [1]) * 2)
    with pytest.raises(NotImplementedError, match="CellParamsBase is not implemented"):
        packed_of(name + "CellParamsBase", ())
    with pytest.raises(NotImplementedError, match="packed weight that is no attribute"):
        packed = torch.ops.quantized.linear_prepack(torch.quantize_per_tensor(torch.ones(2, 2), 0.1, 0, torch.qint8))
        torch.jit.trace(lambda x: torch.ops.quantized.linear_dynamic(x, packed), torch.ones(2, 2))


def test_dynamic_products_of_eight_bits():
    """Without reduce_range the input has 256 levels: torch's numbers."""
    weight = torch.quantize_per_tensor(torch.tensor([[0.5, -0.25, 0.75], [1.0, 0.1, -0.3]]), 0.01, 0, torch.qint8)
    packed = torch.ops.quantized.linear_prepack(weight, torch.tensor([0.1, -0.2]))
    x = torch.tensor([[0.3, -1.0, 0.77], [0.2, 0.5, 1.3]])
    given = torch.ops.quantized.linear_dynamic
    assert given(x, packed).tolist() == [
        [1.0741175413131714, -0.2324705868959427],
        [1.0493136644363403, -0.34160783886909485],
    ]
    assert given(x, packed, True).tolist() == [
        [1.0870078802108765, -0.22535432875156403],
        [1.050787329673767, -0.34125983715057373],
    ]
