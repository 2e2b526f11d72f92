"""A pytest plugin: with `--gradient-doctor` each test runs under Rushlight's gradient doctor, and findings fail it.

`import torch` then gives Rushlight, as under `rushlight doctor`: the gradients of no other torch can be followed.
Severity info never fails a test. A test that is wrong on purpose says `@pytest.mark.gradients_unwatched`. Errors of tests that use
Rushlight are shown without its own frames; RUSHLIGHT_TRACEBACK=full shows all.

A module of its own, since pytest loads it in every run: Rushlight itself is only imported where the option is given.
"""

from __future__ import annotations

import sys
from typing import Any

import pytest

__all__ = ["pytest_addoption", "pytest_configure", "pytest_load_initial_conftests", "pytest_runtest_call"]


def pytest_addoption(parser: Any) -> None:
    """Add the option."""
    parser.getgroup("rushlight").addoption(
        "--gradient-doctor", action="store_true", help="fail tests whose training loops handle gradients wrongly"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: Any) -> None:
    """Serve `torch` by Rushlight before the first conftest is imported, if the doctor is asked for."""
    if not early_config.known_args_namespace.gradient_doctor:
        return
    from rushlight.alias import install

    try:
        install()
    except RuntimeError as error:
        raise pytest.UsageError(f"--gradient-doctor follows Rushlight's gradients: {error}") from None


def pytest_configure(config: Any) -> None:
    """Declare the mark."""
    config.addinivalue_line("markers", "gradients_unwatched: runs without the gradient doctor")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: Any) -> Any:
    """Run the test's body, under the doctor if that is asked for."""
    if not item.config.getoption("--gradient-doctor") or item.get_closest_marker("gradients_unwatched"):
        return (yield from _shortened())
    from rushlight.doctor import watch

    with watch() as report:
        result = yield from _shortened()
    if any(f.severity != "info" for f in report.findings):
        pytest.fail(str(report), pytrace=False)
    return result


def _shortened() -> Any:
    """What the test's body returns; its error leaves without the frames inside Rushlight."""
    try:
        return (yield)
    except Exception as error:
        if "rushlight" in sys.modules:
            from rushlight.core.tracebacks import shorten

            shorten(error)
        raise
