"""On `meta`, results of inputs that are not contiguous have the CPU's strides, and take no memory."""

import tracemalloc

import pytest

import rushlight as torch
from rushlight.nn import functional as F

PERMUTED = {
    "exp": lambda x: x.exp(),
    "lgamma": lambda x: x.lgamma(),
    "sinc": lambda x: x.sinc(),
    "erfinv": lambda x: x.erfinv(),
    "gelu": F.gelu,
    "nan_to_num": torch.nan_to_num,
    "add": lambda x: x + torch.empty(x.shape, device=x.device),
    "div": lambda x: x / torch.empty(x.shape, device=x.device),
    "radd": lambda x: torch.empty(x.shape, device=x.device) + x,
    "where": lambda x: torch.where(x > 0, x, 0.0),
    "sum": lambda x: x.sum(1),
    "mean": lambda x: x.mean(1),
    "amax": lambda x: x.amax(1),
    "max": lambda x: x.max(1)[0],
    "std": lambda x: x.std(1),
    "count_nonzero": lambda x: x.count_nonzero(1),
    "cumsum": lambda x: x.cumsum(1),
    "logcumsumexp": lambda x: x.logcumsumexp(1),
    "softmax": lambda x: x.softmax(1),
}
IMAGES = {
    "conv2d": lambda x: F.conv2d(x, torch.empty(6, x.shape[1], 3, 3, device=x.device)),
    "conv_transpose2d": lambda x: F.conv_transpose2d(x, torch.empty(x.shape[1], 2, 3, 3, device=x.device)),
    "max_pool2d": lambda x: F.max_pool2d(x, 2, return_indices=True)[0],
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 3),
    "interpolate": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    "pad": lambda x: F.pad(x, (1, 1)),
    "pixel_unshuffle": lambda x: F.pixel_unshuffle(x, 2),
    "local_response_norm": lambda x: F.local_response_norm(x, 2),
    "group_norm": lambda x: F.group_norm(x, 1),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
}


@pytest.mark.parametrize("name", PERMUTED)
def test_permuted(name):
    here, there = (torch.empty(4, 3, 2, device=d).permute(2, 1, 0) for d in ("cpu", "meta"))
    expected, found = PERMUTED[name](here.zero_()), PERMUTED[name](there)
    assert (found.shape, found.stride(), found.dtype) == (expected.shape, expected.stride(), expected.dtype)


@pytest.mark.parametrize("name", IMAGES)
def test_channels_last(name):
    here, there = (torch.empty(2, 3, 8, 8, device=d).to(memory_format=torch.channels_last) for d in ("cpu", "meta"))
    expected, found = IMAGES[name](here.zero_()), IMAGES[name](there)
    assert (found.shape, found.stride()) == (expected.shape, expected.stride())
    assert found.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize(("name", "call"), [*PERMUTED.items(), *IMAGES.items()])
def test_no_memory(name, call):
    x = torch.empty(4, 256, 256, 64, device="meta").permute(0, 3, 1, 2)  # 64 MiB
    call(torch.empty(2, 8, 8, 4, device="meta").permute(0, 3, 1, 2))  # what is loaded at the first call
    tracemalloc.start()
    try:
        call(x)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_sorted_elements_and_their_places_are_in_the_order_of_the_input(device):
    x = torch.ones(4, 3, 2, device=device).permute(2, 1, 0)
    for call in (lambda: x.sort(-1), lambda: x.sort(stable=True, dim=0, descending=True), lambda: x.int().sort(1)):
        assert [r.stride() for r in call()] == [(1, 2, 6), (1, 2, 6)]
    assert x.argsort(1).stride() == torch.polygamma(1, x).stride() == (1, 2, 6)


@pytest.mark.parametrize("operator", [torch.add, torch.mul, torch.lt, torch.atan2], ids=lambda f: f.__name__)
def test_a_result_of_two_matrices_has_the_order_of_the_first(operator):
    def strides(device):
        x, y = torch.ones(3, 4, device=device).t(), torch.ones(4, 3, device=device)
        pairs = [(x, y), (y, x), (x[:, ::2], y[:, ::2]), (-x, y)]
        return [operator(*pair).stride() for pair in pairs]

    assert strides("meta") == strides("cpu") == [(1, 4), (3, 1), (1, 4), (1, 4)]
