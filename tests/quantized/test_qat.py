"""Training with rounded weights: numbers, texts and errors as torch 2.13 gives them."""

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.torch.ao import quantization as q

pytestmark = pytest.mark.filterwarnings("ignore:torch.ao.quantization is deprecated", "ignore:Please use quant_min")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant, self.dequant = q.QuantStub(), q.DeQuantStub()
        self.conv, self.act, self.sigmoid = nn.Conv2d(1, 4, 3, padding=1), nn.ReLU6(), nn.Sigmoid()
        self.drop = nn.Dropout(0.2)
        self.fc = nn.Sequential(nn.Linear(144, 8), nn.Tanh(), nn.Linear(8, 3))

    def forward(self, x):
        x = self.sigmoid(self.act(self.conv(self.quant(x))))
        return self.dequant(self.fc(self.drop(x.flatten(1))))


def trained(backend, version):
    x = torch.randn(16, 1, 6, 6, generator=torch.Generator().manual_seed(5))
    y = torch.arange(16) % 3
    torch.manual_seed(2)
    net = Net().train()
    net.qconfig = q.get_default_qat_qconfig(backend, version=version)
    model = q.prepare_qat(net)
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    losses = []
    for step in range(12):
        if step == 8:
            model.apply(q.disable_observer)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(round(loss.item(), 4))
    return model.eval(), losses, x


LOSSES = {
    ("fbgemm", 0): [1.0921, 1.0764, 1.0797, 1.0767, 1.1344, 1.097, 1.0933, 1.1033, 1.0998, 1.0872, 1.0884, 1.0954],
    ("fbgemm", 1): [1.0918, 1.0778, 1.0806, 1.0861, 1.1422, 1.0896, 1.085, 1.106, 1.0996, 1.0861, 1.0814, 1.098],
    ("qnnpack", 0): [1.0917, 1.0779, 1.0796, 1.0852, 1.1428, 1.0937, 1.0882, 1.1051, 1.0999, 1.0889, 1.0859, 1.0968],
    ("qnnpack", 1): [1.0921, 1.0763, 1.0791, 1.0859, 1.1424, 1.0948, 1.0874, 1.1046, 1.0994, 1.0885, 1.0845, 1.0971],
    ("onednn", 0): [1.0918, 1.0785, 1.0796, 1.087, 1.1425, 1.086, 1.0821, 1.1048, 1.0992, 1.0829, 1.0909, 1.0988],
    ("onednn", 1): [1.0915, 1.0774, 1.079, 1.0858, 1.144, 1.0939, 1.0867, 1.1043, 1.0995, 1.0886, 1.0822, 1.0957],
}


@pytest.mark.parametrize(("backend", "version"), LOSSES)
def test_training_gives_torchs_losses(backend, version):
    model, losses, x = trained(backend, version)
    assert losses == pytest.approx(LOSSES[backend, version], abs=2e-4)
    other = Net().train()
    other.qconfig = q.get_default_qat_qconfig(backend, version=version)
    other = q.prepare_qat(other)
    assert str(other.load_state_dict(model.state_dict())) == "<All keys matched successfully>"
    assert torch.equal(other.eval()(x), model(x))


def test_where_observers_go():
    model, _, _ = trained("fbgemm", 1)
    having = [name for name, m in model.named_modules() if hasattr(m, "activation_post_process")]
    assert [n for n in having if "weight_fake" not in n and "post_process" not in n] == [
        "quant", "conv", "act", "sigmoid", "fc.0", "fc.1", "fc.2",
    ]  # fmt: skip
    assert type(model.conv).__name__ == "Conv2d" and type(model.fc[0]) is not nn.Linear
    assert repr(model.sigmoid.activation_post_process).startswith("FixedQParamsFakeQuantize(")


X = [[-0.0766, 0.3599, -0.7820], [0.0715, 0.6648, -1.2867]]


@pytest.mark.parametrize(
    ("make", "scale", "zero_point", "least"),
    [
        (q.MovingAverageMinMaxObserver, [0.0077], [168], -1.2995670557022095),
        (q.PerChannelMinMaxObserver, [0.0090, 0.0153], [175, 168], [-1.5640, -2.5734]),
        (q.MovingAveragePerChannelMinMaxObserver, [0.0045, 0.0077], [175, 168], [-0.7898, -1.2996]),
        (lambda: q.PerChannelMinMaxObserver(1, torch.qint8, torch.per_channel_symmetric), [0.0012, 0.0104, 0.0202],
         [0, 0, 0], [-0.1532, 0.3599, -2.5734]),
    ],
)  # fmt: skip
def test_observers(make, scale, zero_point, least):
    observer = make()
    assert observer(torch.tensor(X)) is not None
    observer(torch.tensor(X) * 2)
    found = observer.calculate_qparams()
    assert found[0].tolist() == pytest.approx(scale, abs=6e-5)
    assert found[1].tolist() == zero_point
    assert observer.min_val.tolist() == pytest.approx(least, abs=6e-5)


def test_fixed_and_fused():
    fixed = q.default_fixed_qparams_range_0to1_fake_quant()
    assert fixed(torch.tensor([0.1, 0.5, 2.0])).tolist() == [0.1015625, 0.5, 0.99609375]
    fused = q.FusedMovingAvgObsFakeQuantize(quant_min=0, quant_max=255)
    fused(torch.zeros(3))
    assert fused.scale.tolist() == pytest.approx([0.1])
    fused(torch.tensor([1e-6, -1e-6]))
    assert fused.scale.tolist() == pytest.approx([6.1e-5])


def test_gradients_pass_within_the_levels():
    fake = q.FakeQuantize(quant_min=0, quant_max=255)
    fake(torch.tensor([-1.0, 1.0]))
    fake.disable_observer()
    x = torch.tensor([-3.0, 0.2, 3.0], requires_grad=True)
    fake(x).sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 0.0]
    fake.disable_fake_quant()
    assert torch.equal(fake(x), x)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: q.prepare_qat(nn.Linear(1, 1).eval()), AssertionError, "prepare_qat only works on models in training mode"),
        (lambda: q.get_default_qat_qconfig("cuda"), AssertionError, "backend: cuda not supported. backend must be one of"),
        (lambda: q.FakeQuantize(quant_min=0, quant_max=300), AssertionError, "quant_max out of bound"),
        (lambda: q.FakeQuantize(quant_min=5, quant_max=3), AssertionError, "quant_min must be less than or equal"),
        (lambda: q.FusedMovingAvgObsFakeQuantize(q.MinMaxObserver), AssertionError, "only works with MovingAverageMinMax"),
        (lambda: q.PerChannelMinMaxObserver(qscheme=torch.per_tensor_affine), NotImplementedError, "qscheme only support"),
        (lambda: q.NoopObserver().calculate_qparams(), Exception, "should not be called for NoopObserver"),
    ],
)  # fmt: skip
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call()
