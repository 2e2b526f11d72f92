"""assert_close and make_tensor."""

import numpy as np
import pytest

import rushlight as rl
from rushlight.testing import assert_close, make_tensor

T = rl.tensor([1.0, 2.0, 3.0])
NAN = float("nan")

CLOSE = [
    (T, T + 1e-6, {}),
    (T.half(), T.half() + 0.001, {}),
    (1.0, 1.0 + 1e-9, {}),
    (None, None, {}),
    (True, True, {}),
    ([T, {"a": 1}], [T + 0, {"a": 1}], {}),
    (np.ones(2), np.ones(2), {}),
    (T, T.double(), {"check_dtype": False}),
    (T * NAN, T * NAN, {"equal_nan": True}),
    (T, T + 1, {"rtol": 0, "atol": 1.1}),
    (rl.ones(2, 3).t(), rl.ones(3, 2), {}),
    (rl.ones(0), rl.ones(0), {}),
]


@pytest.mark.parametrize("actual, expected, options", CLOSE)
def test_close(actual, expected, options):
    assert_close(actual, expected, **options)


FAR = [
    (T, rl.tensor([1.0, 4.0, 5.0]), {}, AssertionError, (
        "Tensor-likes are not close!\n\nMismatched elements: 2 / 3 (66.7%)\n"
        "Greatest absolute difference: 2.0 at index (1,) (up to 1e-05 allowed)\n"
        "Greatest relative difference: 0.5 at index (1,) (up to 1.3e-06 allowed)")),
    (rl.tensor(1.0), rl.tensor(2.0), {}, AssertionError, (
        "Scalars are not close!\n\nExpected 2.0 but got 1.0.\nAbsolute difference: 1.0 (up to 1e-05 allowed)\n"
        "Relative difference: 0.5 (up to 1.3e-06 allowed)")),
    (rl.tensor([1, 2]), rl.tensor([1, 3]), {}, AssertionError, (
        "Tensor-likes are not equal!\n\nMismatched elements: 1 / 2 (50.0%)\n"
        "Greatest absolute difference: 1 at index (1,)\nGreatest relative difference: 0.3333333432674408 at index (1,)")),
    (T, T.double(), {}, AssertionError, "The values for attribute 'dtype' do not match: torch.float32 != torch.float64."),
    (T, T[:2], {}, AssertionError, "The values for attribute 'shape' do not match: torch.Size([3]) != torch.Size([2])."),
    (rl.ones(2, 2).t(), rl.ones(2, 2), {"check_stride": True}, AssertionError, "The values for attribute 'stride()' do not match: (1, 2) != (2, 1)."),
    ([T, T], [T, T + 1], {}, AssertionError, "The failure occurred for item [1]"),
    ({"a": T}, {"b": T}, {}, AssertionError, "Missing keys in the actual mapping: ['b']"),
    ([1, 2], [1, 2, 3], {}, AssertionError, "The length of the sequences mismatch: 2 != 3"),
    (1, 1.0, {}, AssertionError, "The (d)types do not match: <class 'int'> != <class 'float'>."),
    (NAN, NAN, {}, AssertionError, "Scalars are not close!"),
    (None, 1, {}, AssertionError, "None mismatch: None is not 1"),
    (True, False, {}, AssertionError, "Booleans mismatch: True is not False"),
    ("a", "b", {}, TypeError, "No comparison pair was able to handle inputs of type <class 'str'> and <class 'str'>."),
    (T, T, {"rtol": 1.0}, ValueError, "Both 'rtol' and 'atol' must be either specified or omitted, but got no atol."),
    (T, T + 1, {"msg": "mine"}, AssertionError, "mine"),
    (T, T + 1, {"msg": lambda text: "header\n" + text}, AssertionError, "header\nTensor-likes"),
]  # fmt: skip


@pytest.mark.parametrize("actual, expected, options, error, text", FAR)
def test_far(actual, expected, options, error, text):
    with pytest.raises(error) as caught:
        assert_close(actual, expected, **options)
    assert text in str(caught.value)


DTYPES = [rl.float32, rl.float64, rl.float16, rl.bfloat16, rl.int64, rl.uint8, rl.bool, rl.complex64]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_make_tensor(dtype):
    t = make_tensor(4, 5, dtype=dtype, device="cpu")
    assert t.shape == (4, 5) and t.dtype is dtype and t.is_contiguous()
    spread = make_tensor((4, 5), dtype=dtype, device="cpu", noncontiguous=True)
    assert spread.shape == (4, 5) and not spread.is_contiguous()


def test_make_tensor_bounds_and_refusals():
    t = make_tensor(1000, dtype=rl.float32, device="cpu", low=2.0, high=3.0, requires_grad=True)
    assert t.requires_grad and t.min() >= 2.0 and t.max() < 3.0
    i = make_tensor(1000, dtype=rl.int32, device="cpu", low=-2, high=3, exclude_zero=True)
    assert set(i.tolist()) == {-2, -1, 1, 2}
    assert make_tensor(100, dtype=rl.float16, device="cpu", low=-1e9, high=1e9).isfinite().all()
    for bad in ({"low": 3, "high": 2}, {"low": NAN}, {"low": 300, "high": 400, "dtype": rl.uint8}):
        with pytest.raises(ValueError):
            make_tensor(2, **{"dtype": rl.float32, "device": "cpu", **bad})
    with pytest.raises(ValueError, match="requires_grad=True"):
        make_tensor(2, dtype=rl.int64, device="cpu", requires_grad=True)
