"""Draws by generated code: the bits of NumPy's, at every size, and torch's."""

import numpy as np
import pytest

import rushlight as torch
from rushlight.compile import install
from rushlight.compile.lower.eager import draws
from rushlight.core.dispatch import extension_points
from rushlight.core.random import boxmuller

pytestmark = pytest.mark.skipif(not draws.available(), reason="needs llvmlite and fused multiply-adds")
SLOTS = [
    extension_points.random_uniforms, extension_points.random_normals, extension_points.random_order,
    extension_points.random_blocks,
]  # fmt: skip


@pytest.fixture
def native(monkeypatch):
    """Fills or empties the slots: `native(True)`, `native(False)`."""
    before = [slot.value for slot in SLOTS]

    def switch(on):
        for slot in SLOTS:
            slot.register(None)
        if on:
            install.install_native()

    yield switch
    for slot, value in zip(SLOTS, before, strict=True):
        slot.register(value)


CALLS = {
    "rand": lambda n: torch.rand(n),
    "randn": lambda n: torch.randn(n),
    "uniform_": lambda n: torch.empty(n).uniform_(-0.3, 0.7),
    "uniform_ of one number": lambda n: torch.empty(n).uniform_(5, 5.0000005),
    "uniform_ where a float32 step is 2": lambda n: torch.empty(n).uniform_(16777216.3, 16777217.3),
    "normal_": lambda n: torch.empty(n).normal_(1.5, 0.02),
    "normal_ without deviation": lambda n: torch.empty(n).normal_(3, 0),
    "half": lambda n: torch.randn(n, dtype=torch.float16),
    "a layout of its own": lambda n: torch.empty(2, n).t().normal_(),
    "randperm": lambda n: torch.randperm(n),
    "randperm int32": lambda n: torch.randperm(n, dtype=torch.int32),
    "randint": lambda n: torch.randint(-5, 17, (n,)),
}


@pytest.mark.parametrize("name", list(CALLS))
@pytest.mark.parametrize("n", [0, 1, 7, 15, 16, 17, 31, 64, 513, 32768, 32769, 100_003])
def test_same_bits_and_place_in_the_stream(native, name, n):
    found = []
    for on in (False, True):
        native(on)
        torch.manual_seed(3)
        torch.rand(5)  # not at a block's start
        found.append((CALLS[name](n), torch.rand(3), torch.get_rng_state()))
    (plain, after, state), (fast, after_fast, state_fast) = found
    bits = {2: np.uint16, 4: np.uint32, 8: np.uint64}[plain.element_size()]
    assert np.array_equal(plain.numpy().view(bits), fast.numpy().view(bits))
    assert torch.equal(after, after_fast) and torch.equal(state, state_fast)


def test_normals_round_once():
    """NumPy rounds a fused sum twice, about once in 2**29: of many, none differs by more than a unit in the last place."""
    words = np.random.default_rng(0).integers(0, 1 << 32, 1 << 20, np.uint32)
    by_numpy = ((words & 0xFFFFFF).astype(np.float32) * np.float32(2.0**-24)).astype(np.float32)
    boxmuller.blocks32(by_numpy, 0.1, 2.5)
    fast = np.empty_like(by_numpy)
    draws.normals(words, fast, 0.1, 2.5)
    difference = np.abs(by_numpy.view(np.int32).astype(np.int64) - fast.view(np.int32))
    assert difference.max() <= 1 and (difference != 0).sum() <= 4


def test_torchs_bits(native):
    native(True)
    torch.manual_seed(0)
    values = torch.randn(4, 4).flatten()[[0, 5, 15]].tolist()
    assert values == [-1.1258398294448853, 0.6920091509819031, -0.2472781538963318]
    torch.manual_seed(0)
    assert torch.randperm(10).tolist() == [4, 1, 7, 5, 3, 9, 0, 8, 6, 2]


def test_many_draws_load_it(native, monkeypatch):
    native(False)
    monkeypatch.setattr(install, "_blocks_left", 1)
    extension_points.random_blocks.register(install._first_blocks)
    torch.randn(10_000)
    assert extension_points.random_normals.value is draws.normals


def test_many_small_draws_load_it(native, monkeypatch):
    """Each takes NumPy as long as thousands of numbers in one draw."""
    native(False)
    extension_points.random_normals.register(install._first_normals)
    monkeypatch.setattr(install, "_blocks_left", 10_000)
    calls = 0
    torch.manual_seed(0)
    values = []
    while extension_points.random_normals.value is install._first_normals and calls < 2000:
        values.append(torch.randn(17).tolist())
        calls += 1
    assert (
        extension_points.random_normals.value is draws.normals and 500 < calls < 800
    )  # each makes the numbers of a block
    native(False)
    torch.manual_seed(0)
    assert values == [torch.randn(17).tolist() for _ in range(calls)]


def test_a_switch_turns_it_off(native, monkeypatch):
    native(False)
    monkeypatch.setattr(install, "_blocks_left", 1)
    monkeypatch.setattr(install.jit, "on", False)
    extension_points.random_blocks.register(install._first_blocks)
    torch.randn(10_000)
    assert extension_points.random_normals.value is None


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: torch.randint_like(x, 3, 100),
        lambda x: torch.randn_like(x),
        lambda x: torch.randint(7, x.shape, out=torch.empty_like(x)),
        lambda x: torch.normal(1.0, 2.0, x.shape, out=torch.empty_like(x)),
    ],
)
def test_draws_in_the_shape_of_a_tensor_are_captured(draw):
    x, compiled = torch.empty(32, 1), torch.compile(draw, fullgraph=True)
    for call in range(5):
        torch.manual_seed(call)
        expected = draw(x), torch.rand(1)
        torch.manual_seed(call)
        assert torch.equal(compiled(x), expected[0]) and torch.equal(torch.rand(1), expected[1])
