"""Anomaly detection: every node remembers the stack of its forward call, and backward stops at the first NaN."""

from __future__ import annotations

import traceback
import warnings
from typing import Any

from ..core import own_code
from ..core.dispatch.extension_points import trace_results
from ..core.dispatch.mode import thread
from ..core.dispatch.scalars import check_flag
from ..core.tensor.node import Leaf, Output


def _trace_result(result: Any) -> None:
    """Store the present stack, without this package's own frames, on the nodes of a call's results."""
    stack = None
    for t in result if isinstance(result, (tuple, list)) else (result,):
        edge = getattr(t, "_edge", None)
        node = edge.edges[0] if type(edge) is Output else edge
        if node is None or type(node) is Leaf or getattr(node, "trace", None) is not None:
            continue
        if stack is None:
            stack = "".join(traceback.format_list(_user_frames()))
        node.trace = stack


def _user_frames() -> list:
    """The frames of the running call, without this package's and without those that started `rushlight run`."""
    frames = traceback.extract_stack()
    start = max((i for i, f in enumerate(frames, 1) if f.filename.startswith(own_code.in_package("cli"))), default=0)
    return [f for f in frames[start:] if not f.filename.startswith(own_code.FILES)]


def is_anomaly_enabled() -> bool:
    """Whether anomaly detection is on in this thread."""
    return thread.state.anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly detection also looks for NaN in gradients."""
    return thread.state.check_nan


class set_detect_anomaly:
    """Switch anomaly detection on or off, at once or for a `with` block.

    While it is on, an error in backward shows the traceback of the forward call whose gradient failed, and a NaN in a
    gradient raises RuntimeError when check_nan is set. It makes every call slower: for debugging.
    """

    def __init__(self, mode: bool, check_nan: bool = True):
        check_flag("set_anomaly_enabled", "enabled", mode, 1)
        state = thread.state
        self._before = state.anomaly, state.check_nan
        _set(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        _set(*self._before)


class detect_anomaly(set_detect_anomaly):
    """`with detect_anomaly():` switches anomaly detection on for the block."""

    def __init__(self, check_nan: bool = True):
        state = thread.state
        self._before = state.anomaly, state.check_nan
        self._check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        _set(True, self._check_nan)


def _set(mode: bool, check_nan: bool) -> None:
    state = thread.state
    state.anomaly, state.check_nan = mode, check_nan
    state.refresh()


trace_results.register(_trace_result)
