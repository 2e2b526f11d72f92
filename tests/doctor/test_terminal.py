"""The report in a terminal: one content, as plain text and in colours, at several widths."""

import io
import os
import re

import pytest

import rushlight as torch
from rushlight.core import terminal as core_terminal
from rushlight.doctor import watch
from rushlight.doctor.report import terminal

CODES = re.compile(r"\x1b\[[\d;]*m")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(scope="module")
def findings():
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    kept = []
    with watch() as report:
        for _ in range(8):
            loss = (w * w).sum()
            loss.backward()
            optimizer.step()
            kept.append(loss)
    assert sorted(f.check for f in report.findings) == ["graph-leak", "stale-grad"]
    return report.findings


def printed(finding, monkeypatch, columns=100, **environment):
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm-256color", "COLUMNS": str(columns), **environment}.items():
        monkeypatch.setenv(name, value)
    file = Terminal()
    terminal.show(finding, file)
    return file.getvalue()


def words(text):
    return re.sub(r"[\s│>+|-]+", "", text)


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_colours(columns, findings, monkeypatch):
    pytest.importorskip("rich")
    for finding in findings:
        shown = printed(finding, monkeypatch, columns)
        plain = CODES.sub("", shown)
        assert max(map(len, plain.splitlines())) <= columns
        for said in (finding.message[1:], finding.mend, finding.check, finding.place.text, f"explain {finding.check}"):
            assert words(said) in words(plain)
        (marked,) = re.findall(r"^  > +(\d+) │", plain, re.MULTILINE)
        assert int(marked) == finding.line
        added = re.findall(r"\x1b\[32m\+\x1b\[0m", shown)
        removed = re.findall(r"\x1b\[31m-\x1b\[0m", shown)
        assert (len(added), len(removed)) == ((1, 1) if finding.check == "graph-leak" else (1, 0))


def test_plain(findings, monkeypatch):
    finding = findings[0]
    assert printed(finding, monkeypatch, NO_COLOR="1") == f"\n{terminal.one(finding)}\n"
    file = io.StringIO()
    terminal.show(finding, file)
    assert file.getvalue() == f"\n{terminal.one(finding)}\n"
    monkeypatch.setattr(core_terminal, "find_spec", lambda name: None)  # rich is not installed
    assert printed(finding, monkeypatch) == f"\n{terminal.one(finding)}\n"
    head = terminal.one(finding).splitlines()[0]
    assert re.fullmatch(rf"{re.escape(os.path.relpath(__file__))}:\d+: error: .* \[stale-grad\]", head)


def test_summary(findings, monkeypatch):
    file = io.StringIO()
    terminal.show_summary(findings, file)
    terminal.show_summary([], file)
    assert file.getvalue() == "\ngradient doctor: 2 findings (1 error, 1 warning)\n\ngradient doctor: nothing found\n"
