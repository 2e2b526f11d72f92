"""Every layer and loss computes torch's results and gradients, random ones too."""

import pathlib

import numpy as np
import pytest
from nn_scenarios import numbers

import rushlight

GOLDEN = np.load(pathlib.Path(__file__).parents[1] / "golden" / "nn.npz")


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides", "ignore:dropout2d. Received")
@pytest.mark.parametrize(
    ("name", "source", "inputs", "training"), list(numbers.cases()), ids=[case[0] for case in numbers.cases()]
)
def test_numbers(name, source, inputs, training):
    got = numbers.run(rushlight, source, inputs, training)
    want = [GOLDEN[key] for key in sorted(k for k in GOLDEN.files if k.startswith(name + "|"))]
    assert [(a.shape, a.dtype) for a in got] == [(a.shape, a.dtype) for a in want]
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)
