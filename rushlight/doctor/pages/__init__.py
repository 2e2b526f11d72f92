"""The pages that `rushlight explain` prints: one for each check, with a wrong and a right program that the tests run.

A page begins with `# <name of the check>`. Its line `Errors: ...` names texts of errors that lead to it, separated by `;`.
"""

from __future__ import annotations

from importlib import resources

__all__ = ["page_names", "page_of"]


def page_names() -> list[str]:
    """The names of all pages."""
    return sorted(p.name.removesuffix(".md") for p in resources.files(__name__).iterdir() if p.name.endswith(".md"))


def page_of(what: str) -> str | None:
    """The page of a check's name or of an error's message; None where there is none."""
    name = what.strip().lower()
    pages = {n: (resources.files(__name__) / f"{n}.md").read_text(encoding="utf-8") for n in page_names()}
    if name in pages:
        return pages[name]
    for text in pages.values():
        for line in text.splitlines():
            if line.startswith("Errors: ") and any(e.strip().lower() in name for e in line[8:].split(";") if e.strip()):
                return text
    return None
