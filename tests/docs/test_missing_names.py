"""The page of missing names is current. In a process of its own, since the alias is installed for it."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
from tools.missing_names import PAGE, missing, page
assert PAGE.read_text() == page(), "run python -m tools.missing_names"
names, count = missing()
listed = {name for of_module in names.values() for name in of_module}
from tools import name_uses
assert name_uses.PAGE.read_text() == name_uses.page(), "run python -m tools.name_uses"
assert name_uses.used_in("from torch import nn as n; n.init.zeros_") == {"torch.nn", "torch.nn.init", "torch.nn.init.zeros_"}
assert "get_block_size" in listed and "relu" not in names["torch"] and count > 3000
"""


def test_page_is_current():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False
    )
    assert done.returncode == 0, done.stderr
