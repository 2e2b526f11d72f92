"""Files that torch wrote (tests/golden/make_serialization.py), loaded here, and written again as torch writes them."""

import importlib
import io
import json
import pickle
import subprocess
import sys
import zipfile
from collections import Counter, OrderedDict
from pathlib import Path

import numpy as np
import pytest

import rushlight
import rushlight.nn.functional
import rushlight.serialization.storages
import rushlight.utils.data
from rushlight.core.device.devices import device
from rushlight.core.tensor import dtype as dtypes
from rushlight.core.tensor.size import Size
from rushlight.core.tensor.tensor import Tensor
from rushlight.nn.parameter import Buffer, Parameter
from rushlight.serialization import get_unsafe_globals_in_checkpoint, load, safe_globals, save
from rushlight.serialization.full_unpickler import full_unpickler
from rushlight.serialization.names import to_torch

GOLDEN = Path(__file__).parents[1] / "golden"
EVERY_WAY = [{}, {"weights_only": False}, {"mmap": True}, {"map_location": "cpu"}]


def golden(name):
    return GOLDEN / f"serialization_{name}.pt"


def values(tensor):
    return tensor._array.tolist()


@pytest.mark.parametrize("how", EVERY_WAY, ids=str)
def test_every_dtype(how):
    tensors = load(golden("dtypes"), **how)
    assert [t.name for t in dtypes.ALL if t.name not in tensors] == []
    for name, tensor in tensors.items():
        assert tensor.dtype.name == name
        first = 2.0**-127 if name == "float8_e8m0fnu" else 0  # it has no zero
        assert values(tensor) == ([False, True, True] if name == "bool" else [first, 1, 2])


@pytest.mark.parametrize("how", EVERY_WAY, ids=str)
def test_views_keep_their_strides_and_share_memory(how):
    saved = load(golden("containers"), **how)
    assert saved["transposed"].stride() == (1, 4)
    assert (saved["row"].storage_offset(), saved["column"].stride()) == (4, (4,))
    assert (values(saved["expanded"]), saved["expanded"].stride()) == ([[7.0] * 3, [8.0] * 3], (1, 0))
    saved["base"]._array[1, 2] = 100.0
    assert saved["transposed"]._array[2, 1] == saved["row"]._array[2] == saved["column"]._array[1] == 100.0
    assert saved["base"]._storage is saved["column"]._storage


@pytest.mark.parametrize("how", EVERY_WAY, ids=str)
def test_kinds_of_tensors(how):
    saved = load(golden("containers"), **how)
    assert (saved["empty"].shape, saved["scalar"].shape) == ((0, 3), ())
    assert saved["scalar"].requires_grad and saved["scalar"].is_leaf
    assert type(saved["parameter"]) is Parameter and saved["parameter"].requires_grad
    assert type(saved["frozen"]) is Parameter and not saved["frozen"].requires_grad
    assert type(saved["buffer"]) is Tensor and isinstance(saved["buffer"], Buffer) and not saved["buffer"].persistent
    assert saved["noted"].note == "kept"
    assert values(saved["conjugate"]) == [1 - 2j]


@pytest.mark.parametrize("how", EVERY_WAY, ids=str)
def test_values_without_tensors(how):
    saved = load(golden("containers"), **how)
    assert (saved["size"], type(saved["size"])) == ((2, 3), Size)
    assert saved["dtype"] is dtypes.bfloat16
    assert saved["device"] == device("cpu")
    assert saved["counter"] == Counter("aab")
    assert type(saved["ordered"]) is OrderedDict and saved["ordered"]._metadata == {"": {"version": 1}}
    assert saved["plain"] == [
        None, True, False, 0, -1, 300, 70000, 2**40, -(2**70), 1.5, "text", "\u00e9", b"bytes", b"", 2j
    ]  # fmt: skip
    assert saved["nested"] == (
        (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), [], {}, (), {1, 2}, bytearray(b"x"), [[{"a": [1]}]]
    )  # fmt: skip


def test_training_state():
    saved = load(golden("training"))
    assert list(saved["model"]) == [
        "0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var", "1.num_batches_tracked"
    ]  # fmt: skip
    assert saved["model"]._metadata["1"] == {"version": 2}
    assert values(saved["optimizer"]["state"][0]["step"]) == 3.0
    assert saved["optimizer"]["param_groups"][0]["betas"] == (0.9, 0.999)
    assert saved["scheduler"]["last_epoch"] == saved["epoch"] == 3


@pytest.mark.parametrize("weights_only", [True, False])
def test_the_format_before_torch_1_6(weights_only):
    saved = load(golden("legacy"), weights_only=weights_only)
    assert values(saved["bfloat16"]) == values(saved["complex128"]) == [0, 1, 2]
    assert values(saved["view"]) == [2.0, 3.0] and saved["view"]._storage is saved["base"]._storage
    assert type(saved["parameter"]) is Parameter


def test_pickle_protocol_4():
    with pytest.warns(UserWarning, match="Detected pickle protocol 4"):
        saved = load(golden("protocol4"))
    assert values(saved["x"]) == [0, 1, 2]


def test_numpy_values_need_weights_only_false():
    with pytest.raises(Exception, match="numpy"):
        load(golden("numpy"))
    saved = load(golden("numpy"), weights_only=False)
    assert (saved["float"], type(saved["int"])) == (1.5, np.int32)
    assert saved["array"].tolist() == [0, 1, 2]
    assert "numpy.dtype" in get_unsafe_globals_in_checkpoint(golden("numpy"))
    assert get_unsafe_globals_in_checkpoint(golden("containers")) == []


def test_a_whole_module():
    saved = load(golden("module"), weights_only=False)
    assert type(saved["model"]) is rushlight.nn.Sequential
    np.testing.assert_allclose(saved["model"](saved["x"]).detach().numpy(), saved["y"].numpy(), rtol=1e-5, atol=1e-6)


def test_a_whole_module_of_declared_classes():
    with pytest.raises(pickle.UnpicklingError, match=r"GLOBAL torch\.nn\.modules\.container\.Sequential"):
        load(golden("module"))
    nn = rushlight.nn
    with safe_globals([nn.Sequential, nn.Linear, nn.ReLU, nn.BatchNorm1d]):
        model = load(golden("module"))["model"]
    assert [type(layer) for layer in model] == [nn.Linear, nn.ReLU, nn.BatchNorm1d, nn.Linear]
    assert not model.training and type(model.first.weight) is Parameter


def records(file):
    with zipfile.ZipFile(file) as archive:
        return {entry.filename.partition("/")[2]: archive.read(entry) for entry in archive.infolist()}


@pytest.mark.parametrize("name", ["dtypes", "training"])
def test_a_file_saved_again_is_torchs_byte_for_byte(name, tmp_path):
    again = tmp_path / golden(name).name
    save(load(golden(name)), again)
    theirs, ours = golden(name).read_bytes(), again.read_bytes()
    # but for the identification that torch makes from a hash of its own, and its checksums
    id_theirs, id_ours = (records(path)[".data/serialization_id"] for path in (golden(name), again))
    start = theirs.index(id_theirs)
    assert len(ours) == len(theirs)
    assert ours[:start] == theirs[:start]
    assert start == ours.index(id_ours)


def test_records_of_an_old_file_saved_again(tmp_path):
    buffer = io.BytesIO()
    save(load(golden("legacy")), buffer, _use_new_zipfile_serialization=False)
    buffer.seek(0)
    again = load(buffer)
    assert list(again) == list(load(golden("legacy")))
    assert again["view"]._storage is again["base"]._storage


def class_named(path):
    """What a file that names torch's class at `path` loads here."""
    module, _, name = path.rpartition(".")
    data = b"\x80\x02c" + f"{module}\n{name}\n.".encode()
    return full_unpickler(pickle, io.BytesIO(data), lambda saved_id: None, {}).load()


@pytest.mark.parametrize(
    ("path", "ours"),
    [
        ("torch.nn.functional.relu", "rushlight.nn.functional.relu"),
        ("torch._C._nn.gelu", "rushlight.nn.functional.gelu"),
        ("torch._C._VariableFunctionsClass", "rushlight"),
        ("torch._C.TensorBase", "rushlight.Tensor"),
        ("torch.autograd.grad_mode.no_grad", "rushlight.no_grad"),
        ("torch.utils.data.dataset.TensorDataset", "rushlight.utils.data.TensorDataset"),
        ("torch.FloatStorage", "rushlight.serialization.storages.storage_type('FloatStorage')"),
        ("torch.long", "rushlight.int64"),
        ("torch.bool", "rushlight.bool"),
    ],
)
def test_what_torchs_names_stand_for(path, ours):
    assert class_named(path) is eval(ours, {"rushlight": rushlight})


@pytest.mark.parametrize(
    "path", ["torch.QUInt2x4Storage", "torch.nn.modules.linear.NoSuchLayer", "torch.no.such.module"]
)
def test_what_torch_has_and_we_do_not(path):
    with pytest.raises(NotImplementedError, match=path.rpartition(".")[2]):
        class_named(path)


def test_functions_travel_under_torchs_names():
    buffer = io.BytesIO()
    save([rushlight.nn.functional.relu, rushlight.no_grad], buffer)
    buffer.seek(0)
    assert get_unsafe_globals_in_checkpoint(buffer) == ["torch.autograd.grad_mode.no_grad", "torch.nn.functional.relu"]
    buffer.seek(0)
    assert load(buffer, weights_only=False) == [rushlight.nn.functional.relu, rushlight.no_grad]


def test_class_paths_are_torchs():
    paths = json.loads((GOLDEN / "serialization_names.json").read_text())
    checked = 0
    for public, theirs in paths.items():
        package, _, name = public.rpartition(".")
        ours = getattr(importlib.import_module("rushlight" + package.removeprefix("torch")), name, None)
        if isinstance(ours, type) and ours.__module__.startswith("rushlight."):
            assert ".".join(to_torch(ours.__module__, ours.__qualname__)) == theirs
            assert class_named(theirs) is ours
            checked += 1
    assert checked > 100


def test_plain_pickles_of_torch(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import pickle, sys, torch\n"
        "got = pickle.load(open(sys.argv[1], 'rb'))\n"
        "print(got['transposed'].tolist(), got['transposed'].stride(), got['brain'].dtype)\n"
        "print(got['parameter'].requires_grad, got['layer'](torch.ones(2)), got['size'], got['dtype'], got['device'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "rushlight", "run", str(program), str(GOLDEN / "serialization_pickled.pkl")],
        capture_output=True,
        text=True,
    )
    assert done.stdout == (
        "[[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]] (1, 3) torch.bfloat16\n"
        "True tensor([5.], grad_fn=<ViewBackward0>) torch.Size([2, 3]) torch.int16 cpu\n"
    ), done.stderr
