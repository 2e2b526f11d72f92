"""What hooks and Functions may ask of the backward pass that runs in their thread."""

from __future__ import annotations

from collections.abc import Callable

from ..core.tensor.tensor import Tensor
from .engine import Pass, running

__all__ = ["current_pass", "when_all_done", "when_done", "will_accumulate"]


def when_done(call: Callable[[bool], None]) -> None:
    """Let `call(succeeded)` be called when the backward pass that runs in this thread is over. For hooks and Functions."""
    task = running.task
    task.over.append(call)


def current_pass() -> Pass | None:
    """The backward pass that runs in this thread, the innermost one."""
    return running.task


def will_accumulate(t: Tensor) -> bool:
    """Whether the pass that runs in this thread reaches a leaf, to add a plain gradient to `.grad`. For hooks."""
    task = running.task
    return task is not None and task.wanted is None and not task.create_graph and t._edge in task.uses


def when_all_done(call: Callable[[bool], None]) -> None:
    """As `when_done`, of the outermost pass, where a Function's backward runs another one. For hooks."""
    task = running.task
    if task is None:  # a program has made the pass, and its hooks are being called
        running.call_after_program(call)
        return
    while task.outer is not None:
        task = task.outer
    task.over.append(call)
