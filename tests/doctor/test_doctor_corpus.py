"""Many shapes of each mistake, and right programs that a naive reading of a check would fire on.

`wrong/<check>__<shape>.py`: the line that is to be found carries `# here`, others that are as good `# or here`. `right/`: silent
but for infos. Programs print only what they print without the doctor.
"""

from pathlib import Path

import pytest

from tests.doctor.programs import in_one_process

FOLDER = Path(__file__).parent
WRONG = sorted((FOLDER / "wrong").glob("*.py"))
RIGHT = sorted((FOLDER / "right").glob("*.py"))


@pytest.fixture(scope="module")
def results():
    return in_one_process([(path.stem, path.read_text()) for path in [*WRONG, *RIGHT]])


@pytest.mark.parametrize("path", WRONG, ids=lambda p: p.stem)
def test_wrong_program(path, results):
    check = path.stem.partition("__")[0].replace("_", "-")
    marked = [i for i, line in enumerate(path.read_text().splitlines(), 1) if "# here" in line or "# or here" in line]
    assert marked
    found = [f for f in results[path.stem]["findings"] if f["severity"] != "info" or f["check"] == check]
    assert [f["check"] for f in found] == [check]
    assert any(found[0]["line"] <= line <= found[0]["end_line"] for line in marked), found


@pytest.mark.parametrize("path", RIGHT, ids=lambda p: p.stem)
def test_right_program(path, results):
    assert results[path.stem]["error"] is None
    assert [f for f in results[path.stem]["findings"] if f["severity"] != "info"] == []
