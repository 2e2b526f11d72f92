"""`watch`: the doctor over a part of a program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from traceback import walk_tb
from typing import Any

from ..core.dispatch.extension_points import training_observer
from .checks import all_checks
from .doctor import Doctor
from .findings import Finding
from .report import json, page, terminal

__all__ = ["Report", "watch"]


class Report:
    """What the doctor found. Complete once the `with` block has ended; in a notebook it shows itself."""

    def __init__(self, doctor: Doctor, program: str = "") -> None:
        self.doctor, self.program = doctor, program

    @property
    def findings(self) -> list[Finding]:
        """The findings so far, errors first."""
        return self.doctor.findings.listed()

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON has it: {"version", "program", "findings"}."""
        return json.as_dict(self)

    def __str__(self) -> str:
        return terminal.text(self)

    def __repr__(self) -> str:
        return f"<gradient doctor's report: {len(self.findings)} findings>"

    def _repr_html_(self) -> str:
        return page.embedded(self)

    def __bool__(self) -> bool:
        return bool(self.findings)


def new_doctor() -> Doctor:
    """A doctor with all checks."""
    return Doctor(all_checks().values())


@contextmanager
def watch() -> Iterator[Report]:
    """Follow what the `with` block trains; yields the report, complete when the block has ended.

    Raises RuntimeError where a doctor is at work already.

    >>> import rushlight as rl
    >>> w = rl.ones(2, requires_grad=True)
    >>> optimizer = rl.optim.SGD([w], lr=0.1)
    >>> with rl.doctor.watch() as report:
    ...     for _ in range(3):
    ...         (w * w).sum().backward()
    ...         optimizer.step()
    >>> [finding.check for finding in report.findings]
    ['stale-grad']
    """
    if training_observer.value is not None and isinstance(training_observer.value, Doctor):
        raise RuntimeError("a gradient doctor is already watching: watch() does not nest")
    before = training_observer.value
    doctor = new_doctor()
    doctor.start()
    try:
        yield Report(doctor)
    except BaseException as error:
        doctor.left(walk_tb(error.__traceback__))
        doctor.failed(error)
        raise
    finally:
        doctor.stop()
        training_observer.register(before)
