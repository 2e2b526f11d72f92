"""Other sizes than the example's, for which an exported graph must give what the module gives.

A graph is recorded for one example. What Python computed from a size, a loop over a tensor or a branch on a size is in it
as it was; a run for other sizes shows it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ...core.dispatch.mode import no_grad
from ...core.random.mersenne import manual_seed
from ...core.tensor.tensor import Tensor
from ...ops import arange
from ...testing import assert_close
from ..jit.recording.describe import warn_user
from ..random import fork_rng
from .capture import Captured, buffers_kept, flat_target

__all__ = ["GraphOfTheExample", "find_other_inputs"]

_CHANGES: tuple[Callable[[int], int], ...] = (lambda n: 2 * n, lambda n: n + 1, lambda n: n // 2, lambda n: n - 1)
_MORE: tuple[Callable[[int], int], ...] = (lambda n: 1, lambda n: 4 * n + 3)  # where Python reads sizes: it may branch


class GraphOfTheExample(RuntimeError):
    """The graph gives the module's results for the example's sizes alone."""


def find_other_inputs(captured: Captured, sizes: dict[int, dict[int, str]]) -> list[Tensor] | None:
    """Inputs in which all sizes that may change are others, for which the graph gives what the module does.

    None, with a warning, where the module itself takes no other sizes that are tried. Raises GraphOfTheExample.
    """
    if not sizes:
        return None
    module = captured.traced if captured.target is None else flat_target(captured)
    found = failure = None
    for change in (*_CHANGES, *(_MORE if captured.python_reads else ())):
        inputs = _resized(captured.inputs, sizes, change)
        if inputs is None:
            continue
        try:
            expected = _run(module, inputs)
        except Exception as error:
            failure = failure or error
            continue
        _compare(captured, inputs, expected, sizes)
        found = found or inputs
        if not captured.python_reads:
            break
    if found is None:
        warn_user(
            f"The sizes that may change ({_listed(sizes)}) are not checked: the module takes no others that were tried: "
            f"{failure}",
            UserWarning,
        )
    return found


def _listed(sizes: dict[int, dict[int, str]]) -> str:
    return ", ".join(dict.fromkeys(name for row in sizes.values() for name in row.values()))


def _resized(inputs: list[Tensor], sizes: dict[int, dict[int, str]], change: Callable) -> list[Tensor] | None:
    """Inputs with other sizes, of the same elements again and again; None where one would be empty."""
    found = []
    for i, t in enumerate(inputs):
        for d in sizes.get(i, {}):
            size = change(t.shape[d])
            if size < 1:
                return None
            t = t.index_select(d, arange(size) % max(t.shape[d], 1))
        found.append(t)
    return found


@contextmanager
def _as_before(module: Any) -> Iterator[None]:
    """Put buffers back afterwards, and draw the same random numbers in every run."""
    with fork_rng(), no_grad(), warnings.catch_warnings(), buffers_kept(module):
        warnings.simplefilter("ignore")
        manual_seed(0)
        yield


def _run(module: Any, inputs: list[Tensor]) -> tuple:
    with _as_before(module):
        return module(*[t.clone() for t in inputs])


def _compare(captured: Captured, inputs: list[Tensor], expected: tuple, sizes: dict[int, dict[int, str]]) -> None:
    try:
        found = _run(captured.traced, inputs)
        for theirs, ours in zip(found, expected, strict=True):
            assert_close(theirs, ours, rtol=1e-3, atol=1e-4, equal_nan=True)
    except Exception as error:
        at = f" (Python reads a size at {', '.join(captured.python_reads)})" if captured.python_reads else ""
        shapes = {captured.names[i]: tuple(inputs[i].shape) for i in sizes}
        raise GraphOfTheExample(
            f"the program depends on sizes that may change ({_listed(sizes)}) in a way that the graph does not compute "
            f"again{at}: for {shapes} it does not give what the module gives: {error}"
        ) from None
