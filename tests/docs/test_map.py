"""The map in docs/index.md is that of today's folders."""

import pytest

from tools import map as map_


def test_map_is_current():
    page = map_.PAGE.read_text()
    assert page == map_.with_map(page), "run `python -m tools.map`"


def test_page_without_marks_is_refused():
    with pytest.raises(ValueError, match="has not the lines"):
        map_.with_map("# Map")
