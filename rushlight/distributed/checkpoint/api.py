"""The error of a save or a load in which a process failed."""

from __future__ import annotations

import pickle
import traceback
from typing import Any

__all__ = ["CheckpointException"]

WRAPPED_EXCEPTION = tuple[BaseException, traceback.StackSummary]


def _wrap_exception(error: BaseException) -> WRAPPED_EXCEPTION:
    """An error and where it was raised, as they travel to the other processes."""
    summary = traceback.extract_tb(error.__traceback__)
    for frame in summary:
        if hasattr(frame, "_code"):  # Python 3.13 keeps code objects there, which pickle refuses
            object.__setattr__(frame, "_code", None)
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # an error of a class of its own: its words travel
        error = RuntimeError(f"{type(error).__name__}: {error}")
    return error, summary


def _is_wrapped_exception(value: Any) -> bool:
    is_pair = isinstance(value, tuple) and len(value) == 2
    return is_pair and isinstance(value[0], BaseException) and isinstance(value[1], traceback.StackSummary)


class CheckpointException(BaseException):
    """What every process raises when a step of a save or a load failed in one of them.

    `failures`: {rank: (the error, the stack where it was raised)}. As in torch it is no `Exception`.
    """

    def __init__(self, msg: str, failures: dict[int, WRAPPED_EXCEPTION]):
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict[int, WRAPPED_EXCEPTION]:
        """The errors, by rank."""
        return self._failures

    def __str__(self) -> str:
        lines = [f"CheckpointException ranks:{self._failures.keys()}\n"]
        for rank, (error, summary) in self._failures.items():
            lines.append(f"Traceback (most recent call last): (RANK {rank})\n")
            lines += traceback.format_list(summary)
            lines += traceback.format_exception_only(type(error), error)
        return "".join(lines)
