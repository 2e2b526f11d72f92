"""oneDNN's bfloat16 kernels against float64, and the precision setting of float32 products."""

import numpy as np
import pytest

import rushlight as T
from rushlight.backend import isa, onednn
from rushlight.backend.onednn.calls import BFLOAT16
from rushlight.backend.onednn.casting import lower, to_bfloat16
from rushlight.nn import functional as F

pytestmark = pytest.mark.skipif(not onednn.available(), reason="oneDNN is not installed")
ROUNDING = 2.0**-8  # of one result


def _close(found, expected, scale=1.0):
    assert found.dtype is T.bfloat16
    assert (found.double() - expected).abs().max() <= scale * ROUNDING * max(1.0, expected.abs().max().item())


def _pair(*shape):
    t = T.randn(*shape).bfloat16()
    return t, t.double()


PRODUCTS = {
    "mm": (T.mm, (128, 96), (96, 130)),
    "transposed": (lambda x, y: x.t() @ y.t(), (96, 128), (130, 96)),
    "strided": (lambda x, y: x[:, ::2] @ y, (128, 192), (96, 130)),
    "bmm": (T.bmm, (6, 64, 48), (6, 48, 70)),
    "matmul": (T.matmul, (2, 3, 64, 48), (2, 3, 48, 70)),
    "folded": (T.matmul, (4, 64, 96), (96, 130)),
    "linear": (F.linear, (128, 96), (130, 96)),
    "linear of a sequence": (F.linear, (4, 64, 96), (130, 96)),
    "addmm": (lambda x, y: T.addmm(x[:, :1], x, y), (128, 96), (96, 130)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_and_their_gradients(name):
    f, *shapes = PRODUCTS[name]
    T.manual_seed(0)
    (x, x64), (y, y64) = (_pair(*s) for s in shapes)
    for t in (x, y, x64, y64):
        t.requires_grad_()
    out, expected = f(x, y), f(x64, y64)
    _close(out, expected, 2 if name == "addmm" else 1)
    g = T.randn(out.shape).bfloat16()
    out.backward(g)
    expected.backward(g.double())
    _close(x.grad, x64.grad, 3)
    _close(y.grad, y64.grad, 3)


def test_a_bias_is_added_before_rounding():
    T.manual_seed(0)
    (x, x64), (w, w64), (b, b64) = _pair(128, 96), _pair(130, 96), _pair(130)
    _close(F.linear(x, w, b), F.linear(x64, w64, b64))


CONVOLUTIONS = {
    "plain": ((4, 8, 12, 12), (16, 8, 3, 3), {"padding": 1}),
    "strided": ((4, 8, 13, 13), (16, 8, 3, 3), {"stride": 2}),
    "grouped": ((4, 32, 8, 8), (32, 16, 3, 3), {"groups": 2, "padding": 1}),
    "dilated": ((2, 8, 12, 12), (16, 8, 3, 3), {"dilation": 2}),
    "few channels": ((4, 3, 16, 16), (16, 3, 3, 3), {"padding": 1}),
    "sequence": ((4, 16, 40), (16, 16, 5), {"padding": 2}),
    "volume": ((2, 8, 6, 6, 6), (8, 8, 3, 3, 3), {}),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_and_their_gradients(name):
    x_shape, w_shape, options = CONVOLUTIONS[name]
    f = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[len(x_shape)]
    T.manual_seed(0)
    (x, x64), (w, w64), (b, b64) = _pair(*x_shape), _pair(*w_shape), _pair(w_shape[0])
    for t in (x, w, b, x64, w64, b64):
        t.requires_grad_()
    out, expected = f(x, w, b, **options), f(x64, w64, b64, **options)
    _close(out, expected)
    g = T.randn(out.shape).bfloat16()
    out.backward(g)
    expected.backward(g.double())
    for t, t64 in ((x, x64), (w, w64), (b, b64)):
        _close(t.grad, t64.grad, 2)


SLOW = {
    "batch norm": lambda x: F.batch_norm(x, None, None, T.ones(16), T.zeros(16), training=True),
    "group norm": lambda x: F.group_norm(x, 4),
    "layer norm": lambda x: F.layer_norm(x, (32,)),
    "softmax": lambda x: F.softmax(x, -1),
    "log_softmax": lambda x: F.log_softmax(x, -1),
    "gelu": F.gelu,
    "gelu, tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "sigmoid": T.sigmoid,
    "relu": F.relu,
}


@pytest.mark.parametrize("name", SLOW)
def test_functions_go_by_way_of_float32(name):
    T.manual_seed(0)
    x = (T.randn(8, 16, 32, 32) + 0.5).bfloat16().requires_grad_()
    x32 = x.detach().float().requires_grad_()
    out, expected = SLOW[name](x), SLOW[name](x32)
    _close(out, expected.double())
    g = T.randn(out.shape).bfloat16()
    out.backward(g)
    expected.backward(g.float())
    _close(x.grad, x32.grad.double(), 3)


def test_relu_keeps_nans_of_both_signs():
    for d in (T.bfloat16, T.float16):
        x = T.tensor([1.0, -1.0, 0.0, float("inf"), -float("inf"), float("nan"), -float("nan")]).to(d)
        x = T.cat([x, -x]).repeat(2000)
        expected = F.relu(x.float())
        out = F.relu(x).float()
        assert out.isnan().equal(expected.isnan())
        assert out.nan_to_num(7.0).equal(expected.nan_to_num(7.0))


def test_casts_round_to_nearest_even():
    bits = np.arange(1 << 16, dtype=np.uint32) << 16
    numbers = np.concatenate([(bits | low).view(np.float32) for low in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)])
    with np.errstate(all="ignore"):
        expected = numbers.astype(BFLOAT16)
        found = to_bfloat16(numbers) if isa.has_avx512() else lower(numbers)
    nan, tiny = np.isnan(numbers), np.abs(numbers) < np.finfo(np.float32).tiny
    assert (np.isnan(found.astype(np.float32)) == nan).all()
    usual = ~nan & ~tiny
    assert (found[usual].view(np.uint16) == expected[usual].view(np.uint16)).all()
    assert np.abs(found[tiny].astype(np.float32)).max() <= np.finfo(np.float32).tiny  # the processor makes them zero


@pytest.mark.skipif(isa.has_avx512(), reason="oneDNN has vectors for it here")
def test_without_vectors_onednn_casts_nothing():
    assert to_bfloat16(np.zeros(100_000, np.float32)) is NotImplemented


def test_small_or_strided_arrays_are_left_to_numpy():
    assert to_bfloat16(np.zeros(100, np.float32)) is NotImplemented
    assert to_bfloat16(np.zeros(100_000, np.float32)[::2]) is NotImplemented


def test_precision_of_float32_products():
    T.manual_seed(0)
    x, y = T.randn(256, 256), T.randn(256, 256)
    exact = (x.double() @ y.double()).float()
    errors = {}
    try:
        for word in ("highest", "medium", "high", "highest"):
            T.set_float32_matmul_precision(word)
            assert T.get_float32_matmul_precision() == word
            errors.setdefault(word, (x @ y - exact).abs().max().item())
            assert (F.conv2d(x.view(1, 1, 256, 256), y[:3, :3].reshape(1, 1, 3, 3)).dtype) is T.float32
    finally:
        T.set_float32_matmul_precision("highest")
    assert errors["highest"] == errors["high"] < 1e-4
    assert errors["medium"] < 1.0
    with pytest.warns(UserWarning, match="is not one of 'highest', 'high', or 'medium'"):
        T.set_float32_matmul_precision("low")
