"""Record how torch fails in the programs of tests/examples/failures.py, as failures.json. Run with torch installed."""

import json
import sys
from pathlib import Path

import torch

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "examples"))

from failures import CASES, fail  # noqa: E402

answers = {name: fail(torch, code) for name, (code, _) in CASES.items()}
lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in answers.items())
(HERE / "failures.json").write_text("{\n" + lines + "\n}\n")
