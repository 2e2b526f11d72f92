"""The pages that `rushlight explain` prints: one for each check, with a wrong and a right program that the tests run.

A page begins with `# <name of the check>`. Its line `Errors: ...` names texts of errors that lead to it, separated by `;`.
"""

from __future__ import annotations

from typing import Any

__all__ = ["page_names", "page_of", "page_of_error"]


def _folder() -> Any:
    from importlib import resources  # 2 ms that every start of `rushlight run` would pay

    return resources.files(__name__)


def page_names() -> list[str]:
    """The names of all pages."""
    return sorted(p.name.removesuffix(".md") for p in _folder().iterdir() if p.name.endswith(".md"))


def page_of(what: str) -> str | None:
    """The page of a check's name or of an error's message; None where there is none."""
    name = what.strip().lower()
    if name not in page_names():
        name = page_of_error(what) or ""
    return _text(name) if name else None


def page_of_error(message: str) -> str | None:
    """The name of the page that an error's message leads to; None where there is none."""
    message = message.lower()
    for name in page_names():
        line = next((line for line in _text(name).splitlines() if line.startswith("Errors: ")), "Errors: ")
        if any(e.strip().lower() in message for e in line[8:].split(";") if e.strip()):
            return name
    return None


def _text(name: str) -> str:
    return (_folder() / f"{name}.md").read_text(encoding="utf-8")
