"""The data makers write what Rushlight's own readers read, the same for the same seed, with classes that differ."""

import gzip
import hashlib
import json
import pickle
import tarfile

import numpy as np
import pytest
from PIL import Image
from rushlight.vision import datasets

from acceptance import data

OPTIONS = {
    "binary_images": {"train": 5, "test": 3},
    "characters": {"size": 2000},
    "cifar10": {"train": 20, "test": 5},
    "cifar100": {"train": 20, "test": 5},
    "cora": {"nodes": 60, "words": 30, "edges": 100},
    "electricity": {"hours": 30},
    "faces": {"count": 2, "size": 16, "points": 3},
    "fashion_mnist": {"train": 20, "test": 5},
    "image_folder": {"count": 2, "size": 16},
    "mnist": {"train": 20, "test": 5},
    "mnist_pickle": {"train": 20, "valid": 5},
    "movie_lines": {"conversations": 4},
    "name_files": {"count": 5},
    "names": {"count": 30},
    "omniglot": {"alphabets": 2, "characters": 2, "drawings": 2, "splits": "splits"},
    "omniglot_array": {"classes": 3, "drawings": 2},
    "pictures": {"count": 2, "size": 16},
    "sentence_pairs": {"lines": 9},
    "sentences": {"lines": 25},
    "tokens": {"count": 200},
    "folder": {},
}


def contents(path):
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    return [(str(file.relative_to(path)), hashlib.sha256(file.read_bytes()).hexdigest()) for file in files]


@pytest.mark.parametrize("maker", sorted(data.MAKERS))
def test_the_same_seed_writes_the_same_files_and_another_seed_others(maker, tmp_path):
    if maker == "binary_images":  # npz files carry no more than their arrays
        names = ["a.npz", "b.npz", "c.npz"]
    else:
        names = ["a.npy", "b.npy", "c.npy"] if maker == "omniglot_array" else ["a", "b", "c"]
    for name in names[:2]:
        data.make(maker, str(tmp_path / name), **OPTIONS[maker])
    assert contents(tmp_path / names[0]) == contents(tmp_path / names[1])
    if maker != "folder":
        data.make(maker, str(tmp_path / names[2]), **OPTIONS[maker], seed=99)
        assert contents(tmp_path / names[0]) != contents(tmp_path / names[2])


@pytest.mark.parametrize(
    ("maker", "reader", "shape"),
    [("mnist", datasets.MNIST, (28, 28)), ("fashion_mnist", datasets.FashionMNIST, (28, 28))],
)
def test_idx_files(maker, reader, shape, tmp_path):
    data.make(maker, str(tmp_path), train=200, test=50)
    train, test = reader(str(tmp_path), train=True), reader(str(tmp_path), train=False)
    assert (len(train), len(test)) == (200, 50)
    assert tuple(train.data.shape[1:]) == shape
    assert learnable(train.data.numpy(), train.targets.numpy())


@pytest.mark.parametrize(
    ("maker", "reader", "classes"), [("cifar10", datasets.CIFAR10, 10), ("cifar100", datasets.CIFAR100, 100)]
)
def test_pickled_batches(maker, reader, classes, tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "_check_integrity", lambda self: True)
    monkeypatch.setattr("rushlight.vision.datasets.cifar.check_integrity", lambda path, md5=None: True)
    data.make(maker, str(tmp_path), train=400, test=50)
    train, test = reader(str(tmp_path), train=True), reader(str(tmp_path), train=False)
    assert (train.data.shape, test.data.shape) == ((400, 32, 32, 3), (50, 32, 32, 3))
    assert len(train.classes) == classes
    assert learnable(train.data, np.array(train.targets))


def learnable(images, labels):
    """Whether pictures of one class are nearer to its mean than to the others'."""
    images = images.reshape(len(images), -1).astype(float)
    kinds = [label for label in np.unique(labels) if (labels == label).sum() > 2]
    means = np.stack([images[labels == label].mean(0) for label in kinds])
    nearest = ((images[:, None] - means) ** 2).sum(-1).argmin(1)
    right = [kinds[at] == label for at, label in zip(nearest, labels) if label in kinds]
    return np.mean(right) > 0.8


def test_folders_of_pictures(tmp_path):
    data.make("image_folder", str(tmp_path / "f"), classes=("cat", "dog"), count=3, size=20, suffix="jpg")
    found = datasets.ImageFolder(str(tmp_path / "f"))
    assert (found.classes, len(found), found[0][0].size) == (["cat", "dog"], 6, (20, 20))
    data.make("pictures", str(tmp_path / "m"), count=2, size=20, masks=True)
    assert set(np.unique(np.asarray(Image.open(tmp_path / "m" / "00000.png")))) == {0, 255}


def test_cora_has_nodes_words_edges_and_an_archive(tmp_path):
    data.make("cora", str(tmp_path), nodes=80, words=40, edges=120, tgz="cora.tgz")
    content = np.genfromtxt(tmp_path / "cora.content", dtype=str)
    cites = np.genfromtxt(tmp_path / "cora.cites", dtype=int)
    assert content.shape == (80, 42) and cites.shape == (120, 2)
    assert set(cites.ravel()) <= set(content[:, 0].astype(int))
    with tarfile.open(tmp_path / "cora.tgz") as archive:
        assert archive.getnames() == ["cora/cora.content", "cora/cora.cites"]


def test_text(tmp_path):
    data.make("characters", str(tmp_path / "play"), size=3000)
    assert len(set((tmp_path / "play").read_text())) > 55
    data.make("names", str(tmp_path / "names"), count=50)
    names = (tmp_path / "names").read_text().split()
    assert len(set(names)) == 50 and all(name.isalpha() and name.islower() for name in names)
    data.make("electricity", str(tmp_path / "e.csv"), hours=30)
    assert (tmp_path / "e.csv").read_text().splitlines()[24].startswith("2016-07-01 23:00:00,")


def test_omniglot_splits_name_folders_that_are_there(tmp_path):
    data.make("omniglot", str(tmp_path), alphabets=2, characters=4, drawings=2, splits="splits")
    for line in (tmp_path / "splits" / "trainval.txt").read_text().split():
        assert len(list((tmp_path / line.rpartition("/")[0]).iterdir())) == 2


def test_faces_have_landmarks_inside_of_their_pictures(tmp_path):
    data.make("faces", str(tmp_path), count=3, size=20, points=4)
    header, *rows = (tmp_path / "face_landmarks.csv").read_text().splitlines()
    assert header.split(",")[:3] == ["image_name", "part_0_x", "part_0_y"] and len(rows) == 3
    for row in rows:
        name, *marks = row.split(",")
        with Image.open(tmp_path / name) as picture:
            assert picture.size == (20, 20)
        assert len(marks) == 8 and all(0 <= int(mark) < 20 for mark in marks)


def test_mnist_in_a_pickle(tmp_path):
    data.make("mnist_pickle", str(tmp_path / "m.pkl.gz"), train=60, valid=20)
    with gzip.open(tmp_path / "m.pkl.gz") as file:
        (images, labels), (valid, _), _ = pickle.load(file, encoding="latin-1")
    assert (images.shape, images.dtype, valid.shape) == ((60, 784), np.float32, (20, 784))
    assert images.min() >= 0 and images.max() <= 1 and learnable(images, labels)


def test_names_pairs_and_films(tmp_path):
    data.make("name_files", str(tmp_path), languages=("Thai", "Zulu"), count=30)
    names = [(tmp_path / f"{language}.txt").read_text().split() for language in ("Thai", "Zulu")]
    assert [len(set(each)) for each in names] == [30, 30] and set(names[0]) != set(names[1])
    data.make("sentence_pairs", str(tmp_path / "pairs"), lines=20, also=("le chat",))
    pairs = [line.split("\t") for line in (tmp_path / "pairs").read_text().splitlines()]
    assert len(pairs) == 20 and pairs[0][1] == "le chat." and all(len(pair) == 2 for pair in pairs)
    data.make("movie_lines", str(tmp_path / "films"), conversations=3)
    lines = [json.loads(line) for line in (tmp_path / "films").read_text().splitlines()]
    assert [line["id"] for line in lines[:3]] == ["L0_2", "L0_1", "L0_0"] and len(lines) == 9
    data.make("pictures", str(tmp_path / "p"), size=8, names=["a", "b"])
    assert sorted(path.name for path in (tmp_path / "p").iterdir()) == ["a.png", "b.png"]
