"""Samplers: what they yield, their lengths, and the arguments they refuse. Their streams: test_streams."""

import pytest

from rushlight.core.random import Generator
from rushlight.utils.data import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)


@pytest.mark.parametrize(
    ("sampler", "expected"),
    [
        (SequentialSampler("abc"), [0, 1, 2]),
        (BatchSampler(range(5), 2, False), [[0, 1], [2, 3], [4]]),
        (BatchSampler(range(5), 2, True), [[0, 1], [2, 3]]),
        (BatchSampler(range(4), 2, False), [[0, 1], [2, 3]]),
        (BatchSampler([], 2, False), []),
        (DistributedSampler("abcde", 2, 0, shuffle=False), [0, 2, 4]),
        (DistributedSampler("abcde", 2, 1, shuffle=False), [1, 3, 0]),
        (DistributedSampler("abcde", 2, 1, shuffle=False, drop_last=True), [1, 3]),
        (DistributedSampler("a", 3, 2, shuffle=False), [0]),
    ],
)
def test_fixed_orders(sampler, expected):
    assert list(sampler) == expected
    assert len(sampler) == len(expected)


def test_random_samplers_stay_in_range():
    assert sorted(RandomSampler("abcd")) == [0, 1, 2, 3]
    assert len(RandomSampler("abcd", num_samples=7)) == len(list(RandomSampler("abcd", num_samples=7))) == 7
    assert set(RandomSampler("ab", replacement=True, num_samples=100)) == {0, 1}
    assert sorted(SubsetRandomSampler([5, 3, 9])) == [3, 5, 9]
    assert set(WeightedRandomSampler([0.0, 1.0, 0.0], 10)) == {1}
    assert sorted(WeightedRandomSampler([1.0, 2.0, 3.0], 3, replacement=False)) == [0, 1, 2]


def test_a_sampler_follows_its_source():
    source = [1, 2]
    sampler = RandomSampler(source)
    source.append(3)
    assert (len(sampler), sorted(sampler)) == (3, [0, 1, 2])


def test_epochs():
    sampler = DistributedSampler(range(20), 1, 0)
    first = list(sampler)
    sampler.set_epoch(1)
    assert list(sampler) != first == list(DistributedSampler(range(20), 1, 0))
    generator = Generator().manual_seed(0)
    sampler = RandomSampler(range(20), generator=generator)
    assert list(sampler) != list(sampler)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: list(Sampler()), NotImplementedError, None),
        (lambda: RandomSampler("ab", replacement=1), TypeError, "replacement should be a boolean"),
        (lambda: RandomSampler("ab", num_samples=0), ValueError, "positive integer value, but got num_samples=0"),
        (lambda: RandomSampler([]), ValueError, "positive integer value, but got num_samples=0"),
        (lambda: WeightedRandomSampler([1], True), ValueError, "got num_samples=True"),
        (lambda: WeightedRandomSampler([1], 1, 1), ValueError, "replacement should be a boolean"),
        (lambda: WeightedRandomSampler([[1]], 1), ValueError, r"1d sequence but given weights have shape \(1, 1\)"),
        (lambda: BatchSampler("ab", 0, False), ValueError, "got batch_size=0"),
        (lambda: BatchSampler("ab", True, False), ValueError, "got batch_size=True"),
        (lambda: BatchSampler("ab", 1, 0), ValueError, "drop_last should be a boolean"),
        (lambda: DistributedSampler("ab", 2, 2), ValueError, r"Invalid rank 2, .* interval \[0, 1\]"),
        (lambda: DistributedSampler("ab"), ValueError, "Default process group has not been initialized"),
    ],
)
def test_errors(make, error, message):
    with pytest.raises(error, match=message):
        make()
