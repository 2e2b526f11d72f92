"""The mended line as a diff, where it can be said exactly: `- old` and `+ new`, with the program's own names."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..places import source_line

if TYPE_CHECKING:
    from ..findings import Finding

__all__ = ["mended"]


def mended(finding: Finding) -> list[str]:
    """The lines of the diff; none where the mend is no change of this one line."""
    rule = _RULES.get(finding.check)
    place = finding.place
    if rule is None or place.line != place.end_line:
        return []
    line = source_line(place.code.co_filename, place.line)
    code = line.partition("  #")[0]
    old = code.rstrip()
    new = rule(old, finding)
    if new is None or new == [old]:
        return []
    return (
        [*(f"+{text}" for text in new[: new.index(old)]), f" {old}"]
        if old in new
        else [f"-{old}", *(f"+{t}" for t in new)]
    )


def _indent(code: str) -> str:
    return code[: len(code) - len(code.lstrip())]


def _stepped(finding: Finding) -> str | None:
    """What `.step()` is called of in one of the related lines."""
    for related in finding.related:
        found = re.search(r"([\w.\[\]\"']+)\.step\(([\w.\[\]\"']*)", related.place.text)
        if found:
            return found[2] or found[1]  # scaler.step(optimizer)
    return None


def _clear_before(code: str, finding: Finding) -> list[str] | None:
    name = _stepped(finding)
    return None if name is None else [f"{_indent(code)}{name}.zero_grad()", code]


def _without(code: str, finding: Finding) -> list[str]:
    return []


def _replaced(pattern: str, new: str) -> Callable[[str, Finding], list[str] | None]:
    def rule(code: str, finding: Finding) -> list[str] | None:
        changed, count = re.subn(pattern, new, code, count=1)
        return [changed] if count else None

    return rule


def _divided(code: str, finding: Finding) -> list[str] | None:
    found = re.search(r"divided by (\d+)", finding.message)
    if found is None:
        return None
    changed = re.sub(r"\b(\w+)\.backward\(", rf"({{}} / {found[1]}).backward(".replace("{}", r"\1"), code, count=1)
    changed = re.sub(r"\.scale\((\w+)\)\.backward", rf".scale(\1 / {found[1]}).backward", changed, count=1)
    return [changed]


def _unscaled(code: str, finding: Finding) -> list[str] | None:
    scaler = re.search(r"([\w.]+)\.scale\(", finding.related[0].place.text) if finding.related else None
    return None if scaler is None else [f"{_indent(code)}{scaler[1]}.unscale_(optimizer)", code]


def _in_place(code: str, finding: Finding) -> list[str] | None:
    found = re.fullmatch(r"(\s*)([\w.\[\]]+) = \2 ([-+]) (.+)", code)
    if found is None:
        return None
    indent, name, sign, rest = found.groups()
    return [f"{indent}with torch.no_grad():", f"{indent}    {name} {sign}= {rest}"]


_RULES: dict[str, Callable[[str, Finding], list[str] | None]] = {
    "stale-grad": _clear_before,
    "stale-grad-other-net": _clear_before,
    "zeroed-before-step": _without,
    "unscaled-accumulation": _divided,
    "no-grad-path": _replaced(r"\.detach\(\)|\.data\b", ""),
    "leaf-rebound": _in_place,
    "clip-scaled": _unscaled,
    "retain-graph-needless": _replaced(r",?\s*retain_graph=True", ""),
    "missing-create-graph": _replaced(r"(grad\(.*)\)(\[0\])?$", r"\1, create_graph=True)\2"),
    "graph-leak": _replaced(r"(\+= |append\(|\+ )(\w*loss\w*)", r"\1\2.item()"),
    "frozen-wrongly": _replaced(r"\.requires_grad = (True|False)$", r".requires_grad_(\1)"),
    "softmax-over-batch": _replaced(r"dim=0", "dim=1"),
    "fake-not-detached": _replaced(r"\bfake\b(?!\.detach)", "fake.detach()"),
}
