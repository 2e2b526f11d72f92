"""Writes tests/golden/jit/graphs.txt: the graphs of scripted functions, as torch prints them.

python tests/golden/make_jit_graphs.py, where torch 2.13 is installed.
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


def text() -> str:
    """The graphs, with places as line and column."""
    import scripted_functions as functions
    import torch

    found = ""
    for name in sorted(n for n in vars(functions) if re.fullmatch(r"[fg]\d\d", n)):
        graph = str(torch.jit.script(getattr(functions, name)).graph)
        found += f"{name}\n" + re.sub(r" # (/\S*/)", " # ", graph)
    return found


if __name__ == "__main__":
    (HERE / "jit" / "graphs.txt").write_text(text())
