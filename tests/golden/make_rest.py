"""Record torch's results for tests/top/rest_cases.py, as rest.npz and rest.json. Run with torch installed:

python tests/golden/make_rest.py
"""

import json
import pathlib
import sys
import warnings

import numpy as np
import torch
from torch.utils import benchmark

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here.parent / "top"))

import rest_cases  # noqa: E402

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    arrays = rest_cases.spacing(torch)
    for case in rest_cases.LAYERS:
        for position, array in enumerate(rest_cases.layer(torch, *case)):
            arrays[f"{case[0]}|{position:02}"] = array
    np.savez_compressed(here / "rest.npz", **arrays)
    (here / "rest.json").write_text(json.dumps(rest_cases.tables(benchmark), indent=0) + "\n")
