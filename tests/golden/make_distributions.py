"""torch's answers to the cases of tests/distributions, in distributions.npz. Run where torch 2.13 is installed."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "distributions"))

import distribution_cases  # noqa: E402
import distribution_probe as probe  # noqa: E402


def main() -> None:
    torch.set_num_threads(1)
    np.savez_compressed(HERE / "distributions.npz", **probe.pack(probe.everything(torch, distribution_cases)))


if __name__ == "__main__":
    main()
