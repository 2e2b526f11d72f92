"""The checks: one file each, with a class whose methods `on_<event>` hear the events of `events.py`.

To add one: a file here with a subclass of `Check`, and a page of its name in `pages/`, with a wrong and a right program. The
tests run both. Nothing else has to know of it.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from ..doctor import Doctor

__all__ = ["Check", "all_checks"]


class Check:
    """What all checks share. name: as reports and `# doctor: ignore[name]` say it; its page is `pages/<name>.md`.

    severity: of its findings. waits_for: an event before which those of every step (`OF_EACH_STEP`) say nothing to it, and are not told:
    '' for none. is_last: it judges after the others.
    """

    name: ClassVar[str] = ""
    severity: ClassVar[str] = "error"
    waits_for: ClassVar[str] = ""
    is_last: ClassVar[bool] = False

    def __init__(self, doctor: Doctor) -> None:
        self.doctor = doctor


@cache
def all_checks() -> dict[str, type[Check]]:
    """All checks by name."""
    found: dict[str, type[Check]] = {}
    for info in pkgutil.iter_modules(__path__):
        module = import_module(f"{__name__}.{info.name}")
        for value in vars(module).values():
            if (
                isinstance(value, type)
                and issubclass(value, Check)
                and value.name
                and value.__module__ == module.__name__
            ):
                found[value.name] = value
    return found
