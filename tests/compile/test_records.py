"""Every operator under capture: the samples of the operator suite, forward and backward, compiled and eager."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from equality import differences, snapshot

import rushlight as torch
from rushlight import autograd
from rushlight.compile.capture.sources import CaptureError
from rushlight.core.tensor import dtype as dtypes
from rushlight.testing.samples import SAMPLES, function_of, samples_of
from rushlight.testing.suite import results_of, tensors_in

NAMES = [name for name in SAMPLES if function_of(name) is not None and samples_of(name)]
CALLS = 5  # one plain, two captured, two replayed

# Calls that are refused with the user's line, and why.
REFUSED: dict[str, str] = {
    "masked_select": "the result's shape depends on values",
    "is_nonzero": "its value decides what Python does",
    "masked_scatter": "the gradient's shape depends on values",
    "Tensor.__getitem__": "an index by a mask: the result's shape depends on values",
}


def step_of(name: str):
    """A function that calls an operator and, where that is possible, runs backward from its results."""

    def step(args: list, kwargs: dict) -> list:
        results = results_of(name, args, kwargs)
        some = [r for r in results if r.requires_grad]
        if some:
            autograd.backward(some, [r.detach() * 0.3 + 0.7 for r in some])
        return [r.detach() for r in results]

    return step


def outcome(step: Any, sample: Any, dtype: Any, seed: int) -> list:
    """What a call returns, the gradients and the inputs after it, and where it leaves the random stream."""
    args, kwargs = sample.make(dtype, grad=True, seed=seed)
    tensors = list(tensors_in([args, kwargs]))
    torch.manual_seed(seed)
    results = step(args, kwargs)
    grads = [t.grad for t in tensors if t.is_leaf]
    return snapshot([results, grads, tensors, torch.get_rng_state().numpy().tobytes()])


def compared(name: str, sample: Any, dtype: Any) -> list[str]:
    """What differs between eager and compiled, in any call."""
    plain = step_of(name)
    compiled = torch.compile(plain, fullgraph=True)
    for seed in range(20, 20 + CALLS):
        got = outcome(compiled, sample, dtype, seed)
        eager = outcome(plain, sample, dtype, seed)
        exact = outcome(plain, sample, dtypes.float64, seed) if dtype is dtypes.float32 else None
        wrong = differences(eager, got, exact, magnitude=_largest(eager))
        if wrong:
            return [f"call {seed - 19}: {w}" for w in wrong]
    return []


def _largest(values: list) -> float:
    """The largest finite number of a call: sums of such numbers may cancel."""
    arrays = [a for a in values if isinstance(a, np.ndarray) and a.dtype.kind in "fc"]
    return max((float(np.abs(a[np.isfinite(a)]).max(initial=0.0)) for a in arrays), default=0.0)


@pytest.mark.filterwarnings("ignore:torch.chain_matmul is deprecated")
@pytest.mark.parametrize("name", NAMES)
def test_operator(name, monkeypatch):
    monkeypatch.setenv("RUSHLIGHT_CHECK", "1")
    refused = 0
    for sample, dtype in product(samples_of(name), (dtypes.float32, dtypes.float64)):
        try:
            wrong = compared(name, sample, dtype)
        except CaptureError as error:
            assert name in REFUSED, f"{name}({sample!r}) is refused: {error}"
            refused += 1
            continue
        except Exception as error:
            error.add_note(f"the call: {name}({sample!r}) of {dtype}")
            raise
        assert not wrong, f"{name}({sample!r}) of {dtype}: {'; '.join(wrong[:3])}"
    assert refused or name not in REFUSED, f"{name} is no longer refused"


# ---------------------------------------------------------------------------------------------- data-dependent shapes

_SHAPED_BY_VALUES = {
    "nonzero": lambda x: torch.nonzero(x > 0),
    "masked_select": lambda x: torch.masked_select(x, x > 0),
    "mask index": lambda x: x[x > 0],
    "unique": lambda x: torch.unique(x.round()),
    "unique_consecutive": lambda x: torch.unique_consecutive(x.round()),
    "bincount": lambda x: torch.bincount(x.abs().to(torch.int64)),
    "repeat_interleave": lambda x: torch.repeat_interleave(x, x.abs().to(torch.int64)),
    "one_hot": lambda x: torch.nn.functional.one_hot(x.abs().to(torch.int64)),
}


@pytest.mark.parametrize("name", _SHAPED_BY_VALUES)
def test_shapes_that_depend_on_values_are_refused(name):
    """A replay could not know the shape: the capture raises, or the function runs eagerly; wrong it is never."""
    function = _SHAPED_BY_VALUES[name]
    compiled = torch.compile(lambda x: function(x) * 1, fullgraph=True)
    rng = np.random.default_rng(4)
    for _ in range(CALLS):
        x = torch.from_numpy(rng.normal(size=12).astype(np.float32) * 2)
        try:
            got = compiled(x)
        except CaptureError:
            return
        assert snapshot([got])[0].tolist() == snapshot([function(x)])[0].tolist()
