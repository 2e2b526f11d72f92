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
TOGETHER = 8  # samples of one program

# Calls that are refused with the user's line, and why.
REFUSED: dict[str, str] = {
    "masked_select": "the result's shape depends on values",
    "is_nonzero": "its value decides what Python does",
    "masked_scatter": "the gradient's shape depends on values",
    "Tensor.__getitem__": "an index by a mask: the result's shape depends on values",
}


def step_of(name: str):
    """A function that calls an operator and, where that is possible, runs backward from its results, for each sample."""

    def step(calls: list) -> list:
        every = []
        for args, kwargs in calls:
            results = results_of(name, args, kwargs)
            some = [r for r in results if r.requires_grad]
            if some:
                autograd.backward(some, [r.detach() * 0.3 + 0.7 for r in some])
            every.append([r.detach() for r in results])
        return every

    return step


def outcome(step: Any, samples: Any, dtype: Any, seed: int) -> list:
    """For each sample what its call returns, the gradients and the inputs after it, and where it leaves the random stream."""
    calls = [sample.make(dtype, grad=True, seed=seed) for sample in samples]
    torch.manual_seed(seed)
    every = step(calls)
    stream = torch.get_rng_state().numpy().tobytes()
    inputs = [list(tensors_in(call)) for call in calls]
    grads = [[t.grad for t in tensors if t.is_leaf] for tensors in inputs]
    return [snapshot([*each, stream]) for each in zip(every, grads, inputs, strict=True)]


def compared(name: str, samples: Any, dtype: Any) -> list[str]:
    """What differs between eager and compiled, in any call."""
    plain = step_of(name)
    compiled = torch.compile(plain, fullgraph=True)
    for seed in range(20, 20 + CALLS):
        got = outcome(compiled, samples, dtype, seed)
        eager = outcome(plain, samples, dtype, seed)
        exact = outcome(plain, samples, dtypes.float64, seed) if dtype is dtypes.float32 else [None] * len(samples)
        for sample, *each in zip(samples, eager, got, exact, strict=True):
            wrong = differences(*each, magnitude=_largest(each[0]))
            if wrong:
                return [f"{sample!r}, call {seed - 19}: {w}" for w in wrong]
    return []


def _largest(values: list) -> float:
    """The largest finite number of a call: sums of such numbers may cancel."""
    arrays = [a for a in values if isinstance(a, np.ndarray) and a.dtype.kind in "fc"]
    return max((float(np.abs(a[np.isfinite(a)]).max(initial=0.0)) for a in arrays), default=0.0)


def _together(name: str) -> list[list]:
    """An operator's samples, some to a program: most of a small program's time is not for its operators."""
    samples, size = list(samples_of(name)), 1 if name in REFUSED else TOGETHER
    return [samples[i : i + size] for i in range(0, len(samples), size)]


@pytest.mark.filterwarnings("ignore:torch.chain_matmul is deprecated")
@pytest.mark.parametrize("name", NAMES)
def test_operator(name, monkeypatch):
    monkeypatch.setenv("RUSHLIGHT_CHECK", "1")
    refused = 0
    programs = _together(name)
    of_doubles = programs if name in REFUSED else programs[:1]  # whose code differs by the type alone
    for samples, dtype in [*product(programs, [dtypes.float32]), *product(of_doubles, [dtypes.float64])]:
        try:
            wrong = compared(name, samples, dtype)
        except CaptureError as error:
            assert name in REFUSED, f"{name}({samples!r}) is refused: {error}"
            refused += 1
            continue
        except Exception as error:
            error.add_note(f"the calls: {name}({samples!r}) of {dtype}")
            raise
        assert not wrong, f"{name} of {dtype}: {'; '.join(wrong[:3])}"
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
