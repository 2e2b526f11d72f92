"""Record what the programs of tests/examples/program_runs.py print and compute under torch, as examples/<run>.json.

Run with torch installed: python tests/golden/make_examples.py [run ...]

examples/cifar10.py gets a stand-in for torchvision (torchvision_stand_in/) unless torchvision is installed.
"""

import json
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "examples"))

import cifar_archive  # noqa: E402
from program_runs import CIFAR, GOLDEN, PROGRAMS_BY_RUN  # noqa: E402

OBSERVE = HERE.parent / "examples" / "observe.py"


def observe(program, folder, *options):
    """The record of a program that is run in `folder`."""
    result = folder / "result.json"
    subprocess.run([sys.executable, OBSERVE, result, *options, *program], check=True, cwd=folder)
    return json.loads(result.read_text())


def observe_cifar(folder):
    facts = cifar_archive.write(folder)
    if not find_spec("torchvision"):
        os.environ["PYTHONPATH"] = str(HERE / "torchvision_stand_in")
    facts["url"] = str(folder / cifar_archive.ARCHIVE)
    (folder / "facts.json").write_text(json.dumps(facts))
    return observe(CIFAR, folder, "--cifar", folder / "facts.json")


def main():
    GOLDEN.mkdir(exist_ok=True)
    for name in sys.argv[1:] or ["cifar10", *PROGRAMS_BY_RUN]:
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            record = observe_cifar(folder) if name == "cifar10" else observe(PROGRAMS_BY_RUN[name], folder)
        lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(_short(value))}" for key, value in record.items())
        (GOLDEN / f"{name}.json").write_text("{\n" + lines + "\n}\n")


def _short(value):
    """Seven significant digits: float32 has no more."""
    if isinstance(value, list):
        return [_short(v) for v in value]
    return float(f"{value:.7g}") if isinstance(value, float) else value


if __name__ == "__main__":
    main()
