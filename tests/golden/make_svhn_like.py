"""Writes svhn_like.mat: four pictures of 8x8 and labels as SVHN's files have them. Needs SciPy."""

from pathlib import Path

import numpy as np
import scipy.io

if __name__ == "__main__":
    pictures = np.random.default_rng(0).integers(0, 256, (32, 32, 3, 4), dtype=np.uint8)[:8, :8]
    labels = np.array([[1], [10], [3], [10]], np.uint8)
    path = Path(__file__).parent / "svhn_like.mat"
    scipy.io.savemat(path, {"X": pictures, "y": labels}, do_compression=True)
