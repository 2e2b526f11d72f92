"""The docstrings are true: examples run and print what they show, calls that are said to raise do, parameters exist."""

import doctest
import importlib
import inspect
from pathlib import Path

import pytest

import rushlight
import rushlight_vision
from tools import docstrings

PUBLIC = {p.name: p for p in (*docstrings.functions(), *docstrings.classes())}
EXAMPLES = [name for name, p in PUBLIC.items() if docstrings.has_example(docstrings.own_doc(p))]
SHOWN = {PUBLIC[name].doc for name in EXAMPLES}
ERRORS = [(name, *error) for name, p in PUBLIC.items() for error in docstrings.errors(docstrings.own_doc(p))]
MODULES = sorted(
    ".".join((package.__name__, *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
    for package in (rushlight, rushlight_vision)
    for root in [Path(package.__file__).parent]
    for path in root.rglob("*.py")
    if ">>> " in path.read_text()
)


def _run(test):
    """Run one example from a fixed seed."""
    rushlight.manual_seed(0)
    report = []
    failed, _ = doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert not failed, "".join(report)


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name):
    """torch's names are at hand, and what the docstring is of."""
    _run(doctest.DocTestParser().get_doctest(PUBLIC[name].doc, PUBLIC[name].names(), name, None, 0))


@pytest.mark.parametrize("name", MODULES)
def test_module(name):
    """What else a module defines: its own names and the public ones are at hand."""
    module = importlib.import_module(name)
    for test in doctest.DocTestFinder(exclude_empty=True).find(
        module, extraglobs={**docstrings.torch_names(), **vars(module)}
    ):
        if inspect.cleandoc(test.docstring) not in SHOWN:
            _run(test)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "error", "call"), ERRORS, ids=[f"{name}-{error}" for name, error, _ in ERRORS])
def test_error(name, error, call):
    """The call raises this error, no subclass of it."""
    names = PUBLIC[name].names()
    rushlight.manual_seed(0)
    with pytest.raises(Exception) as raised:
        eval(call, names)
    assert type(raised.value).__name__.lstrip("_") == error.rpartition(".")[2], f"{call}: {raised.value!r}"


@pytest.mark.parametrize("name", [n for n, p in PUBLIC.items() if docstrings.arguments(docstrings.own_doc(p))])
def test_parameters_exist(name):
    parameters = inspect.signature(PUBLIC[name].value).parameters
    if "args" not in parameters and "given" not in parameters:
        described = set(docstrings.arguments(PUBLIC[name].doc))
        assert described <= set(parameters), described - set(parameters)


@pytest.mark.parametrize(
    ("doc", "shapes", "errors", "example"),
    [
        ("The sum. Shape: (n,), (n,) -> ()", True, False, False),
        ("Shape: input (N, C), index (N) int64\n    -> (N)", True, False, False),
        ("A tensor of the given shape (see `ones`).", False, False, False),
        ("Raises ValueError.", False, False, False),
        ("Raises:\n    ValueError: p is negative.", False, False, False),
        ("Raises:\n    ValueError: p is negative, as in `f(-1)`.", False, True, False),
        (">>> f(1)\n1", False, False, True),
    ],
)
def test_what_is_counted(doc, shapes, errors, example):
    found = docstrings.has_shapes(doc), docstrings.has_errors(doc), docstrings.has_example(doc)
    assert found == (shapes, errors, example)


def test_arguments_and_errors_are_read():
    doc = "Args:\n    x, y: two\n        tensors: equal\n    *z: others.\n\nRaises:\n    ValueError: of one,\n        as in `f(1)`.\n    TypeError: no, as in `f()`."
    assert docstrings.arguments(doc) == ["x", "y", "z"]
    assert docstrings.errors(doc) == [("ValueError", "f(1)"), ("TypeError", "f()")]
