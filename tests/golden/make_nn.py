"""Record what torch does in the scenarios of tests/nn/nn_scenarios, as nn.json and nn.npz. Run with torch installed:

python tests/golden/make_nn.py
"""

import json
import pathlib
import sys

import numpy as np
import torch

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here.parent / "nn"))

from nn_scenarios import SCENARIOS, numbers  # noqa: E402

if __name__ == "__main__":
    answers = {name: run(torch) for name, run in SCENARIOS.items()}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in answers.items())
    (here / "nn.json").write_text("{\n" + lines + "\n}\n")
    arrays = {
        f"{name}|{position:02}": array
        for name, *case in numbers.cases()
        for position, array in enumerate(numbers.run(torch, *case))
    }
    np.savez_compressed(here / "nn.npz", **arrays)
