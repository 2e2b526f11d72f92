"""Checkpoints whose files are truncated, altered, of another checkpoint, or made to harm: an error that names the file."""

import json
import os
import pickle
import random
import shutil
import struct
import zlib

import pytest

import rushlight as torch
import rushlight.distributed.checkpoint as dcp
from rushlight.distributed.checkpoint import _values
from rushlight.distributed.checkpoint.state_dict_loader import _load_state_dict_from_keys

pytestmark = [pytest.mark.filterwarnings("ignore:torch.distributed is "), pytest.mark.filterwarnings("ignore:Detected")]


def written(folder, value=1.0):
    """A checkpoint of two files: (path of its index, paths of the files)."""
    state = {"a": torch.full((300,), value), "m": {"b": torch.arange(40).view(8, 5), "step": 7}, "l": [1, "x"]}
    dcp.save(state, storage_writer=dcp.FileSystemWriter(folder, thread_count=2))
    return folder / ".metadata", sorted(folder.glob("*.safetensors"))


def refused(folder, path):
    """The error of a load, which names the path; into tensors that are there, and into new ones."""
    state = {"a": torch.zeros(300), "m": {"b": torch.zeros(8, 5), "step": 0}, "l": None}
    for call in (
        lambda: dcp.load(state, checkpoint_id=folder),
        lambda: _load_state_dict_from_keys(checkpoint_id=folder),
    ):
        with pytest.raises(dcp.CheckpointException) as raised:
            call()
        ((error, _),) = raised.value.failures.values()
        if str(error).startswith("Size mismatch between saved"):  # seen before the file is
            continue
        assert type(error) is RuntimeError and str(path) in str(error), error
    return str(error)


@pytest.mark.parametrize("cut", [0, 1, 7, 8, 100, 0.3, 0.9, -1])
def test_truncated_files(cut, tmp_path):
    index, files = written(tmp_path)
    for path in (index, *files):
        data = path.read_bytes()
        path.write_bytes(data[: int(cut * len(data)) if isinstance(cut, float) else cut])
        refused(tmp_path, path)
        path.write_bytes(data)


def test_any_changed_byte_is_seen(tmp_path):
    index, files = written(tmp_path)
    expected, rng = _load_state_dict_from_keys(checkpoint_id=tmp_path), random.Random(0)
    for path in (index, *files):
        data = path.read_bytes()
        for place in [*range(12), *(rng.randrange(len(data)) for _ in range(60))]:
            changed = bytearray(data)
            changed[place] ^= 1 << rng.randrange(8)
            path.write_bytes(changed)
            try:
                loaded = _load_state_dict_from_keys(checkpoint_id=tmp_path)
            except dcp.CheckpointException as error:
                assert str(tmp_path) in str(error)
            else:  # a blank, or a note in a table that nothing depends on
                assert torch.equal(loaded["a"], expected["a"]) and torch.equal(loaded["m"]["b"], expected["m"]["b"])
                assert loaded["m"]["step"] == 7 and loaded["l"] == [1, "x"]
        path.write_bytes(data)


def test_missing_files(tmp_path):
    _, files = written(tmp_path)
    files[0].unlink()
    assert "No such file" in refused(tmp_path, files[0])


def test_a_file_of_another_checkpoint(tmp_path):
    _, files = written(tmp_path / "one")
    _, others = written(tmp_path / "two", 2.0)
    for mine, other in zip(files, others, strict=True):
        assert mine.stat().st_size == other.stat().st_size
        data = mine.read_bytes()
        shutil.copy(other, mine)
        assert "it is of the save" in refused(tmp_path / "one", mine)
        mine.write_bytes(data)


class Payload:
    def __reduce__(self):
        return os.mkdir, (os.environ["RUSHLIGHT_TEST_PAYLOAD"],)


@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_pickles_are_not_read(protocol, tmp_path, monkeypatch):
    monkeypatch.setenv("RUSHLIGHT_TEST_PAYLOAD", str(tmp_path / "carried out"))
    index, files = written(tmp_path)
    for path in (index, *files):
        data = path.read_bytes()
        path.write_bytes(pickle.dumps(Payload(), protocol))
        text = refused(tmp_path, path)
        assert path != index or protocol == 0 or "pickles are not read" in text
        path.write_bytes(data)
    assert not (tmp_path / "carried out").exists()


def rewritten(index, change):
    """The index with a change, and its checksum as it ought to be."""
    whole = json.loads(index.read_bytes())
    change(whole["checkpoint"])
    whole["crc32"] = zlib.crc32(json.dumps(whole["checkpoint"], separators=(",", ":")).encode())
    index.write_text(json.dumps(whole))


def at(body, key):
    return body["entries"][key]["at"][0]


def elsewhere(body):
    name = next(iter(body["files"]))
    body["files"]["../" + name] = body["files"].pop(name)


HOSTILE = {
    "a file outside": elsewhere,
    "an absolute name": lambda body: body["files"].update({"/etc/passwd": 1}),
    "a size that would fill the memory": lambda body: body["entries"]["a"].update(size=[1 << 50]),
    "a size and a part of it": lambda body: (
        body["entries"]["a"].update(size=[1 << 50]), at(body, "a").__setitem__(4, [1 << 50]), at(body, "a").__setitem__(2, 1 << 52),
    ),
    "a negative size": lambda body: body["entries"]["a"].update(size=[-300]),
    "a size that is no number": lambda body: body["entries"]["a"].update(size=["300"]),
    "true for a size": lambda body: body["entries"]["a"].update(size=[True]),
    "a number too large": lambda body: body["entries"]["a"].update(size=[10**400]),
    "a part that is left out": lambda body: at(body, "a").__setitem__(4, [299]),
    "a part twice": lambda body: body["entries"]["a"]["at"].append(at(body, "a")),
    "no parts": lambda body: body["entries"]["a"].update(at=[]),
    "another type": lambda body: body["entries"]["a"].update(dtype="int32"),
    "a type that is a module's name": lambda body: body["entries"]["a"].update(dtype="__name__"),
    "another shape": lambda body: (body["entries"]["m.b"].update(size=[5, 8]), at(body, "m.b").__setitem__(4, [5, 8])),
    "another tensor": lambda body: at(body, "a").__setitem__(1, "m.b"),
    "a name that is not there": lambda body: at(body, "a").__setitem__(1, "zz"),
    "a file that is not listed": lambda body: at(body, "a").__setitem__(0, "x"),
    "a tensor as another value": lambda body: body["entries"]["m.step"]["at"].__setitem__(0, at(body, "a")[:3]),
    "another path": lambda body: body["planner_data"].update(a={"tuple": ["m", "step"]}),
    "a list of many": lambda body: (
        body["entries"].update({"l.1000000000": body["entries"]["l"]}),
        body["planner_data"].update({"l.1000000000": {"tuple": ["l", 10**9]}}),
    ),
    "a value and a dict": lambda body: (
        body["entries"].update({"a.x": body["entries"]["l"]}), body["planner_data"].update({"a.x": {"tuple": ["a", "x"]}}),
    ),
    "a list and a dict": lambda body: (
        body["entries"].update({"m.0": body["entries"]["l"]}), body["planner_data"].update({"m.0": {"tuple": ["m", 0]}}),
    ),
    "entries that are a list": lambda body: body.update(entries=[1]),
    "nothing": lambda body: body.clear(),
}  # fmt: skip


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE)
def test_an_index_made_to_harm(change, tmp_path):
    index, _ = written(tmp_path)
    rewritten(index, change)
    refused(tmp_path, tmp_path)


@pytest.mark.parametrize(
    "text",
    [b"", b"{}", b"[]", b"null", b"[" * 100_000, b'{"format":"other"}', b"\xff\xfe", b"\0" * 1000],
    ids=lambda t: repr(t[:9]),
)
def test_files_that_are_no_index(text, tmp_path):
    index, _ = written(tmp_path)
    index.write_bytes(text)
    refused(tmp_path, index)


def test_an_index_of_a_later_version(tmp_path):
    index, _ = written(tmp_path)
    index.write_bytes(index.read_bytes().replace(b'"version":"1"', b'"version":"2"'))
    assert "version '2'" in refused(tmp_path, index)


TEXTS = [
    "", "{", "[" * 100_000, '{"tensor":"AAAA"}', '{"tensor":"gASVCw=="}', '{"tensor":3}', '{"array":["<f8",[1000000000000],""]}',
    '{"array":["O",[1],"AAAAAAAAAAA="]}', '{"array":["V100000000000",[0],""]}', '{"array":["<f8",[-1],"AAAAAAAAAAA="]}',
    '{"dtype":"__name__"}', '{"dtype":["x"]}', '{"device":"nowhere"}', '{"set":[[1]]}', '{"dict":[[[],1]]}', '{"dict":3}', '{"bytes":"*"}',
    '{"complex":[1]}', '{"size":["a"]}', "1" * 5000, "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text[:24])
def test_texts_that_are_no_values(text):
    with pytest.raises(ValueError, match=r"^some key: the value in the checkpoint cannot be read"):
        _values.loads(text.encode("utf-8", "surrogatepass"), "some key")


@pytest.mark.parametrize("length", [1 << 62, (1 << 64) - 1, 1 << 40, 99_000_000])
def test_lengths_in_a_file_are_not_believed(length, tmp_path):
    _, files = written(tmp_path)
    data = files[0].read_bytes()
    files[0].write_bytes(struct.pack("<Q", length) + data[8:])
    refused(tmp_path, files[0])


def test_a_checkpoint_that_cannot_be_read_can_be_replaced(tmp_path):
    index, _ = written(tmp_path)
    index.write_bytes(b"damaged")
    written(tmp_path, 3.0)
    assert _load_state_dict_from_keys("a", checkpoint_id=tmp_path)["a"].unique().tolist() == [3.0]
    assert len(os.listdir(tmp_path)) == 3
