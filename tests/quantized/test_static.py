"""Static quantization: levels, printed forms and results as torch 2.13 gives them (static_cases.py), states and errors."""

import io
import json
import pathlib
import re
from types import SimpleNamespace

import pytest
import static_cases as cases

import rushlight as torch
from rushlight import nn
from rushlight.nn.quantization.static import library
from rushlight.torch.ao import quantization as q

pytestmark = pytest.mark.filterwarnings("ignore:torch.ao.quantization is deprecated", "ignore:Please use quant_min")
GOLDEN = json.loads((pathlib.Path(__file__).parents[1] / "golden" / "quantized_static.json").read_text())


class _Torch:
    """What programs import as torch, which has `torch.ops.quantized`; this process keeps its own names."""

    ops = SimpleNamespace(quantized=SimpleNamespace(**library.OPERATORS))

    def __getattr__(self, name):
        return getattr(torch, name)


@pytest.fixture(scope="module")
def theirs():
    return _Torch()


@pytest.mark.parametrize("name", GOLDEN["operators"])
def test_operators_give_torchs_levels(theirs, name):
    assert _operators(theirs)[name] == GOLDEN["operators"][name]


_made = {}


def _operators(theirs):
    if not _made:
        _made.update(cases.operators(theirs))
    return _made


def test_products_follow_the_engine(theirs):
    assert cases.engines(theirs) == GOLDEN["engines"]
    with pytest.raises(RuntimeError, match="cuda is not a valid value for quantized engine"):
        torch.backends.quantized.engine = "cuda"


_SCALE = re.compile(r"scale=(?:tensor\(\[)?([\d.e-]+)")


def _scales(text):
    return [float(scale) for scale in _SCALE.findall(text)]


@pytest.mark.parametrize("backend", cases.BACKENDS)
def test_a_converted_network(theirs, backend):
    text, values = cases.static(theirs, backend)
    expected, results = GOLDEN["static"][backend]
    assert [line.split("scale")[0] for line in text.splitlines()] == [
        line.split("scale")[0] for line in expected.splitlines()
    ]
    # the first layers; a scale follows what a convolution gives, whose last bit is the processor's own
    first, theirs_first = ("\n".join(lines.splitlines()[1:4]) for lines in (text, expected))
    assert _SCALE.sub("", first) == _SCALE.sub("", theirs_first)
    assert _scales(first) == pytest.approx(_scales(theirs_first), rel=1e-6)
    assert values == pytest.approx(results, abs=0.02 * max(map(abs, results)))


def test_training_with_fused_layers(theirs):
    losses, values = cases.aware(theirs)
    expected, results = GOLDEN["aware"]
    assert losses == pytest.approx(expected, abs=2e-3)
    assert values == pytest.approx(results, abs=0.05 * max(map(abs, results)))


def _converted(seed=0):
    net = q.fuse_modules(cases.network(torch)().eval(), cases.GROUPS)
    net.qconfig = q.get_default_qconfig("x86")
    model = q.prepare(net)
    model(cases.rows(torch, (4, 2, 8, 8), seed))
    return q.convert(model)


def test_states_and_copies_compute_the_same():
    model, other = _converted(), _converted(1)
    x = cases.rows(torch, (4, 2, 8, 8), 3)
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    assert not torch.equal(other(x), model(x))
    other.load_state_dict(torch.load(file))
    assert torch.equal(other(x), model(x))
    import copy

    assert torch.equal(copy.deepcopy(model)(x), model(x))


def test_observers_and_hooks_are_gone():
    model = _converted()
    assert not any(hasattr(m, "qconfig") or hasattr(m, "weight_fake_quant") for m in model.modules())
    assert not any(m._forward_hooks for m in model.modules())
    assert type(model.conv).__name__ == "ConvReLU2d" and type(model.bn) is nn.Identity


def test_one_call_does_all_steps():
    net = cases.network(torch)().eval()
    net.qconfig = q.default_qconfig
    model = q.quantize(net, lambda m, x: m(x), [cases.rows(torch, (2, 2, 8, 8), 1)])
    assert type(net.fc) is nn.Linear and repr(model.fc).startswith("QuantizedLinear(in_features=6")


def test_tensors_with_a_scale_for_each_channel():
    t = torch.quantize_per_channel(
        torch.tensor([[-1.0, 0.26], [2.0, 0.3]]), torch.tensor([0.1, 0.5]), torch.tensor([10, 0]), 0, torch.qint8
    )
    assert repr(t) == (
        "tensor([[-1.0000,  0.3000],\n        [ 2.0000,  0.5000]], size=(2, 2), dtype=torch.qint8,\n"
        "       quantization_scheme=torch.per_channel_affine,\n"
        "       scale=tensor([0.1000, 0.5000], dtype=torch.float64),\n"
        "       zero_point=tensor([10,  0]), axis=0)"
    )
    assert t.int_repr().tolist() == [[0, 13], [4, 1]] and t.qscheme() is torch.per_channel_affine
    assert t[1].q_scale() == 0.5 and t.q_per_channel_axis() == 0
    with pytest.raises(RuntimeError, match="kPerTensorAffine"):
        t.q_scale()
    with pytest.raises(NotImplementedError, match="aten::view"):
        t.view(-1)


def test_writes_are_rounded_to_levels():
    t = torch.quantize_per_tensor(torch.zeros(4), 0.1, 10, torch.quint8)
    t[1] = 0.26
    t[2:] = torch.tensor([-9.0, 0.3])
    view = t.view(2, 2)
    view[0, 0] = 1.0
    assert t.int_repr().tolist() == [20, 13, 0, 13]
    assert t.relu_() is t and t.int_repr().tolist() == [20, 13, 10, 13]


def test_what_is_not_implemented_says_so():
    net = nn.Sequential(q.QuantStub(), nn.LSTM(2, 3))
    net.qconfig = q.default_qconfig
    with pytest.raises(NotImplementedError, match="statically quantized LSTM"):
        q.prepare(net.eval())
    net = nn.Sequential(nn.Embedding(3, 2))
    net.qconfig = q.default_qconfig
    with pytest.raises(AssertionError, match="float_qparams_weight_only_qconfig"):
        q.convert(q.prepare(net.eval()))
    with pytest.raises(NotImplementedError, match="quantized::linear"):
        _converted().last(torch.ones(2, 5))
    with pytest.raises(AssertionError, match="did not find fuser method"):
        q.fuse_modules(nn.Sequential(nn.ReLU(), nn.Linear(1, 1)), ["0", "1"])


def test_a_histogram_chooses_torchs_range():
    observer = q.HistogramObserver(reduce_range=True)
    for seed in range(3):
        observer(cases.rows(torch, 500, seed, seed + 1.0))
    scale, zero_point = observer.calculate_qparams()
    assert (scale.item(), zero_point.item()) == (0.13557009398937225, 59)
