"""Quantization of traced models. Code, scales and results are recorded from torch."""

import operator
import warnings

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F
from rushlight.torch.ao import quantization as q
from rushlight.torch.ao.quantization.backend_config import get_native_backend_config
from rushlight.torch.ao.quantization.quantize_fx import convert_fx, fuse_fx, prepare_fx, prepare_qat_fx

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.relu = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()
        self.pool, self.conv2, self.gap = nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, padding=1), nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        x = self.pool(self.relu(self.bn(self.conv(x))))
        x = F.relu(x + self.conv2(x))
        return self.fc(torch.flatten(self.gap(x), 1))


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2, self.act, self.drop = nn.Linear(6, 8), nn.Linear(8, 8), nn.Sigmoid(), nn.Dropout(0.5)

    def forward(self, x):
        a = F.relu(self.l1(x))
        c = torch.cat([a, self.act(self.l2(a))], 1)
        d = c * c
        return self.drop(d.view(x.size(0), -1) + 1).mean(1)


def _filled(make):
    torch.manual_seed(7)
    model = make()
    for p in model.parameters():
        p.data = torch.randn(p.shape) * 0.3
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.running_mean.normal_()
            m.running_var.uniform_(0.5, 1.5)
    return model


def _data(seed, *shape):
    torch.manual_seed(seed)
    return torch.randn(shape)


def _converted(model, mapping, *shape, prepare=prepare_fx):
    observed = prepare(model, mapping, (_data(1, *shape),))
    for seed in range(4):
        observed(_data(seed, *shape))
    return convert_fx(observed.eval())


CODE = """
def forward(self, x):
    conv_input_scale_0 = self.conv_input_scale_0
    conv_input_zero_point_0 = self.conv_input_zero_point_0
    quantize_per_tensor = torch.quantize_per_tensor(x, conv_input_scale_0, conv_input_zero_point_0, torch.quint8);  x = conv_input_scale_0 = conv_input_zero_point_0 = None
    conv = self.conv(quantize_per_tensor);  quantize_per_tensor = None
    pool = self.pool(conv);  conv = None
    conv2 = self.conv2(pool)
    _scale_0 = self._scale_0
    _zero_point_0 = self._zero_point_0
    add_relu = torch.ops.quantized.add_relu(pool, conv2, _scale_0, _zero_point_0);  pool = conv2 = _scale_0 = _zero_point_0 = None
    gap = self.gap(add_relu);  add_relu = None
    flatten = torch.flatten(gap, 1);  gap = None
    fc = self.fc(flatten);  flatten = None
    dequantize_7 = fc.dequantize();  fc = None
    return dequantize_7
"""


def test_convolutions_with_a_residual():
    model = _converted(_filled(Net).eval(), q.get_default_qconfig_mapping("fbgemm"), 2, 3, 8, 8)
    assert model.code.strip() == CODE.strip()
    kinds = [type(getattr(model, n)).__name__ for n in ("conv", "pool", "conv2", "gap", "fc")]
    assert kinds == ["ConvReLU2d", "MaxPool2d", "Conv2d", "AdaptiveAvgPool2d", "Linear"]
    numbers = [(m.scale, m.zero_point) for m in (model.conv, model.conv2, model.fc)]
    np.testing.assert_allclose(numbers, [(0.0242104, 0), (0.0583168, 73), (0.0137161, 22)], rtol=1e-5)
    expected = [-0.24689, 0.7681, 1.23444, 0.38405, -0.28804, 1.0287, 1.26188, 0.28804]
    np.testing.assert_allclose(model(_data(1, 2, 3, 8, 8)).flatten(), expected, atol=0.014)
    assert list(model.state_dict())[:5] == [
        "conv_input_scale_0", "conv_input_zero_point_0", "_scale_0", "_zero_point_0", "conv.weight",
    ]  # fmt: skip


def test_functions_and_shared_scales():
    model = _converted(_filled(Mixed).eval(), q.get_default_qconfig_mapping("fbgemm"), 5, 6)
    assert "mul_1 = torch.ops.quantized.mul(cat, cat, _scale_1, _zero_point_1)" in model.code
    assert "add_1 = torch.ops.quantized.add(view, 1);  view = None" in model.code
    expected = [1.42266, 1.24917, 1.24917, 1.24917, 1.28387]
    np.testing.assert_allclose(model(_data(1, 5, 6)), expected, atol=0.036)


def test_state_passes_to_another_converted_model():
    mapping = q.get_default_qconfig_mapping("fbgemm")
    model = _converted(_filled(Net).eval(), mapping, 2, 3, 8, 8)
    other = _converted(Net().eval(), mapping, 2, 3, 8, 8)
    other.load_state_dict(model.state_dict())
    x = _data(5, 2, 3, 8, 8)
    assert torch.equal(other(x), model(x))


def test_training_with_rounded_weights():
    model = _filled(lambda: nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))).train()
    observed = prepare_qat_fx(model, q.get_default_qat_qconfig_mapping("fbgemm"), (torch.ones(1, 6),))
    assert type(getattr(observed, "0")).__name__ == "LinearReLU"
    observed(_data(0, 4, 6)).square().sum().backward()
    assert getattr(observed, "2").weight.grad.abs().sum() > 0
    made = convert_fx(observed.eval())
    assert made(_data(0, 4, 6)).shape == (4, 2)
    assert type(getattr(made, "2")).__name__ == "Linear"
    assert getattr(made, "2").weight().qscheme() is torch.per_channel_affine


def test_dynamic_quantization_needs_no_data():
    model = _filled(lambda: nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))).eval()
    made = convert_fx(prepare_fx(model, q.QConfigMapping().set_global(q.default_dynamic_qconfig), (torch.ones(1, 6),)))
    x = _data(1, 4, 6)
    np.testing.assert_allclose(made(x), model(x).detach(), atol=0.1)
    assert [type(m).__name__ for m in made.children()] == ["LinearReLU", "Linear"]


def test_what_a_mapping_says():
    one, two = q.default_qconfig, q.default_per_channel_qconfig
    mapping = q.QConfigMapping().set_global(one).set_object_type(operator.add, None).set_module_name("a", two)
    mapping.set_module_name_regex(r"b\d", None).set_module_name_object_type_order("a", F.linear, 1, one)
    assert q.QConfigMapping.from_dict(mapping.to_dict()).to_dict() == mapping.to_dict()
    assert mapping.of("", F.relu, 0) is one and mapping.of("", operator.add, 0) is None
    assert mapping.of("a.c", operator.add, 0) is two and mapping.of("b7", F.relu, 0) is None
    assert mapping.of("a", F.linear, 1) is one and mapping.of("a", F.linear, 0) is two


def test_modules_left_in_float():
    mapping = q.get_default_qconfig_mapping("fbgemm").set_module_name("conv2", None)
    model = _converted(_filled(Net).eval(), mapping, 2, 3, 8, 8)
    assert type(model.conv2) is nn.Conv2d
    assert "conv2 = self.conv2(dequantize_2)" in model.code
    mapping = q.QConfigMapping().set_object_type(nn.Linear, q.get_default_qconfig("fbgemm"))
    with pytest.raises(LookupError, match="same qconfigs for all module types"):
        prepare_fx(nn.Sequential(nn.Linear(2, 2), nn.ReLU()).eval(), mapping, (torch.ones(1, 2),))


def test_fused_layers_of_a_traced_model():
    model = fuse_fx(_filled(Net).eval())
    assert [type(m).__name__ for m in model.children()][:3] == ["ConvReLU2d", "MaxPool2d", "Conv2d"]
    x = _data(1, 2, 3, 8, 8)
    np.testing.assert_allclose(model(x).detach(), _filled(Net).eval()(x).detach(), atol=1e-5)


def test_what_is_not_quantized_here_says_so():
    class OfFunctions(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(2, 2))

        def forward(self, x):
            return F.linear(x, self.w * 2)

    with pytest.raises(NotImplementedError, match=r"the weight of linear .* is computed, which is not quantized here"):
        prepare_fx(OfFunctions().eval(), q.get_default_qconfig_mapping(), (torch.ones(1, 2),))
    with pytest.raises(NotImplementedError, match="backend_config is not implemented"):
        fuse_fx(Net().eval(), backend_config=object())
    with pytest.raises(NotImplementedError, match="this backend_config is not implemented"):
        convert_fx(fuse_fx(Net().eval()), backend_config=get_native_backend_config().set_name("another"))
    assert isinstance(fuse_fx(Net().eval(), backend_config=get_native_backend_config()), nn.Module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert prepare_fx(
            nn.Sequential(nn.Embedding(3, 2)).eval(), q.get_default_qconfig_mapping(), (torch.tensor([0]),)
        )


class Weights(nn.Module):
    """Products with parameters of the model's own. Results are torch's (fbgemm), up to the last bits of the scale."""

    def __init__(self):
        super().__init__()
        self.kernel = nn.Parameter(torch.arange(36.0).reshape(4, 1, 3, 3).sin())
        self.shift, self.weight = (
            nn.Parameter(torch.arange(4.0) / 8),
            nn.Parameter(torch.arange(8.0).reshape(2, 4).cos()),
        )

    def forward(self, x):
        x = F.relu(F.conv2d(x, self.kernel, self.shift, (1, 1), (1, 1), (1, 1), 1))
        return F.linear(x.mean((2, 3)), self.weight, None)


def _weights_converted():
    x = (torch.arange(32.0).reshape(2, 1, 4, 4) / 7).sin()
    observed = prepare_fx(Weights().eval(), q.get_default_qconfig_mapping("fbgemm"), (x,))
    for k in range(3):
        observed(x * (k + 1) / 3)
    return convert_fx(observed), x


def test_functions_with_weights():
    model, x = _weights_converted()
    lines = [line.strip() for line in model.code.splitlines()]
    assert any(
        line.startswith(
            "conv2d = torch.ops.quantized.conv2d_relu(quantize_per_tensor, _packed_weight_0, _scale_1, _zero_point_1)"
        )
        for line in lines
    )
    assert any(
        line.startswith("linear = torch.ops.quantized.linear(mean, _packed_weight_1, _scale_4, _zero_point_4)")
        for line in lines
    )
    expected = [[-0.23592105507850647, 0.4579644203186035], [-0.15959365665912628, 0.49959754943847656]]
    np.testing.assert_allclose(model(x), expected, rtol=1e-6)
    assert list(model.state_dict()) == [
        "_input_scale_0", "_input_zero_point_0", "_scale_1", "_zero_point_1", "_scale_4", "_zero_point_4", "_packed_weight_0",
        "_packed_weight_1",
    ]  # fmt: skip


def test_packed_weights_travel_in_state_dicts_copies_and_pickles():
    import pickle
    from copy import deepcopy

    model, x = _weights_converted()
    other, _ = _weights_converted()
    with torch.no_grad():
        other._packed_weight_1 = other._packed_weight_1.__class__(model._packed_weight_1.weight, torch.ones(2))
    assert not torch.equal(other(x), model(x))
    other.load_state_dict(model.state_dict())
    for same in (other, deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(same(x), model(x))


@pytest.mark.parametrize("twice", [False, True])
def test_functions_with_weights_without_data(twice):
    class Dynamic(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.bias = (
                nn.Parameter(torch.arange(8.0).reshape(2, 4).cos()),
                nn.Parameter(torch.ones(2) / 3),
            )

        def forward(self, x):
            y = F.relu(F.linear(x, self.weight, bias=self.bias))
            return y + F.linear(x, self.weight) if twice else y

    mapping = q.QConfigMapping().set_global(q.default_dynamic_qconfig)
    model = convert_fx(prepare_fx(Dynamic().eval(), mapping, (torch.ones(1, 4),)))
    y = model((torch.arange(8.0).reshape(2, 4) / 3).sin())
    if twice:
        assert model.code.count("linear_dynamic") == 1 and model.code.count("linear_relu_dynamic") == 1
    else:
        assert y.tolist() == [[0.0, 1.6502165794372559], [0.7495697736740112, 1.3946101665496826]]  # torch's


def test_converted_models_are_copied_pickled_and_flattened():
    import pickle
    from copy import deepcopy

    mapping, x = q.get_default_qconfig_mapping("fbgemm"), _data(1, 5, 6)
    observed = prepare_fx(_filled(Mixed).eval(), mapping, (x,))
    observed(x)
    model = convert_fx(deepcopy(observed))
    for other in (convert_fx(observed), deepcopy(model), pickle.loads(pickle.dumps(model)), torch.jit.script(model)):
        assert torch.equal(other(x), model(x))
    flat = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(4, 3))
    made = _converted(_filled(lambda: flat).eval(), mapping, 2, 3, 3, 3)
    assert made(_data(1, 2, 3, 3, 3)).shape == (2, 3)
