"""Operators of which a compiled step leaves nothing to Python, forward and backward, and which compute what eager ones do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from equality import differences, snapshot

import rushlight as torch
import rushlight.nn.functional as F
from rushlight.backend.onednn import library
from rushlight.compile.runtime.native import available
from rushlight.core.jit_switch import jit

CALLS = 5
SHAPE = (4, 6, 5)
ROWS = np.array([2, -1, 0, 2])

PARTS = {
    "slice": lambda x: x[1:, ::2, 3] * 2,
    "select": lambda x: x[:, None, 2] * x[0, 1],
    "pad": lambda x: F.pad(x, (1, 2, -1, 3), value=0.5),
    "cut": lambda x: F.pad(x, (-1, -2)),
    "roll": lambda x: x.roll((2, -8), (0, 1)),
    "roll flat": lambda x: x.roll(7),
    "masked_fill": lambda x: x.masked_fill(x[0] > 0.3, float("-inf")).sigmoid(),
    "masked_fill by a tensor": lambda x: x.masked_fill(x > 0.3, x.sum()),
    "norm": lambda x: x.norm(dim=1),
    "logsumexp": lambda x: x.logsumexp((0, 2)),
    "diff": lambda x: x.diff(dim=1),
}


def written(f: Any) -> Any:
    """A function that writes into a copy."""

    def g(x):
        y = x * 1
        f(y, x)
        return y

    return g


def _assign(y, x):
    y[torch.from_numpy(ROWS)] = x[:, 1:2] * 3


def _assign_columns(y, x):
    y[:, :, torch.from_numpy(ROWS.reshape(2, 2)[:, :1])] = -1.0


PLACES = np.array([2, 1, 0, 5]).reshape(1, 4, 1).repeat(4, 0).repeat(5, 2)
WRITES = {
    "rows": written(_assign),
    "columns": written(_assign_columns),
    "accumulated": lambda x: x.index_put((torch.from_numpy(ROWS),), x * 2, accumulate=True),
    "scatter": lambda x: x.scatter(1, torch.from_numpy(PLACES), x.flip(1)),
    "scatter a number": lambda x: x.scatter(1, torch.from_numpy(PLACES), 0.5),
    "index_copy": lambda x: x.index_copy(2, torch.tensor([3, 0]), x[:, :, :2].cos()),
    "index_fill": lambda x: x.index_fill(1, torch.from_numpy(ROWS), -2.0),
}
ELEMENTS = {
    "bilinear": lambda x: torch.nn.functional.bilinear(x, x.flip(0), torch.ones(2, x.shape[-1], x.shape[-1])),
    "cdist by products": lambda x: torch.cdist(x, x.flip(0) + 3, compute_mode="use_mm_for_euclid_dist"),
    "weights of embedding_bag": lambda x: torch.nn.functional.embedding_bag(
        torch.tensor([[0, 1], [1, 0]]), x.flatten(1), per_sample_weights=x.flatten(1)[:2, :2], mode="sum"
    ),
    "where": lambda x: torch.where(x > 0, x, -2 * x),
    "relu6": lambda x: F.relu6(x * 4),
    "hardshrink": lambda x: F.hardshrink(x, 0.3),
    "nearest pixels": lambda x: F.interpolate(x, scale_factor=2),
    "clamp": lambda x: x.clamp(x.min() / 2, x.max() / 2),
    "not": lambda x: (~(x > 0), ~x.detach().sign().bool()),
    "remainder": lambda x: (x % 2, x % -0.7, x.remainder(x.flip(0))),
    "power": lambda x: (x.abs() + 0.1) ** x,
    "glu": lambda x: F.glu(x, 1),
    "shuffle": lambda x: F.pixel_shuffle(x.reshape(1, 8, 5, 3), 2),
    "unshuffle": lambda x: F.pixel_unshuffle(x[:, :, :4], 2),
    "repeat": lambda x: x.repeat(2, 1, 3, 1),
    "tile": lambda x: x.tile(2),
    "reshape": lambda x: x.permute(2, 0, 1).reshape(10, 12) * 2,
    "vector and matrix": lambda x: x[0, :, 0] @ x[1],
    "outer": lambda x: torch.outer(x[0, 0], x[1, :, 1]),
    "std": lambda x: (x.std(), x.std(0), x.var(), x.var((0, 2), keepdim=True), x.var(-1, unbiased=False)),
}
SEEN = np.random.default_rng(7).random((6, 6)) > 0.4
SEEN[2] = False  # a query that sees nothing
BIAS = np.where(SEEN, 0.3, -np.inf).astype(np.float32)
ATTENTION = {
    "mask": lambda x: F.scaled_dot_product_attention(x, x * 2, x.cos(), torch.from_numpy(SEEN)),
    "bias": lambda x: F.scaled_dot_product_attention(
        x[:, None], x[:, None] * 2, x[:, None].cos(), torch.from_numpy(BIAS)
    ),
    "padding": lambda x: F.scaled_dot_product_attention(x, x, x, torch.from_numpy(SEEN[:4, None]), scale=2.0),
    "causal": lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
}
EXTREMES = {
    "max rows": lambda x: x.max(2),
    "max columns": lambda x: x.max(0),
    "max middle": lambda x: x.max(1, keepdim=True),
    "min": lambda x: x.min(-1),
    "values": lambda x: x.max(1).values * 3,
    "of an expression": lambda x: (x * x).exp().min(1),
    "turned": lambda x: x.permute(2, 0, 1).max(0),
    "one": lambda x: x[:, :1].max(1),
    "argmax": lambda x: x.argmax(1),
    "argmax flat": lambda x: x.permute(1, 2, 0).argmax(),
    "argmin": lambda x: x.argmin(0, keepdim=True),
    "amax": lambda x: x.amax((0, 2)),
    "all": lambda x: ((x > -9).all(1), (x > 9).any(), x.isnan().any(0, keepdim=True)),
}
LOOKUPS = {
    "rows": lambda x: x[torch.from_numpy(ROWS)],
    "two": lambda x: x[torch.from_numpy(ROWS), torch.from_numpy(ROWS[:, None])],
    "last": lambda x: x[:, :, torch.from_numpy(ROWS)],
    "summed": lambda x: (x[torch.from_numpy(ROWS)].sum(), x.index_select(0, torch.from_numpy(abs(ROWS))).sum(1)),
    "middle": lambda x: x[:, torch.from_numpy(ROWS.reshape(2, 2))],
    "gather": lambda x: x.gather(1, torch.from_numpy(abs(ROWS).reshape(1, 4, 1).repeat(4, 0).repeat(5, 2))),
    "index_select": lambda x: x.index_select(1, torch.from_numpy(abs(ROWS))),
    "index_add": lambda x: x.index_add(0, torch.from_numpy(abs(ROWS)), x * 2, alpha=3),
    "repeat_interleave": lambda x: x.repeat_interleave(3, 1),
}
POOLS = {
    "same": lambda x: F.max_pool2d(x, 3, 1, 1),
    "batched": lambda x: F.max_pool2d(x[None], 3, 2, 1),
    "dilated": lambda x: F.max_pool2d(x[None], (2, 3), (2, 1), 1, (2, 1)),
    "ceil": lambda x: F.max_pool2d(x, (2, 3), 2, ceil_mode=True),
    "overlapping": lambda x: F.max_pool2d(x[None], 2, 1),
    "indices": lambda x: F.max_pool2d(x, 3, 2, 1, 2, return_indices=True),
    "sequence": lambda x: F.max_pool1d(x, 3, 2, 1),
    "volume": lambda x: F.max_pool3d(x[None], 3, 1, 1),
    "volumes": lambda x: F.max_pool3d(x[None, None], 2, 2, (1, 0, 1)),
}
MEANS = {
    "padded": lambda x: F.avg_pool2d(x, 3, 2, 1),
    "inside only": lambda x: F.avg_pool2d(x[None], (3, 2), 1, 1, count_include_pad=False),
    "ceil": lambda x: F.avg_pool2d(x, (3, 2), 2, (1, 0), ceil_mode=True),
    "divided": lambda x: F.avg_pool2d(x, 3, 1, 1, divisor_override=4),
    "sequence": lambda x: F.avg_pool1d(x, 3, 2, 1),
}
RUNNING = {
    "sum": lambda x: x.cumsum(1),
    "sum of rows": lambda x: x.cumsum(-1),
    "sum of scattered": lambda x: x.reshape(2, 2, 6, 5).permute(2, 0, 3, 1).cumsum(1),
    "sum of repeated": lambda x: x[:, :1].expand(4, 6, 5).cumsum(0),
    "sum of columns": lambda x: x.reshape(3, 40).cumsum(0),
    "sum of turned": lambda x: x.permute(2, 0, 1).cumsum(1),
    "product": lambda x: x.cumprod(1),
    "product of rows": lambda x: x.cumprod(2).cos(),
    "product of columns": lambda x: x.reshape(3, 40).cumprod(0),
    "product with zeros": lambda x: (x * (x > -0.5)).cumprod(0),
    "products of others": lambda x: x.prod(1),
}
GROUPS = {
    "parts": PARTS,
    "elements": ELEMENTS,
    "writes": WRITES,
    "attention": ATTENTION,
    "extremes": EXTREMES,
    "lookups": LOOKUPS,
    "pools": POOLS,
    "means": MEANS,
    "running": RUNNING,
}
CASES = {f"{group}: {name}": f for group, cases in GROUPS.items() for name, f in cases.items()}
OF_ORDER = {name: f for name, f in CASES.items() if name.startswith(("extremes", "pools"))}


@pytest.fixture(autouse=True)
def _checked(monkeypatch):
    """Bounds are checked; eager backward passes stay eager."""
    monkeypatch.setenv("RUSHLIGHT_CHECK", "1")
    monkeypatch.setattr(jit, "on", False)


def normal(shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    return np.random.default_rng(3).normal(size=shape)


def ties(shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    return np.random.default_rng(4).integers(-1, 2, shape).astype(float)


def holes(shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    """With nan and infinities."""
    x = normal(shape)
    x.reshape(-1)[::7] = np.nan
    x.reshape(-1)[1::11] = -np.inf
    return x


def outcome(f: Any, data: np.ndarray, dtype: Any, compiled: bool) -> tuple[Any, list]:
    """The function that ran, and what its last call gave: results and the gradient."""
    gradient = dtype.is_floating_point

    def step(x):
        x.grad = None
        y = f(x)
        results = list(y) if isinstance(y, tuple) else [y]
        some = [r for r in results if r.requires_grad]
        if some:
            torch.autograd.backward(some, [r.detach() * 0.5 + 1 for r in some])
        return [r.detach() for r in results], x.grad

    run = torch.compile(step, fullgraph=True) if compiled else step
    x = torch.from_numpy(data).to(dtype).requires_grad_(gradient)
    results = [snapshot([run(x)]) for _ in range(CALLS)]
    return lambda: torch.compile.explain(run)(x), results[-1]


def check(f: Any, data: np.ndarray, dtype: Any = torch.float32) -> None:
    about, compiled = outcome(f, data, dtype, True)
    if available():
        left = [line for line in str(about()).splitlines() if "in Python" in line]
        if not library.available():
            left = [line for line in left if "no library has an implementation" not in line]
        assert not left, left[0]
    wrong = differences(outcome(f, data, dtype, False)[1], compiled)
    assert not wrong, "; ".join(wrong[:4])


@pytest.mark.parametrize("name", CASES)
def test_no_call_is_left(name):
    check(CASES[name], normal())


@pytest.mark.parametrize("data", [ties, holes])
@pytest.mark.parametrize("name", OF_ORDER)
def test_extremes_of_equal_numbers_and_of_nan(name, data):
    check(OF_ORDER[name], data())


@pytest.mark.parametrize("name", POOLS)
def test_maxima_without_a_gradient(name):
    """Another kernel; and in float64, which the library has no pools of."""

    def quietly(x):
        with torch.no_grad():
            return POOLS[name](x)

    check(quietly, holes())
    check(POOLS[name], normal(), torch.float64)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16, torch.int32, torch.uint8], ids=str)
def test_extremes_of_types(dtype):
    def both(x):
        return *x.max(1), *x.min(0), x.argmax(2), x.argmin()

    check(both, np.random.default_rng(1).integers(0, 9, SHAPE), dtype)


@pytest.mark.parametrize("shape", [(3, 1), (1, 3), (1, 1), (1,), (2, 1, 3)], ids=str)
def test_extremes_along_a_dimension_of_one_element(shape):
    def each(x):
        whole = x.argmax(), x.argmin(), x.amax(), x.max()
        along = [
            t for d in range(x.ndim) for t in (*x.max(d), *x.min(d, keepdim=True), x.argmax(d, keepdim=True), x.amin(d))
        ]
        return *whole, *along

    check(each, normal(shape))
    check(each, holes(shape))
    shared = lambda x: x.expand(2, *shape).max(0)  # noqa: E731
    check(shared, normal(shape))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16, torch.int32, torch.bool], ids=str)
@pytest.mark.parametrize("shape", [SHAPE, (2, 7, 50), (1, 1), (3,)], ids=str)
def test_running_sums_of_types(shape, dtype):
    def both(x):
        return x.cumsum(0), x.cumsum(-1), x.cumprod(-1), x.cumsum(0, dtype=torch.float64)

    check(both, ties(shape), dtype)


@pytest.mark.parametrize(
    "dtype",
    [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.uint8, torch.bool],
    ids=str,
)
@pytest.mark.parametrize("shape", [SHAPE, (2, 7, 50), (1, 1), (3,), (40, 3)], ids=str)
def test_running_extremes(shape, dtype):
    """With ties, nan, infinities and zeros of both signs: the latest place of equal ones, and of nan the first and all after."""

    def both(x):
        return *x.cummax(0), *x.cummin(-1), *x.movedim(0, -1).cummax(0)

    x = np.round(ties(shape))
    check(lambda x: both(x.detach()), x, dtype)
    if dtype.is_floating_point:
        flat = x.reshape(-1)
        flat[::5], flat[1::7], flat[2::11], flat[3::13] = -0.0, np.inf, -np.inf, np.nan
        check(lambda x: both(x.detach()), flat.reshape(shape), dtype)


def test_running_sums_keep_nan_and_signs_of_zero():
    def signs(x):
        return x.cumsum(0).signbit(), x.cumprod(0).signbit(), x.cumsum(1).isnan(), x.cumprod(1).isnan()

    check(lambda x: signs(x.detach()), np.array([[-0.0, np.nan, np.inf], [-0.0, 1, -np.inf], [-1.0, 0, 2]]))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.int32, torch.uint8, torch.bool], ids=str)
def test_writes_of_types(dtype):
    def write(x):
        y = x.clone()
        y[torch.from_numpy(ROWS)] = x[1]
        return y, x.index_fill(2, torch.tensor([1, -1]), 1)

    check(lambda x: write(x.detach()), ties() > 0, dtype)


def _of_images(*layers: Any) -> Any:
    return torch.nn.Sequential(torch.nn.Conv2d(4, 8, 3, padding=1), *layers)


MODULES: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "batch norm": (lambda: _of_images(torch.nn.BatchNorm2d(8), torch.nn.ReLU()), (2, 4, 6, 6)),
    "batch norm, 1d": (lambda: torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.BatchNorm1d(7)), (3, 5)),
    "batch norm, no affine": (lambda: _of_images(torch.nn.BatchNorm2d(8, affine=False)), (2, 4, 6, 6)),
    "instance norm": (lambda: _of_images(torch.nn.InstanceNorm2d(8, track_running_stats=True)), (2, 4, 6, 6)),
    "group norm": (lambda: _of_images(torch.nn.GroupNorm(2, 8), torch.nn.SiLU()), (2, 4, 6, 6)),
    "pools": (lambda: _of_images(torch.nn.MaxPool2d(2), torch.nn.AvgPool2d(3), torch.nn.Flatten()), (2, 4, 6, 6)),
    "global pool": (lambda: _of_images(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Sigmoid()), (2, 4, 6, 6)),
    "nearest": (lambda: _of_images(torch.nn.Upsample(scale_factor=2), torch.nn.PixelUnshuffle(2)), (2, 4, 6, 6)),
    "encoder layer": (lambda: torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 5, 8)),
}


@pytest.mark.parametrize("name", MODULES)
def test_modules_in_evaluation_are_native(name):
    make, shape = MODULES[name]
    torch.manual_seed(0)
    module = make()
    for _ in range(3):
        module(torch.randn(shape))  # running statistics of their own
    module.eval()
    x = torch.randn(shape)
    compiled = torch.compile(module)
    with torch.no_grad():
        for _ in range(4):
            got = compiled(x)
        assert "in Python" not in str(torch.compile.explain(compiled)(x))
        torch.testing.assert_close(got, module(x), rtol=1e-5, atol=1e-6)


def test_an_index_is_checked():
    """An index that does not fit raises as an eager one does, and nothing is written."""

    @torch.compile
    def look(x, i):
        x.add_(1)
        return x[i]

    x, i = torch.zeros(4, 2), torch.tensor([1, 3])
    for _ in range(4):
        look(x, i)
    with pytest.raises(IndexError, match="out of bounds"):
        look(x, torch.tensor([1, 4]))
    assert look(x, torch.tensor([-4, 0])).tolist() == [[x[0, 0].item()] * 2] * 2


def test_sigmoid_is_zero_where_the_exponential_overflows():
    x = torch.tensor([-88.0, -88.75, -95.0, -150.0, 90.0])
    compiled = torch.compile(lambda x: x.sigmoid().log(), fullgraph=True)
    for _ in range(4):
        y = compiled(x)
    assert y.tolist() == [-88.0, -torch.inf, -torch.inf, -torch.inf, 0.0]
    assert compiled(x.double() * 8)[1:].tolist() == [-torch.inf, -torch.inf, -torch.inf, 0.0]
