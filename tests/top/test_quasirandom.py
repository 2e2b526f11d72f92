"""torch.quasirandom: the same points as torch (golden/sobol.json), and what torch's Python code raises."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from rushlight.quasirandom import SobolEngine

import rushlight as rl
from rushlight.ops.random import sobol

CASES = json.loads((Path(__file__).parents[1] / "golden" / "sobol.json").read_text())


def outcome(result):
    if isinstance(result, SobolEngine):
        return [repr(result), result.num_generated]
    if result.numel() > 100:
        return [list(result.shape), hashlib.sha256(result.numpy().tobytes()).hexdigest()]
    return result.tolist()


@pytest.mark.parametrize(("arguments", "calls", "expected"), CASES)
def test_draws_as_torch(arguments, calls, expected):
    rl.manual_seed(11)
    engine = SobolEngine(**arguments)
    for (name, *rest), result in zip(calls, expected, strict=True):
        options = {"dtype": getattr(rl, rest.pop())} if len(rest) == 2 else {}
        assert outcome(getattr(engine, name)(*rest, **options)) == result


def test_points_are_balanced():
    """2**m points of any dimension have one in each of the 2**m equal intervals, scrambled too."""
    for engine in (SobolEngine(50), SobolEngine(50, scramble=True, seed=1)):
        cells = (engine.draw_base2(6, dtype=rl.float64).numpy() * 64).astype(int)
        assert (np.sort(cells, axis=0) == np.arange(64)[:, None]).all()


def test_seeded_engines_leave_the_default_generator():
    rl.manual_seed(0)
    expected = rl.rand(2)
    rl.manual_seed(0)
    SobolEngine(3, scramble=True, seed=4)
    assert rl.equal(rl.rand(2), expected)


def test_out_takes_shape_and_keeps_its_type():
    out = rl.empty(2, 5, dtype=rl.float64)
    assert SobolEngine(3).draw(4, out=out) is out
    assert out.dtype is rl.float64 and out.tolist() == SobolEngine(3).draw(4).tolist()


def test_the_default_type_is_followed():
    rl.set_default_dtype(rl.float64)
    try:
        assert SobolEngine(2).draw(3).dtype is rl.float64
    finally:
        rl.set_default_dtype(rl.float32)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: SobolEngine(21202), ValueError, r"Supported range of dimensionality for SobolEngine is \[1, 21201\]"),
        (lambda: SobolEngine(0), ValueError, "Supported range"),
        (lambda: SobolEngine(2).draw(2.0), TypeError, r"argument 'n' \(position 2\) must be int, not float"),
        (lambda: SobolEngine(2).draw(0), RuntimeError, r"negative dimension -1: \[-1, 2\]"),
        (lambda: SobolEngine(2).draw(2, dtype=rl.float16), NotImplementedError, "\"_sobol_engine_draw\" not implemented for 'Half'"),
        (lambda: SobolEngine(2).fast_forward(3).draw_base2(2), ValueError, r"n=3\+2\*\*2=7"),
        (lambda: SobolEngine(2).fast_forward(2**30).draw(1), RuntimeError, r"2\*\*30 points"),
        (lambda: SobolEngine(2).fast_forward(2**30 + 1), RuntimeError, r"2\*\*30 points"),
    ],
)  # fmt: skip
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_operators_check_sizes():
    """Where torch reads beyond the end of memory."""
    state, point = rl.zeros(3, 30, dtype=rl.int64), rl.zeros(3, dtype=rl.int64)
    for call in (
        lambda: rl._sobol_engine_initialize_state_(rl.zeros(3, 20, dtype=rl.int64), 3),
        lambda: rl._sobol_engine_initialize_state_(state, 4),
        lambda: rl._sobol_engine_draw(point, 1, state, 4, 0, None),
        lambda: rl._sobol_engine_ff_(point[:2], 1, state, 3, 0),
        lambda: rl._sobol_engine_scramble_(state, rl.zeros(2, 30, 30, dtype=rl.int64), 3),
    ):
        with pytest.raises(RuntimeError, match="expected at least"):
            call()
    with pytest.raises(RuntimeError, match="sobolstate needs to be of type Long"):
        rl._sobol_engine_initialize_state_(state.float(), 3)
    with pytest.raises(RuntimeError, match="expected scalar type Long but found Float"):
        rl._sobol_engine_scramble_(state, rl.zeros(3, 30, 30), 3)


def test_rows_beyond_the_dimension_stay_in_their_place():
    state = rl.ones(3, 30, dtype=rl.int64)
    assert rl._sobol_engine_initialize_state_(state, 2) is state
    assert state[2].tolist() == [1 << k for k in range(29, -1, -1)]
    points, last = rl._sobol_engine_draw(rl.zeros(5, dtype=rl.int64), 3, state, 2, 0, None)
    assert points.shape == (3, 2) and last[2:].tolist() == [0, 0, 0]


def test_gray_code_changes_are_the_single_steps():
    for start in (-7, -2, 0, 1, 5, 1023):
        for n in (-1, 0, 1, 2, 9, 100):
            odd = np.bincount(sobol._changed_bits(start, max(n, 0)), minlength=1) & 1
            assert sobol._gray_code_changes(start, n) == np.flatnonzero(odd).tolist()


def test_a_compiled_function_that_draws_runs_eagerly():
    @rl.compile
    def mean(engine, x):
        return (x * engine.draw(4)).sum()

    compiled, eager = SobolEngine(3, True, 2), SobolEngine(3, True, 2)
    x = rl.rand(4, 3)
    with pytest.warns(UserWarning, match="stored outside it"):
        results = [mean(compiled, x).item() for _ in range(5)]
    assert results == [(x * eager.draw(4)).sum().item() for _ in range(5)]
