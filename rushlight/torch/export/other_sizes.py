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
from .._dynamo.exc import UserError
from ..jit.recording.describe import warn_user
from ..random import fork_rng
from .capture import Captured, buffers_kept, flat_target
from .dims import Hint

__all__ = ["GraphOfTheExample", "check_named", "find_other_inputs", "follow_hints"]

_CHANGES: tuple[Callable[[int], int], ...] = (lambda n: 2 * n, lambda n: n + 1, lambda n: n // 2, lambda n: n - 1)
_MORE: tuple[Callable[[int], int], ...] = (lambda n: 1, lambda n: 4 * n + 3)  # where Python reads sizes: it may branch


class GraphOfTheExample(RuntimeError):
    """The graph gives the module's results for the example's sizes alone."""


def find_other_inputs(captured: Captured, sizes: dict[int, dict[int, str]], least: int = 1) -> list[Tensor] | None:
    """Inputs in which all sizes that may change are others, for which the graph gives what the module does.

    least: the smallest size that is tried. None, with a warning, where the module itself takes no other sizes that are tried. Raises GraphOfTheExample.
    """
    found, failure = _search(captured, sizes, least) if sizes else (None, None)
    if sizes and found is None:
        warn_user(
            f"The sizes that may change ({_listed(sizes)}) are not checked: the module takes no others that were tried: "
            f"{failure}",
            UserWarning,
        )
    return found


def _search(
    captured: Captured, sizes: dict[int, dict[int, str]], least: int
) -> tuple[list[Tensor] | None, Exception | None]:
    """The inputs of `find_other_inputs`, or what the module raised for others first."""
    module = captured.traced if captured.target is None else flat_target(captured)
    found = failure = None
    for change in (*_CHANGES, *(_MORE if captured.python_reads else ())):
        inputs = _resized(captured.inputs, sizes, change, least)
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
    return found, failure


def follow_hints(
    captured: Captured, sizes: dict[int, dict[int, str]], hints: dict[tuple[int, int], Hint]
) -> dict[int, dict[int, str]]:
    """The sizes in which those of `Dim.AUTO` and `Dim.DYNAMIC` are as the module has them.

    Those that only change together have one name, and those that may not change are left out. Sizes 0 and 1 may not.

    Raises ValueError, and RuntimeError, for a size of DYNAMIC that may not change.
    """
    tied = []
    names: dict[tuple[int, int], str] = {}
    for (i, d), hint in hints.items():
        size = captured.inputs[i].shape[d]
        if size > 1 and _can_change(captured, {(i, d)}):
            names[i, d] = sizes[i][d]
        elif size > 1:
            tied.append((i, d))
        elif hint.name == "DYNAMIC":
            raise ValueError(
                "Found the following conflicts between user-specified ranges and inferred ranges from model tracing:\n"
                f"- Received user-specified dim hint Dim.DYNAMIC(min={hint.min}, max={hint.max}), but export 0/1 specialized due to hint of {size} for dimension "
                f"inputs['{captured.names[i]}'].shape[{d}]."
            )
    fixed = {(i, d): name for i, row in sizes.items() for d, name in row.items() if (i, d) not in hints}
    for place in tied:
        if place not in names:
            group, name = _changing_with(captured, place, tied, fixed)
            i, d = min(group, default=place)
            names |= dict.fromkeys(group, name or sizes[i][d])
    for (i, d), hint in hints.items():
        if hint.name == "DYNAMIC" and (i, d) not in names:
            raise RuntimeError(
                f"Constraints violated: you marked {captured.names[i]}.size()[{d}] as dynamic but your code specialized it to be a "
                f"constant ({captured.inputs[i].shape[d]}). If you're using Dim.DYNAMIC, replace it with either Dim.STATIC or "
                "Dim.AUTO."
            )
    found: dict[int, dict[int, str]] = {}
    for (i, d), name in sorted((fixed | names).items()):
        found.setdefault(i, {})[d] = name
    return found


def check_named(captured: Captured, sizes: dict[int, dict[int, str]], hints: dict[tuple[int, int], Hint]) -> None:
    """Raise UserError where a size with a name of `Dim` is 0 or 1 in the example: what such sizes do is of no others."""
    found = [
        (name, captured.inputs[i].shape[d])
        for i, row in sizes.items()
        for d, name in row.items()
        if (i, d) not in hints and captured.inputs[i].shape[d] < 2
    ]
    if found:
        known = dict(found)
        lines = [
            f"  - You marked {name} as dynamic but your code specialized it to be a constant ({size}). If you're using "
            "mark_dynamic, either remove it or use maybe_mark_dynamic. If you're using Dim.DYNAMIC, replace it with either "
            "Dim.STATIC or Dim.AUTO."
            for name, size in found
        ]
        fixes = [f"  {name} = {size}" for name, size in known.items()]
        raise UserError("\n".join([f"Constraints violated ({', '.join(known)})!", *lines, "Suggested fixes:", *fixes]))


def _changing_with(
    captured: Captured, place: tuple[int, int], tied: list[tuple[int, int]], fixed: dict[tuple[int, int], str]
) -> tuple[set[tuple[int, int]], str]:
    """The places whose sizes change together with that of one (none: it does not change), and the name if they have one."""

    def size(p: tuple[int, int]) -> int:
        return captured.inputs[p[0]].shape[p[1]]

    alike = [p for p in tied if p != place and size(p) == size(place)]
    for name in dict.fromkeys(name for p, name in fixed.items() if size(p) == size(place)):
        named = {p for p, n in fixed.items() if n == name}
        if _can_change(captured, {place, *named}):
            return {place}, name
    groups = [{place, p} for p in alike] + ([{place, *alike}] if len(alike) > 1 else [])
    return next((group for group in groups if _can_change(captured, group)), set()), ""


def _can_change(captured: Captured, places: set[tuple[int, int]]) -> bool:
    """Whether the module takes other sizes in these places, and the graph gives for them what the module does."""
    sizes: dict[int, dict[int, str]] = {}
    for i, d in places:
        sizes.setdefault(i, {})[d] = ""
    try:
        return _search(captured, sizes, 2)[0] is not None  # of 1 would be broadcast
    except GraphOfTheExample:
        return False


def _listed(sizes: dict[int, dict[int, str]]) -> str:
    return ", ".join(dict.fromkeys(name for row in sizes.values() for name in row.values()))


def _resized(
    inputs: list[Tensor], sizes: dict[int, dict[int, str]], change: Callable, least: int
) -> list[Tensor] | None:
    """Inputs with other sizes, of the same elements again and again; None where one would be smaller than the least."""
    found = []
    for i, t in enumerate(inputs):
        for d in sizes.get(i, {}):
            size = change(t.shape[d])
            if size < least:
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
