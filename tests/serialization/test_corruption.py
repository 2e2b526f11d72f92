"""Truncated and altered files raise RuntimeError or UnpicklingError with the facts, and load as nothing else."""

import io
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from rushlight.core.tensor.tensor import wrap
from rushlight.serialization import load, save

CORRUPT = (RuntimeError, pickle.UnpicklingError)
GOLDEN = Path(__file__).parents[1] / "golden"


def sample():
    return {"a": wrap(np.arange(6, dtype=np.float32)), "b": [1, "text", wrap(np.arange(3))], "e": wrap(np.zeros(0))}


def saved(**how):
    buffer = io.BytesIO()
    save(sample(), buffer, **how)
    return buffer.getvalue()


def plain(obj):
    return {"a": obj["a"]._array.tolist(), "b": [*obj["b"][:2], obj["b"][2]._array.tolist()], "e": obj["e"].shape}


WHOLE = plain(sample())
ZIP, OLD = saved(), saved(_use_new_zipfile_serialization=False)


def record_borders():
    with zipfile.ZipFile(io.BytesIO(ZIP)) as archive:
        starts = [entry.header_offset for entry in archive.infolist()]
    return sorted({*starts, *(s + 30 for s in starts), *(s + 64 for s in starts), len(ZIP) - 22, len(ZIP) - 1})


@pytest.mark.parametrize("end", [n for n in record_borders() if n >= 4])
def test_a_truncated_archive(end):
    with pytest.raises(RuntimeError, match="PytorchStreamReader failed reading zip archive"):
        load(io.BytesIO(ZIP[:end]))


@pytest.mark.parametrize("end", range(1, len(OLD), 11))
def test_a_truncated_old_file(end):
    with pytest.raises(CORRUPT):
        load(io.BytesIO(OLD[:end]))


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04"])
def test_almost_nothing(data):
    with pytest.raises((EOFError, RuntimeError)):
        load(io.BytesIO(data))


def test_something_else():
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        load(io.BytesIO(b"hello world"))
    with pytest.raises(RuntimeError, match=r"Invalid magic number; corrupt file\?"):
        load(io.BytesIO(pickle.dumps([1, 2], protocol=2)))
    tar = io.BytesIO(bytes(257) + b"ustar" + bytes(300))
    with pytest.raises(RuntimeError, match=r"legacy .tar format"):
        load(tar)
    with pytest.raises(NotImplementedError, match=r"legacy .tar format"):
        load(tar, weights_only=False)


def altered_copies(data, step):
    for place in range(0, len(data), step):
        for mask in (0x01, 0x80):
            yield place, data[:place] + bytes([data[place] ^ mask]) + data[place + 1 :]


def test_a_changed_bit_in_an_archive_is_noticed_or_has_no_effect():
    for place, data in altered_copies(ZIP, step=5):
        try:
            assert plain(load(io.BytesIO(data))) == WHOLE, f"byte {place} changed the values"
        except (*CORRUPT, EOFError):
            continue


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
def test_a_changed_bit_in_an_old_file_raises_only_what_is_documented():
    for _, data in altered_copies(OLD, step=3):
        try:
            load(io.BytesIO(data))
        except (*CORRUPT, EOFError, NotImplementedError):
            continue


@pytest.mark.parametrize("mmap", [False, True])
def test_every_truncation_of_a_file_by_torch(mmap, tmp_path):
    whole = (GOLDEN / "serialization_containers.pt").read_bytes()
    path = tmp_path / "short.pt"
    for end in range(4, len(whole), 37):
        path.write_bytes(whole[:end])
        with pytest.raises(RuntimeError, match="corrupted"):
            load(path, mmap=mmap)


def entry_of(data, name):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.getinfo(name)


def central_of(data, name):
    """Where the record's entry in the central directory begins."""
    return data.rindex(name.encode()) - 46


def patched(place, form, *numbers):
    size = struct.calcsize(form)
    return ZIP[:place] + struct.pack(form, *numbers) + ZIP[place + size :]


def test_a_changed_value_is_named():
    place = ZIP.index(np.arange(6, dtype=np.float32).tobytes())
    with pytest.raises(RuntimeError, match=r"record 'data/0' has checksum 0x\w{8} .* promises 0x\w{8}"):
        load(io.BytesIO(patched(place, "<f", 9.0)))


def test_without_any_checksums_values_are_taken_as_they_are():
    data = bytearray(ZIP)
    with zipfile.ZipFile(io.BytesIO(ZIP)) as archive:
        names = archive.namelist()
    for name in names:
        start = central_of(ZIP, name) + 16
        data[start : start + 4] = bytes(4)
    assert plain(load(io.BytesIO(bytes(data)))) == WHOLE


@pytest.mark.parametrize(
    ("offset", "form", "numbers", "words"),
    [
        (20, "<II", (2**31, 2**31), r"claims 2147483648 bytes, more than the whole file|overlap"),
        (20, "<II", (len(ZIP) // 2, len(ZIP) // 2), "overlap|holds|beyond the file's end"),
        (20, "<II", (20, 20), "overlap|holds 20 bytes, but 6 elements"),
        (24, "<I", (10**9,), "compressed"),
        (10, "<H", (8,), "compressed"),
        (8, "<H", (0x809,), "encrypted"),
        (42, "<I", (0,), "does not belong to record 'data/0'"),
        (42, "<I", (7,), "has no header at byte 7"),
        (42, "<I", (len(ZIP) + 9,), "has no header"),
    ],
)
def test_a_tampered_directory(offset, form, numbers, words):
    with pytest.raises(RuntimeError, match=words):
        load(io.BytesIO(patched(central_of(ZIP, "archive/data/0") + offset, form, *numbers)))


def test_two_records_of_one_name():
    data = ZIP.replace(b"archive/data/1", b"archive/data/0")
    with pytest.raises(RuntimeError, match="two records are named 'archive/data/0'"):
        load(io.BytesIO(data))


def test_a_missing_record():
    data = ZIP.replace(b"archive/data/1", b"archive/data/7")
    with pytest.raises(RuntimeError, match="failed locating file data/1: file not found"):
        load(io.BytesIO(data))


def test_a_zip_of_something_else():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(RuntimeError, match=r"failed locating file data\.pkl"):
        load(io.BytesIO(buffer.getvalue()))
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", bytes(10**6))
    with pytest.raises(RuntimeError, match="is compressed"):
        load(io.BytesIO(buffer.getvalue()))


def test_an_old_file_that_claims_more_than_it_holds():
    claim = OLD.replace(b"K\x06N", b"\x8a\x05\xff\xff\xff\xff\x0fN")
    assert claim != OLD
    with pytest.raises(RuntimeError, match=r"claims 68719476735 elements of torch\.float32, more than the rest"):
        load(io.BytesIO(claim))


@pytest.mark.parametrize("mmap", [False, True])
def test_a_changed_bit_of_a_tensor_is_noticed(mmap, tmp_path):
    path = tmp_path / "model.pt"
    save({"x": wrap(np.arange(1000.0))}, path)
    data = bytearray(path.read_bytes())
    at = data.index(np.arange(1000.0).tobytes()[80:800])
    data[at + 5] ^= 1
    path.write_bytes(data)
    with pytest.raises(RuntimeError, match=r"record 'data/0' has checksum .* where the archive promises"):
        load(path, mmap=mmap)
