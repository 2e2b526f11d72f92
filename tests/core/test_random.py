"""The random streams, against torch's numbers (golden/random.npz) and by their own rules."""

import copy
import json
import pickle
import threading
import warnings
from hashlib import sha256
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from rushlight.core import random
from rushlight.core.random import Generator, boxmuller, integers, libm

GOLDEN = Path(__file__).parents[1] / "golden" / "random.npz"
_TYPES = {"bfloat16": ml_dtypes.bfloat16}

# Draws whose float64 values come from several roundings of the C library's functions: another C library, or torch on a
# processor without FMA, may part from the golden numbers by a few ulps.
ULPS = 8


def element_type(name):
    return np.dtype(_TYPES.get(name, name))


def ramp(low, high, shape, dtype):
    n = int(np.prod(shape))
    wide = (low + (high - low) * np.arange(n) / max(n - 1, 1)).reshape(shape)
    return (wide.astype(np.float32) if dtype.itemsize == 2 else wide).astype(dtype)


def draw(op, shape, dtype, args, gen):
    """One draw of ours, by the golden file's name for it."""
    dtype = element_type(dtype)
    if op == "normal_strided":
        return random.normal(gen, shape, dtype, args["mean"], args["std"], contiguous=False)
    if op == "store":
        order = args["order"]
        out = np.empty([shape[i] for i in order], dtype).transpose(np.argsort(order))
        return random.store(out, random.uniform(gen, shape, dtype))
    if op == "randperm":
        return random.randperm(gen, shape[0], dtype)
    if op == "bernoulli_of":
        return random.bernoulli_of(gen, ramp(0, 1, shape, element_type(args["p"])), dtype)
    if op == "normal_of":
        mean = ramp(-3, 2, shape, dtype) if args["mean"] is None else args["mean"]
        std = ramp(0, 2, shape, dtype) if args["std"] is None else args["std"]
        return random.normal_of(gen, mean, std)
    if op == "multinomial":
        return random.multinomial(gen, ramp(*args["ramp"], shape, dtype), args["n"], args["replacement"])
    if op == "binomial":
        return random.binomial(gen, np.floor(ramp(*args["n"], shape, dtype)), ramp(*args["p"], shape, dtype))
    if op in ("poisson", "standard_gamma", "dirichlet"):
        return getattr(random, op)(gen, ramp(*args["ramp"], shape, dtype))
    if "dropout" in op:
        return dropout(op, shape, dtype, args["p"], gen)
    return getattr(random, op)(gen, shape, dtype, **args)


def dropout(op, shape, dtype, p, gen):
    x = (1 + np.arange(int(np.prod(shape))) % 2).reshape(shape).astype(dtype)
    if op == "dropout_permuted":
        return x.T * random.dropout_mask(gen, x.T, p)
    if op == "dropout":
        return x * random.dropout_mask(gen, x, p)
    if "alpha" in op:
        factor, summand = random.alpha_dropout_masks(gen, x, p, feature=op.startswith("feature"))
        return x * factor + summand
    return x * random.feature_dropout_mask(gen, x, p)


def golden_cases(path=GOLDEN):
    """(seed, draws, expected bytes of each, digest of the final state) of each sequence."""
    file = np.load(path)
    ends = np.cumsum(file["lengths"])
    pieces = iter(np.split(file["values"], ends[:-1]))
    for (seed, draws), digest in zip(json.loads(str(file["cases"])), file["digests"], strict=True):
        yield seed, draws, [next(pieces) for _ in draws], str(digest)


def same(ours, expected):
    """Whether `ours` has the expected bytes; float64 values may be ULPS off."""
    expected = expected.view(ours.dtype)
    if ours.dtype.name in ("float64", "complex128"):
        ours, expected = ours.ravel().view(np.float64), expected.view(np.float64)
        return np.allclose(ours, expected, rtol=ULPS * 2.0**-53, atol=ULPS * 2.0**-53)
    return ours.tobytes() == expected.tobytes()


CASES = list(golden_cases()) if GOLDEN.exists() else []


@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda i: f"{i}-{CASES[i][1][0][0]}-{CASES[i][1][0][2]}")
def test_a_sequence_of_draws_is_torchs(case):
    seed, draws, expected, digest = CASES[case]
    gen = Generator().manual_seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # integers beyond a float's significand
        for (op, shape, dtype, args), values in zip(draws, expected, strict=True):
            ours = draw(op, shape, dtype, args, gen)
            assert same(ours, values), (op, shape, dtype, args)
    assert sha256(gen.state_bytes().tobytes()).hexdigest() == digest


# The generator


def states():
    return np.load(GOLDEN)["states"]


@pytest.mark.parametrize("pair", [0, 2])
def test_a_state_of_torchs_continues_here(pair):
    before, after = states()[pair : pair + 2]
    gen = Generator()
    gen.set_state(before)
    assert gen.state_bytes().tobytes() == before.tobytes()
    random.normal(gen, 5, np.float64)
    assert gen.state_bytes().tobytes() == after.tobytes()


@pytest.mark.parametrize("warm_up", [0, 1, 3, 623, 624, 625, 5000])
def test_a_state_restores_the_stream(warm_up):
    gen = Generator().manual_seed(5)
    random.uniform(gen, warm_up, np.float32)
    random.normal(gen, 3, np.float32)
    state, twin = gen.state_bytes(), gen.clone_state()
    assert state.dtype == np.uint8 and state.shape == (5056,)
    first = random.normal(gen, 40, np.float32, contiguous=False)
    for other in (twin, pickle.loads(pickle.dumps(twin.clone_state()))):
        if other is not twin:
            other.set_state(state)
        np.testing.assert_array_equal(random.normal(other, 40, np.float32, contiguous=False), first)
    gen.set_state(state)
    assert gen.state_bytes().tobytes() == state.tobytes()


def test_copies_are_independent():
    gen = Generator().manual_seed(5)
    twin = copy.deepcopy(gen)
    assert twin is not gen and twin.initial_seed() == 5
    assert gen.random64() == twin.random64() and gen.random32() == twin.random32()


@pytest.mark.parametrize(("seed", "stored"), [(0, 0), (-1, 2**64 - 1), (-(2**63), 2**63), (2**64 - 1, 2**64 - 1)])
def test_seeds_keep_64_bits_and_start_from_the_low_32(seed, stored):
    gen = Generator()
    assert gen.manual_seed(seed) is gen and gen.initial_seed() == stored
    assert gen.random32() == Generator().manual_seed(stored & 0xFFFFFFFF).random32()


def test_seeding_drops_the_cached_normal():
    gen = Generator().manual_seed(1)
    first = random.normal(gen, 1, np.float64)
    np.testing.assert_array_equal(random.normal(gen.manual_seed(1), 1, np.float64), first)


def test_the_default_generator():
    assert random.manual_seed(1.5) is random.default_generator and random.initial_seed() == 1
    first = random.uniform(None, 4, np.float32)
    random.manual_seed(1)
    np.testing.assert_array_equal(random.uniform(None, 4, np.float32), first)
    assert random.seed() == random.initial_seed()
    assert Generator().initial_seed() == 67280421310721
    assert str(Generator().device) == "cpu"


def test_scalar_words_are_the_stream():
    gen, other = Generator().manual_seed(3), Generator().manual_seed(3)
    words = [gen.random32() for _ in range(2)] + [gen.random64()]
    expected = other.words(4).tolist()
    assert words == [*expected[:2], expected[2] << 32 | expected[3]]
    assert random.random_(gen, (), np.int64) == other.random64() % 2**63


def test_threads_share_a_generator():
    gen, drawn = Generator().manual_seed(0), []

    def work():
        for _ in range(50):
            drawn.append(random.uniform(gen, 100, np.float64))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = random.uniform(Generator().manual_seed(0), 20_000, np.float64)
    np.testing.assert_array_equal(np.sort(np.concatenate(drawn)), np.sort(expected))


# The draws


@pytest.mark.parametrize("n", [2, 3, 50, 1000, 1025, 1026, 5000])
def test_swapping_at_once_is_swapping_in_turn(n):
    for seed in range(5):
        there = np.random.default_rng(seed).integers(np.arange(n - 1), n).astype(np.uint32)
        order = list(range(n))
        for i, j in enumerate(there.tolist()):
            order[i], order[j] = order[j], order[i]
        assert integers._swap_all(there).tolist() == order


def test_the_wide_permutation_is_inside_out():
    order = []
    words = Generator().manual_seed(2).words(100).tolist()
    for i in range(50):
        j = (words[2 * i] << 32 | words[2 * i + 1]) % (i + 1)
        order.append(i)
        order[i], order[j] = order[j], i
    assert integers._wide_permutation(Generator().manual_seed(2), 50, strip=7).tolist() == order


def test_fma_rounds_once():
    from fractions import Fraction

    x, y, z = np.random.default_rng(0).normal(size=(3, 500))
    for a, b, c in zip(x.tolist(), y.tolist(), z.tolist(), strict=True):
        assert libm.fma(a, b, c) == float(Fraction(a) * Fraction(b) + Fraction(c))


def test_strips_join_into_one_stream():
    n = 3 * (1 << 15) + 5
    words = Generator().manual_seed(4).words(2 * n)
    unit = random.uniform(Generator().manual_seed(4), n, np.float32)
    np.testing.assert_array_equal(unit, (words[:n] & 0xFFFFFF).astype(np.float32) / np.float32(1 << 24))
    trials = random.bernoulli(Generator().manual_seed(4), n, np.bool_, 0.3)
    joined = (words[0::2] & 0x1FFFFF).astype(np.uint64) << np.uint64(32) | words[1::2]
    np.testing.assert_array_equal(trials, joined < 0.3 * 2.0**53)


def test_large_normals_are_normal():
    gen = Generator().manual_seed(4)
    for dtype in (np.float32, np.float64, np.float16, ml_dtypes.bfloat16):
        x = random.normal(gen, 3 * boxmuller.PAIRS + 7, dtype, 2.0, 3.0).astype(np.float64)
        assert abs(x.mean() - 2) < 0.05 and abs(x.std() - 3) < 0.05


def test_store_follows_memory():
    out = np.zeros((3, 2)).T
    assert random.store(out, np.arange(6)) is out
    np.testing.assert_array_equal(out, [[0, 2, 4], [1, 3, 5]])
    every_other = np.zeros((3, 4))[:, ::2]
    np.testing.assert_array_equal(random.store(every_other, np.arange(6)), np.arange(6).reshape(3, 2))


_HALF, _F32, _I64 = np.float16, np.float32, np.int64
ERRORS = [
    (lambda: Generator().manual_seed(1.5), RuntimeError, "manual_seed expected a long, but got float"),
    (lambda: Generator().manual_seed(True), RuntimeError, "manual_seed expected a long, but got bool"),
    (lambda: Generator().manual_seed(2**64), ValueError, "Overflow when unpacking long long"),
    (lambda: random.manual_seed(-(2**63) - 1), ValueError, "Overflow when unpacking long long"),
    (lambda: Generator("cuda"), RuntimeError, "Cannot get CUDA generator without ATen_cuda library.*no CUDA device"),
    (lambda: Generator().set_state(3), TypeError, "expected a torch.ByteTensor, but got int"),
    (lambda: Generator().set_state(np.zeros(5056)), TypeError, "RNG state must be a torch.ByteTensor"),
    (lambda: Generator().set_state(np.zeros(10, np.uint8)), RuntimeError, "CPUGeneratorImplState of size 5056"),
    (lambda: Generator().set_state(np.zeros(5056, np.uint8)), RuntimeError, "Invalid mt19937 state"),
    (lambda: Generator().get_offset(), RuntimeError, "CPU Generator does not use offset"),
    (lambda: random.uniform(3, 2, _F32), TypeError, "expected a Generator"),
    (lambda: random.uniform(None, 2, _F32, 2, 1), RuntimeError, "found from=2 > to=1"),
    (lambda: random.uniform(None, 2, _HALF, 0, 1e6), RuntimeError, "to is out of bounds for c10::Half"),
    (lambda: random.uniform(None, 2, _I64), NotImplementedError, "not implemented for 'Long'"),
    (lambda: random.normal(None, 2, _I64), NotImplementedError, "\"normal_kernel_cpu\" not implemented for 'Long'"),
    (lambda: random.normal(None, 2, _F32, 0, -1), RuntimeError, "normal expects std >= 0.0, but found std -1"),
    (lambda: random.normal_of(None, 0.0, -np.ones(2)), RuntimeError, "normal expects all elements of std >= 0.0"),
    (lambda: random.exponential(None, 2, _F32, 0), RuntimeError, "expects lambda > 0.0, but found lambda=0"),
    (lambda: random.exponential(None, 2, _I64), RuntimeError, "you specified Long"),
    (lambda: random.cauchy(None, 2, _F32, 0, 0), RuntimeError, "expects sigma > 0.0, but found sigma=0"),
    (lambda: random.log_normal(None, 2, _F32, 0, 0), RuntimeError, "expects std > 0.0, but found std=0"),
    (lambda: random.geometric(None, 2, _F32, 1), RuntimeError, r"to be in \(0, 1\), but got p=1"),
    (lambda: random.geometric(None, 2, np.bool_, 0.5), NotImplementedError, "not implemented for 'Bool'"),
    (lambda: random.bernoulli(None, 2, _F32, 1.5), RuntimeError, r"p to be in \[0, 1\], but got p=1.5"),
    (lambda: random.bernoulli_of(None, np.array([0.5, np.nan])), RuntimeError, "Expected p_in >= 0 && p_in <= 1"),
    (lambda: random.bernoulli_of(None, np.array([1])), NotImplementedError, "not implemented for 'Long'"),
    (lambda: random.randint(None, 2, _I64, 5, 5), RuntimeError, "but got from=5 >= to=5"),
    (lambda: random.randint(None, 2, np.uint8, 0, 300), RuntimeError, "to - 1 is out of bounds for unsigned char"),
    (lambda: random.randint(None, 2, np.bool_, 0, 3), RuntimeError, "to - 1 is out of bounds for bool"),
    (lambda: random.random_(None, 2, np.uint16), NotImplementedError, "not implemented for 'UInt16'"),
    (lambda: random.random_(None, 2, np.int32, -(2**63)), RuntimeError, "handles only int64, double"),
    (lambda: random.randperm(None, -1), RuntimeError, "negative dimension -1"),
    (lambda: random.randperm(None, 257, np.uint8), RuntimeError, "type uint8_t without overflow"),
    (lambda: random.randperm(None, 2**24 + 2, _F32), RuntimeError, r"greater than 2\^24\+1 for Float type"),
    (lambda: random.randperm(None, 3000, _HALF), RuntimeError, "n cannot be greater than 2049 for Half type."),
    (lambda: random.multinomial(None, np.ones(3), 4), RuntimeError, "without replacement"),
    (lambda: random.multinomial(None, np.ones(3), 0), RuntimeError, "n_sample <= 0"),
    (lambda: random.multinomial(None, np.ones((1, 2, 3)), 1), RuntimeError, "1 or 2 dim"),
    (lambda: random.multinomial(None, np.array([1.0, -1]), 1), RuntimeError, "element < 0"),
    (lambda: random.multinomial(None, np.zeros(2), 2, True), RuntimeError, "sum of probabilities <= 0"),
    (lambda: random.multinomial(None, np.array([1, np.inf]), 2, True), RuntimeError, "infinity or NaN"),
    (lambda: random.poisson(None, -np.ones(2)), RuntimeError, "invalid Poisson rate"),
    (lambda: random.binomial(None, np.ones(2), np.ones(2, _F32)), RuntimeError, "Found dtype Float but expected Double"),
    (lambda: random.standard_gamma(None, np.ones(2, _HALF)), NotImplementedError, "\"gamma_cpu\" not implemented"),
    (lambda: random.dropout_mask(None, np.ones(3), 1.5), RuntimeError, "between 0 and 1, but got 1.5"),
    (lambda: random.feature_dropout_mask(None, np.ones(3), 0.5), RuntimeError, "at least 2 dimensions"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "words"), ERRORS, ids=range(len(ERRORS)))
def test_errors_are_torchs(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_integers_beyond_a_significand_warn():
    with pytest.warns(UserWarning, match=r"to - 1 is out of bounds \[-\(2\^24\), 2\^24\]"):
        random.randint(Generator(), 3, np.float32, 0, 2**25)


@pytest.mark.parametrize("n", [3, 20, 40])
def test_fewer_samples_are_the_first_of_more(n):
    p = np.tile([0.0, 0.0, 1.0, 0.0, 3.0], 20).reshape(2, 50).astype(np.float32)
    all_of_them = random.multinomial(Generator().manual_seed(4), p, 50)
    np.testing.assert_array_equal(random.multinomial(Generator().manual_seed(4), p, n), all_of_them[:, :n])


@pytest.mark.parametrize(
    "p", [[0.5, 0.5], [0.0, 1.0, 0.0], [2.0, 0.1, 3.0, 0.0, 7.5], list(range(16)), list(range(17))]
)
def test_one_of_a_row_is_one_of_many_rows(p):
    """By Python's arithmetic as by NumPy's, and the stream goes on from the same place."""
    row = np.array(p, np.float32)
    for seed in range(40):
        one, many = Generator().manual_seed(seed), Generator().manual_seed(seed)
        drawn = random.multinomial(one, row, 1)
        rows = random.multinomial(many, np.stack([row, np.ones_like(row)]), 1)
        assert drawn.dtype == np.int64 and drawn.shape == (1,) and drawn == rows[0]
        one.words(2 * row.size)  # what the second row took
        assert one.random32() == many.random32()


def test_few_numbers_are_the_first_of_many():
    few, many = Generator().manual_seed(5), Generator().manual_seed(5)
    integers = [random.randint(few, n, np.int64, -3, 1000) for n in (1, 5, 16)]
    np.testing.assert_array_equal(np.concatenate(integers), random.randint(many, 22, np.int64, -3, 1000))
    waits = [random.exponential(few, n, np.float32) for n in (1, 5, 16)]
    np.testing.assert_array_equal(np.concatenate(waits), random.exponential(many, 22, np.float32))


@pytest.mark.parametrize("weights", [[np.nan, 1.0], [-1.0, 2.0], [np.inf, 1.0], [0.0, 0.0]])
def test_weights_of_few_are_checked(weights):
    with pytest.raises(RuntimeError, match=r"probability tensor contains either|sum of probabilities <= 0"):
        random.multinomial(Generator(), np.array(weights, np.float32), 1)


def test_small_draws_are_parts_of_a_large_one():
    """Uniform numbers made ahead, between draws of another kind, across blocks of words and after the state is set."""
    sizes = [1, 3, 200, 256, 2, 0, 255, 31, 300, 1, 624, 7] * 4
    whole = random.uniform(Generator().manual_seed(3), (sum(sizes),), np.float32)
    gen, parts = Generator().manual_seed(3), []
    for i, n in enumerate(sizes):
        before = gen.state_bytes()
        first = random.uniform(gen, (n,), np.float32)
        if i % 3 == 0:  # drawn again
            gen.set_state_bytes(before)
            np.testing.assert_array_equal(random.uniform(gen, (n,), np.float32), first)
        parts.append(first)
        first_of_copy = random.uniform(gen.clone_state(), (5,), np.float32)
        kept = gen.snapshot()
        assert random.uniform(gen, (5,), np.float32).tobytes() == first_of_copy.tobytes()
        gen.restore(kept)
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    whole[:] = 0  # what was drawn is the caller's
    np.testing.assert_array_equal(random.uniform(Generator().manual_seed(3), (1,), np.float32), parts[0])
