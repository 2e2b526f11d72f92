"""Programs that were made and run under torch 2.13 (`python -m tests.differential --record`), replayed without it."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.differential.comparison import compare

HERE = Path(__file__).parent
PROGRAMS = json.loads(gzip.decompress((HERE / "recorded.json.gz").read_bytes()))
THEMES = sorted({p["theme"] for p in PROGRAMS})


@pytest.mark.parametrize("themes", [THEMES[i::4] for i in range(4)], ids=lambda themes: themes[0])
def test_programs_do_what_torch_did(themes, tmp_path):
    programs = [p for p in PROGRAMS if p["theme"] in themes]
    asked = {"programs": programs, "ours": str(tmp_path / "ours"), "theirs": str(tmp_path / "ours")}
    command = [sys.executable, "-m", "tests.differential", "--role", "replay"]
    done = subprocess.run(command, input=json.dumps(asked), cwd=HERE.parents[1], capture_output=True, text=True)
    replayed = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert len(replayed) == len(programs), done.stderr
    found = []
    for program, outcomes in zip(programs, replayed, strict=True):
        pairs = zip(program["statements"], program["outcomes"], outcomes, strict=True)
        found += [(program["seed"], s, said) for s, a, b in pairs if (said := compare(a, b, strict=False))]
    assert found == []
