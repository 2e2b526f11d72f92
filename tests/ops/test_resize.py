"""Padding and rearranging against NumPy, resampling against torch's numbers (golden/resize.npz, make_resize.py)."""

import pathlib

import numpy as np
import pytest

import rushlight as rl
import rushlight.nn.functional as F
from rushlight import ops

from .central_difference import check_gradients
from .resize_cases import arrays_of, grids, resamplings
from .second_gradient import check_second_gradients

rng = np.random.default_rng(0)
GOLDEN = np.load(pathlib.Path(__file__).parents[1] / "golden" / "resize.npz")
CASES = {name: (f, shapes) for name, f, shapes in [*resamplings(), *grids()]}


@pytest.mark.parametrize("name", CASES)
def test_resampling_as_torch(name):
    f, shapes = CASES[name]
    tensors = [rl.tensor(a, requires_grad=True) for a in arrays_of(name, shapes)]
    out = f(ops, *tensors)
    np.testing.assert_allclose(out.detach().numpy(), GOLDEN[name], rtol=1e-6, atol=1e-6)
    out.square().sum().backward()
    for i, t in enumerate(tensors):
        np.testing.assert_allclose(t.grad.numpy(), GOLDEN[f"{name}|{i}"], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", [n for n in CASES if "nearest" not in n][::3])
def test_second_gradients_of_resampling(name):
    f, shapes = CASES[name]
    check_second_gradients(lambda *t: f(ops, *t).square(), *arrays_of(name, shapes))


PADDING = [
    ((2, 3, 4), (1, 2), "constant"), ((2, 3, 4), (1, 2, 0, 3, 2, 1), "constant"), ((2, 3, 4), (1, 2), "reflect"),
    ((2, 3, 4), (2, 3), "replicate"), ((2, 3, 4), (3, 2), "circular"), ((2, 3, 4, 5), (1, 2, 3, 1), "reflect"),
    ((2, 3, 4, 5), (1, 2, 5, 0), "replicate"), ((1, 2, 3, 4, 3), (1, 2, 2, 1, 0, 2), "circular"), ((4,), (1, 1), "constant"),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "pad", "mode"), PADDING)
def test_padding(shape, pad, mode):
    x = rng.normal(size=shape)
    pairs = [(0, 0)] * (len(shape) - len(pad) // 2) + [pad[i : i + 2] for i in range(len(pad) - 2, -1, -2)]
    names = {"replicate": "edge", "circular": "wrap"}
    np.testing.assert_array_equal(ops.pad(rl.tensor(x), pad, mode).numpy(), np.pad(x, pairs, names.get(mode, mode)))
    check_gradients(lambda t: ops.pad(t, pad, mode), x)
    check_second_gradients(lambda t: ops.pad(t, pad, mode).square(), x)


def added_row_by_row(places, g, shape):
    """Each element of g added to its place, one after the other, as torch's kernels do."""
    out = np.zeros(shape, np.float32)
    for at in np.ndindex(g.shape[2:]):
        out[(..., *[places[axis][i] for axis, i in enumerate(at)])] += g[(..., *at)]
    return out


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
@pytest.mark.parametrize("pad", [(3, 2, 1, 4), (-1, 3, 2, -2), (0, 0, 5, 5)])
def test_gradients_of_padding_are_added_row_by_row(pad, mode):
    x = rl.tensor(rng.normal(size=(2, 3, 6, 7)).astype("f"), requires_grad=True)
    y = ops.pad(x, pad, mode=mode)
    g = rng.normal(size=y.shape).astype("f")
    y.backward(rl.from_numpy(g))
    columns = ops.pad(rl.arange(7.0).reshape(1, 1, 7), pad[:2], mode=mode)
    rows = ops.pad(rl.arange(6.0).reshape(1, 1, 6), pad[2:], mode=mode)
    places = [p.numpy().astype(int).ravel() for p in (rows, columns)]
    np.testing.assert_array_equal(x.grad.numpy(), added_row_by_row(places, g, x.shape))


@pytest.mark.parametrize("size", [(12, 14), (6, 14), (18, 7), (6, 7)])
def test_gradients_of_repeated_pixels_are_added_row_by_row(size):
    x = rl.tensor(rng.normal(size=(2, 3, 6, 7)).astype("f"), requires_grad=True)
    y = ops.interpolate(x, size)
    assert not np.shares_memory(y.detach().numpy(), x.detach().numpy())
    g = rng.normal(size=y.shape).astype("f")
    y.backward(rl.from_numpy(g))
    places = [np.arange(out) * n // out for n, out in zip((6, 7), size, strict=True)]
    np.testing.assert_array_equal(y.detach().numpy(), x.detach().numpy()[:, :, places[0][:, None], places[1]])
    np.testing.assert_array_equal(x.grad.numpy(), added_row_by_row(places, g, x.shape))
    y.detach().zero_()
    assert x.detach().abs().min() > 0


def test_negative_padding_cuts_off():
    x = rl.arange(4.0).reshape(1, 1, 4)
    assert ops.pad(x, (-1, 2), value=9).flatten().tolist() == [1, 2, 3, 9, 9]
    assert ops.pad(x, (-1, 2), "circular").flatten().tolist() == [1, 2, 3, 1, 2]
    assert ops.pad(x, (-1, 2), "replicate").flatten().tolist() == [1, 2, 3, 3, 3]
    assert ops.pad(x, (-1, 2), "reflect").flatten().tolist() == [1, 2, 3, 2, 1]
    check_gradients(lambda t: ops.pad(t, (-1, 2)), x.double().numpy())


def test_padding_keeps_the_type():
    assert ops.pad(rl.ones(2, dtype=rl.int64), (1, 1), value=1.5).tolist() == [1, 1, 1, 1]
    assert ops.pad(rl.ones(1, dtype=rl.bool), (1, 0)).tolist() == [False, True]


PADDING_ERRORS = [
    ((2, 3, 4), (4, 1), "reflect", RuntimeError, "Padding size should be less than the corresponding input dimension"),
    ((2, 3, 4), (5, 2), "circular", RuntimeError, "wrapping around more than once"),
    ((4,), (1,), "constant", RuntimeError, "Padding length must be divisible by 2"),
    ((4,), (1, 1, 1, 1), "constant", RuntimeError, "less than or equal to two times the input dimension"),
    ((2, 3, 4), (-3, -2), "constant", RuntimeError, "length must be non-negative"),
    ((2, 3, 4, 5), (1, 2), "reflect", NotImplementedError, "is not supported for 4D input tensor"),
    ((2, 3, 4), (1, 1), "foo", NotImplementedError, "Unrecognised padding mode foo"),
]


@pytest.mark.parametrize(("shape", "pad", "mode", "kind", "words"), PADDING_ERRORS)
def test_padding_errors(shape, pad, mode, kind, words):
    with pytest.raises(kind, match=words):
        ops.pad(rl.ones(*shape), pad, mode)


def test_pixels_and_channels():
    x = rng.normal(size=(2, 12, 2, 3))
    up = ops.pixel_shuffle(rl.tensor(x), 2)
    assert up.shape == (2, 3, 4, 6)
    assert up[1, 2, 3, 4].item() == x[1, 2 * 4 + 1 * 2 + 0, 1, 2]
    np.testing.assert_array_equal(ops.pixel_unshuffle(up, 2).numpy(), x)
    mixed = ops.channel_shuffle(rl.tensor(x), 3)
    np.testing.assert_array_equal(mixed.numpy(), x[:, [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]])
    same = rl.tensor(x)
    assert ops.pixel_shuffle(same, 1).data_ptr() != same.data_ptr()
    for f in (
        lambda t: ops.pixel_shuffle(t, 2), lambda t: ops.pixel_unshuffle(t.reshape(2, 3, 4, 6), 2),
        lambda t: ops.channel_shuffle(t, 4),
    ):  # fmt: skip
        check_gradients(f, x)


@pytest.mark.parametrize(
    ("kernel", "dilation", "padding", "stride"), [(3, 1, 0, 1), ((3, 2), 2, 1, 2), (1, 1, 0, 1), (2, 1, 1, 3)]
)
def test_fold_is_the_transpose_of_unfold(kernel, dilation, padding, stride):
    x = rng.normal(size=(2, 3, 6, 7))
    columns = ops.unfold(rl.tensor(x), kernel, dilation, padding, stride)
    g = rl.tensor(rng.normal(size=tuple(columns.shape)))
    back = ops.fold(g, (6, 7), kernel, dilation, padding, stride)
    np.testing.assert_allclose((back.numpy() * x).sum(), (g * columns).sum().item())
    weight = rng.normal(size=(1, 3, *((kernel,) * 2 if isinstance(kernel, int) else kernel)))
    convolved = ops.conv2d(rl.tensor(x), rl.tensor(weight), None, stride, padding, dilation).reshape(2, -1)
    np.testing.assert_allclose((rl.tensor(weight.reshape(-1)) @ columns).numpy(), convolved.numpy())
    check_gradients(lambda t: ops.unfold(t, kernel, dilation, padding, stride), x[:1])
    check_gradients(lambda t: ops.fold(t, (6, 7), kernel, dilation, padding, stride), g.numpy()[0])


def test_fold_errors():
    with pytest.raises(RuntimeError, match="calculated shape of the array of sliding blocks"):
        ops.unfold(rl.ones(2, 3, 5, 5), 6)
    with pytest.raises(RuntimeError, match="to be divisible by the product of kernel_size"):
        ops.fold(rl.ones(2, 26, 9), 5, 3)
    with pytest.raises(RuntimeError, match="to match the calculated number of sliding blocks 3"):
        ops.fold(rl.ones(2, 27, 8), 5, 3)


def test_bytes_are_rounded():
    x = rl.tensor([[[[0, 100], [200, 50]]]], dtype=rl.uint8)
    out = ops.interpolate(x, (3, 3), mode="bilinear", align_corners=True)
    assert out.dtype is rl.uint8 and out.tolist() == [[[[0, 50, 100], [100, 88, 75], [200, 125, 50]]]]


ERRORS = [
    ({}, ValueError, "either size or scale_factor should be defined"),
    ({"size": 3, "scale_factor": 2}, ValueError, "only one of size or scale_factor"),
    ({"size": (3,)}, ValueError, "same number of spatial dimensions"),
    ({"size": 3, "align_corners": True}, ValueError, "align_corners option can only be set"),
    ({"size": 3, "mode": "linear"}, NotImplementedError, "Got 4D input, but linear mode needs 3D input"),
    ({"size": 3, "mode": "foo"}, NotImplementedError, "for the modes"),
    ({"size": 0}, RuntimeError, "Input and output sizes should be greater than 0"),
    ({"size": 3, "antialias": True}, ValueError, "Anti-alias option is restricted"),
    ({"size": 3, "recompute_scale_factor": True}, ValueError, "not meaningful with an explicit size"),
]


@pytest.mark.parametrize(("arguments", "kind", "words"), ERRORS)
def test_errors(arguments, kind, words):
    with pytest.raises(kind, match=words):
        ops.interpolate(rl.ones(2, 3, 4, 5), **arguments)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("place", [float("inf"), -float("inf"), float("nan")])
def test_gradients_that_are_recorded_are_silent_about_places_that_are_none(place, mode):
    x, grid = rl.ones(1, 1, 3, 1, requires_grad=True), rl.full((1, 1, 2, 2), place, requires_grad=True)
    y = ops.grid_sample(x, grid, mode, align_corners=True)
    by_image, by_grid = rl.autograd.grad(y.sum(), (x, grid), create_graph=True)
    (by_image.sum() + by_grid.sum()).backward()
    assert by_grid.shape == grid.grad.shape and x.grad.shape == x.shape


def test_grid_errors():
    x, grid = rl.ones(2, 3, 4, 5), rl.zeros(2, 6, 7, 2)
    with pytest.warns(UserWarning, match="align_corners=False since 1.3.0"):
        ops.grid_sample(x, grid)
    with pytest.raises(ValueError, match="expected mode to be"):
        ops.grid_sample(x, grid, "foo")
    with pytest.raises(RuntimeError, match="same batch size"):
        ops.grid_sample(x, rl.zeros(3, 6, 7, 2), align_corners=False)
    with pytest.raises(ValueError, match="batch of 2D affine matrices"):
        ops.affine_grid(rl.ones(2, 2, 2), (2, 3, 4, 5), align_corners=False)


# torch's numbers for 640 elements, 0 and 1 in turn, at 1,066 places: it rounds a place to float32, 2e-5 from where it is
AT_LARGE_SIZES = {
    "linear": [0.59942626953125, 0.0628662109375, 0.77581787109375],
    "bilinear": [0.59942626953125, 0.0628662109375, 0.77581787109375],
    "trilinear": [0.59942626953125, 0.0628662109375, 0.77581787109375],
    "bicubic": [0.6471737027168274, 0.011359691619873047, 0.8717606663703918],
}
GRADIENTS_AT_LARGE_SIZES = {
    "linear": [1.233551025390625, 1.935272216796875, 1.27294921875],
    "bilinear": [1.233551025390625, 1.935272216796875, 1.27294921875],
    "trilinear": [1.233551025390625, 1.935272216796875, 1.27294921875],
    "bicubic": [1.2681951522827148, 1.9605906009674072, 1.294158697128296],
}


@pytest.mark.parametrize("mode", AT_LARGE_SIZES)
def test_places_are_rounded_as_in_torch(mode):
    rank = {"linear": 0, "trilinear": 2}.get(mode, 1)
    x = (rl.arange(640) % 2).float().view(1, 1, 640, *[1] * rank).requires_grad_()
    y = rl.nn.functional.interpolate(x, (1066, *[1] * rank), mode=mode)
    rl.testing.assert_close(y.flatten()[[531, 700, 1001]], rl.tensor(AT_LARGE_SIZES[mode]), rtol=0, atol=2e-7)
    y.backward((rl.arange(1066) % 3).float().view_as(y))
    expected = rl.tensor(GRADIENTS_AT_LARGE_SIZES[mode])
    rl.testing.assert_close(x.grad.flatten()[[301, 422, 600]], expected, rtol=0, atol=4e-7)


def test_the_gradient_of_a_bicubic_image_of_the_same_size_is_copied():
    """As by torch, although the image itself is not where a scale factor says that its pixels are elsewhere."""
    x = rl.zeros(1, 1, 5, 4, requires_grad=True)
    y = rl.nn.functional.interpolate(x, scale_factor=(1.1, 1.2), mode="bicubic")
    g = rl.arange(20.0).view(1, 1, 5, 4)
    y.backward(g)
    assert rl.equal(x.grad, g)


def test_16_bits_round_where_torch_does():
    """Weights are kept in 16 bits, and shares of an adaptive pool's gradient are added in 16 bits; recorded, times 1024."""
    x = (rl.arange(6.0) * 0.37 - 1).sin().bfloat16()
    line = F.interpolate(x.view(1, 1, 6), size=10, mode="linear")
    assert (line.float() * 1024).flatten().tolist() == [
        -860.0,
        -760.0,
        -604.0,
        -400.0,
        -189.0,
        37.5,
        256.0,
        472.0,
        652.0,
        768.0,
    ]
    row = F.interpolate(x.view(1, 1, 1, 6), size=(1, 10), mode="bicubic")
    assert (row.float() * 1024).flatten().tolist() == [
        -888.0,
        -784.0,
        -604.0,
        -418.0,
        -174.0,
        20.0,
        272.0,
        472.0,
        680.0,
        796.0,
    ]
    z = rl.ones(1, 1, 5, 5, dtype=rl.bfloat16, requires_grad=True)
    F.adaptive_avg_pool2d(z, 3).backward((rl.arange(9.0) * 0.37 - 1).sin().bfloat16().view(1, 1, 3, 3))
    assert (z.grad.float() * 1024)[0, 0].tolist() == [
        [-215.0, -316.0, -100.5, -166.0, -66.0],
        [-196.0, -246.0, -48.25, 14.0, 62.0],
        [18.75, 71.0, 52.25, 180.0, 128.0],
        [258.0, 484.0, 223.0, 588.0, 364.0],
        [240.0, 412.0, 171.0, 408.0, 237.0],
    ]
