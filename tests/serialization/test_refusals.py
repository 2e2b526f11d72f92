"""A weights-only load executes nothing, whatever the pickle says."""

import io
import os
import pickle
import struct
from collections import OrderedDict

import numpy as np
import pytest

from rushlight.core.tensor.tensor import Tensor, wrap
from rushlight.serialization import (
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    get_unsafe_globals_in_checkpoint,
    load,
    safe_globals,
    save,
)
from rushlight.serialization.zip_format import ZipWriter

ran = []


def record_run(*args):
    ran.append(args)
    return args


class Attack:
    """Pickles as a call of anything."""

    def __init__(self, function, *args):
        self.call = function, args

    def __reduce__(self):
        return self.call


class Settings:
    def __init__(self, rate=0.1):
        self.rate = rate


class Slotted:
    __slots__ = ("value",)


def archive(data, **records):
    """A file of torch's format around the bytes of a pickle."""
    buffer = io.BytesIO()
    writer = ZipWriter(buffer)
    writer.write_record("data.pkl", data)
    for name, content in records.items():
        writer.write_record(name.replace("_", "/"), content)
    writer.finish()
    buffer.seek(0)
    return buffer


def text(value):
    raw = value.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw


def call(module, name, *args):
    return b"c" + f"{module}\n{name}\n".encode() + b"(" + b"".join(args) + b"tR"


P = b"\x80\x02"
STORAGE = b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu") + b"K\x04tQ"
HOOKS = call("collections", "OrderedDict")
TENSOR = call("torch._utils", "_rebuild_tensor_v2", STORAGE, b"K\x00", b"K\x04\x85", b"K\x01\x85", b"\x89", HOOKS)

MALICIOUS = {
    "os.system": P + call("os", "system", text("true")) + b".",
    "posix.system": P + call("posix", "system", text("true")) + b".",
    "eval": P + call("__builtin__", "eval", text("1")) + b".",
    "getattr": P + call("__builtin__", "getattr", call("torch", "Size"), text("__class__")) + b".",
    "subprocess": P + call("subprocess", "Popen", text("true")) + b".",
    "our own function": P + call(__name__, "record_run") + b".",
    "a dotted name": P + call("collections", "OrderedDict.fromkeys") + b".",
    "stack global": P + text("os") + text("system") + b"\x93" + b"(" + text("true") + b"tR.",
    "inst": P + b"(ios\nsystem\n.",
    "obj": P + b"(cos\nsystem\no.",
    "extension": P + b"\x82\x01.",
    "newobj": P + b"cos\nsystem\n(" + text("true") + b"t\x81.",
    "newobj_ex": P + b"ccollections\nOrderedDict\n)}\x92.",
    "call of a tensor class": P + call("torch", "Tensor", b"J\xff\xff\xff\x7f") + b".",
    "call of a dtype": P + call("torch", "float32") + b".",
    "call of a result": P + HOOKS + b")R.",
    "call of a string": P + text("x") + b")R.",
    "new object of a tensor class": P + b"ctorch\nTensor\n)\x81.",
    "state on a class": P + b"ctorch\nTensor\n}" + text("__add__") + b"K\x01sb.",
    "state on a function": P + b"ctorch._utils\n_rebuild_tensor_v2\n}" + text("x") + b"K\x01sb.",
    "state on a tensor": P + TENSOR + b"}" + text("_array") + b"K\x01sb.",
    "state that hides methods": P + HOOKS + b"}" + text("items") + b"K\x01sb.",
    "state with a strange key": P + HOOKS + b"}K\x01K\x01sb.",
    "attribute over a tensor's": P
    + call("torch._tensor", "_rebuild_from_type_v2", b"ctorch._utils\n_rebuild_tensor_v2\n", b"ctorch\nTensor\n",
           b"(" + STORAGE + b"K\x00K\x04\x85K\x01\x85\x89}t", b"}" + text("_array") + b"K\x01s") + b".",
    "rebuilding by another function": P
    + call("torch._tensor", "_rebuild_from_type_v2", b"c__builtin__\nset\n", b"ctorch\nTensor\n", b")", b"}") + b".",
    "memory by bytearray": P + call("__builtin__", "bytearray", b"J\xff\xff\xff\x7f") + b".",
    "another codec": P + call("_codecs", "encode", text("x"), text("rot13")) + b".",
    "append to a set": P + call("__builtin__", "set", b"]") + b"K\x01a.",
    "setitem on a list": P + b"]K\x00K\x01s.",
    "extend of a dict": P + b"}(K\x01e.",
    "persistent id of text": P + text("storage") + b"Q.",
    "persistent id of a module": P + b"(" + text("module") + b"K\x01tQ.",
    "storage type of text": P + b"(" + text("storage") + text("x") + text("0") + text("cpu") + b"K\x04tQ.",
    "negative element count": P + STORAGE.replace(b"K\x04", b"J\xff\xff\xff\xff") + b".",
    "huge string": P + b"X\xff\xff\xff\xffab.",
    "huge text8": P + b"\x8d" + b"\xff" * 8 + b"ab.",
    "huge memo index": P + b"]r\xff\xff\xff\xffh\x01.",
    "unknown opcode": P + b"\xf0.",
    "empty stack": P + b".",
    "mark without items": P + b"t.",
    "no stop": P + b"]",
    "bad text": P + b"X\x01\x00\x00\x00\xff.",
    "unhashable key": P + b"}]K\x01s.",
    "path of numbers": P + b"K\x01K\x02\x93.",
    "key that takes forever": P + b")" + b"q\x00h\x00h\x00\x86" * 60 + b"}h\x00K\x01s.",
    "set that takes forever": P + b")" + b"q\x00h\x00h\x00\x86" * 60 + call("__builtin__", "set", b"]h\x00a") + b".",
    "call of what takes forever to show": P + b")" + b"q\x00h\x00h\x00\x86" * 60 + b")R.",
    "storage id that takes forever to show": P
    + b")" + b"q\x00h\x00h\x00\x86" * 60 + b"q\x01(" + text("storage") + b"h\x01h\x01h\x01h\x01tQ.",
    "size that takes forever to show": P
    + TENSOR.replace(b"K\x04\x85K", b")" + b"q\x00h\x00h\x00\x86" * 60 + b"K") + b".",
    "counter of text": P + call("collections", "Counter", text("aab")) + b".",
    "odd items": P + b"}(K\x01u.",
}  # fmt: skip


@pytest.mark.parametrize("data", MALICIOUS.values(), ids=MALICIOUS.keys())
def test_refused(data):
    ran.clear()
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        load(archive(data, data_0=bytes(16)))
    assert not ran
    assert type(Tensor.__dict__.get("__add__")) is not int


DUNDERS = [
    "__array_interface__", "__array_struct__", "__cuda_array_interface__", "__array__", "__array_ufunc__", "__dlpack__",
    "__class__", "__dict__", "__torch_function__", "__setstate__", "__reduce__", "__del__", "__anything__", "_array",
    "_private", "no identifier", "a.b", "", "x\x00",
]  # fmt: skip


def with_state(name, kind):
    """The pickle of an object of a kind, with one attribute of this name."""
    state = b"}" + text(name) + b"}s"
    if kind == "tensor":
        rebuild = b"ctorch._utils\n_rebuild_tensor_v2\n"
        args = b"(" + STORAGE + b"K\x00" + b"K\x04\x85" + b"K\x01\x85" + b"\x89" + HOOKS + b"t"
        return call("torch._tensor", "_rebuild_from_type_v2", rebuild, b"ctorch\nTensor\n", args, state)
    if kind == "slots":
        return with_state(name, "tensor").replace(state, b"N" + state + b"\x86")
    if kind == "parameter":
        return call("torch._utils", "_rebuild_parameter_with_state", TENSOR, b"\x88", HOOKS, state)
    if kind == "dict":
        return HOOKS + state + b"b"
    return f"c{__name__}\nSettings\n".encode() + b")\x81" + state + b"b"


@pytest.mark.parametrize("name", DUNDERS)
@pytest.mark.parametrize("kind", ["tensor", "slots", "parameter", "dict", "allowed class"])
def test_a_file_sets_no_name_that_means_something(kind, name):
    if kind == "allowed class" and name in ("_array", "_private"):
        return  # private names are the business of a class that the user trusts
    with (
        safe_globals([Settings]),
        pytest.raises(pickle.UnpicklingError, match="a file may not set this attribute of a"),
    ):
        load(archive(P + with_state(name, kind) + b".", data_0=bytes(16)))


@pytest.mark.parametrize("kind", ["tensor", "slots", "parameter", "dict", "allowed class"])
def test_a_file_sets_ordinary_names(kind):
    with safe_globals([Settings]):
        loaded = load(archive(P + with_state("tag", kind) + b".", data_0=bytes(16)))
    assert loaded.tag == {}


def test_numpy_asks_no_tensor_for_an_address():
    """Whatever is in a tensor's attributes: the memory that np.asarray shows is the tensor's."""
    target = np.zeros(4)
    t = Tensor([1.0, 2.0, 3.0, 4.0])
    assert not hasattr(t, "__array_interface__") and not hasattr(t, "__array_struct__")
    for name in ("__array_interface__", "__array_struct__"):
        t.__dict__[name] = getattr(target, name)
        with pytest.raises(AttributeError):
            setattr(t, name, target.__array_interface__)
    for shown in (np.asarray(t), np.array(t), np.stack([t])[0], np.asarray([t, t])[0], np.multiply(t, 1)):
        assert np.asarray(shown).tolist() == [1, 2, 3, 4]
    np.asarray(t)[0] = 7
    assert t[0].item() == 7 and not target.any()
    assert np.add(t, np.ones(4, np.float32)).tolist() == [8, 3, 4, 5]


MANY = 20_000
GROWING = {  # what is put into the memo once, and the function of which each further call makes a copy
    "texts": (text("x" * 50_000), b"c_codecs\nencode\n"),
    "sets": (b"](" + b"K\x01" * MANY + b"e", b"cbuiltins\nset\n"),
    "sizes": (b"(" + b"K\x01" * MANY + b"t", b"ctorch\nSize\n"),
    "counters": (b"}(" + b"".join(text(str(i)) + b"K\x01" for i in range(5_000)) + b"u", b"ccollections\nCounter\n"),
}


@pytest.mark.parametrize("name", GROWING)
def test_a_file_cannot_copy_without_end(name):
    import tracemalloc

    value, function = GROWING[name]
    data = P + b"](" + value + b"q\x01" + function + b"q\x02" + b"h\x02h\x01\x85R" * MANY + b"e."
    tracemalloc.start()
    try:
        with pytest.raises(pickle.UnpicklingError, match="many times more data than the file holds"):
            load(archive(data))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 32 * len(data) + (8 << 20)


def test_conjugated_values_of_a_tensor_that_repeats_one_element():
    """Stride 0 makes 2**33 elements of 4 bytes; to negate them one by one would take 32 GiB."""
    shape = b"(" + b"J\x00\x00\x01\x00" + b"J\x00\x00\x02\x00" + b"t"
    marks = b"}" + text("neg") + b"\x88s"
    data = call("torch._utils", "_rebuild_tensor_v2", STORAGE, b"K\x00", shape, b"(K\x00K\x00t", b"\x89", HOOKS, marks)
    loaded = load(archive(P + data + b".", data_0=np.float32([1, 2, 3, 4]).tobytes()))
    assert loaded.numel() == 1 << 33 and loaded[5, 7].item() == -1


WRONG_VALUES = {
    "a negative size": call("torch", "Size", b"(J\xff\xff\xff\xfft"),
    "a size of text": call("torch", "Size", b"(" + text("x") + b"t"),
    "a counter of text": call("collections", "Counter", b"}" + text("a") + text("b") + b"s"),
    "a tensor on a dict": call("torch._utils", "_rebuild_tensor_v2", b"}", b"K\x00", b")", b")", b"\x89", HOOKS),
    "a parameter of a dict": call("torch._utils", "_rebuild_parameter", b"}", b"\x88", HOOKS),
    "a bytearray in a slow codec": call("builtins", "bytearray", text("x"), text("idna")),
    "a sparse tensor of dicts": call(
        "torch._utils", "_rebuild_sparse_tensor", call("torch.serialization", "_get_layout", text("torch.sparse_coo")),
        b"}}K\x01\x87"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_VALUES)
def test_values_that_are_none(name):
    with pytest.raises(
        pickle.UnpicklingError, match=r"is made of|of a weights-only load|rebuilt on a storage|begins with"
    ):
        load(archive(P + WRONG_VALUES[name] + b".", data_0=bytes(16)))


def test_the_good_tensor_of_the_table_loads():
    assert load(archive(P + TENSOR + b".", data_0=bytes(16)))._array.tolist() == [0.0] * 4


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            b"K\x00K\x04\x85",
            b"K\x01K\x04\x85",
            "storage offset 1.*requiring a storage size of 20 are out of bounds.*16",
        ),
        (b"K\x00K\x04\x85", b"J\xff\xff\xff\xffK\x04\x85", "invalid storage offset -1"),
        (b"K\x04\x85", b"K\x05\x85", "out of bounds for storage of size 16"),
        (b"K\x04\x85", b"J\xff\xff\xff\xff\x85", "negative dimension"),
        (b"K\x01\x85", b"J\xff\xff\xff\xff\x85", "Negative strides"),
        (b"K\x01\x85", b"J\xff\xff\xff\x7f\x85", "out of bounds"),
        (b"K\x04\x85", b"K\x04K\x04\x86", "unequal size length"),
        (b"K\x04\x85K\x01\x85", b"\x8a\x08" + b"\xff" * 7 + b"\x3f\x85K\x00\x85", "overflow"),
        (b"K\x04tQ", b"K\x05tQ", "holds 16 bytes, but 5 elements of torch.float32 take 20"),
        (b"K\x04tQ", b"\x8a\x08" + b"\xff" * 7 + b"\x0ftQ", "holds 16 bytes"),
        (text("0"), text("../../etc/passwd"), "failed locating file data/../../etc/passwd"),
    ],
)
def test_a_tensor_outside_its_storage(old, new, words):
    assert TENSOR.count(old) == 1
    with pytest.raises(RuntimeError, match=words):
        load(archive(P + TENSOR.replace(old, new) + b".", data_0=bytes(16)))


def test_a_bool_is_0_or_1_whatever_the_file_says():
    data = P + TENSOR.replace(b"FloatStorage", b"BoolStorage") + b"."
    again = load(archive(data, data_0=b"\x00\x01\x02\xff"))
    assert again._array.view(np.uint8).tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("torch QUInt2x4Storage", "quantized"),
    ],
)
def test_what_torch_has_and_we_do_not(path, kind):
    module, name = path.split()
    with pytest.raises(NotImplementedError, match=kind):
        load(archive(P + f"c{module}\n{name}\n.".encode()))


def test_advice_names_the_global_and_the_two_ways_out():
    buffer = io.BytesIO()
    save({"x": Attack(print, "hello")}, buffer)
    buffer.seek(0)
    with pytest.raises(pickle.UnpicklingError) as caught:
        load(buffer)
    for words in (
        "Weights only load failed. This file can still be loaded, to do so you have two options",
        "WeightsUnpickler error: Unsupported global: GLOBAL print was not an allowed global by default",
        "torch.serialization.add_safe_globals([print])",
        "`torch.serialization.safe_globals([print])` context manager",
        "weights_only` set to `False`",
    ):
        assert words in str(caught.value)


def test_without_the_restriction_the_pickle_runs():
    ran.clear()
    buffer = io.BytesIO()
    save(Attack(record_run, "hello"), buffer)
    assert load(io.BytesIO(buffer.getvalue()), weights_only=False) == ("hello",)
    assert ran == [("hello",)]


@pytest.fixture
def no_safe_globals():
    clear_safe_globals()
    yield
    clear_safe_globals()


@pytest.mark.usefixtures("no_safe_globals")
def test_safe_globals():
    buffer = io.BytesIO()
    save({"settings": Settings(0.5), "x": wrap(np.arange(2))}, buffer)
    path = f"{Settings.__module__}.Settings"
    assert get_unsafe_globals_in_checkpoint(io.BytesIO(buffer.getvalue())) == [path]
    with pytest.raises(pickle.UnpicklingError, match="Settings"):
        load(io.BytesIO(buffer.getvalue()))
    with safe_globals([Settings]):
        assert load(io.BytesIO(buffer.getvalue()))["settings"].rate == 0.5
        assert get_unsafe_globals_in_checkpoint(io.BytesIO(buffer.getvalue())) == []
    assert get_safe_globals() == []
    add_safe_globals([(OrderedDict, path)])
    assert get_safe_globals() == [(OrderedDict, path)]
    assert type(load(io.BytesIO(buffer.getvalue()))["settings"]) is OrderedDict


@pytest.mark.parametrize("protocol", [2, 4])
def test_the_globals_in_a_file(protocol):
    buffer = io.BytesIO()
    save([Settings(), Slotted, record_run, wrap(np.zeros(1)), np.float64(1)], buffer, pickle_protocol=protocol)
    buffer.seek(0)
    named = get_unsafe_globals_in_checkpoint(buffer)
    own = [f"{__name__}.{name}" for name in ("Settings", "Slotted", "record_run")]
    assert named == sorted(["numpy._core.multiarray.scalar", "numpy.dtype", *own])


@pytest.mark.usefixtures("no_safe_globals")
def test_safe_globals_with_slots_and_functions():
    slotted = Slotted()
    slotted.value = 3
    buffer = io.BytesIO()
    save([slotted, Attack(record_run, 1)], buffer)
    with safe_globals([Slotted, record_run]):
        again = load(io.BytesIO(buffer.getvalue()))
    assert (again[0].value, again[1]) == (3, (1,))


@pytest.mark.usefixtures("no_safe_globals")
@pytest.mark.parametrize(("entry", "error"), [((Settings,), ValueError), ((Settings, 3), TypeError)])
def test_safe_globals_of_a_wrong_form(entry, error):
    add_safe_globals([entry])
    with pytest.raises(error, match="Expected"):
        get_unsafe_globals_in_checkpoint(archive(P + call("os", "system") + b"."))


@pytest.mark.usefixtures("no_safe_globals")
def test_some_modules_are_never_safe():
    add_safe_globals([(os.system, "os.system")])
    with pytest.raises(pickle.UnpicklingError, match="whose module os is blocked"):
        load(archive(MALICIOUS["os.system"]))


@pytest.mark.parametrize("make", [lambda: type("Local", (), {"__qualname__": "f.<locals>.Local"}), lambda: lambda: 0])
def test_what_is_local_to_a_function_cannot_be_saved(make):
    thing = make()
    with pytest.raises(Exception) as expected:
        pickle.dumps(thing)
    with pytest.raises(type(expected.value)) as error:
        save({"thing": thing}, io.BytesIO())
    assert str(error.value) == str(expected.value)
