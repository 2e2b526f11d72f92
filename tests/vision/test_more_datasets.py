"""Data sets read from small files made in their formats."""

import bz2
import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from rushlight.vision import datasets
from rushlight.vision.datasets import utils
from rushlight.vision.datasets.matfile import load_mat

import rushlight as torch

SVHN_LIKE = Path(__file__).parent.parent / "golden" / "svhn_like.mat"


def md5(path):
    return hashlib.md5(Path(path).read_bytes()).hexdigest()


def jpeg(path, color):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (6, 4), color).save(path)


def test_stl10(tmp_path, monkeypatch):
    folder = tmp_path / "stl10_binary"
    folder.mkdir()
    rng = np.random.default_rng(0)
    train = rng.integers(0, 256, (20, 3, 96, 96), dtype=np.uint8)
    labels = rng.integers(1, 11, 20).astype(np.uint8)
    for name, values in (
        ("train_X.bin", train),
        ("train_y.bin", labels),
        ("unlabeled_X.bin", train[:3]),
        ("test_X.bin", train[:5]),
        ("test_y.bin", labels[:5]),
    ):
        (folder / name).write_bytes(values.tobytes())
    (folder / "class_names.txt").write_text("airplane\nbird\n")
    (folder / "fold_indices.txt").write_text("0 2 4 \n1 3 \n")
    for kind in ("train_list", "test_list"):
        pairs = [[name, md5(folder / name)] for name, _ in getattr(datasets.STL10, kind)]
        monkeypatch.setattr(datasets.STL10, kind, pairs)
    data = datasets.STL10(tmp_path, transform=lambda image: np.asarray(image))
    image, label = data[4]
    assert len(data) == 20 and label == labels[4] - 1
    assert (image == train[4].transpose(2, 1, 0)).all()  # the file goes column by column
    assert datasets.STL10(tmp_path, "train", folds=1).labels.tolist() == (labels[[1, 3]] - 1).tolist()
    both = datasets.STL10(tmp_path, "train+unlabeled")
    assert len(both) == 23 and both[22][1] == -1
    assert len(datasets.STL10(tmp_path, "test")) == 5 and data.classes == ["airplane", "bird"]
    with pytest.raises(ValueError, match=r"range \[0, 10\)"):
        datasets.STL10(tmp_path, folds=10)
    with pytest.raises(ValueError, match="Unknown value 'x' for argument split"):
        datasets.STL10(tmp_path, "x")
    with pytest.raises(RuntimeError, match="not found or corrupted"):
        datasets.STL10(tmp_path / "elsewhere")


def test_svhn_is_read_without_scipy(tmp_path, monkeypatch):
    shutil.copy(SVHN_LIKE, tmp_path / "train_32x32.mat")
    entry = ["http://localhost", "train_32x32.mat", md5(SVHN_LIKE)]
    monkeypatch.setattr(datasets.SVHN, "split_list", {"train": entry})
    data = datasets.SVHN(str(tmp_path))
    expected = np.random.default_rng(0).integers(0, 256, (32, 32, 3, 4), dtype=np.uint8)[:8, :8]
    assert data.labels.tolist() == [1, 0, 3, 0] and data.data.shape == (4, 3, 8, 8)
    assert (np.asarray(data[2][0]) == expected[..., 2]).all()
    assert "Split: train" in repr(data)


def test_mat_files_that_are_not(tmp_path):
    path = tmp_path / "x.mat"
    path.write_bytes(b"nothing")
    with pytest.raises(ValueError, match="not a MATLAB level 5 file"):
        load_mat(path)
    path.write_bytes(SVHN_LIKE.read_bytes()[:-9])
    with pytest.raises(ValueError, match="truncated"):
        load_mat(path)


def test_omniglot(tmp_path, monkeypatch):
    folder = tmp_path / "omniglot-py"
    for alphabet, character in (("Greek", "a"), ("Greek", "b"), ("Latin", "a")):
        place = folder / "images_background" / alphabet / character
        place.mkdir(parents=True)
        for i in range(2):
            Image.new("1", (5, 5)).save(place / f"{i}.png")
    (folder / "images_background.zip").write_bytes(b"the archive")
    sums = {"images_background": md5(folder / "images_background.zip")}
    monkeypatch.setattr(datasets.Omniglot, "zips_md5", sums)
    data = datasets.Omniglot(str(tmp_path))
    assert len(data) == 6 and sorted({label for _, label in data}) == [0, 1, 2]
    assert data[0][0].mode == "L" and data[0][0].size == (5, 5)


def test_usps(tmp_path):
    values = np.linspace(-1, 1, 256)
    row = "7 " + " ".join(f"{i + 1}:{v:.6f}" for i, v in enumerate(values))
    (tmp_path / "usps.bz2").write_bytes(bz2.compress(f"{row}\n{row}\n".encode()))
    data = datasets.USPS(str(tmp_path))
    image, label = data[1]
    assert len(data) == 2 and label == 6 and image.size == (16, 16)
    assert np.asarray(image)[0, 0] == 0 and np.asarray(image)[-1, -1] == 255


def test_semeion(tmp_path, monkeypatch):
    row = ["1.0000"] * 256 + ["0"] * 10
    row[256 + 3] = "1"
    (tmp_path / "semeion.data").write_text(" ".join(row) + "\n" + " ".join(row) + "\n")
    monkeypatch.setattr(datasets.SEMEION, "md5_checksum", md5(tmp_path / "semeion.data"))
    data = datasets.SEMEION(str(tmp_path), download=False)
    assert len(data) == 2 and data[0][1] == 3 and np.asarray(data[0][0]).min() == 255


def idx(kind, array):
    header = bytes((0, 0, kind, array.ndim)) + b"".join(int(n).to_bytes(4, "big") for n in array.shape)
    return header + array.tobytes()


def test_emnist_and_qmnist(tmp_path):
    images = np.arange(2 * 28 * 28, dtype=np.uint64).astype(np.uint8).reshape(2, 28, 28)
    folder = tmp_path / "EMNIST" / "raw"
    folder.mkdir(parents=True)
    (folder / "emnist-letters-train-images-idx3-ubyte").write_bytes(idx(8, images))
    (folder / "emnist-letters-train-labels-idx1-ubyte").write_bytes(idx(8, np.array([3, 26], np.uint8)))
    data = datasets.EMNIST(tmp_path, "letters")
    assert data.classes[data[1][1]] == "z" and (np.asarray(data[1][0]) == images[1]).all()
    folder = tmp_path / "QMNIST" / "raw"
    folder.mkdir(parents=True)
    labels = np.arange(16, dtype=">i4").reshape(2, 8)
    (folder / "qmnist-test-images-idx3-ubyte").write_bytes(idx(8, images))
    (folder / "qmnist-test-labels-idx2-int").write_bytes(idx(12, labels))
    assert datasets.QMNIST(tmp_path, train=False)[1][1] == 8
    assert datasets.QMNIST(tmp_path, "test", compat=False)[1][1].tolist() == list(range(8, 16))


def test_moving_mnist(tmp_path):
    folder = tmp_path / "MovingMNIST"
    folder.mkdir()
    films = np.arange(20 * 3, dtype=np.uint8).reshape(20, 3, 1, 1).repeat(64, 2).repeat(64, 3)
    np.save(folder / "mnist_test_seq.npy", films)
    assert datasets.MovingMNIST(str(tmp_path))[1].shape == (20, 1, 64, 64)
    later = datasets.MovingMNIST(str(tmp_path), split="test", split_ratio=15)
    assert later[2].flatten(1)[:, 0].tolist() == [47, 50, 53, 56, 59]


def test_voc(tmp_path):
    root = tmp_path / "VOCdevkit" / "VOC2012"
    for part in ("Main", "Segmentation"):
        (root / "ImageSets" / part).mkdir(parents=True)
        (root / "ImageSets" / part / "val.txt").write_text("a\n")
    jpeg(root / "JPEGImages" / "a.jpg", "red")
    (root / "SegmentationClass").mkdir()
    Image.new("P", (6, 4)).save(root / "SegmentationClass" / "a.png")
    (root / "Annotations").mkdir()
    text = "<annotation><size><width>6</width></size><object><name>cat</name></object></annotation>"
    (root / "Annotations" / "a.xml").write_text(text)
    image, target = datasets.VOCDetection(str(tmp_path), image_set="val")[0]
    assert image.size == (6, 4)
    assert target == {"annotation": {"size": {"width": "6"}, "object": [{"name": "cat"}]}}
    segmentation = datasets.VOCSegmentation(str(tmp_path), image_set="val", transforms=lambda x, y: (x.size, y.mode))
    assert segmentation[0] == ((6, 4), "P")
    with pytest.raises(ValueError, match="Valid values are"):
        datasets.VOCDetection(str(tmp_path), image_set="test")


def test_data_sets_described_by_text(tmp_path):
    jpeg(tmp_path / "dtd" / "dtd" / "images" / "dotted" / "d.jpg", "red")
    labels = tmp_path / "dtd" / "dtd" / "labels"
    labels.mkdir()
    (labels / "train1.txt").write_text("dotted/d.jpg\n")
    assert datasets.DTD(str(tmp_path))[0][1] == 0
    jpeg(tmp_path / "food-101" / "images" / "soup" / "1.jpg", "red")
    (tmp_path / "food-101" / "meta").mkdir()
    (tmp_path / "food-101" / "meta" / "train.json").write_text(json.dumps({"soup": ["soup/1"], "cake": []}))
    food = datasets.Food101(str(tmp_path))
    assert food[0][1] == food.class_to_idx["soup"] == 1
    data = tmp_path / "fgvc-aircraft-2013b" / "data"
    jpeg(data / "images" / "7.jpg", "red")
    (data / "variants.txt").write_text("A 1\nB 2\n")
    (data / "images_variant_trainval.txt").write_text("7 B 2\n")
    assert datasets.FGVCAircraft(str(tmp_path))[0][1] == 1
    (tmp_path / "captions").write_text("x.jpg#0\tone\nx.jpg#1\ttwo\n")
    jpeg(tmp_path / "x.jpg", "red")
    assert datasets.Flickr30k(str(tmp_path), str(tmp_path / "captions"))[0][1] == ["one", "two"]


def test_data_sets_in_folders(tmp_path):
    jpeg(tmp_path / "eurosat" / "2750" / "River" / "1.jpg", "blue")
    assert datasets.EuroSAT(str(tmp_path)).classes == ["River"]
    jpeg(tmp_path / "gtsrb" / "GTSRB" / "Training" / "00001" / "1.ppm", "red")
    assert datasets.GTSRB(str(tmp_path))[0][0].size == (6, 4)
    jpeg(tmp_path / "imagenette2-160" / "val" / "n03888257" / "1.jpeg", "red")
    small = datasets.Imagenette(str(tmp_path), "val", "160px")
    assert small.classes == [("parachute", "chute")] and small.class_to_idx["chute"] == 0
    jpeg(tmp_path / "caltech256" / "256_ObjectCategories" / "001.ak47" / "001_0001.jpg", "red")
    assert datasets.Caltech256(str(tmp_path))[0][1] == 0
    torch.save(({"n1": ("tench", "Tinca")}, ["n1"]), tmp_path / "meta.bin")
    jpeg(tmp_path / "val" / "n1" / "1.jpg", "red")
    net = datasets.ImageNet(str(tmp_path), "val")
    assert net.classes == [("tench", "Tinca")] and net.class_to_idx == {"tench": 0, "Tinca": 0}


def test_celeba(tmp_path, monkeypatch):
    folder = tmp_path / "celeba"
    jpeg(folder / "img_align_celeba" / "1.jpg", "red")
    jpeg(folder / "img_align_celeba" / "2.jpg", "blue")
    texts = {
        "list_attr_celeba.txt": "2\nSmiling Young\n1.jpg  1 -1\n2.jpg -1  1\n",
        "identity_CelebA.txt": "1.jpg 5\n2.jpg 6\n",
        "list_bbox_celeba.txt": "2\nimage_id x y w h\n1.jpg 1 2 3 4\n2.jpg 5 6 7 8\n",
        "list_landmarks_align_celeba.txt": "2\na b\n1.jpg 1 2\n2.jpg 3 4\n",
        "list_eval_partition.txt": "1.jpg 0\n2.jpg 2\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    listing = [("", md5(folder / name), name) for name in texts]
    monkeypatch.setattr(datasets.CelebA, "file_list", listing)
    data = datasets.CelebA(str(tmp_path), "test", ["attr", "identity", "bbox"])
    image, (attributes, identity, box) = data[0]
    assert len(data) == 1 and image.size == (6, 4)
    assert attributes.tolist() == [0, 1] and identity.item() == 6 and box.tolist() == [5, 6, 7, 8]
    assert data.attr_names == ["Smiling", "Young"]


@pytest.mark.parametrize(
    ("make", "package"),
    [
        (lambda p: datasets.LSUN(p, classes=["tower_train"]), "lmdb"),
        (lambda p: datasets.CocoDetection(p, p + "/a.json"), "pycocotools"),
        (lambda p: datasets.SBDataset(p), "scipy"),
        (lambda p: datasets.StanfordCars(p), "scipy"),
    ],
)
def test_packages_that_are_missing_are_named(tmp_path, make, package):
    try:
        __import__(package)
    except ModuleNotFoundError:
        with pytest.raises(ModuleNotFoundError, match=package):
            make(str(tmp_path))


@pytest.mark.parametrize("name", ["Kinetics", "Cityscapes", "Sintel", "PhotoTour", "SceneFlowStereo"])
def test_absent_data_sets_raise_by_name(name):
    with pytest.raises(NotImplementedError, match=name):
        getattr(datasets, name)("somewhere")


def test_helpers_of_torchvision(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b.png").write_bytes(b"")
    assert utils.list_dir(tmp_path) == ["a"] and utils.list_files(tmp_path, ".png") == ["b.png"]
    assert utils.verify_str_arg("x", "arg", ("x", "y")) == "x"
    with pytest.raises(ValueError, match="Expected type str for argument arg"):
        utils.verify_str_arg(3, "arg", ("x",))
