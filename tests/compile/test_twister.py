"""Generated words are NumPy's, in every number of blocks, and the stream goes on from there."""

import numpy as np
import pytest

import rushlight as torch
from rushlight.compile.lower.eager import trials, twister
from rushlight.compile.lower.llvm import engine
from rushlight.core.dispatch.extension_points import random_blocks, random_trials
from rushlight.core.random import discrete, mersenne

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
    ours, theirs = np.random.RandomState(1), np.random.RandomState(1)
    for stream in (ours, theirs):
        stream.randint(0, 1 << 32, 10, np.uint32)
    expected = theirs.randint(0, 1 << 32, 100 * twister.WORDS, np.uint32)
    np.testing.assert_array_equal(twister.words(ours, 100), expected)


@pytest.mark.parametrize("draw", [torch.rand, torch.randn, lambda n: torch.nn.functional.dropout(torch.ones(n), 0.3)])
def test_draws_are_the_same_with_and_without(draw, monkeypatch):
    def drawn(make_blocks, decide):
        monkeypatch.setattr(random_blocks, "value", make_blocks)
        monkeypatch.setattr(random_trials, "value", decide)
        torch.manual_seed(7)
        return [draw(n).numpy() for n in (5, 100_000, 3, 20_001)], torch.get_rng_state().numpy()

    (a, state), (b, other) = (
        drawn(mersenne.blocks_by_numpy, discrete.decide_by_numpy),
        drawn(twister.words, trials.decide),
    )
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, y)
    np.testing.assert_array_equal(state, other)


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 1 - 2.0**-40, 2.0**-53, 1 / 3, 1.0])
def test_trials_are_numpys(p):
    high, low = discrete._limits(p)
    words = np.random.RandomState(0).randint(0, 1 << 32, 2 * 1000, np.uint32)
    words[0:400:2] = np.arange(200, dtype=np.uint32) << 21 | high  # nearly all are decided by the second word
    words[1:400:2] = low + np.arange(-100, 100)
    out = np.full(1000, 7, np.float32)
    done = trials.decide_most(words, out, int(high), low)
    assert done == 992 and (out[done:] == 7).all()
    np.testing.assert_array_equal(out[:done], discrete._trials(words, high, low)[:done])
    trials.decide(words, out, high, low)
    np.testing.assert_array_equal(out, discrete._trials(words, high, low))


def test_other_types_and_few_are_left_to_numpy():
    words = np.zeros(2000, np.uint32)
    for out in (np.zeros(1000), np.zeros(1000, bool), np.zeros(2000, np.float32)[::2], np.zeros(100, np.float32)):
        assert trials.decide_most(words, out, 1, 0) == 0


@pytest.mark.parametrize("before", [0, 1, 2, 311, 623, 624, 625])
def test_masks_go_on_with_the_stream_wherever_it_stands(before, monkeypatch):
    def drawn():
        torch.manual_seed(3)
        torch.randint(0, 10, (before,))
        masks = [torch.empty(n).bernoulli_(0.3).numpy() for n in (1, 70_001, 300, 32_760, 5)]
        return masks, torch.rand(3).numpy()

    monkeypatch.setattr(random_blocks, "value", twister.words)
    monkeypatch.setattr(random_trials, "value", trials.decide)
    ours, after = drawn()
    monkeypatch.setattr(random_blocks, "value", None)
    monkeypatch.setattr(random_trials, "value", None)
    monkeypatch.setattr(discrete, "_STRIP", 1 << 15)
    theirs, other = drawn()
    for a, b in zip((*ours, after), (*theirs, other), strict=True):
        np.testing.assert_array_equal(a, b)
