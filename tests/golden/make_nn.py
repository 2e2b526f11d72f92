"""Record what torch does in the scenarios of tests/nn/scenarios.py. Run with torch installed:

python tests/golden/make_nn.py
"""

import importlib.util
import json
import pathlib

import torch

here = pathlib.Path(__file__).parent
spec = importlib.util.spec_from_file_location("scenarios", here.parent / "nn" / "scenarios.py")
scenarios = importlib.util.module_from_spec(spec)
spec.loader.exec_module(scenarios)

if __name__ == "__main__":
    answers = {name: run(torch) for name, run in {**scenarios.SCENARIOS, **scenarios.TO_ROUNDING}.items()}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in answers.items())
    (here / "nn.json").write_text("{\n" + lines + "\n}\n")
