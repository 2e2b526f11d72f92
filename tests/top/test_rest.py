"""Smaller parts of torch against its recorded results: spacing to the bit, rare layers, tables of measurements."""

import json
import pathlib

import numpy as np
import pytest
import rest_cases

import rushlight
from rushlight.utils import benchmark

GOLDEN = pathlib.Path(__file__).parents[1] / "golden"
ARRAYS = np.load(GOLDEN / "rest.npz")


@pytest.fixture(scope="module")
def spaced():
    return rest_cases.spacing(rushlight)


@pytest.mark.parametrize("name", [f"{f} {kind}" for f, kinds in rest_cases.TYPES.items() for kind in kinds])
def test_spacing_to_the_bit(spaced, name):
    np.testing.assert_array_equal(spaced[name], ARRAYS[name])


@pytest.mark.parametrize("case", rest_cases.LAYERS, ids=[case[0] for case in rest_cases.LAYERS])
def test_layers(case):
    got = rest_cases.layer(rushlight, *case)
    want = [ARRAYS[key] for key in sorted(k for k in ARRAYS.files if k.startswith(case[0] + "|"))]
    assert [(a.shape, a.dtype) for a in got] == [(a.shape, a.dtype) for a in want]
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)


def test_tables_of_measurements():
    assert json.loads(json.dumps(rest_cases.tables(benchmark))) == json.loads((GOLDEN / "rest.json").read_text())


nn = rushlight.nn
BAD = [
    (lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 5, []), ValueError, "length larger than 0"),
    (lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 5, [3, 2]), ValueError, "sorted in an increasing order"),
    (lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 5, [5]), ValueError, "between 1 and n_classes-1"),
    (lambda: _adaptive((2, 4), [1, 9]), RuntimeError, r"should be in \[0, 4\], but values in range \[1, 9\]"),
    (lambda: _adaptive((2, 4), [1]), RuntimeError, "same size in the batch dimension"),
    (lambda: _adaptive((2, 4, 4), [1, 2]), RuntimeError, "1D target tensor expects 2D input tensors"),
    (lambda: _adaptive((2, 4), [[1], [2]]), RuntimeError, "multi-target not supported"),
    (lambda: nn.FractionalMaxPool2d(2), ValueError, "either an output size, or a pooling ratio"),
    (lambda: nn.FractionalMaxPool3d(2, 2, 0.5), ValueError, "only one of output_size and output_ratio"),
    (lambda: nn.FractionalMaxPool2d(2, output_ratio=1.5), ValueError, "must be between 0 and 1"),
    (lambda: nn.FractionalMaxPool3d(0, 2), ValueError, "kernel_size must be greater than 0"),
    (lambda: nn.CrossMapLRN2d(3)(rushlight.ones(2, 3)), ValueError, "Expected input to be 4D, got 2D"),
]


def _adaptive(shape, target):
    return nn.AdaptiveLogSoftmaxWithLoss(4, 5, [2])(rushlight.ones(shape), rushlight.tensor(target))


@pytest.mark.parametrize(("call", "kind", "words"), BAD, ids=range(len(BAD)))
def test_errors(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def test_the_old_loss_of_images_warns():
    with pytest.warns(FutureWarning, match="NLLLoss2d"):
        loss = nn.NLLLoss2d(reduction="sum")
    assert loss(rushlight.zeros(1, 2, 3, 3).log_softmax(1), rushlight.ones(1, 3, 3).long()).item() == pytest.approx(
        9 * np.log(2)
    )


def test_a_timer_measures_what_it_is_told():
    runs = []
    timer = benchmark.Timer("runs.append(x + y)", "\n    y = 1\n", globals={"runs": runs, "x": 2}, label="sum")
    m = timer.timeit(50)
    assert (m.number_per_run, len(m.times), m.label, m.setup) == (50, 1, "sum", "y = 1")
    assert runs == [3] * (50 + 2)
    assert len(timer.blocked_autorange(min_run_time=1e-4).times) >= 1
    assert len(timer.adaptive_autorange(threshold=10, min_run_time=1e-5).times) >= 4
    for bad, kind in (
        (lambda: benchmark.Timer("1", language="c++"), NotImplementedError),
        (lambda: benchmark.Timer("1", language="java"), ValueError),
        (lambda: benchmark.Timer(1), ValueError),
        (timer.autorange, NotImplementedError),
        (timer.collect_callgrind, NotImplementedError),
    ):
        with pytest.raises(kind):
            bad()
