"""Dynamic quantization: torch's numbers, texts and files, and what raises."""

import copy
import json
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest
import quantized_cases as cases

import rushlight as torch
from rushlight import nn
from rushlight.nn.quantization import products
from rushlight.nn.quantization.products import activation_parameters

HERE = pathlib.Path(__file__).parents[1] / "golden"
GOLDEN = np.load(HERE / "quantized.npz")
TEXTS = json.loads((HERE / "quantized.json").read_text())
pytestmark = pytest.mark.filterwarnings("ignore:torch.ao.quantization is deprecated:DeprecationWarning")


def check_exactly(found):
    assert found
    for key, got in found.items():
        want = GOLDEN[key]
        assert (got.shape, got.dtype) == (want.shape, want.dtype), key
        np.testing.assert_array_equal(got, want, err_msg=key)


def linear(bias=True):
    return cases.quantized(torch, cases.fill(torch, nn.Linear(6, 4, bias=bias), np.random.default_rng(6)))


# ---------------------------------------------------------------------------------------------- numbers


@pytest.mark.parametrize("group", [cases.levels, cases.linears, cases.zero_points], ids=lambda f: f.__name__)
def test_numbers_are_torchs(group):
    check_exactly(group(torch))


def test_numbers_without_onednn(monkeypatch):
    monkeypatch.setattr(products, "integer_matmul", lambda x, w: NotImplemented)
    check_exactly(cases.linears(torch))
    check_exactly(cases.zero_points(torch))


def test_recurrent_numbers():
    """Sigmoid and tanh may round otherwise than torch's, which may move a level: rarely, and then a little."""
    found = cases.recurrent(torch)
    assert {*found} == {name for name in GOLDEN.files if name.startswith(("LSTM", "GRU"))}
    errors = []
    for key, got in found.items():
        want = GOLDEN[key]
        assert (got.shape, got.dtype) == (want.shape, want.dtype), key
        errors.append(np.abs(got - want).max())
    assert max(errors) < 0.01
    assert np.quantile(errors, 0.9) < 5e-7


@pytest.mark.parametrize("k", [1, 7, 1024, 1025, 5000])
def test_integer_products_are_exact(k):
    g = np.random.default_rng(k)
    x, w = g.integers(0, 129, (4, k)).astype(np.uint8), g.integers(-128, 128, (5, k)).astype(np.int8)
    x[0], w[0], w[1] = 128, -128, 127
    want = x.astype(np.int64) @ w.astype(np.int64).T
    np.testing.assert_array_equal(products._by_floats(x, w), want)
    found = products.integer_matmul(x, w)
    assert found is NotImplemented or (found == want).all()


def test_sums_beyond_float32_are_rounded_as_torch_rounds_them():
    """A sum is made a float32 number before it is scaled: 2**24 + 1 becomes 2**24."""
    scaled = products._scaled(np.array([[2**24 + 1]], np.int32), np.float32(1), np.zeros(1, np.float32), False)
    assert scaled[0, 0] == 2**24


def test_the_range_of_activations():
    assert activation_parameters(0.0, 0.0) == (pytest.approx(0.1), 0)
    assert activation_parameters(2.0, 12.7) == (pytest.approx(0.1), 0)
    assert activation_parameters(-12.7, -1.0) == (pytest.approx(0.1), 127)
    scale, zero_point = activation_parameters(-1e-6, 1e-6)
    assert scale == pytest.approx(6.1e-5) and zero_point == 63
    assert activation_parameters(1.0, float("inf")) == (np.inf, 0)


def test_infinite_activations_give_no_finite_numbers():
    out = linear()(torch.full((2, 6), float("inf")))
    assert not torch.isfinite(out).any()


def test_no_rows():
    assert linear()(torch.zeros(0, 6)).shape == (0, 4)


# ---------------------------------------------------------------------------------------------- texts and errors


def test_texts_and_errors_are_torchs():
    found = json.loads(json.dumps(cases.texts(torch)))
    assert found.keys() == TEXTS.keys()
    for name, want in TEXTS.items():
        assert found[name] == want, name


QUANTIZED = torch.quantize_per_tensor(torch.tensor([[1.0, 2.0]]), 0.1, 0, torch.qint8)
REFUSED = {
    "add": lambda q: q + 1, "radd": lambda q: torch.ones(2) + q, "sum": lambda q: q.sum(), "add_": lambda q: q.add_(1),
    "matmul": lambda q: q @ q, "copy_": lambda q: torch.ones(1, 2).copy_(q), "zeros_like": torch.zeros_like,
    "new_zeros": lambda q: q.new_zeros(2), "linear": lambda q: nn.Linear(2, 2)(q), "float": lambda q: q.float(),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_operators_refuse_quantized_tensors(name):
    with pytest.raises(NotImplementedError, match=r"Could not run 'aten::\w+' with arguments from the 'QuantizedCPU'"):
        REFUSED[name](QUANTIZED)


def test_quantized_tensors_have_no_gradient():
    assert not QUANTIZED.requires_grad
    with pytest.raises(RuntimeError, match="only Tensors of floating point dtype can require gradients"):
        QUANTIZED.requires_grad_()


@pytest.mark.parametrize("name", ["int_repr", "q_scale", "q_zero_point", "qscheme"])
def test_other_tensors_are_not_quantized(name):
    with pytest.raises(NotImplementedError, match=f"aten::{name}"):
        getattr(torch.ones(2), name)()


def test_dequantize_of_other_tensors_is_float32():
    assert torch.arange(3).dequantize().dtype is torch.float32


@pytest.mark.parametrize("make", [lambda: torch.zeros(2, dtype=torch.qint8), lambda: torch.ones(2).to(torch.qint8)])
def test_other_functions_make_no_quantized_tensors(make):
    with pytest.raises(NotImplementedError, match=r"made by torch\.quantize_per_tensor"):
        make()


def test_lists_are_quantized_one_by_one():
    a, b = torch.quantize_per_tensor(
        [torch.ones(3), torch.ones(2)], torch.tensor([0.1, 0.2]), torch.tensor([0, 1]), torch.qint8
    )
    assert (a.q_scale(), a.q_zero_point(), b.q_zero_point()) == (pytest.approx(0.1), 0, 1)
    assert b.int_repr().tolist() == [6, 6]


# ---------------------------------------------------------------------------------------------- models


def model():
    return nn.Sequential(nn.Linear(4, 3), nn.Sequential(nn.Linear(3, 3), nn.ReLU()), nn.Linear(3, 2))


def kinds(m):
    return [type(module).__name__ for module in m.modules() if not isinstance(module, nn.Sequential)]


def quantize(*args, **kwargs):
    return torch.ao.quantization.quantize_dynamic(*args, **kwargs)


def is_quantized(module):
    return isinstance(module, torch.ao.nn.quantized.dynamic.Linear)


def test_a_copy_is_quantized_and_the_model_stays():
    m = model().train()
    q = quantize(m, {nn.Linear}, dtype=torch.qint8)
    assert all(map(is_quantized, (q[0], q[1][0], q[2]))) and not any(map(is_quantized, (m[0], m[1][0], m[2])))
    assert m.training and not q.training
    assert not any(hasattr(module, "qconfig") for module in [*m.modules(), *q.modules()])
    assert not list(q.parameters())
    assert torch.quantization.quantize_dynamic is torch.ao.quantization.quantize_dynamic


def test_in_place():
    m = model()
    assert quantize(m, {nn.Linear}, inplace=True) is m and is_quantized(m[0])


def test_names_and_configurations_choose_layers():
    q = quantize(model(), {"0", "1"})
    assert [is_quantized(layer) for layer in (q[0], q[1][0], q[2])] == [True, True, False]
    q = quantize(model(), {nn.Linear: torch.ao.quantization.default_dynamic_qconfig, "2": None})
    assert [is_quantized(layer) for layer in (q[0], q[1][0], q[2])] == [True, True, False]


def test_a_layer_that_is_the_model_stays():
    assert type(quantize(nn.Linear(2, 3))) is nn.Linear


def test_own_mapping():
    class Other(nn.Module):
        @classmethod
        def from_float(cls, mod):
            return cls()

    assert type(quantize(model(), {nn.Linear}, mapping={nn.Linear: Other})[0]) is Other


def test_hooks_stay():
    m, seen = model(), []
    m[0].register_forward_hook(lambda *_: seen.append("after"))
    m[0].register_forward_pre_hook(lambda *_: seen.append("before"))
    quantize(m)(torch.ones(1, 4))
    assert seen == ["before", "after"]


def test_attention_keeps_its_last_layer():
    q = quantize(nn.Sequential(nn.MultiheadAttention(4, 2)))
    assert type(q[0].out_proj) is nn.modules.linear.NonDynamicallyQuantizableLinear


@pytest.mark.parametrize("layer", [nn.Embedding(2, 3), nn.EmbeddingBag(2, 3)], ids=lambda m: type(m).__name__)
def test_embeddings_need_float_zero_points(layer):
    with pytest.raises(AssertionError, match="only supported with float_qparams_weight_only_qconfig"):
        torch.ao.quantization.quantize_dynamic(nn.Sequential(layer), {type(layer)})


@pytest.mark.parametrize("dtype", [torch.float16, torch.quint8])
def test_types_that_are_missing_raise(dtype):
    with pytest.raises(NotImplementedError, match=str(dtype)):
        quantize(model(), dtype=dtype)


def test_a_weight_that_is_not_float32():
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
        quantize(model().double())


def test_warns_as_torch_does():
    with pytest.warns(DeprecationWarning, match="torch.ao.quantization is deprecated and will be removed in 2.10"):
        quantize(model())


# ---------------------------------------------------------------------------------------------- gradients and tracing


def test_backward_warns_and_gives_the_input_no_gradient():
    x = torch.ones(2, 6, requires_grad=True)
    out = linear()(x)
    assert out.requires_grad
    with pytest.warns(UserWarning, match="an autograd kernel was not registered"):
        out.sum().backward()
    assert x.grad is None
    with torch.no_grad():
        assert not linear()(x).requires_grad


def test_compiled_functions_run_eagerly():
    q = linear()
    f, x = torch.compile(lambda x: q(x.sin()).cos()), torch.ones(2, 6)
    with pytest.warns(UserWarning, match="runs eagerly: .*quantized::linear_dynamic of a tensor computed inside"):
        f(x)
        f(x)
    assert torch.equal(f(x * 2), q((x * 2).sin()).cos())


def test_vmap_and_meta_refuse():
    for call in (lambda: torch.vmap(linear())(torch.ones(3, 2, 6)), lambda: linear()(torch.ones(2, 6, device="meta"))):
        with pytest.raises(NotImplementedError, match="quantized::linear_dynamic works on plain tensors"):
            call()


# ---------------------------------------------------------------------------------------------- states and files


def same_layer(a, b):
    x = torch.arange(12.0).reshape(2, 6)
    return torch.equal(a(x), b(x)) and a.weight().equal(b.weight())


@pytest.mark.parametrize("bias", [True, False])
def test_copies(bias):
    q = linear(bias)
    fresh = torch.ao.nn.quantized.dynamic.Linear(6, 4)
    fresh.load_state_dict(q.state_dict())
    for other in (copy.deepcopy(q), pickle.loads(pickle.dumps(q)), fresh):
        assert same_layer(q, other)


@pytest.mark.parametrize("options", [{}, {"_use_new_zipfile_serialization": False}])
@pytest.mark.parametrize("weights_only", [True, False])
def test_saved_states(tmp_path, options, weights_only):
    q, fresh = linear(), torch.ao.nn.quantized.dynamic.Linear(6, 4)
    torch.save(q.state_dict(), tmp_path / "state.pt", **options)
    fresh.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=weights_only))
    assert same_layer(q, fresh)


def test_saved_models(tmp_path):
    q = nn.Sequential(linear())
    torch.save(q, tmp_path / "model.pt", _use_new_zipfile_serialization=False)
    assert same_layer(q[0], torch.load(tmp_path / "model.pt", weights_only=False)[0])


@pytest.mark.parametrize("weights_only", [True, False])
def test_a_state_from_torch(weights_only):
    found = torch.load(HERE / "quantized.pt", weights_only=weights_only)
    q = torch.ao.nn.quantized.dynamic.Linear(6, 4)
    q.load_state_dict(found["state"])
    assert torch.equal(q(torch.arange(12.0).reshape(2, 6)), found["out"])


def test_files_of_tensors_keep_strides_and_aliases(tmp_path):
    t = torch.quantize_per_tensor(torch.arange(12.0).reshape(3, 4).t(), 0.1, 5, torch.quint8)
    torch.save([t, t], tmp_path / "t.pt")
    a, b = torch.load(tmp_path / "t.pt")
    assert a.equal(t) and a is b


def test_malformed_files_are_refused():
    from rushlight.core.tensor.pickling import Memory
    from rushlight.ops.quantized.tensor import rebuild

    memory = Memory(np.zeros(4, np.int8))
    good = (torch.per_tensor_affine, 0.1, 0)
    assert rebuild(memory, 0, (4,), (1,), good).shape == (4,)
    for parameters in (
        (torch.per_tensor_affine, 1, 0),
        (torch.per_tensor_affine, 0.1, 0, 0),
        (torch.per_tensor_affine,),
    ):
        with pytest.raises(pickle.UnpicklingError, match="a scale and a zero point"):
            rebuild(memory, 0, (4,), (1,), parameters)
    scales, zeros = torch.ones(4), torch.zeros(4, dtype=torch.int64)
    assert rebuild(memory, 0, (4,), (1,), (torch.per_channel_affine, scales, zeros, 0)).q_per_channel_axis() == 0
    for parameters in ((torch.per_channel_affine, 0.1, 0), (torch.per_channel_affine, scales, 0, 0)):
        with pytest.raises(pickle.UnpicklingError, match="scales, zero points"):
            rebuild(memory, 0, (4,), (1,), parameters)
    with pytest.raises(NotImplementedError, match="per_tensor_symmetric are not implemented"):
        rebuild(memory, 0, (4,), (1,), (torch.per_tensor_symmetric, 0.1, 0))
    with pytest.raises(RuntimeError, match="above upper bound"):
        rebuild(memory, 0, (4,), (1,), (torch.per_tensor_affine, 0.1, 128))
    with pytest.raises(RuntimeError):
        rebuild(memory, 0, (5,), (1,), good)
    with pytest.raises(pickle.UnpicklingError):
        rebuild(Memory(np.zeros(4, np.float32)), 0, (4,), (1,), good)


def test_states_of_networks():
    layer = cases.fill(torch, nn.LSTM(3, 4, 2, bidirectional=True), np.random.default_rng(7))
    q = cases.quantized(torch, layer)
    fresh = torch.ao.nn.quantized.dynamic.LSTM(3, 4, 2, bidirectional=True)
    fresh.load_state_dict(q.state_dict())
    x = cases.tensor(torch, np.random.default_rng(8), 5, 2, 3)
    for other in (copy.deepcopy(q), pickle.loads(pickle.dumps(q)), fresh):
        assert torch.equal(other(x)[0], q(x)[0])
    other = torch.ao.nn.quantized.dynamic.LSTM(3, 4, 2, bidirectional=True)
    other.set_weight_bias({**q.get_weight(), **q.get_bias()})
    assert torch.equal(other(x)[0], q(x)[0])


def test_dropout_between_layers_while_training():
    torch.manual_seed(0)
    q = cases.quantized(torch, nn.LSTM(3, 4, 2, dropout=0.5))
    x = torch.ones(2, 2, 3)
    assert not q.training and torch.equal(q(x)[0], q(x)[0])
    q.train()
    assert not torch.equal(q(x)[0], q(x)[0])


def test_projections_raise():
    with pytest.raises(NotImplementedError, match="proj_size"):
        quantize(nn.Sequential(nn.LSTM(3, 4, proj_size=2)))


# ---------------------------------------------------------------------------------------------- observers, imports


def test_observers_are_checked():
    Observer = torch.ao.quantization.MinMaxObserver
    with pytest.raises(AssertionError, match="must include 0"):
        Observer(dtype=torch.qint8, quant_min=1, quant_max=5)
    with pytest.raises(NotImplementedError, match="MinMaxObserver's qscheme"):
        Observer(qscheme=torch.per_channel_affine)
    with pytest.warns(UserWarning, match="must run observer"):
        assert [t.item() for t in Observer().calculate_qparams()] == [1.0, 0]
    observer = Observer(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric, quant_min=-127, quant_max=127)
    observer(torch.tensor([-2.54, 1.0]))
    observer(torch.tensor([0.5]))
    scale, zero_point = observer.calculate_qparams()
    assert scale.item() == pytest.approx(0.02) and zero_point.item() == 0 and zero_point.dtype is torch.int64
    affine = Observer()
    affine(torch.tensor([-1.0, 2.0]))
    zero_point = affine.calculate_qparams()[1]
    assert zero_point.tolist() == [85] and zero_point.dtype is torch.int32
    observer.reset_min_max_vals()
    assert observer.min_val.item() == float("inf")


def test_import_loads_nothing_of_it():
    code = (
        "import sys, rushlight\nrushlight.qint8\nassert not [m for m in sys.modules if 'quantized' in m or '.ao' in m]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
