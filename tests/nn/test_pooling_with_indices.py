"""`nn.functional.*_max_pool*_with_indices`: (maxima, places), and which sizes fractional pooling refuses."""

import pytest

import rushlight as torch

F = torch.nn.functional
CALLS = {
    "max_pool1d": ((2, 7), (3,), {"padding": 1, "dilation": 2}),
    "max_pool2d": ((1, 2, 5, 6), (2, (1, 2), 1, 1, True), {}),
    "max_pool3d": ((1, 5, 4, 6), (2,), {"ceil_mode": True}),
    "adaptive_max_pool1d": ((2, 7), (3,), {}),
    "adaptive_max_pool2d": ((1, 2, 5, 6), ((None, 2),), {}),
    "adaptive_max_pool3d": ((1, 5, 4, 6), (2,), {}),
    "fractional_max_pool2d": ((2, 2, 5, 6), (2,), {"output_ratio": (0.5, 0.5)}),
    "fractional_max_pool3d": ((2, 5, 5, 6), (2, 3), {}),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("asked", [False, True])
def test_gives_maxima_and_places(name, asked):
    """The places hold the maxima, as the function without indices gives them from the same random numbers."""
    shape, args, options = CALLS[name]
    x = torch.randn(*shape, requires_grad=True)
    torch.manual_seed(3)
    maxima, places = getattr(F, name + "_with_indices")(x, *args, **options, return_indices=asked)
    torch.manual_seed(3)
    assert torch.equal(maxima, getattr(F, name)(x, *args, **options))
    n = int(name[-2])
    flat = x.flatten(-n).gather(-1, places.flatten(-n))
    assert places.dtype is torch.int64 and torch.equal(flat.view_as(maxima), maxima)
    maxima.sum().backward()
    assert x.grad.sum().item() == maxima.numel()


@pytest.mark.parametrize(
    ("size", "out", "axis"),
    [((5, 5, 5), (4, 2, 2), "time"), ((5, 5, 5), (2, 4, 2), "height"), ((5, 5, 5), (2, 2, 4), "width"),
     ((4, 4), (4, 2), "height"), ((4, 4), (2, 4), "width")],
)  # fmt: skip
def test_fractional_windows_that_do_not_fit(size, out, axis):
    """Torch's messages. In three dimensions an axis of 5 has room for 3 windows of 2, in two one of 4 has."""
    n = len(size)
    function = "fractional_max_pool2d" if n == 2 else "fractional_max_pool3d_out"
    message = rf"^{function}\(\): pool {axis} 2 too large relative to input {axis} {size[0]}$"
    with pytest.raises(RuntimeError, match=message):
        getattr(F, f"fractional_max_pool{n}d")(torch.ones(1, *size), 2, out)
    assert getattr(F, f"fractional_max_pool{n}d")(torch.ones(1, *size), 2, 3).shape == (1, *(3,) * n)
