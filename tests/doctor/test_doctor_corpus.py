"""Many shapes of each mistake, and right programs that a naive reading of a check would fire on.

`wrong/<check>__<shape>.py`: the line that is to be found carries `# here`, others that are as good `# or here`. `right/`: silent
but for infos. A wrong program is silent too once the report's diff is applied, where it has one. Programs print only what they print without the doctor. A process runs several of them, since starting one
takes longer than most programs.
"""

from pathlib import Path

import pytest

from tests.doctor.programs import in_one_process

FOLDER = Path(__file__).parent
AT_ONCE = 60


def groups(kind):
    paths = sorted((FOLDER / kind).glob("*.py"))
    return [paths[i :: len(paths) // AT_ONCE + 1] for i in range(len(paths) // AT_ONCE + 1)]


def results_of(paths):
    return in_one_process([(path.stem, path.read_text()) for path in paths])


def wrong_with(path, result):
    """What is wrong with the verdict on a wrong program; empty if nothing is."""
    check = path.stem.partition("__")[0].replace("_", "-")
    marked = [i for i, line in enumerate(path.read_text().splitlines(), 1) if "# here" in line or "# or here" in line]
    assert marked
    found = [f for f in result["findings"] if f["severity"] != "info" or f["check"] == check]
    if [f["check"] for f in found] != [check]:
        return f"{path.stem}: found {[(f['check'], f['line']) for f in found]}"
    if not any(found[0]["line"] <= line <= found[0]["end_line"] for line in marked):
        return f"{path.stem}: line {found[0]['line']}, not {marked}"
    return ""


@pytest.mark.parametrize("paths", groups("wrong"), ids=lambda paths: paths[0].stem)
def test_wrong_programs(paths):
    results = results_of(paths)
    assert [said for path in paths if (said := wrong_with(path, results[path.stem]))] == []
    mended = [(name, text) for name, result in results.items() for text in result["mended"].values()]
    assert len(mended) > len(paths) // 8
    again = in_one_process(mended)
    found = {name: (result["error"], [f["check"] for f in result["findings"]]) for name, result in again.items()}
    assert {name: said for name, said in found.items() if said != (None, [])} == {}


@pytest.mark.parametrize("paths", groups("right"), ids=lambda paths: paths[0].stem)
def test_right_programs(paths):
    results = results_of(paths)
    said = {}
    for path in paths:
        result = results[path.stem]
        findings = [(f["check"], f["line"]) for f in result["findings"] if f["severity"] != "info"]
        if result["error"] or findings:
            said[path.stem] = result["error"], findings
    assert said == {}
