"""Convolutions against the sum that defines them, written as loops, and their gradients against central differences."""

import itertools

import numpy as np
import pytest

import rushlight as rl
from rushlight import ops

from .central_difference import check_gradients
from .second_gradient import check_second_gradients

rng = np.random.default_rng(0)


def convolved(x, w, b, stride, padding, dilation, groups):
    """Loops over every index of the result."""
    n = len(stride)
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    outs = [(x.shape[2 + i] - dilation[i] * (w.shape[2 + i] - 1) - 1) // stride[i] + 1 for i in range(n)]
    y = np.zeros((len(x), len(w), *outs))
    for k in range(len(w)):
        first = k // (len(w) // groups) * w.shape[1]
        for at in itertools.product(*map(range, outs)):
            box = tuple(
                slice(o * s, o * s + d * (r - 1) + 1, d)
                for o, s, d, r in zip(at, stride, dilation, w.shape[2:], strict=True)
            )
            window = x[(slice(None), slice(first, first + w.shape[1]), *box)]
            y[(slice(None), k, *at)] = (window * w[k]).sum(tuple(range(1, n + 2))) + (0 if b is None else b[k])
    return y


CASES = [
    # axes, stride, padding, dilation, groups, kernel
    (1, (1,), (0,), (1,), 1, (3,)),
    (1, (2,), (1,), (2,), 2, (2,)),
    (2, (1, 1), (0, 0), (1, 1), 1, (3, 3)),
    (2, (2, 1), (1, 2), (1, 2), 1, (3, 2)),
    (2, (1, 1), (0, 0), (1, 1), 1, (1, 1)),
    (2, (2, 3), (1, 0), (1, 1), 2, (2, 3)),
    (2, (1, 1), (1, 1), (1, 1), 4, (3, 3)),
    (3, (1, 2, 1), (1, 0, 1), (1, 1, 2), 1, (2, 2, 2)),
]
CONVOLUTION = {1: ops.conv1d, 2: ops.conv2d, 3: ops.conv3d}
TRANSPOSE = {1: ops.conv_transpose1d, 2: ops.conv_transpose2d, 3: ops.conv_transpose3d}


def _arrays(n, groups, kernel):
    sizes = (6, 5, 5)[:n]
    return rng.normal(size=(2, 4, *sizes)), rng.normal(size=(4, 4 // groups, *kernel)), rng.normal(size=4)


@pytest.mark.parametrize(("n", "stride", "padding", "dilation", "groups", "kernel"), CASES)
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_convolution(n, stride, padding, dilation, groups, kernel, kind):
    x, w, b = _arrays(n, groups, kernel)
    expected = convolved(x, w, b, stride, padding, dilation, groups)
    tensors = [rl.tensor(a.astype(kind)) for a in (x, w, b)]
    out = CONVOLUTION[n](*tensors, stride, padding, dilation, groups).numpy()
    assert out.dtype == kind
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5 if kind == "float32" else 1e-12)
    alone = CONVOLUTION[n](tensors[0][0], tensors[1], None, stride, padding, dilation, groups).numpy()
    np.testing.assert_allclose(alone, expected[0] - b.reshape(-1, *(1,) * n), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("n", "stride", "padding", "dilation", "groups", "kernel"), CASES[:-1])
def test_gradients(n, stride, padding, dilation, groups, kernel):
    x, w, b = _arrays(n, groups, kernel)

    def f(x, w, b):
        return CONVOLUTION[n](x, w, b, stride, padding, dilation, groups)

    check_gradients(f, x[:1], w, b)
    check_second_gradients(f, x, w, b)


@pytest.mark.parametrize(("n", "stride", "padding", "dilation", "groups", "kernel"), CASES)
def test_float32_gradients_agree_with_float64(n, stride, padding, dilation, groups, kernel):
    x, w, b = _arrays(n, groups, kernel)
    grads = {}
    for kind in ("float32", "float64"):
        leaves = [rl.tensor(a.astype(kind), requires_grad=True) for a in (x, w, b)]
        CONVOLUTION[n](*leaves, stride, padding, dilation, groups).square().sum().backward()
        grads[kind] = [t.grad.numpy() for t in leaves]
    for single, double in zip(grads["float32"], grads["float64"], strict=True):
        np.testing.assert_allclose(single, double, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("n", "stride", "padding", "dilation", "groups", "kernel"), CASES)
def test_the_transpose_is_the_adjoint(n, stride, padding, dilation, groups, kernel):
    x, w, _ = _arrays(n, groups, kernel)
    y = CONVOLUTION[n](rl.tensor(x), rl.tensor(w), None, stride, padding, dilation, groups)
    g = rl.tensor(rng.normal(size=tuple(y.shape)))
    lacking = [
        i - ((o - 1) * s - 2 * p + d * (k - 1) + 1)
        for i, o, s, p, d, k in zip(x.shape[2:], y.shape[2:], stride, padding, dilation, kernel, strict=True)
    ]
    back = TRANSPOSE[n](g, rl.tensor(w), None, stride, padding, tuple(lacking), groups, dilation)
    assert tuple(back.shape) == x.shape
    np.testing.assert_allclose((back.numpy() * x).sum(), (g * y).sum().item())


@pytest.mark.parametrize("output_padding", [0, 1])
def test_transpose_gradients(output_padding):
    x, w, b = rng.normal(size=(2, 4, 3, 3)), rng.normal(size=(4, 1, 2, 3)), rng.normal(size=2)

    def f(x, w, b):
        return ops.conv_transpose2d(x, w, b, 2, 1, output_padding, 2, 2)

    check_gradients(f, x, w, b)
    check_second_gradients(f, x, w, b)


def test_output_padding_as_large_as_the_stride():
    x, w = rng.normal(size=(1, 1, 4)), rng.normal(size=(1, 2, 3))

    def f(x, w):
        return ops.conv_transpose1d(x, w, None, 1, 0, 1, 1, 2)

    assert f(rl.tensor(x), rl.tensor(w)).shape == (1, 2, 9)
    check_gradients(f, x, w)
    check_second_gradients(f, x, w)


def test_named_padding():
    x, w = rl.randn(1, 2, 7, 6), rl.randn(3, 2, 3, 5)
    assert ops.conv2d(x, w, padding="valid").shape == (1, 3, 5, 2)
    same = ops.conv2d(x, w, padding="same", dilation=(2, 1))
    np.testing.assert_allclose(same.numpy(), ops.conv2d(x, w, padding=(2, 2), dilation=(2, 1)).numpy(), atol=1e-6)


def test_even_same_padding_adds_behind():
    with pytest.warns(UserWarning, match="even kernel lengths"):
        out = ops.conv1d(rl.tensor([[[1.0, 2.0, 3.0]]]), rl.ones(1, 1, 2), padding="same")
    assert out.tolist() == [[[3, 5, 3]]]


def test_only_what_is_needed_gets_a_gradient():
    x, w, b = rl.randn(1, 2, 4, 4), rl.randn(3, 2, 2, 2), rl.randn(3, requires_grad=True)
    out = ops.conv2d(x, w, b)
    assert out.grad_fn.name() == "ConvolutionBackward0"
    out.sum().backward()
    assert b.grad.tolist() == [9, 9, 9] and x.grad is None and w.grad is None


def test_integers_half_precision_and_empty_batches():
    ones = rl.ones(1, 2, 3, 3)
    assert ops.conv2d(ones.long(), rl.ones(1, 2, 2, 2).long()).tolist() == [[[[8, 8], [8, 8]]]]
    for kind in (rl.float16, rl.bfloat16):
        out = ops.conv2d(ones.to(kind), rl.ones(1, 2, 2, 2).to(kind), rl.ones(1).to(kind))
        assert out.dtype is kind and out.tolist() == [[[[9, 9], [9, 9]]]]
    w = rl.ones(3, 2, 2, 2, requires_grad=True)
    out = ops.conv2d(ones[:0], w)
    assert out.shape == (0, 3, 2, 2)
    out.sum().backward()
    assert not w.grad.any()


def test_strided_memory():
    x = rl.randn(5, 4, 2, 3).permute(3, 2, 0, 1)
    w = rl.randn(2, 2, 2, 4).transpose(2, 3).transpose(0, 1)
    out = ops.conv2d(x, w)
    np.testing.assert_allclose(out.numpy(), ops.conv2d(x.contiguous(), w.contiguous()).numpy(), atol=1e-5)


X, W = (2, 4, 8, 8), (6, 4, 3, 3)
ERRORS = [
    (X, (6, 3, 3, 3), {}, "to have 3 channels, but got 4 channels instead"),
    (X, W, {"groups": 2}, "to have 8 channels, but got 4"),
    (X, (5, 2, 3, 3), {"groups": 2}, "expected weight to be divisible by 2 at dimension 0"),
    (X, (6, 4, 9, 9), {}, "Kernel size can't be greater than actual input size"),
    ((8, 8), W, {}, r"Expected 3D \(unbatched\) or 4D \(batched\) input to conv2d, but got input of size: \[8, 8\]"),
    (X, W, {"stride": 0}, "non-positive stride is not supported"),
    (X, W, {"padding": -1}, "negative padding is not supported"),
    (X, W, {"dilation": 0}, "non-positive dilation is not supported"),
    (X, W, {"stride": (1, 2, 3)}, "expected stride to be a single integer value or a list of 2 values"),
    (X, W, {"padding": "same", "stride": 2}, "padding='same' is not supported for strided convolutions"),
    (X, W, {"padding": "foo"}, "Invalid padding string: 'foo'"),
    ((2, 4, 0, 8), W, {"padding": 2}, "Only zero batch or zero channel inputs are supported"),
]


@pytest.mark.parametrize(("x", "w", "arguments", "words"), ERRORS)
def test_errors(x, w, arguments, words):
    for _ in range(2):  # what was checked once is remembered
        with pytest.raises(RuntimeError, match=words):
            ops.conv2d(rl.ones(*x), rl.ones(*w), **arguments)


def test_types_must_agree():
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
        ops.conv2d(rl.ones(*X), rl.ones(*W).double())
    with pytest.raises(RuntimeError, match=r"Input type \(float\) and bias type \(double\) should be the same"):
        ops.conv2d(rl.ones(*X), rl.ones(*W), rl.ones(6).double())
    with pytest.raises(RuntimeError, match="expected bias to be 1-dimensional with 6 elements"):
        ops.conv2d(rl.ones(*X), rl.ones(*W), rl.ones(5))
    with pytest.raises(TypeError, match="argument 'input'"):
        ops.conv2d(np.ones(X), rl.ones(*W))
    with pytest.raises(RuntimeError, match="output padding must be smaller than either stride or dilation"):
        ops.conv_transpose2d(rl.ones(*X), rl.ones(4, 6, 3, 3), output_padding=1)


def test_types_are_looked_at_where_the_shapes_are_known():
    """What was checked once is remembered: with the types of all three."""
    x, w, b = rl.ones(1, 3, 6, 6), rl.ones(4, 3, 3, 3), rl.ones(4)
    ops.conv2d(x, w, b)
    with pytest.raises(RuntimeError, match=r"Input type \(float\) and bias type \(double\) should be the same"):
        ops.conv2d(x, w, b.double())
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
        ops.conv2d(x, w.double(), b)
    assert ops.conv_transpose2d(x, rl.ones(3, 4, 3, 3), b).dtype is rl.float32
    assert ops.conv_transpose2d(x, rl.ones(3, 4, 3, 3), b.double()).dtype is rl.float32  # as in torch
    with pytest.raises(NotImplementedError, match="slow_conv_transpose2d_out_cpu"):
        ops.conv_transpose2d(x.int(), rl.ones(3, 4, 3, 3).int())


def test_conv_tbc():
    x, w, b = rl.randn(5, 2, 4), rl.randn(3, 4, 6), rl.randn(6)
    out = ops.conv_tbc(x, w, b, 1)
    expected = ops.conv1d(x.permute(1, 2, 0), w.permute(2, 1, 0), b, padding=1).permute(2, 0, 1)
    np.testing.assert_allclose(out.numpy(), expected.numpy())


def test_groups_are_whole_numbers():
    x, w = rl.arange(100.0).view(1, 4, 5, 5), rl.arange(16.0).view(4, 1, 2, 2)
    want = rl.nn.functional.conv2d(x, w, rl.ones(4), groups=4, dilation=2)
    assert rl.equal(rl.nn.functional.conv2d(x, w, rl.ones(4), groups=rl.tensor(4), dilation=2), want)
    for wrong in (True, 4.0, rl.tensor([4, 4])):
        with pytest.raises(TypeError, match=r"conv2d\(\) received an invalid .*groups="):
            rl.nn.functional.conv2d(x, w, groups=wrong)


def test_convolution_of_any_kind():
    x, w = rl.randn(2, 4, 6, 6), rl.randn(4, 2, 3, 3)
    made = rl.convolution(x, w, None, [2, 1], [1, 1], [1, 1], False, [0, 0], 2)
    assert rl.equal(made, ops.conv2d(x, w, None, (2, 1), (1, 1), 1, 2))
    made = rl.convolution(x, w, rl.ones(4), [2, 2], [1, 1], [1, 1], True, [1, 0], 2)
    assert rl.equal(made, ops.conv_transpose2d(x, w, rl.ones(4), 2, 1, (1, 0), 2))
    with pytest.raises(RuntimeError, match="Expected 4-dimensional input for 4-dimensional weight"):
        rl.convolution(x[0], w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 2)


def test_one_padding_in_a_tuple_is_for_all_dimensions():
    layer = rl.nn.Conv2d(3, 4, 3, padding=(1,))
    assert layer.padding == (1,) and layer(rl.rand(2, 3, 8, 8)).shape == (2, 4, 8, 8)
    assert rl.nn.Conv2d(3, 4, (3, 3, 3)).weight.shape == (4, 3, 3, 3, 3)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_an_input_without_channels_has_none_after_a_convolution(n):
    conv = getattr(rl.nn.functional, f"conv{n}d")
    x, w = rl.ones(2, 0, *[5] * n, requires_grad=True), rl.ones(3, 0, *[2] * n, requires_grad=True)
    y = conv(x, w, rl.ones(3), stride=2, padding=1)
    assert y.shape == (2, 0, *[3] * n)  # as in torch
    y.sum().backward()
    assert x.grad.shape == x.shape and w.grad.shape == w.shape
    assert conv(x[0], w).shape == (0, *[4] * n)


@pytest.mark.parametrize("transposed", [False, True])
def test_volumes_follow_channels_last_where_torch_asks_onednn(transposed):
    """torch leaves single volumes, and those of float64, to a kernel of its own, whose results are contiguous."""

    def followed(n=1, d=rl.float32, kernel=3, groups=1, size=6):
        x = rl.ones(n, 4, size, size, size, dtype=d).to(memory_format=rl.channels_last_3d)
        w = rl.ones(4, 4 // groups, kernel, kernel, kernel, dtype=d)
        f = rl.nn.functional.conv_transpose3d if transposed else rl.nn.functional.conv3d
        y = f(x, w, groups=groups)
        assert y.is_contiguous() != y.is_contiguous(memory_format=rl.channels_last_3d)
        return not y.is_contiguous()

    assert not followed() and followed(n=2) and followed(groups=2) and followed(kernel=4)
    assert not followed(n=2, d=rl.float64) and not followed(d=rl.float64, groups=2)
    assert followed(d=rl.bfloat16) and not followed(size=7)
