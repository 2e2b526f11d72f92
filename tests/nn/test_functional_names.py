"""`nn.functional` is made from operators' declarations and from functions of its files: no list repeats a name."""

import re
from pathlib import Path

import rushlight
from rushlight.core.dispatch.op import FUNCTIONAL, OPS

F = rushlight.nn.functional
FOLDER = Path(F.__file__).parent


def test_names_are_declared_operators_and_functions_of_the_files():
    defined = {
        name
        for path in FOLDER.glob("*.py")
        for name in re.findall(r"^def ([a-z]\w*)\(", path.read_text(), re.MULTILINE)
    }
    assert set(F.__all__) == FUNCTIONAL | defined
    assert all(getattr(F, name) is OPS[name] for name in FUNCTIONAL - defined)


def test_no_list_repeats_a_name():
    package = set(re.findall(r"\w+", (FOLDER / "__init__.py").read_text()))
    assert not package & set(F.__all__)
    assert not [
        path.name for path in FOLDER.glob("*.py") if re.search("^__all__ = \\[", path.read_text(), re.MULTILINE)
    ]
