"""The examples in docstrings run and print what they show."""

import builtins
import doctest
import importlib
from pathlib import Path

import pytest

import rushlight
from rushlight.ops import OPS

PACKAGE = Path(rushlight.__file__).parent
PUBLIC = {name: value for name, value in vars(rushlight).items() if not hasattr(builtins, name)}
OPERATORS = {f.__doc__: name for name, f in sorted(OPS.items(), reverse=True) if ">>>" in (f.__doc__ or "")}
MODULES = sorted(
    ".".join(("rushlight", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if ">>>" in path.read_text()
)


def _run(test):
    """Run one example from a fixed seed."""
    rushlight.manual_seed(0)
    report = []
    failed, _ = doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert not failed, "".join(report)


@pytest.mark.parametrize(("doc", "name"), OPERATORS.items(), ids=OPERATORS.values())
def test_operator(doc, name):
    """The public names are at hand, and the operator itself where its name is also a builtin function's."""
    _run(doctest.DocTestParser().get_doctest(doc, {**PUBLIC, name: OPS[name]}, name, None, 0))


@pytest.mark.parametrize("name", MODULES)
def test_module(name):
    """What else a module defines: its own names and the public ones are at hand."""
    module = importlib.import_module(name)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, extraglobs={**PUBLIC, **vars(module)}):
        if test.name.rpartition(".")[2] not in OPS:
            _run(test)
