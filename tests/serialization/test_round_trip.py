"""What `save` writes, `load` gives back."""

import io
import os
import pickle
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from rushlight.core.device.devices import device
from rushlight.core.tensor import dtype as dtypes
from rushlight.core.tensor.pickling import Memory
from rushlight.core.tensor.tensor import Tensor, alias, wrap
from rushlight.serialization import load, safe_globals, save, zip_format


def through_a_file(obj, **how):
    buffer = io.BytesIO()
    save(obj, buffer)
    return load(io.BytesIO(buffer.getvalue()), **how)


class Marked(Tensor):
    pass


def view_of(base, array):
    view = alias(base, Tensor)
    view._array = array
    return view


ARRAYS = [
    np.arange(6, dtype=np.float32).reshape(2, 3),
    np.array(3.5),
    np.zeros((0, 3), np.int64),
    np.array([1.5, -2], ml_dtypes.bfloat16),
    np.array([True, False]),
    np.array([1 + 2j], np.complex64),
    np.array([2**64 - 1], np.uint64),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1),
    np.arange(10)[::-2],
    np.broadcast_to(np.float32(1), (2, 2)),
    np.arange(10)[3:7:2],
]


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}-{a.shape}-{a.strides}")
def test_arrays(array, old):
    buffer = io.BytesIO()
    save(wrap(array), buffer, _use_new_zipfile_serialization=not old)
    for weights_only in (True, False):
        again = load(io.BytesIO(buffer.getvalue()), weights_only=weights_only)
        assert again.dtype is dtypes.from_numpy(array.dtype)
        assert again.shape == array.shape
        assert again._array.tolist() == array.tolist()
        assert again._array.flags.writeable


def test_aliases_stay_aliases_and_share_their_version():
    base = wrap(np.arange(6.0).reshape(2, 3))
    a, b, c = through_a_file([base, view_of(base, base._array[:, 1]), base.detach()])
    assert a._storage is b._storage is c._storage
    assert (b.storage_offset(), b.stride()) == (1, (3,))
    a._array[1, 1] = 9
    assert b._array[1] == c._array[1, 1] == 9


def test_a_view_brings_its_whole_storage():
    base = wrap(np.arange(6.0))
    again = through_a_file(view_of(base, base._array[2:4]))
    assert (again.storage_offset(), again._storage.root.size) == (2, 6)


def test_one_object_twice_is_one_object():
    t = wrap(np.zeros(2))
    a, b = through_a_file([t, t])
    assert a is b


def test_two_dtypes_of_one_storage_are_refused():
    numbers = wrap(np.zeros(2, np.complex64))
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        save([numbers, view_of(numbers, numbers._array.view(np.float32))], io.BytesIO())


def test_attributes_of_an_ordered_dict_and_of_a_tensor():
    state = OrderedDict(a=wrap(np.zeros(1)))
    state._metadata = {"": {"version": 1}}
    state["a"].note = [1]
    again = through_a_file(state)
    assert again._metadata == {"": {"version": 1}}
    assert again["a"].note == [1]


def test_requires_grad_travels_and_a_hook_does_not():
    t = wrap(np.zeros(1, np.float32)).requires_grad_()
    t.register_hook(print)
    with pytest.warns(UserWarning, match="backward hook .* on tensor will not be serialized"):
        again = through_a_file(t)
    assert again.requires_grad and again.is_leaf


def test_paths_and_files(tmp_path):
    t = wrap(np.arange(3))
    path = tmp_path / "model.pt"
    for target in (path, str(path), os.fsencode(path)):
        save(t, target)
        assert load(target)._array.tolist() == [0, 1, 2]
    with open(path, "wb", buffering=0) as raw:
        save(t, raw)
    with open(path, "rb") as file:
        assert load(file)._array.tolist() == [0, 1, 2]


def test_an_archive_behind_other_bytes():
    buffer = io.BytesIO(b"header")
    buffer.seek(6)
    save([1, 2], buffer)
    buffer.seek(6)
    assert load(buffer) == [1, 2]


def test_many_records():
    many = {f"t{i}": wrap(np.full(i % 5, i)) for i in range(300)}
    again = through_a_file(many)
    assert all(again[name]._array.tolist() == t._array.tolist() for name, t in many.items())


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pickle_protocols(protocol):
    buffer = io.BytesIO()
    save({"x": wrap(np.arange(2)), "d": dtypes.float32}, buffer, pickle_protocol=protocol)
    buffer.seek(0)
    again = load(buffer, weights_only=False)
    assert (again["x"]._array.tolist(), again["d"]) == ([0, 1], dtypes.float32)


def test_the_other_byte_order():
    buffer = io.BytesIO()
    save([wrap(np.array([1, 256], ">i4").view("<i4")), wrap(np.array([1j], ">c8").view("<c8"))], buffer)
    other = buffer.getvalue().replace(b"little", b"bigend")
    with pytest.raises(RuntimeError, match="checksum"):
        load(io.BytesIO(other))
    rewritten = io.BytesIO()
    _rewrite(buffer, rewritten, byteorder=b"big")
    numbers, imaginary = load(rewritten)
    assert (numbers._array.tolist(), imaginary._array.tolist()) == ([1, 256], [1j])


def _rewrite(source, target, **changes):
    """Copy an archive, with the contents of some records replaced."""
    from rushlight.serialization.zip_format import ZipReader, ZipWriter

    source.seek(0)
    reader, writer = ZipReader(source), ZipWriter(target)
    for name in reader.names():
        if name not in ("version", ".data/serialization_id"):
            writer.write_record(name, changes.get(name, reader.read(name)))
    writer.finish()
    target.seek(0)


def test_heavy_modules_are_imported_on_first_use_only():
    code = """
import sys, rushlight.serialization
print([name for name in ("zipfile", "safetensors", "tempfile", "pickletools") if name in sys.modules])
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_a_tensor_class_declared_safe():
    buffer = io.BytesIO()
    save(alias(wrap(np.arange(2)), Marked), buffer)
    with pytest.raises(pickle.UnpicklingError, match="Marked"):
        load(io.BytesIO(buffer.getvalue()))
    with safe_globals([Marked]):
        assert type(load(io.BytesIO(buffer.getvalue()))) is Marked


# -------------------------------------------------------------------- mmap, map_location, arguments


def test_mmap_reads_the_file_and_never_writes_it(tmp_path, monkeypatch):
    path = tmp_path / "m.pt"
    save(wrap(np.arange(4)), path)
    mapped = load(path, mmap=True)
    mapped._array[0] = 7
    assert (mapped._array.tolist(), load(path)._array.tolist()) == ([7, 1, 2, 3], [0, 1, 2, 3])
    monkeypatch.setattr(zip_format, "ALIGNMENT", 1)
    save({"odd length": wrap(np.arange(4))}, path)
    assert load(path, mmap=True)["odd length"]._array.flags.aligned
    with pytest.raises(ValueError, match="f must be a file path"):
        load(io.BytesIO(path.read_bytes()), mmap=True)
    save(wrap(np.arange(4)), path, _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        load(path, mmap=True)


@pytest.mark.parametrize(
    "where",
    [None, "cpu", b"cpu", device("cpu"), {"cuda:0": "cpu"}, lambda s, tag: s, lambda s, tag: None],
    ids=range(7),
)
def test_map_location_to_the_cpu(where):
    assert through_a_file(wrap(np.arange(2)), map_location=where)._array.tolist() == [0, 1]


def test_map_location_callable_is_asked_once_for_each_storage():
    asked = []

    def place(storage, tag):
        asked.append((type(storage), storage.nbytes(), tag))
        return storage.cpu()

    t = wrap(np.zeros(2))
    through_a_file([t, t.detach(), wrap(np.zeros(1))], map_location=place)
    assert asked == [(Memory, 16, "cpu"), (Memory, 8, "cpu")]


@pytest.mark.parametrize(
    ("where", "error", "words"),
    [
        ("cuda:0", RuntimeError, r"map_location=torch.device\('cpu'\)"),
        ({"cpu": "cuda"}, RuntimeError, "Attempting to deserialize object on a CUDA device"),
        ({"cpu": "vulkan"}, RuntimeError, "don't know how to restore data location"),
        ("nowhere", RuntimeError, "don't know how to restore data location"),
        (3, TypeError, "map_location"),
    ],
)
def test_map_location_elsewhere(where, error, words):
    with pytest.raises(error, match=words):
        through_a_file(wrap(np.zeros(1)), map_location=where)


def test_arguments_that_cannot_work(tmp_path):
    with pytest.raises(AttributeError, match=r"expected 'f' to be string, path"):
        save([], 3)
    with pytest.raises(AttributeError, match=r"You can only torch\.load from a file that is seekable"):
        load(3)
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        load(io.BytesIO(), weights_only=True, pickle_module=pickle)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing.pt")
    with pytest.warns(UserWarning, match="pickle_load_args only works"):
        through_a_file([], encoding="latin1")


def test_the_environment_may_force_either_way(monkeypatch):
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.warns(UserWarning, match="forcing weights_only=False"):
        assert through_a_file(Path("x")) == Path("x")
    with pytest.raises(pickle.UnpicklingError):
        through_a_file(Path("x"), weights_only=True)
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="Only one of"):
        through_a_file([])
