"""VisionDataset, MNIST and its relatives, FakeData, ImageFolder and DatasetFolder."""

import gzip
import hashlib
import os
import struct

import numpy as np
import pytest
from PIL import Image
from rushlight.vision import transforms
from rushlight.vision.datasets import KMNIST, MNIST, DatasetFolder, FakeData, FashionMNIST, ImageFolder, VisionDataset

# VisionDataset


class Three(VisionDataset):
    def __len__(self):
        return 3


def test_base_class():
    data = Three("~/folder", transform=abs)
    assert data.root == os.path.expanduser("~/folder")
    assert data.transforms(-1, -2) == (1, -2)
    with pytest.raises(ValueError, match="Only transforms or transform/target_transform"):
        Three("x", transforms=abs, transform=abs)
    with pytest.raises(NotImplementedError):
        data[0]
    assert repr(Three()) == "Dataset Three\n    Number of datapoints: 3"
    assert repr(Three("x", transforms=max)) == (
        "Dataset Three\n    Number of datapoints: 3\n    Root location: x\n    <built-in function max>"
    )


# MNIST


def idx(array):
    return struct.pack(">BBBB", 0, 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def digits(seed, count):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (count, 28, 28), dtype=np.uint8), rng.integers(0, 10, count, dtype=np.uint8)


def idx_files():
    files = {}
    for split, count in (("train", 30), ("t10k", 10)):
        images, labels = digits(count, count)
        files[f"{split}-images-idx3-ubyte"] = idx(images)
        files[f"{split}-labels-idx1-ubyte"] = idx(labels)
    return files


@pytest.mark.parametrize("base", [MNIST, FashionMNIST, KMNIST])
def test_mnist_download_from_the_second_mirror(site, tmp_path, base):
    packed = {f"{name}.gz": gzip.compress(content) for name, content in idx_files().items()}
    site.files = {f"good/{name}": content for name, content in packed.items()}

    class Small(base):
        mirrors = [site.url("absent/"), site.url("good/")]
        resources = [(name, hashlib.md5(packed[name]).hexdigest()) for name, _ in base.resources]

    with pytest.raises(RuntimeError, match=r"Dataset not found. You can use download=True to download it"):
        Small(tmp_path)
    train = Small(tmp_path, download=True)
    images, labels = digits(30, 30)
    np.testing.assert_array_equal(train.data.numpy(), images)
    np.testing.assert_array_equal(train.targets.numpy(), labels)
    assert (str(train.data.dtype)[-5:], str(train.targets.dtype)[-5:]) == ("uint8", "int64")
    image, target = train[4]
    assert (image.mode, target, type(target)) == ("L", labels[4], int)
    np.testing.assert_array_equal(np.asarray(image), images[4])
    assert train.raw_folder == os.path.join(tmp_path, "Small", "raw")
    assert train.class_to_idx[train.classes[7]] == 7
    asked = len(site.requests)
    test = Small(tmp_path, train=False, transform=transforms.ToTensor(), download=True)
    assert len(site.requests) == asked
    np.testing.assert_array_equal(test[0][0].numpy()[0], digits(10, 10)[0][0] / np.float32(255))
    assert repr(test).splitlines()[3] == "    Split: Test"


def test_mnist_without_a_mirror_that_delivers(site, tmp_path):
    class Lost(MNIST):
        mirrors = [site.url("a/"), site.url("b/")]

    with pytest.raises(RuntimeError, match=r"(?s)Error downloading train-images.*Tried .*/a/.*Tried .*/b/.*404"):
        Lost(tmp_path, download=True)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda content: content[:-1], "holds .* values; it is truncated"),
        (lambda content: content + b"x", "holds .* values; it is truncated"),
        (lambda content: b"\x1f\x8b" + content, "is not an idx file"),
        (lambda content: b"", "is not an idx file"),
        (lambda content: content[:2] + b"\x0d" + content[3:], "is not an idx file"),
    ],
)
def test_damaged_idx_file(tmp_path, damage, message):
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for name, content in idx_files().items():
        (raw / name).write_bytes(damage(content) if name.startswith("train-images") else content)
    with pytest.raises(ValueError, match=f"train-images-idx3-ubyte.*{message}"):
        MNIST(tmp_path)


# FakeData


def test_fake_data():
    data = FakeData(size=5, image_size=(3, 6, 4), num_classes=7, transform=transforms.ToTensor())
    assert len(data) == 5
    image, target = data[2]
    assert tuple(image.shape) == (3, 6, 4)
    assert type(target) is int
    again = FakeData(size=5, image_size=(3, 6, 4), num_classes=7, transform=transforms.ToTensor(), random_offset=1)[1]
    np.testing.assert_array_equal(image.numpy(), again[0].numpy())
    assert target == again[1]
    assert data[1][0].tolist() != image.tolist()
    # torchvision 0.28's
    plain = FakeData(size=5, image_size=(3, 6, 4))
    assert [target for _, target in (plain[index] for index in range(5))] == [9, 6, 0, 2, 1]
    assert np.asarray(plain[1][0]).sum() == 8942
    assert plain[0][0].getpixel((0, 0)) == (225, 191, 85)
    with pytest.raises(IndexError, match="FakeData index out of range"):
        data[5]


# Folders


@pytest.fixture
def pictures(tmp_path):
    for name, colour in (("cat/b.png", 10), ("cat/a.JPG", 20), ("dog/x/y.bmp", 30), ("dog/readme.txt", None)):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if colour is None:
            path.write_text("text")
        else:
            Image.new("L", (4, 3), colour).save(path)
    return tmp_path


def test_image_folder(pictures):
    data = ImageFolder(str(pictures))
    assert data.classes == ["cat", "dog"]
    assert data.class_to_idx == {"cat": 0, "dog": 1}
    assert [os.path.relpath(path, pictures) for path, _ in data.imgs] == ["cat/a.JPG", "cat/b.png", "dog/x/y.bmp"]
    assert data.targets == [0, 0, 1]
    image, target = data[2]
    assert (image.mode, image.size, image.getpixel((0, 0)), target) == ("RGB", (4, 3), (30, 30, 30), 1)
    assert tuple(ImageFolder(pictures, transform=transforms.ToTensor())[0][0].shape) == (3, 3, 4)


def test_dataset_folder_with_its_own_files(pictures):
    data = DatasetFolder(
        str(pictures), loader=os.path.basename, is_valid_file=lambda path: path.endswith((".txt", "g"))
    )
    assert [data[index] for index in range(len(data))] == [("b.png", 0), ("readme.txt", 1)]


def test_class_without_files(pictures):
    (pictures / "eel").mkdir()
    with pytest.raises(
        FileNotFoundError, match=r"Found no valid file for the classes eel. Supported extensions are: .jpg"
    ):
        ImageFolder(pictures)
    assert ImageFolder(pictures, allow_empty=True).classes == ["cat", "dog", "eel"]


def test_no_classes(tmp_path):
    with pytest.raises(FileNotFoundError, match="Couldn't find any class folder in"):
        ImageFolder(tmp_path)


def test_both_or_neither_choice_of_files(pictures):
    for options in ({}, {"extensions": (".png",), "is_valid_file": bool}):
        with pytest.raises(ValueError, match="Both extensions and is_valid_file cannot be None or not None"):
            DatasetFolder(pictures, loader=open, **options)
