"""Fake quantization: the values that are left, gradients inside the limits, and the functions of quantized tensors."""

import numpy as np
import pytest

import rushlight as torch

FAKE, CHANNELS = torch.fake_quantize_per_tensor_affine, torch.fake_quantize_per_channel_affine


def int32(*values):
    return torch.tensor(values, dtype=torch.int32)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_values_and_gradients(dtype):
    x = torch.tensor([-100.0, 0.25, 0.3, 5.0, float("nan"), float("inf")], dtype=dtype, requires_grad=True)
    y = FAKE(x, 0.1, 0, -10, 10)
    assert y.dtype is dtype
    np.testing.assert_allclose(y.tolist(), [-1, 0.2, 0.3, 1, -1, 1], rtol=1e-3)
    y.sum().backward()
    assert x.grad.tolist() == [0, 1, 1, 0, 0, 0]
    assert FAKE(x, torch.tensor([0.1]), int32(0), -10, 10).tolist() == y.tolist()


def test_channels():
    y = torch.ones(2, 3, requires_grad=True)
    out = CHANNELS(y, torch.tensor([0.3, 0.7]), int32(0, 1), 0, -10, 10)
    np.testing.assert_allclose(out.tolist(), [[0.9] * 3, [0.7] * 3], rtol=1e-6)
    out.sum().backward()
    assert y.grad.tolist() == [[1] * 3] * 2
    half = CHANNELS(y, torch.tensor([0.3, 0.7]), torch.tensor([0, 0.5]), 0, -10, 10)  # added before rounding
    np.testing.assert_allclose(half.tolist(), [[0.9] * 3, [1.05] * 3], rtol=1e-6)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: FAKE(torch.ones(2), 0.1, 20, -10, 10), "must be between `quant_min` and `quant_max`"),
        (lambda: FAKE(torch.ones(2), 0.1, 0, 10, -10), "less than or"),
        (lambda: FAKE(torch.ones(2), torch.tensor(0.1, requires_grad=True), 0, -1, 1), "respect to argument 'scale'"),
        (lambda: CHANNELS(torch.ones(2, 3), torch.ones(2), int32(0, 0), 1, 0, 9), "not consistent with input tensor"),
        (lambda: CHANNELS(torch.ones(2), torch.ones(2).double(), int32(0, 0), 0, 0, 9), "found Double"),
        (lambda: CHANNELS(torch.ones(2), torch.ones(2), torch.zeros(2).long(), 0, 0, 9), "found Long"),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        FAKE(torch.arange(3), 0.1, 0, 0, 9)


def test_functions_of_quantized_tensors():
    q = torch.quantize_per_tensor(torch.tensor([1.0, 2.0]), 0.5, 3, torch.qint8)
    assert torch.int_repr(q).tolist() == [5, 7] and (torch.q_scale(q), torch.q_zero_point(q)) == (0.5, 3)
    assert torch.dequantize(q).tolist() == [1, 2] and [t.tolist() for t in torch.dequantize([q, q])] == [[1, 2]] * 2
    assert torch.dequantize(torch.arange(2)).dtype is torch.float32
    with pytest.raises(NotImplementedError, match="aten::int_repr"):
        torch.int_repr(torch.ones(2))
