"""`torch.distributed.checkpoint` in one process: what is saved comes back; what is refused, and how."""

import io
import os
from collections import OrderedDict

import numpy as np
import pytest

import rushlight as torch
import rushlight.distributed.checkpoint as dcp
from rushlight.distributed.checkpoint.default_planner import _EmptyStateDictLoadPlanner
from rushlight.distributed.checkpoint.filesystem import SerializationFormat
from rushlight.distributed.checkpoint.format_utils import dcp_to_torch_save, torch_save_to_dcp
from rushlight.distributed.checkpoint.staging import BlockingAsyncStager, DefaultStager, StagingOptions
from rushlight.distributed.checkpoint.state_dict_loader import _load_state_dict, _load_state_dict_from_keys
from rushlight.distributed.checkpoint.state_dict_saver import AsyncCheckpointerType

pytestmark = [
    pytest.mark.filterwarnings("ignore:torch.distributed is .*in(itialized|a single process)"),
    pytest.mark.filterwarnings("ignore:Detected an existing checkpoint"),
]

TYPES = [
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.complex128, torch.bool, torch.uint8,
    torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64, torch.float8_e4m3fn,
    torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz,
]  # fmt: skip


def failure(call):
    """The error of the one process in a CheckpointException."""
    with pytest.raises(dcp.CheckpointException) as raised:
        call()
    ((error, _),) = raised.value.failures.values()
    assert f"{type(error).__name__}: {error}" in str(raised.value)
    return error


def bits(tensor):
    return (
        tensor.detach().resolve_conj().contiguous().numpy().tobytes()
        if tensor.dtype in TYPES[:2]
        else tensor._array.tobytes()
    )


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_tensors_of_every_type_come_back(dtype, tmp_path):
    ones = torch.arange(12).reshape(3, 4).to(dtype)
    state = {"t": ones, "scalar": ones[1, 1].clone(), "empty": torch.zeros(0, 3).to(dtype), "strided": ones.t()}
    dcp.save(state, checkpoint_id=tmp_path)
    loaded = _load_state_dict_from_keys(checkpoint_id=tmp_path)
    for key, value in state.items():
        assert loaded[key].dtype == dtype and loaded[key].shape == value.shape
        assert bits(loaded[key].contiguous()) == bits(value.contiguous())


VALUES = {
    "int": -3, "big": 3**200, "float": 0.1, "inf": float("inf"), "bool": True, "none": None, "text": 'a"\n\u00e9', "list": [1, [2, None]],
    "tuple": (1, ("a", 2.5)), "set": {1, 2}, "frozenset": frozenset(["x"]), "bytes": b"\x00\xff", "bytearray": bytearray(b"ab"),
    "complex": 1 - 2j, "dtype": torch.bfloat16, "bool type": torch.bool, "device": torch.device("cpu"), "size": torch.Size([2, 3]),
    "array": np.arange(6, dtype=np.int16).reshape(2, 3), "number": np.float32(0.5), "in a tuple": (torch.ones(2), {3: "x", "y": OrderedDict(a=1)}),
    "looks like a tag": [({"tuple": [1]},)],
}  # fmt: skip


def same(a, b):
    if isinstance(a, torch.Tensor | np.ndarray):
        return type(a) is type(b) and a.dtype == b.dtype and bool((a == b).all())
    if isinstance(a, dict):
        return type(a) is type(b) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("key", VALUES)
def test_other_values_come_back(key, tmp_path):
    dcp.save({"v": VALUES[key]}, checkpoint_id=tmp_path)
    state = {"v": 0} if not isinstance(VALUES[key], list) else {"v": None}
    if key == "looks like a tag":
        state = {"v": []}
    dcp.load(state, checkpoint_id=tmp_path)
    assert same(state["v"], VALUES[key])


class Own:
    pass


@pytest.mark.parametrize(
    "value",
    [Own(), print, lambda: 0, np.array([Own()], dtype=object), (1, Own()), io.StringIO(), 1 << 20_000],
    ids=lambda value: type(value).__name__,
)
def test_what_has_no_text_is_refused_by_its_key(value, tmp_path):
    dcp.save({"a": {"b": 1}}, checkpoint_id=tmp_path)
    error = failure(lambda: dcp.save({"a": {"b": value}}, checkpoint_id=tmp_path))
    assert type(error) is TypeError and str(error).startswith("a.b: ")
    assert _load_state_dict_from_keys(checkpoint_id=tmp_path) == {"a": {"b": 1}}


def test_a_value_that_contains_itself_is_refused(tmp_path):
    value = (1, [])
    value[1].append(value)
    assert "k: the value contains itself" in str(failure(lambda: dcp.save({"k": value}, checkpoint_id=tmp_path)))


@pytest.mark.parametrize("kind", ["meta", "sparse", "quantized"])
def test_tensors_without_memory_of_their_own_are_refused(kind, tmp_path):
    tensor = {
        "meta": lambda: torch.ones(2, device="meta"),
        "sparse": lambda: torch.eye(3).to_sparse(),
        "quantized": lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8),
    }[kind]()
    error = failure(lambda: dcp.save({"w": tensor}, checkpoint_id=tmp_path))
    assert type(error) is NotImplementedError and str(error) == f"w: {kind} tensors cannot be put into a checkpoint"


def test_names_and_content_are_torchs(tmp_path):
    state = {
        "m": {"w": torch.arange(4.0), "n": 3, "l": [1, 2], "t": (1, 2), "e": {}, "lt": [torch.ones(2), {"z": 1}]},
        "k": "s",
    }
    content = dcp.save(state, checkpoint_id=tmp_path)
    assert list(content.state_dict_metadata) == ["m.w", "m.n", "m.l", "m.t", "m.lt.0", "m.lt.1.z", "k"]
    assert content.planner_data["m.lt.1.z"] == ("m", "lt", 1, "z")
    assert str(content.state_dict_metadata["m.w"]) == (
        "TensorStorageMetadata(properties=TensorProperties(dtype=torch.float32, layout=torch.strided, requires_grad=False, "
        # pinned where another test of the process has made a device
        f"memory_format=torch.contiguous_format, pin_memory={torch.zeros(1).is_pinned()}), size=torch.Size([4]), "
        "chunks=[ChunkStorageMetadata(offsets=torch.Size([0]), sizes=torch.Size([4]))])"
    )
    assert (tmp_path / ".metadata").exists()


def test_load_fills_tensors_in_place_and_replaces_values(tmp_path):
    dcp.save(
        {"m": {"w": torch.arange(4.0), "n": 3, "lt": [torch.ones(2), {"z": 1}]}, "o": None}, checkpoint_id=tmp_path
    )
    w, first = torch.zeros(4, dtype=torch.int64), torch.zeros(2)
    inner = {"w": w, "n": 0, "lt": [first, {"z": 0}]}
    state = {"m": inner, "o": 1}
    assert dcp.load(state, checkpoint_id=tmp_path) is None
    assert state["m"] is inner and inner["w"] is w and inner["lt"][0] is first
    assert w.tolist() == [0, 1, 2, 3] and w.dtype == torch.int64 and first.tolist() == [1, 1]
    assert inner["n"] == 3 and inner["lt"][1] == {"z": 1} and state["o"] is None


def test_parameters_and_views_are_filled(tmp_path):
    dcp.save({"p": torch.ones(3), "v": torch.full((2,), 2.0)}, checkpoint_id=tmp_path)
    parameter, base = torch.nn.Parameter(torch.zeros(3)), torch.zeros(2, 2)
    dcp.load({"p": parameter, "v": base[:, 1]}, checkpoint_id=tmp_path)
    assert parameter.tolist() == [1, 1, 1] and parameter.grad_fn is None and parameter.requires_grad
    assert base.tolist() == [[0, 2], [0, 2]]


def test_meta_tensors_get_memory(tmp_path):
    dcp.save({"a": {"w": torch.ones(3)}}, checkpoint_id=tmp_path)
    state = {"a": {"w": torch.empty(3, device="meta")}}
    dcp.load(state, checkpoint_id=tmp_path)
    assert state["a"]["w"].tolist() == [1, 1, 1]


MISMATCHES = [
    ({"x": torch.zeros(1)}, RuntimeError, "Missing key in checkpoint state_dict: x."),
    ({"w": torch.zeros(5)}, ValueError, "Size mismatch between saved torch.Size([4]) and current: torch.Size([5]) for w"),
    ({"w": 3}, ValueError, "Invalid checkpoint metadata for w, expected BytesStorageMetadata but found <class "
     "'torch.distributed.checkpoint.metadata.TensorStorageMetadata'>"),
]  # fmt: skip


@pytest.mark.parametrize("state, kind, message", MISMATCHES, ids=["missing", "size", "no tensor"])
def test_states_that_do_not_match_raise_as_in_torch(state, kind, message, tmp_path):
    dcp.save({"w": torch.zeros(4), "k": "s"}, checkpoint_id=tmp_path)
    error = failure(lambda: dcp.load(state, checkpoint_id=tmp_path))
    assert type(error) is kind
    assert str(error).replace("rushlight.distributed", "torch.distributed") == message


def test_a_part_of_a_checkpoint(tmp_path):
    dcp.save({"m": {"w": torch.zeros(4), "n": 3}, "k": "s"}, checkpoint_id=tmp_path)
    state = {"x": torch.ones(1), "k": ""}
    dcp.load(state, checkpoint_id=tmp_path, planner=dcp.DefaultLoadPlanner(allow_partial_load=True))
    assert state["k"] == "s" and state["x"].tolist() == [1]
    dcp.load(state := {"k": ""}, checkpoint_id=tmp_path)
    assert state == {"k": "s"}
    assert _load_state_dict_from_keys("m.n", checkpoint_id=tmp_path) == {"m": {"n": 3}}
    assert list(_load_state_dict_from_keys({"m"}, checkpoint_id=tmp_path)["m"]) == ["w", "n"]


def test_no_checkpoint_and_no_place(tmp_path):
    error = failure(lambda: dcp.load({"k": 1}, checkpoint_id=tmp_path / "no"))
    assert type(error) is AssertionError and str(error) == (
        f"metadata is None; global metadata read failed: [Errno 2] No such file or directory: '{tmp_path}/no/.metadata'; "
        f"rank local metadata read failed: [Errno 2] No such file or directory: '{tmp_path}/no/__0.metadata'"
    )
    for call in (dcp.load, dcp.save):
        with pytest.raises(RuntimeError, match="`checkpoint_id` must be specified if "):
            call({})
    with pytest.raises(RuntimeError, match="Cannot detect which StorageReader or StorageWriter to use"):
        dcp.save({}, checkpoint_id="s3://bucket/x")


def test_objects_with_a_state(tmp_path):
    net, other = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    dcp.save({"net": net}, checkpoint_id=tmp_path)
    dcp.load({"net": other}, checkpoint_id=tmp_path)
    assert torch.equal(net.weight, other.weight) and torch.equal(net.bias, other.bias)


def test_the_next_save_replaces_the_files(tmp_path):
    with pytest.warns(
        UserWarning, match=r"^torch\.distributed is disabled, unavailable or uninitialized, assuming the intent"
    ):
        dcp.save({"a": torch.ones(3)}, checkpoint_id=tmp_path)
    before = set(os.listdir(tmp_path))
    with pytest.warns(UserWarning, match="^Detected an existing checkpoint in "):
        dcp.save({"a": torch.zeros(3)}, checkpoint_id=tmp_path)
    after = set(os.listdir(tmp_path))
    assert len(after) == 2 and before & after == {".metadata"}
    error = failure(lambda: dcp.save({"a": 1}, storage_writer=dcp.FileSystemWriter(tmp_path, overwrite=False)))
    assert str(error) == "Checkpoint already exists and self.overwrite=False."
    assert set(os.listdir(tmp_path)) == after


def test_files_that_a_killed_save_left_are_removed(tmp_path):
    (tmp_path / "__3_0.0123456789abcdef.safetensors").write_bytes(b"half")
    (tmp_path / "model.safetensors").write_bytes(b"the user's")
    dcp.save({"a": 1}, checkpoint_id=tmp_path)
    assert len(os.listdir(tmp_path)) == 3 and (tmp_path / "model.safetensors").read_bytes() == b"the user's"


def test_tied_tensors_and_names_of_the_format(tmp_path):
    w = torch.arange(6.0)
    state = {"a": w, "b": w, "c": w[2:5], "__metadata__": torch.ones(1), "x#1": 1, "x": 2}
    dcp.save(state, checkpoint_id=tmp_path)
    loaded = _load_state_dict_from_keys(checkpoint_id=tmp_path)
    assert all(same(loaded[key], value) for key, value in state.items())


@pytest.mark.parametrize(
    "options", [{"single_file_per_rank": False}, {"thread_count": 3}, {"sync_files": False}], ids=str
)
def test_options_of_the_writer(options, tmp_path):
    state = {f"t{i}": torch.full((i + 1,), float(i)) for i in range(7)}
    dcp.save(state, storage_writer=dcp.FileSystemWriter(tmp_path, **options))
    files = [name for name in os.listdir(tmp_path) if name.endswith(".safetensors")]
    assert len(files) == {"single_file_per_rank": 7, "thread_count": 3, "sync_files": 1}[next(iter(options))]
    loaded = _load_state_dict_from_keys(checkpoint_id=tmp_path)
    assert all(torch.equal(loaded[key], state[key]) for key in state)


def test_options_that_are_not_there_are_refused(tmp_path):
    for options in ({"_extensions": [1]}, {"serialization_format": SerializationFormat.TORCH_SAVE}):
        with pytest.raises(NotImplementedError):
            dcp.FileSystemWriter(tmp_path, **options)
    with pytest.raises(NotImplementedError):
        dcp.FileSystemReader(tmp_path, _extension_registry=1)
    with pytest.raises(NotImplementedError, match="THREAD"):
        dcp.async_save({}, checkpoint_id=tmp_path, async_checkpointer_type=AsyncCheckpointerType.PROCESS)


def test_the_storage_as_second_argument_still_works(tmp_path):
    with pytest.warns(UserWarning, match="The argument order of save has been changed"):
        dcp.save({"a": 1}, dcp.FileSystemWriter(tmp_path))
    state = {"a": 0}
    with pytest.warns(UserWarning, match="The argument order of load has been changed"):
        dcp.load(state, dcp.FileSystemReader(tmp_path))
    assert state == {"a": 1}
    with pytest.warns(FutureWarning, match="`save_state_dict` is deprecated"):
        dcp.save_state_dict({"a": 2}, dcp.FileSystemWriter(tmp_path), no_dist=True)
    with pytest.warns(FutureWarning, match="`load_state_dict` is deprecated"):
        dcp.load_state_dict(state, dcp.FileSystemReader(tmp_path), no_dist=True)
    assert state == {"a": 2}


def test_without_flattening(tmp_path):
    state = {"w": torch.ones(2), "nested": {"t": torch.zeros(3), 4: (1, 2)}}
    dcp.save(state, checkpoint_id=tmp_path, planner=dcp.DefaultSavePlanner(flatten_state_dict=False))
    loaded = {"w": torch.zeros(2), "nested": None}
    dcp.load(loaded, checkpoint_id=tmp_path, planner=dcp.DefaultLoadPlanner(flatten_state_dict=False))
    assert same(loaded["nested"], state["nested"]) and loaded["w"].tolist() == [1, 1]


def test_planners_of_users(tmp_path):
    """The examples in torch's documentation of planners."""

    class Renamed(dcp.DefaultSavePlanner):
        def set_up_planner(self, state_dict, storage_meta=None, is_coordinator=False):
            super().set_up_planner({"foo_" + k: v for k, v in state_dict.items()}, storage_meta, is_coordinator)

        def resolve_data(self, write_item):
            value = super().resolve_data(write_item)
            return value * 2 if isinstance(value, torch.Tensor) else value

    dcp.save({"a": torch.ones(2), "b": 3}, checkpoint_id=tmp_path, planner=Renamed())
    loaded = _load_state_dict_from_keys(checkpoint_id=tmp_path)
    assert loaded["foo_a"].tolist() == [2, 2] and loaded["foo_b"] == 3


def test_two_paths_of_one_name_are_refused(tmp_path):
    error = failure(lambda: dcp.save({"a": {"b": 1}, "a.b": 2}, checkpoint_id=tmp_path))
    assert type(error) is ValueError and str(error) == "duplicated flatten key a.b"


def test_async_save_copies_before_it_returns(tmp_path):
    w, values = torch.ones(1000), [1]
    future = dcp.async_save({"w": w, "l": values}, checkpoint_id=tmp_path)
    w.zero_()
    values.append(2)
    second = dcp.async_save({"w": w}, checkpoint_id=tmp_path / "second")
    assert list(future.result(60).state_dict_metadata) == ["w", "l"]
    loaded = _load_state_dict_from_keys(checkpoint_id=tmp_path)
    assert loaded["w"].sum() == 1000 and loaded["l"] == [1]
    second.result(60)
    assert isinstance(dcp.async_save({"x": Own()}, checkpoint_id=tmp_path).exception(60), dcp.CheckpointException)


def test_stagers(tmp_path):
    w = torch.ones(3)
    for stager in (BlockingAsyncStager(True), DefaultStager(StagingOptions(use_non_blocking_copy=False))):
        answer = dcp.async_save({"w": w}, checkpoint_id=tmp_path, async_stager=stager)
        if isinstance(stager, DefaultStager):
            assert answer.staging_completion.result(60) is None
            answer = answer.upload_completion
        answer.result(60)
        stager.close()
    cached = BlockingAsyncStager(True)
    first = cached.stage({"w": w})["w"]
    assert cached.stage({"w": w + 1})["w"] is first and first.tolist() == [2, 2, 2]
    with pytest.raises(AssertionError, match="Non-blocking copy requires"):
        DefaultStager()


def test_as_a_file_of_torch_save_and_back(tmp_path):
    state = {"m": {"w": torch.arange(3.0)}, "step": 4}
    dcp.save(state, checkpoint_id=tmp_path / "a")
    dcp_to_torch_save(tmp_path / "a", tmp_path / "file.pt")
    assert same(torch.load(tmp_path / "file.pt"), state)
    torch_save_to_dcp(tmp_path / "file.pt", tmp_path / "b")
    loaded = {}
    _load_state_dict(loaded, dcp.FileSystemReader(tmp_path / "b"), no_dist=True, planner=_EmptyStateDictLoadPlanner())
    assert same(loaded, state)
