"""Each check has a page; its wrong programs are found at the lines marked `# here`, its right ones are silent."""

import re
from pathlib import Path

import pytest

from rushlight.doctor.checks import all_checks
from rushlight.doctor.pages import page_names, page_of
from tests.doctor.programs import in_one_process

_SECTION = re.compile(r"^## (\w+)", re.MULTILINE)
_CODE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def programs_of(text):
    """(heading, source) of each program of a page."""
    parts = _SECTION.split(text)
    return [(head, code) for head, body in zip(parts[1::2], parts[2::2], strict=True) for code in _CODE.findall(body)]


PROGRAMS = [
    (f"{name}/{head}/{i}", code) for name in page_names() for i, (head, code) in enumerate(programs_of(page_of(name)))
]


@pytest.fixture(scope="module")
def results():
    return in_one_process(PROGRAMS)


def test_every_check_has_a_page():
    assert set(page_names()) >= set(all_checks())
    for name in all_checks():
        heads = [head for head, _ in programs_of(page_of(name))]
        assert "Wrong" in heads and "Right" in heads, name
    taught = (Path(__file__).parents[2] / "docs" / "gradients.md").read_text()
    assert [name for name in all_checks() if f"`{name}`" not in taught] == []


@pytest.mark.parametrize(("name", "code"), PROGRAMS, ids=[name for name, _ in PROGRAMS])
def test_program(name, code, results):
    found, error = results[name]["findings"], results[name]["error"]
    check, head, _ = name.split("/")
    if head == "Right":
        assert (found, error) == ([], None)
    elif head == "Wrong":
        found = [f for f in found if f["severity"] != "info" or f["check"] == check]
        lines = [i for i, line in enumerate(code.splitlines(), 1) if "# here" in line]
        assert lines, "no line is marked"
        assert [(f["check"], f["line"] <= lines[0] <= f["end_line"]) for f in found] == [(check, True)]
