"""Pictures: MNIST, FashionMNIST, CIFAR, Omniglot, faces and folders of image files."""

import gzip
import os
import pickle
import struct

import numpy as np

_CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def mnist(to, train=2000, test=500, gz=False, root="MNIST", seed=0):
    """The idx files of MNIST under `to`/MNIST/raw: ten smooth figures, shifted and with noise."""
    folder = os.path.join(to, root, "raw")
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(seed)
    figures = _blobs(rng, 10, 1, 28)[:, 0]
    for split, count in (("train", train), ("t10k", test)):
        labels = rng.integers(0, 10, count).astype(np.uint8)
        _write_idx(os.path.join(folder, f"{split}-images-idx3-ubyte"), _samples(rng, figures, labels, dark=True), gz)
        _write_idx(os.path.join(folder, f"{split}-labels-idx1-ubyte"), labels, gz)


def fashion_mnist(to, train=2000, test=500, gz=False, seed=1):
    """FashionMNIST: the same files under `to`/FashionMNIST/raw."""
    mnist(to, train, test, gz, "FashionMNIST", seed)


def cifar10(to, train=2000, test=500, seed=0):
    """The pickled batches of CIFAR-10 under `to`/cifar-10-batches-py: five of training pictures, one of test pictures."""
    folder = os.path.join(to, "cifar-10-batches-py")
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(seed)
    figures = _blobs(rng, 10, 3, 32)
    parts = [(f"data_batch_{i + 1}", len(part)) for i, part in enumerate(np.array_split(np.arange(train), 5))]
    for name, count in [*parts, ("test_batch", test)]:
        labels = rng.integers(0, 10, count)
        entry = {
            "batch_label": name,
            "labels": labels.tolist(),
            "data": _samples(rng, figures, labels).reshape(count, 3072),
            "filenames": [f"{name}_{i:05d}.png" for i in range(count)],
        }
        _pickle(os.path.join(folder, name), entry)
    _pickle(
        os.path.join(folder, "batches.meta"),
        {"num_cases_per_batch": train // 5, "label_names": list(_CIFAR10), "num_vis": 3072},
    )


def cifar100(to, train=2000, test=500, seed=0):
    """The pickled files of CIFAR-100 under `to`/cifar-100-python."""
    folder = os.path.join(to, "cifar-100-python")
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(seed)
    figures = _blobs(rng, 100, 3, 32)
    for name, count in (("train", train), ("test", test)):
        labels = rng.integers(0, 100, count)
        entry = {
            "filenames": [f"{name}_{i:05d}.png" for i in range(count)],
            "batch_label": name,
            "fine_labels": labels.tolist(),
            "coarse_labels": (labels // 5).tolist(),
            "data": _samples(rng, figures, labels).reshape(count, 3072),
        }
        _pickle(os.path.join(folder, name), entry)
    meta = {
        "fine_label_names": [f"fine_{i}" for i in range(100)],
        "coarse_label_names": [f"coarse_{i}" for i in range(20)],
    }
    _pickle(os.path.join(folder, "meta"), meta)


def image_folder(to, classes=("a", "b"), count=10, size=64, suffix="png", seed=0):
    """`to`/<class>/<number>.png (or jpg): colour pictures, the layout of torchvision's ImageFolder."""
    rng = np.random.default_rng(seed)
    for name, figure in zip(classes, _blobs(rng, len(classes), 3, size)):
        pictures_of = _samples(rng, figure[None], np.zeros(count, int))
        _write_pictures(os.path.join(to, name), pictures_of.transpose(0, 2, 3, 1), suffix)


def pictures(to, count=10, size=64, suffix="png", masks=False, names=(), seed=0):
    """`to`/<number>.png (or jpg): colour pictures of soft shapes; masks=True: black and white shapes instead.

    names: what the files are called, one picture for each, instead of a number.
    """
    rng = np.random.default_rng(seed)
    count = len(names) or count
    images = np.clip(_blobs(rng, count, 3, size), 0, 255).astype(np.uint8).transpose(0, 2, 3, 1)
    if masks:
        images = np.where(images[..., 0] > 128, 255, 0).astype(np.uint8)
    _write_pictures(to, images, suffix, names=names)


def faces(to, count=70, size=280, points=68, seed=0):
    """`to`/face_landmarks.csv and the pictures that it names: a row has a picture's name and its landmarks' x and y."""
    rng = np.random.default_rng(seed)
    names = [f"person-{number}" for number in range(count)]
    pictures(to, size=size, suffix="jpg", names=names, seed=seed)
    marks = rng.integers(size // 4, 3 * size // 4, (count, 2 * points))
    header = ",".join(["image_name", *(f"part_{i}_{axis}" for i in range(points) for axis in "xy")])
    rows = [",".join([f"{name}.jpg", *map(str, row)]) for name, row in zip(names, marks)]
    with open(os.path.join(to, "face_landmarks.csv"), "w") as file:
        file.write("\n".join([header, *rows]) + "\n")


def mnist_pickle(to, train=500, valid=100, seed=0):
    """MNIST in one gzipped pickle `to`: (pictures, labels) to train, to validate and to test with, from 0 to 1."""
    rng = np.random.default_rng(seed)
    figures = _blobs(rng, 10, 1, 28)[:, 0]
    parts = []
    for count in (train, valid, valid):
        labels = rng.integers(0, 10, count)
        images = _samples(rng, figures, labels, dark=True).reshape(count, 784)
        parts.append(((images / 255).astype(np.float32), labels))
    os.makedirs(os.path.dirname(to) or ".", exist_ok=True)
    with open(to, "wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
        file.write(pickle.dumps(tuple(parts), protocol=2))


def omniglot(to, alphabets=6, characters=5, drawings=20, size=105, splits="", seed=0):
    """`to`/<alphabet>/<character>/<number>_<drawing>.png: black strokes on white, one figure per character.

    splits: a folder that gets train.txt, val.txt, test.txt and trainval.txt, the classes as <alphabet>/<character>/rot...
    """
    rng = np.random.default_rng(seed)
    number, classes = 0, []
    for alphabet in range(alphabets):
        for character in range(characters):
            number += 1
            points = rng.uniform(0.2, 0.8, (4, 2))
            drawn = [_strokes(points + rng.normal(0, 0.02, points.shape), size) for _ in range(drawings)]
            folder = os.path.join(to, f"Alphabet_{alphabet:02d}", f"character{character + 1:02d}")
            _write_pictures(folder, np.stack(drawn), "png", f"{number:04d}_{{:02d}}", first=1)
            name = f"Alphabet_{alphabet:02d}/character{character + 1:02d}"
            classes += [f"{name}/rot{angle:03d}" for angle in (0, 90, 180, 270)]
    if splits:
        _write_splits(os.path.join(to, splits), classes)


def omniglot_array(to, classes=1240, drawings=20, size=28, seed=0):
    """Omniglot's pictures as one array in the npy file `to`: (classes, drawings, 1, size, size), from 0 to 1."""
    rng = np.random.default_rng(seed)
    array = np.empty((classes, drawings, 1, size, size), np.float32)
    for number in range(classes):
        points = rng.uniform(0.2, 0.8, (4, 2))
        for drawing in range(drawings):
            array[number, drawing, 0] = _strokes(points + rng.normal(0, 0.02, points.shape), size)
    os.makedirs(os.path.dirname(to) or ".", exist_ok=True)
    np.save(to, array / 255)


def _write_splits(folder, classes):
    """Half of the classes to train on, a quarter each to validate and to test with."""
    half, most = len(classes) // 2, len(classes) * 3 // 4
    parts = {"train": classes[:half], "val": classes[half:most], "test": classes[most:], "trainval": classes[:most]}
    os.makedirs(folder, exist_ok=True)
    for name, part in parts.items():
        with open(os.path.join(folder, f"{name}.txt"), "w") as file:
            file.write("\n".join(part) + "\n")


def _blobs(rng, count, channels, size):
    """(count, channels, size, size) smooth pictures in 0..255: sums of a few waves."""
    y, x = np.mgrid[0:size, 0:size] / size
    waves = rng.uniform(-3, 3, (count, channels, 4, 2)) * np.pi
    phase = rng.uniform(0, 2 * np.pi, (count, channels, 4))
    angle = waves[..., 0, None, None] * y + waves[..., 1, None, None] * x + phase[..., None, None]
    return 127.5 + 127.5 * np.sin(angle).mean(2) * 1.6


def _samples(rng, figures, labels, dark=False):
    """uint8 pictures: each label's figure, shifted by up to two pixels, with noise; dark=True: black borders."""
    images = figures[labels]
    for axis in (-2, -1):
        shifts = rng.integers(-2, 3, len(labels))
        images = (
            np.stack([np.roll(image, shift, axis) for image, shift in zip(images, shifts)]) if len(labels) else images
        )
    images = images + rng.normal(0, 20, images.shape)
    if dark:
        images[..., :4, :] = images[..., -4:, :] = images[..., :4] = images[..., -4:] = 0
        images[images < 110] = 0
    return np.clip(images, 0, 255).astype(np.uint8)


def _strokes(points, size):
    """A line through the points (in 0..1), three pixels wide, as a white picture with black ink."""
    along = np.linspace(0, 1, 200)
    path = np.stack([np.interp(along * (len(points) - 1), np.arange(len(points)), points[:, i]) for i in (0, 1)], 1)
    image = np.full((size, size), 255, np.uint8)
    at = np.clip((path * size).astype(int), 1, size - 2)
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            image[at[:, 0] + dy, at[:, 1] + dx] = 0
    return image


def _write_pictures(folder, images, suffix, pattern="{:05d}", first=0, names=()):
    from PIL import Image

    os.makedirs(folder, exist_ok=True)
    for i, image in enumerate(images):
        name = names[i] if names else pattern.format(i + first)
        Image.fromarray(image).save(os.path.join(folder, f"{name}.{suffix}"))


def _write_idx(path, array, gz):
    content = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()
    with open(path, "wb") as file:
        file.write(content)
    if gz:
        with gzip.GzipFile(path + ".gz", "wb", mtime=0) as file:
            file.write(content)


def _pickle(path, value):
    with open(path, "wb") as file:
        pickle.dump(value, file, protocol=2)
