"""Make digits.txt: what examples/digits.py prints under torch.

Run with torch installed: python tests/golden/make_digits.py
"""

import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent

with tempfile.TemporaryDirectory() as folder:
    script = HERE.parents[1] / "examples" / "digits.py"
    done = subprocess.run([sys.executable, script, "--out", folder], check=True, stdout=subprocess.PIPE, text=True)
epochs = [line for line in done.stdout.splitlines(keepends=True) if line.startswith("epoch")]
(HERE / "digits.txt").write_text("".join(epochs))
