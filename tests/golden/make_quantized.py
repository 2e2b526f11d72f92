"""Record what torch computes in the cases of tests/quantized/quantized_cases.py: quantized.npz, quantized.json, and
a state in a file: quantized.pt; and those of static_cases.py: quantized_static.json.

Run with torch installed, on an x86 processor with VNNI: python tests/golden/make_quantized.py
"""

import json
import pathlib
import sys

import numpy as np
import torch

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here.parent / "quantized"))

from quantized_cases import fill, quantized, recorded, texts  # noqa: E402
from static_cases import everything  # noqa: E402

if __name__ == "__main__":
    np.savez_compressed(here / "quantized.npz", **recorded(torch))
    layer = quantized(torch, fill(torch, torch.nn.Linear(6, 4), np.random.default_rng(6)))
    torch.save({"state": layer.state_dict(), "out": layer(torch.arange(12.0).reshape(2, 6))}, here / "quantized.pt")
    (here / "quantized.json").write_text(json.dumps(texts(torch), indent=1) + "\n")
    (here / "quantized_static.json").write_text(json.dumps(everything(torch)) + "\n")
