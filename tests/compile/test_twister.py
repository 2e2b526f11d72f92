"""Generated words are NumPy's, in every number of blocks, and the stream goes on from there."""

import numpy as np
import pytest

import rushlight as torch
from rushlight.compile.lower.llvm import engine, twister
from rushlight.core.random import mersenne

pytestmark = pytest.mark.skipif(not engine.available(), reason="no generated code here")


@pytest.mark.parametrize("blocks", [8, 9, 64, 577])
def test_blocks_are_numpys(blocks):
    ours, theirs = np.random.RandomState(blocks), np.random.RandomState(blocks)
    for stream in (ours, theirs):
        stream.randint(0, 1 << 32, twister.WORDS, np.uint32)
    np.testing.assert_array_equal(
        twister.words(ours, blocks), theirs.randint(0, 1 << 32, blocks * twister.WORDS, np.uint32)
    )
    np.testing.assert_array_equal(
        ours.randint(0, 1 << 32, 1000, np.uint32), theirs.randint(0, 1 << 32, 1000, np.uint32)
    )


def test_a_stream_in_the_middle_of_a_block_is_left_to_numpy():
    stream = np.random.RandomState(1)
    stream.randint(0, 1 << 32, 10, np.uint32)
    assert twister.words(stream, 100) is None


@pytest.mark.parametrize("draw", [torch.rand, torch.randn, lambda n: torch.nn.functional.dropout(torch.ones(n), 0.3)])
def test_draws_are_the_same_with_and_without(draw, monkeypatch):
    def drawn(make_blocks):
        monkeypatch.setattr(mersenne, "make_blocks", make_blocks)
        torch.manual_seed(7)
        return [draw(n).numpy() for n in (5, 100_000, 3, 20_001)], torch.get_rng_state().numpy()

    (a, state), (b, other) = drawn(None), drawn(twister.words)
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, y)
    np.testing.assert_array_equal(state, other)
