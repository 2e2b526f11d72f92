"""Tables of numbers: ETTh1.csv, tokens, binarised pictures."""

import os

import numpy as np


def electricity(to, hours=1200, seed=0):
    """ETTh1.csv in `to`: hourly dates and seven columns of daily waves, the last one the oil temperature."""
    rng = np.random.default_rng(seed)
    start = np.datetime64("2016-07-01T00:00:00")
    hour = np.arange(hours)
    columns = [
        rng.uniform(2, 12)
        + rng.uniform(1, 4) * np.sin(2 * np.pi * hour / 24 + rng.uniform(0, 6))
        + rng.normal(0, 0.5, hours)
        for _ in range(7)
    ]
    os.makedirs(os.path.dirname(to) or ".", exist_ok=True)
    with open(to, "w") as file:
        file.write("date,HUFL,HULL,MUFL,MULL,LUFL,LULL,OT\n")
        for i in range(hours):
            when = str(start + np.timedelta64(i, "h")).replace("T", " ")
            file.write(",".join([when, *(f"{column[i]:.6f}" for column in columns)]) + "\n")


def tokens(to, count=60_000, vocabulary=32_000, seed=0):
    """uint16 token numbers in `to`, each likely to be a neighbour of the one before."""
    rng = np.random.default_rng(seed)
    steps = np.where(rng.random(count) < 0.8, rng.integers(1, 4, count), rng.integers(0, vocabulary, count))
    os.makedirs(os.path.dirname(to) or ".", exist_ok=True)
    (np.cumsum(steps) % vocabulary).astype(np.uint16).tofile(to)


def binary_images(to, train=2000, test=500, seed=0):
    """Binarised 28x28 pictures in the npz file `to`, as arrays train_data and valid_data of 784 columns."""
    from acceptance.data.images import _blobs, _samples

    rng = np.random.default_rng(seed)
    figures = _blobs(rng, 10, 1, 28)[:, 0]
    parts = [_samples(rng, figures, rng.integers(0, 10, count)).reshape(count, 784) > 127 for count in (train, test)]
    os.makedirs(os.path.dirname(to) or ".", exist_ok=True)
    np.savez(to, train_data=parts[0].astype(np.float32), valid_data=parts[1].astype(np.float32))
