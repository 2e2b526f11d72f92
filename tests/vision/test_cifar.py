"""CIFAR-10 and CIFAR-100 from small archives in the real format."""

import hashlib
import io
import os
import pickle
import tarfile

import numpy as np
import pytest
from PIL import Image
from python2_pickle import python2_pickle
from rushlight.vision import transforms
from rushlight.vision.datasets import CIFAR10, CIFAR100
from rushlight.vision.datasets.archive import ArchiveError

ROWS = 20
CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


def images(seed):
    return np.random.default_rng(seed).integers(0, 256, (ROWS, 3072), dtype=np.uint8)


def batch(seed, key="labels"):
    return {
        "batch_label": f"training batch {seed} of 5",
        key: [(seed + row) % 10 for row in range(ROWS)],
        "data": images(seed),
        "filenames": [f"image_{seed}_{row}.png" for row in range(ROWS)],
    }


def files_10():
    files = {f"data_batch_{n}": python2_pickle(batch(n)) for n in range(1, 6)}
    files["test_batch"] = python2_pickle(batch(6))
    files["batches.meta"] = python2_pickle({"num_cases_per_batch": ROWS, "label_names": CLASSES, "num_vis": 3072})
    return files


def files_100():
    meta = {"fine_label_names": [f"fine {n}" for n in range(100)], "coarse_label_names": ["coarse"] * 20}
    return {
        "train": python2_pickle({**batch(1, "fine_labels"), "coarse_labels": [0] * ROWS}),
        "test": python2_pickle({**batch(2, "fine_labels"), "coarse_labels": [0] * ROWS}),
        "meta": python2_pickle(meta),
    }


def archive(folder, files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


def md5(data):
    return hashlib.md5(data).hexdigest()


def served(base, files, site, **more):
    """The class with the checksums of these files, its archive on the server."""
    packed = archive(base.base_folder, files)
    site.files[base.filename] = packed
    return type(
        base.__name__,
        (base,),
        {
            "url": site.url(base.filename),
            "tgz_md5": md5(packed),
            "train_list": [[name, md5(files[name])] for name, _ in base.train_list],
            "test_list": [[name, md5(files[name])] for name, _ in base.test_list],
            "meta": {**base.meta, "md5": md5(files[base.meta["filename"]])},
            **more,
        },
    )


@pytest.fixture
def Small10(site):
    return served(CIFAR10, files_10(), site)


def test_download_and_read(site, Small10, tmp_path, capsys):
    train = Small10(tmp_path, train=True, download=True)
    assert len(train) == 5 * ROWS
    assert train.data.shape == (5 * ROWS, 32, 32, 3)
    assert train.data.dtype == np.uint8
    expected = np.concatenate([images(n) for n in range(1, 6)]).reshape(-1, 3, 32, 32)
    np.testing.assert_array_equal(train.data.transpose(0, 3, 1, 2), expected)
    assert train.targets == [(n + row) % 10 for n in range(1, 6) for row in range(ROWS)]
    assert train.classes == CLASSES
    assert train.class_to_idx["frog"] == 6
    assert capsys.readouterr().out == ""

    test = Small10(tmp_path, train=False, download=True)
    assert capsys.readouterr().out == ""
    np.testing.assert_array_equal(test.data.transpose(0, 3, 1, 2).reshape(ROWS, -1), images(6))
    assert len(site.requests) == 1


def test_items(Small10, tmp_path):
    plain = Small10(str(tmp_path), train=False, download=True)
    image, target = plain[3]
    assert isinstance(image, Image.Image)
    assert (image.mode, image.size, target) == ("RGB", (32, 32), 9)
    np.testing.assert_array_equal(np.asarray(image).transpose(2, 0, 1).reshape(-1), images(6)[3])
    transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,) * 3, (0.5,) * 3)])
    changed = Small10(str(tmp_path), train=False, transform=transform, target_transform=lambda target: -target)
    pixels, target = changed[3]
    assert target == -9
    expected = (images(6)[3].reshape(3, 32, 32).astype(np.float32) / np.float32(255) - np.float32(0.5)) / np.float32(
        0.5
    )
    np.testing.assert_array_equal(pixels.numpy(), expected)


def test_cifar100(site, tmp_path):
    Small100 = served(CIFAR100, files_100(), site)
    train = Small100(tmp_path, download=True)
    assert train.data.shape == (ROWS, 32, 32, 3)
    assert train.targets == [(1 + row) % 10 for row in range(ROWS)]
    assert train.classes[42] == "fine 42"


def test_broken_connection(site, Small10, tmp_path):
    site.breaks = [1000, 5000]
    assert len(Small10(tmp_path, download=True)) == 5 * ROWS
    assert len(site.requests) == 3


def test_missing_and_corrupted(Small10, tmp_path):
    message = "Dataset not found or corrupted. You can use download=True to download it"
    with pytest.raises(RuntimeError, match=message):
        Small10(tmp_path)
    Small10(tmp_path, download=True)
    path = tmp_path / "cifar-10-batches-py" / "data_batch_3"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(RuntimeError, match=message):
        Small10(tmp_path, train=False)
    Small10(tmp_path, download=True)
    os.remove(tmp_path / "cifar-10-batches-py" / "batches.meta")
    with pytest.raises(RuntimeError, match="Dataset metadata file not found or corrupted"):
        Small10(tmp_path)


def test_tampered_archive(site, tmp_path):
    Small10 = served(CIFAR10, files_10(), site)
    site.files[CIFAR10.filename] = site.files[CIFAR10.filename][:-1000]
    with pytest.raises(RuntimeError, match="File not found or corrupted"):
        Small10(tmp_path, download=True)
    Small10.tgz_md5 = None
    with pytest.raises(ArchiveError, match="truncated or corrupted"):
        Small10(tmp_path, download=True)
    assert os.listdir(tmp_path) == [CIFAR10.filename]


def test_batch_that_would_run_code(site, tmp_path):
    files = {**files_10(), "data_batch_2": b"cos\nsystem\n(U\x04trueR."}
    Small10 = served(CIFAR10, files, site)
    with pytest.raises(pickle.UnpicklingError, match=r"os\.system"):
        Small10(tmp_path, download=True)


@pytest.mark.parametrize(
    "wrong", [{"data": images(1)[:, :100]}, {"data": images(1).astype(np.int16)}, {"labels": [1, 2]}]
)
def test_batch_of_another_shape(site, tmp_path, wrong):
    Small10 = served(CIFAR10, {**files_10(), "data_batch_1": python2_pickle({**batch(1), **wrong})}, site)
    with pytest.raises(RuntimeError, match=r"data_batch_1 holds .* where uint8 of shape \(N, 3072\)"):
        Small10(tmp_path, download=True)


def test_repr(Small10, tmp_path):
    Small10(tmp_path, download=True)
    transform = transforms.Compose([transforms.ToTensor()])
    data = Small10(str(tmp_path), train=False, transform=transform, target_transform=transforms.Lambda(abs))
    assert repr(data) == (
        f"Dataset CIFAR10\n    Number of datapoints: {ROWS}\n    Root location: {tmp_path}\n    Split: Test\n"
        "    StandardTransform\nTransform: Compose(\n               ToTensor()\n           )\n"
        "Target transform: Lambda()"
    )
