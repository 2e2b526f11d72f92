"""The generated source of entry points: as in tests/golden/entry_points/, with an example of each template."""

import ast
import re

import pytest

from rushlight.core.dispatch import entry
from tools import entry_points

TEMPLATES = {
    name: text
    for name, text in vars(entry).items()
    if re.fullmatch("_[A-Z_]+", name) and isinstance(text, str) and text.startswith(("def ", "    "))
}


@pytest.mark.parametrize("name", entry_points.OPERATORS)
def test_source_is_that_of_the_file(name):
    text = entry_points.page(name)
    ast.parse(text)
    path = entry_points.FOLDER / f"{name}.py"
    assert path.read_text() == text, "python -m tools.entry_points writes the files again"


def test_every_file_has_an_operator():
    assert {path.stem for path in entry_points.FOLDER.glob("*.py")} == set(entry_points.OPERATORS)


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_template_has_an_example(template):
    pages = [path.read_text() for path in entry_points.FOLDER.glob("*.py")]
    pieces = [re.escape(piece) for piece in re.split(r"{\w+(?:!r)?}", TEMPLATES[template].rstrip("\n"))]
    assert any(re.search("[^\0]*?".join(pieces), page) for page in pages)
