"""Record what torch computes in tests/nn/transformer_cases.py, as transformer.npz and transformer.json.

python tests/golden/make_transformer.py
"""

import json
import pathlib
import sys
import warnings

import numpy as np
import torch

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here.parent / "nn"))

from transformer_cases import CASES, run, words  # noqa: E402

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    arrays = {f"{name}|{i:03}": a.astype(np.float64) for name in CASES for i, a in enumerate(run(torch, name))}
    np.savez_compressed(here / "transformer.npz", **arrays)
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(words(torch, name))}" for name in CASES)
    (here / "transformer.json").write_text("{\n" + lines + "\n}\n")
