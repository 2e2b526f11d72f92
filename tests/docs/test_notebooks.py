"""The lessons' notebooks run, and their cells print what the lessons show."""

import importlib.util

import pytest
from test_pages import examples

from tools.site import notebooks, sources

needed = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("nbclient", "ipykernel")),
    reason="the extra `docs` is not installed",
)


@needed
@pytest.mark.parametrize("lesson", sources.lessons(), ids=lambda p: p.stem)
def test_a_notebook_prints_what_its_lesson_shows(lesson, tmp_path, monkeypatch):
    import nbclient
    import nbformat

    monkeypatch.setenv("PYTHONWARNINGS", "default")
    notebook = nbformat.reads(notebooks.text(lesson), as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    setup, *cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert setup.outputs == []
    for cell, (line, source, says) in zip(cells, examples(lesson), strict=True):
        assert cell.source == source
        printed = "".join(out.text for out in cell.outputs if out.output_type == "stream" and out.name == "stdout")
        if says is not None:
            assert printed.rstrip("\n") == says, f"{lesson.name}, block at line {line}"


def test_a_notebook_is_made_of_its_lesson_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# Title\n\nSee [this](other.md).\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\n```sh\nls\n```\n"
    )
    text = notebooks.text(page)
    assert "See this." in text and "print(1)" in text and "```sh" in text and "```text" not in text
    assert text.index("Title") < text.index("install()") < text.index("print(1)")
