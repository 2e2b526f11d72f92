"""A small archive in the format of CIFAR-10 whose classes can be distinguished: each has its own colours and stripes."""

import hashlib
import io
import sys
import tarfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "vision"))
from python2_pickle import python2_pickle

FOLDER = "cifar-10-batches-py"
ARCHIVE = "cifar-10-python.tar.gz"
CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
PER_BATCH, TESTED = 160, 100


def write(folder):
    """Put the archive into `folder`; returns the attributes of a CIFAR10 class that expects it, but for the url."""
    files = _files()
    with tarfile.open(folder / ARCHIVE, "w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(f"{FOLDER}/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    sums = {name: hashlib.md5(content).hexdigest() for name, content in files.items()}
    return {
        "tgz_md5": hashlib.md5((folder / ARCHIVE).read_bytes()).hexdigest(),
        "train_list": [[f"data_batch_{n}", sums[f"data_batch_{n}"]] for n in range(1, 6)],
        "test_list": [["test_batch", sums["test_batch"]]],
        "meta": {"filename": "batches.meta", "key": "label_names", "md5": sums["batches.meta"]},
    }


def _files():
    draw = np.random.RandomState(0)  # its streams never change
    patterns = _patterns(draw)
    files = {f"data_batch_{n}": _batch(draw, patterns, f"training batch {n} of 5", PER_BATCH) for n in range(1, 6)}
    files["test_batch"] = _batch(draw, patterns, "testing batch 1 of 1", TESTED)
    files["batches.meta"] = python2_pickle({"num_cases_per_batch": PER_BATCH, "label_names": CLASSES, "num_vis": 3072})
    return files


def _patterns(draw):
    """(10, 3, 32, 32): for each class a colour and stripes of its own direction and width."""
    row, column = np.mgrid[:32, :32]
    colour = draw.uniform(60, 190, (10, 3, 1, 1))
    angle = np.arange(10)[:, None, None] * np.pi / 10
    width = 3 + np.arange(10)[:, None, None] % 4
    stripes = np.sin((row * np.sin(angle) + column * np.cos(angle)) * np.pi / width)
    return colour + 40 * stripes[:, None]


def _batch(draw, patterns, label, count):
    labels = draw.randint(0, 10, count)
    images = patterns[labels] + draw.normal(0, 30, (count, 3, 32, 32))
    return python2_pickle(
        {
            "batch_label": label,
            "labels": labels.tolist(),
            "data": np.clip(images, 0, 255).astype(np.uint8).reshape(count, 3072),
            "filenames": [f"image_{n}.png" for n in range(count)],
        }
    )
