import json
import struct

import ml_dtypes
import numpy as np
import pytest

import rushlight as torch
from rushlight.core.tensor.tensor import Tensor, alias, wrap
from rushlight.serialization import load as torch_load
from rushlight.serialization import safetensors

package = pytest.importorskip("safetensors")
from safetensors import SafetensorError  # noqa: E402

TENSORS = {
    "bfloat16": np.array([1.5, -2], ml_dtypes.bfloat16),
    "bool": np.array([[True], [False]]),
    "scalar": np.array(2.5, np.float32),
    "empty": np.zeros((0, 3), np.float16),
    "uint64": np.array([2**64 - 1], np.uint64),
    "complex": np.array([1j], np.complex64),
    "int64": np.arange(6).reshape(2, 3),
}


def tensors():
    return {name: wrap(array.copy()) for name, array in TENSORS.items()}


def assert_same(loaded):
    assert sorted(loaded) == sorted(TENSORS)
    for name, array in TENSORS.items():
        assert type(loaded[name]) is Tensor
        assert loaded[name]._array.dtype == array.dtype
        assert loaded[name].shape == array.shape
        assert loaded[name]._array.tolist() == array.tolist()
        assert loaded[name]._array.flags.writeable


def test_bytes():
    assert_same(safetensors.load(safetensors.save(tensors())))


def test_files(tmp_path):
    path = tmp_path / "model.safetensors"
    safetensors.save_file(tensors(), path, metadata={"format": "pt"})
    assert_same(safetensors.load_file(path))
    assert_same(safetensors.load_file(str(path), device="cpu", backend="pread"))
    assert_same(torch_load(path))
    assert_same(torch_load(path, map_location="cpu"))
    with pytest.raises(RuntimeError, match="dict map_location is not supported"):
        torch_load(path, map_location={"cpu": "cpu"})


def test_safe_open(tmp_path):
    path = tmp_path / "model.safetensors"
    safetensors.save_file(tensors(), path, metadata={"format": "pt"})
    with safetensors.safe_open(path, framework="pt") as file:
        assert sorted(file.keys()) == sorted(file.offset_keys()) == sorted(TENSORS)
        assert file.metadata() == {"format": "pt"}
        assert file.get_tensor("scalar").item() == 2.5
        part = file.get_slice("int64")
        assert (part.get_shape(), part.get_dtype()) == ([2, 3], "I64")
        assert part[1, :2]._array.tolist() == [3, 4]
    with safetensors.safe_open(path, framework="np") as file:
        assert isinstance(file.get_tensor("int64"), np.ndarray)
    with pytest.raises(ValueError, match="framework"):
        safetensors.safe_open(path, framework="tf")
    with pytest.raises(AssertionError, match="CUDA"):
        safetensors.safe_open(path, framework="pt", device="cuda")


def test_what_cannot_be_saved():
    base = wrap(np.zeros(4))
    overlap = alias(base, Tensor)
    overlap._array = base._array[1:3]
    with pytest.raises(RuntimeError, match="Some tensors share memory"):
        safetensors.save({"a": base, "b": overlap})
    with pytest.raises(ValueError, match="non contiguous tensor: `a`"):
        safetensors.save({"a": wrap(np.zeros((2, 3)).T)})
    with pytest.raises(ValueError, match="Key `a` is invalid"):
        safetensors.save({"a": 3})
    with pytest.raises(ValueError, match="Expected a dict"):
        safetensors.save([base])
    with pytest.raises(SafetensorError, match="complex128"):
        safetensors.save({"a": wrap(np.zeros(1, complex))})


def test_parts_of_one_storage_that_do_not_overlap_can_be_saved():
    base = wrap(np.arange(4.0))
    halves = [alias(base, Tensor), alias(base, Tensor)]
    halves[0]._array, halves[1]._array = base._array[:2], base._array[2:]
    again = safetensors.load(safetensors.save(dict(zip("ab", halves, strict=True))))
    assert (again["a"]._array.tolist(), again["b"]._array.tolist()) == ([0, 1], [2, 3])


def test_truncated_bytes():
    data = safetensors.save(tensors())
    for end in (0, 5, 40, len(data) - 1):
        with pytest.raises(SafetensorError):
            safetensors.load(data[:end])


class Tied:
    """As much of a module as save_model and load_model use: two names of one tensor."""

    def __init__(self, value):
        self.weight = wrap(np.full(2, value))

    def state_dict(self):
        return {"b": self.weight, "a": self.weight.detach(), "c": wrap(np.zeros(1))}

    def load_state_dict(self, state, strict):
        self.loaded = state
        own = set(self.state_dict())
        return sorted(own - set(state)), sorted(set(state) - own)


def test_models_with_shared_tensors(tmp_path):
    path = tmp_path / "model.safetensors"
    safetensors.save_model(Tied(3.0), path)
    with safetensors.safe_open(path, "pt") as file:
        assert (sorted(file.keys()), file.metadata()) == (["a", "c"], {"b": "a"})
    model = Tied(0.0)
    assert safetensors.load_model(model, path) == (set(), [])
    assert model.loaded["a"]._array.tolist() == [3.0, 3.0]
    safetensors.save_file({"z": wrap(np.zeros(1))}, path)
    with pytest.raises(RuntimeError, match=r'Missing key.*"a".*\n.*Unexpected key.*"z"'):
        safetensors.load_model(model, path)


# ---------------------------------------------------------------- checksums


@pytest.mark.parametrize("backend", ["mmap", "pread"])
def test_a_changed_value_is_noticed(tmp_path, backend):
    path = tmp_path / "x.safetensors"
    safetensors.save_file(
        {"a": torch.arange(4.0), "b": torch.ones(3, dtype=torch.bfloat16), "none": torch.zeros(0)}, path
    )
    data = bytearray(path.read_bytes())
    assert safetensors.load_file(path, backend=backend)["a"].tolist() == [0, 1, 2, 3]
    data[-3] ^= 4
    path.write_bytes(data)
    for load in (lambda: safetensors.load_file(path, backend=backend), lambda: safetensors.load(bytes(data))):
        with pytest.raises(SafetensorError, match=r"tensor '(a|b)' has checksum \d+ \(CRC-32\), not \d+"):
            load()


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}, {"k": "v"}, {}])
def test_the_checksums_are_not_shown(tmp_path, metadata):
    path = tmp_path / "x.safetensors"
    safetensors.save_file({"a": torch.ones(2)}, path, metadata=metadata)
    with safetensors.safe_open(path, "pt") as file:
        assert file.metadata() == metadata and file.get_tensor("a").tolist() == [1, 1]
    with package.safe_open(path, "np") as file:  # other readers see one more text, and a format
        assert file.metadata()["rushlight_crc32"] and (metadata is not None or file.metadata()["format"] == "pt")


def file_of(metadata):
    """The bytes of a file with one tensor, as any library may write it."""
    header = {"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, "__metadata__": metadata}
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + b"\0\0\x80?"


def test_files_of_others_have_no_checksums(tmp_path):
    (tmp_path / "x").write_bytes(file_of({"k": "v"}))
    assert (
        safetensors.load_file(tmp_path / "x")["a"].tolist()
        == safetensors.load(file_of({"k": "v"}))["a"].tolist()
        == [1]
    )
    for note in ("[]", "{", '{"crc32": 1, "alone": true}'):
        with pytest.raises(SafetensorError, match="checksums cannot be read"):
            safetensors.load(file_of({"rushlight_crc32": note}))


@pytest.mark.parametrize(
    "dtype",
    [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e8m0fnu, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz],
    ids=str,
)
def test_eight_bit_floats_come_back_from_a_file(dtype, tmp_path):
    tensor = torch.tensor([[1.0, 2.0], [4.0, 0.5]]).to(dtype)
    safetensors.save_file({"a": torch.ones(3), "t": tensor}, tmp_path / "f")
    assert torch.equal(safetensors.load_file(tmp_path / "f")["t"].float(), tensor.float())
    with safetensors.safe_open(tmp_path / "f", "pt") as file:
        assert torch.equal(file.get_slice("t")[1].float(), tensor[1].float())


def test_the_package_reads_what_is_written():
    """The table's order and padding are the format's: numbers aligned, a length that 8 divides."""
    written = {
        "b": torch.ones(3, dtype=torch.int8),
        "a": torch.arange(5.0),
        "\u00e9": torch.ones(2, dtype=torch.float64),
    }
    data = safetensors.save({**written, "none": torch.zeros(0, 3), "scalar": torch.tensor(True)}, {"k": "v"})
    (size,) = struct.unpack_from("<Q", data)
    table = json.loads(data[8 : 8 + size])
    assert size % 8 == 0 and all(table[name]["data_offsets"][0] % t.dtype.itemsize == 0 for name, t in written.items())
    found = dict(package.deserialize(data))
    assert {name: bytes(found[name]["data"]) for name in written} == {
        name: t.numpy().tobytes() for name, t in written.items()
    }
    assert found["none"]["shape"] == [0, 3] and found["scalar"]["shape"] == []


def test_names_and_types_that_the_format_does_not_have():
    with pytest.raises(SafetensorError, match='Unknown dtype "complex128"'):
        safetensors.save({"c": torch.ones(1, dtype=torch.complex128)})
    with pytest.raises(ValueError, match="`__metadata__` is invalid"):
        safetensors.save({"__metadata__": torch.ones(1)})
