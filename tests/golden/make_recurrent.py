"""Record what torch computes in the cases of tests/nn/recurrent_cases.py, as recurrent.npz. Run with torch installed:

python tests/golden/make_recurrent.py
"""

import pathlib
import sys

import numpy as np
import torch

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here.parent / "nn"))

from recurrent_cases import recorded  # noqa: E402

if __name__ == "__main__":
    np.savez_compressed(here / "recurrent.npz", **recorded(torch))
