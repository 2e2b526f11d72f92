"""What all tests of compiling share."""

from __future__ import annotations

import pytest


@pytest.fixture
def python_unseen(monkeypatch):
    """Nothing is a condition of a program or refused for what the function's Python reads, calls and changes."""
    from rushlight.compile.guards import python_state, python_trace

    monkeypatch.setattr(python_trace, "is_pure", lambda *_: True)
    monkeypatch.setattr(python_state.PythonState, "_add_reads", lambda *_: None)
    monkeypatch.setattr(python_state.PythonState, "changed", lambda *_: None)
