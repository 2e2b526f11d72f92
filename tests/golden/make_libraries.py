"""Record what the programs of tests/alias/library_programs compute under torch, as libraries.json.

Run with torch and the libraries installed: python tests/golden/make_libraries.py [program ...]
"""

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
PROGRAMS = HERE.parent / "alias" / "library_programs"
GOLDEN = HERE / "libraries.json"
LIBRARIES = (
    "accelerate", "einops", "lightning", "peft", "pytorch-lightning", "pytorch_optimizer", "safetensors", "timm", "torch",
    "torch-geometric", "torchdiffeq", "torchmetrics", "transformers", "vector-quantize-pytorch", "x-transformers",
)  # fmt: skip


def results_of(program):
    """What a program prints: its cases, by name. One thread, so that sums go in one order."""
    command = [sys.executable, "-W", "ignore", PROGRAMS / f"{program}.py"]
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    cases = json.loads(done.stdout.splitlines()[-1], parse_float=lambda text: float(f"{float(text):.8g}"))
    failed = {name: value for name, value in cases.items() if isinstance(value, str)}
    if failed:
        sys.exit(f"{program}: {failed}")
    return cases


def main(programs):
    everything = [path.stem for path in sorted(PROGRAMS.glob("*.py")) if path.stem != "fixed"]
    golden = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {"cases": {}}
    for program in programs or everything:
        golden["cases"][program] = results_of(program)
    golden["versions"] = {name: importlib.metadata.version(name) for name in LIBRARIES}
    lines = [
        f'  "{program}": {{\n'
        + ",\n".join(f"    {json.dumps(name)}: {json.dumps(value)}" for name, value in golden["cases"][program].items())
        + "\n  }"
        for program in sorted(golden["cases"])
    ]
    versions = json.dumps(golden["versions"], indent=1)
    GOLDEN.write_text('{"versions": ' + versions + ',\n"cases": {\n' + ",\n".join(lines) + "\n}}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
