"""Record what torch's interpolate and grid_sample give, as resize.npz. Run with torch installed:

python tests/golden/make_resize.py
"""

import pathlib
import sys

import numpy as np
import torch
from torch.nn import functional as F

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here.parent))

from ops.resize_cases import arrays_of, grids, resamplings  # noqa: E402


def record(name, f, shapes, answers):
    tensors = [torch.tensor(a, requires_grad=True) for a in arrays_of(name, shapes)]
    out = f(F, *tensors)
    out.square().sum().backward()
    answers[name] = out.detach().numpy().astype(np.float32)
    for i, t in enumerate(tensors):
        answers[f"{name}|{i}"] = t.grad.numpy().astype(np.float32)


if __name__ == "__main__":
    answers = {}
    for name, f, shapes in [*resamplings(), *grids()]:
        record(name, f, shapes, answers)
    np.savez_compressed(here / "resize.npz", **answers)
