"""The gradient doctor: which line of a training loop handles its gradients wrongly, why, and what to write instead.

    rushlight doctor train.py          a whole program, from the command line
    with rushlight.doctor.watch() as report:
        train()                        a part of one; `report.findings` afterwards

Rushlight owns the tape, every write to `.grad` and every optimizer, so it can follow a loop by a few rare events
(`core/dispatch/extension_points.py`). `doctor.py` turns them into `events.py` and keeps the accounts of `ledger.py`; each file
of `checks/` listens for one mistake; `report/` says what was found; `hints.py` is what plain `rushlight run` looks for.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .hints import GradientWarning
    from .session import Report, watch

__all__ = ["GradientWarning", "Report", "watch"]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(".hints" if name == "GradientWarning" else ".session", __name__), name)
