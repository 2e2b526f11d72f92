"""Record what the programs of tests/examples/program_runs.py print and compute under torch, as examples/<run>.json.

Run with torch installed: python tests/golden/make_examples.py [--rounding] [run ...]

Each record says under "rounding" how far torch's own runs are apart that differ by rounding alone: from parameters a
few units in the last place away, and with the kernels for AVX2. --rounding renews that part only.

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
from agreement import rounding_of  # noqa: E402
from program_runs import CIFAR, GOLDEN, PROGRAMS_BY_RUN  # noqa: E402

OBSERVE = HERE.parent / "examples" / "observe.py"


AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_CBWR": "AVX2"}
YARDSTICKS = (((), AVX2), *((("--nudge", str(seed)), {}) for seed in (1, 2, 3)))


def observe(program, folder, *options, **environment):
    """The record of a program that is run in `folder`."""
    result = folder / "result.json"
    command = [sys.executable, OBSERVE, result, *options, *program]
    subprocess.run(command, check=True, cwd=folder, env={**os.environ, **environment})
    return json.loads(result.read_text())


def observe_cifar(folder, *options, **environment):
    facts = cifar_archive.write(folder)
    if not find_spec("torchvision"):
        os.environ["PYTHONPATH"] = str(HERE / "torchvision_stand_in")
    facts["url"] = str(folder / cifar_archive.ARCHIVE)
    (folder / "facts.json").write_text(json.dumps(facts))
    return observe(CIFAR, folder, "--cifar", folder / "facts.json", *options, **environment)


def record_of(name, *options, **environment):
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        if name == "cifar10":
            return observe_cifar(folder, *options, **environment)
        return observe(PROGRAMS_BY_RUN[name], folder, *options, **environment)


def main():
    GOLDEN.mkdir(exist_ok=True)
    only_rounding = "--rounding" in sys.argv
    for name in [a for a in sys.argv[1:] if a != "--rounding"] or ["cifar10", *PROGRAMS_BY_RUN]:
        path = GOLDEN / f"{name}.json"
        record = json.loads(path.read_text()) if only_rounding else record_of(name)
        runs = [record_of(name, *options, **environment) for options, environment in YARDSTICKS]
        record["rounding"] = rounding_of(record, runs)
        lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(_short(value))}" for key, value in record.items())
        path.write_text("{\n" + lines + "\n}\n")


def _short(value):
    """Seven significant digits: float32 has no more."""
    if isinstance(value, list):
        return [_short(v) for v in value]
    if isinstance(value, dict):
        return {key: _short(v) for key, v in value.items()}
    return float(f"{value:.7g}") if isinstance(value, float) else value


if __name__ == "__main__":
    main()
