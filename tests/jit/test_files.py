"""Programs in files: those that torch 2.13 wrote (tests/golden/make_jit.py) run here, and ours survive their own
files.
"""

import ast
import io
import pickle
import sys
import zipfile
from pathlib import Path

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.torch.jit.files.archive import ObjectUnpickler

GOLDEN = Path(__file__).parent.parent / "golden"
sys.path.insert(0, str(GOLDEN))
from jit_programs import programs  # noqa: E402

PROGRAMS = programs(torch)


def _close(a, b):
    if isinstance(a, torch.Tensor):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        _close(list(a.values()), list(b.values()))
    else:
        assert type(a) is type(b) and len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            _close(x, y)


def _recorded(name):
    run = torch.load(GOLDEN / "jit" / f"{name}_run.pt")
    extra = {"code": "", "kinds": ""}
    program = torch.jit.load(GOLDEN / "jit" / f"{name}.pt", _extra_files=extra)
    return program, run, extra["code"].decode(), extra["kinds"].decode().split()


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "cnn_training"])
def test_torchs_programs_give_torchs_numbers(name):
    program, run, code, _ = _recorded(name)
    _close(program(*run["inputs"]), run["results"])
    assert list(program.state_dict()) == list(run["state"])
    for key, value in program.state_dict().items():
        assert torch.equal(value, run["state"][key])
    assert program.code.replace("PlaceholderModule", "") == code or not code.startswith("def forward")


@pytest.mark.parametrize("name", PROGRAMS)
def test_our_traces_are_torchs(name):
    """The operators in torch's order, and for functions torch's text as well."""
    _, run, code, kinds = _recorded(name)
    program, example, _ = PROGRAMS[name]
    if isinstance(program, nn.Module):
        program.load_state_dict(run["state"])
    traced = torch.jit.trace(program, example, check_trace=False, strict=False)
    ours = [node.kind() for node in traced.inlined_graph.nodes() if node.kind().startswith("aten")]
    if name not in ("encoder", "lstm"):  # there sizes are computed in Python around the operators, in another way
        assert ours == kinds
    if not isinstance(program, nn.Module):
        assert traced.code == code
    if name != "cnn_training":
        _close(traced(*run["inputs"]), run["results"])


def _written(program):
    return torch.jit.load(io.BytesIO(program.save_to_buffer()))


@pytest.mark.parametrize("name", PROGRAMS)
def test_files_keep_programs(name):
    program, example, other = PROGRAMS[name]
    traced = torch.jit.trace(program, example, check_trace=False, strict=False)
    loaded = _written(traced)
    again = _written(loaded)
    torch.manual_seed(3)
    results = traced(*other)
    for copy in (loaded, again):
        if isinstance(traced, nn.Module):  # a run may have moved running averages
            assert list(copy.state_dict()) == list(traced.state_dict())
        torch.manual_seed(3)
        _close(copy(*other), results)
    assert loaded.code == again.code


def test_training_programs_move_averages_and_drop():
    layer = nn.BatchNorm1d(2)
    loaded = _written(torch.jit.trace(layer, torch.randn(3, 2), check_trace=False))
    x = torch.randn(4, 2)
    before = loaded.running_mean.clone()
    loaded.eval()(x)  # the trace has fixed the mode, as in torch
    assert loaded.num_batches_tracked == 2 and torch.allclose(loaded.running_mean, 0.9 * before + 0.1 * x.mean(0))


def test_a_loaded_program_trains():
    loaded = _written(torch.jit.trace(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)), torch.ones(1, 3)))
    optimizer = torch.optim.SGD(loaded.parameters(), lr=0.1)
    x, y = torch.randn(16, 3), torch.randn(16, 1)
    losses = []
    for _ in range(20):
        loss = nn.functional.mse_loss(loaded(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] and loaded.double()(x.double()).dtype is torch.float64
    assert [name for name, _ in loaded.named_parameters()] == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert all(p.is_leaf and p.requires_grad for p in loaded.parameters())


def test_shared_parameters_stay_shared():
    module, example, _ = PROGRAMS["shared"]
    loaded = _written(torch.jit.trace(module, example))
    assert loaded.first is loaded.layers._modules["0"]
    assert loaded.first.weight.data_ptr() == loaded.second.weight.data_ptr()


def test_extra_files_devices_and_paths(tmp_path):
    path = tmp_path / "program.pt"
    traced = torch.jit.trace(nn.Linear(2, 2), torch.ones(1, 2))
    torch.jit.save(traced, path, _extra_files={"note.txt": "hello", "raw": b"\0\1"})
    extra = {"note.txt": "", "raw": "", "absent": "?"}
    loaded = torch.jit.load(path, map_location="meta", _extra_files=extra)
    assert extra == {"note.txt": b"hello", "raw": b"\0\1", "absent": b""}
    assert loaded.weight.is_meta and loaded.original_name == "Linear"
    with pytest.raises(ValueError, match="does not exist"):
        torch.jit.load(tmp_path / "absent.pt")
    before = path.read_bytes()
    with pytest.raises(AttributeError, match="no attribute 'save'"):
        torch.jit.save(nn.Linear(2, 2), path)
    with pytest.raises(RuntimeError, match="Could not export Python function call 'Twice'"):
        torch.jit.trace(Twice.apply, torch.ones(1)).save(path)
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["program.pt"]


def test_load_dispatches_to_jit(tmp_path):
    path = tmp_path / "program.pt"
    torch.jit.trace(nn.Linear(2, 2), torch.ones(1, 2)).save(path)
    with pytest.raises(RuntimeError, match=r"weights_only=True.. with TorchScript archives"):
        torch.load(path)
    with pytest.warns(UserWarning, match="looks like a TorchScript archive"):
        program = torch.load(path, weights_only=False)
    assert isinstance(program, torch.jit.RecursiveScriptModule) and torch.jit.export_opnames(program) == [
        "aten::linear"
    ]


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


# ------------------------------------------------------------------------------------------ files that are none


def _changed(changes, program=None):
    """The archive of a program with other contents of some records; None leaves one out."""
    source = (program or torch.jit.trace(nn.Linear(2, 2), torch.ones(1, 2))).save_to_buffer()
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(source)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            for end, change in changes.items():
                if name.endswith(end):
                    data = change(data) if callable(change) else change
            if data is not None:
                method = zipfile.ZIP_DEFLATED if "/code/" in name else zipfile.ZIP_STORED
                new.writestr(name, data, compress_type=method)
    return io.BytesIO(out.getvalue())


def test_compressed_source_is_read():
    x = torch.randn(3, 2)
    traced = torch.jit.trace(nn.Linear(2, 2), torch.ones(1, 2))
    assert torch.equal(torch.jit.load(_changed({}, traced))(x), traced(x))


def _replacing(old, new):
    def change(data):
        assert old in data
        return data.replace(old, new)

    return change


SOURCES = {
    b"return torch.linear(input, weight, bias)": [
        b"return __import__('os').system('true')", b"return eval('1')", b"return open", b"return input.__class__",
        b"return (lambda: 1)()", b"return [x for x in weight]", b"return torch.load(input)", b"return CONSTANTS.c7",
        b"return torch.linear(input, weight, bias, bias)", b"return self.nothing", b"return weight[0:1]",
        b"return f'{input}'",
        b"return torch.linear(input, weight, " + b"(" * 200 + b"bias" + b")" * 200 + b")", b"import os",
        b"return (self).forward",
        b"return torch.add(input, " + b"-" * 5000 + b"1)", b"input.x = weight", b"return self.forward.__globals__",
        b"a, b = input\n    return a", b"return torch.device(input)", b"return getattr(self, input)",
    ],
}  # fmt: skip


@pytest.mark.parametrize("source", SOURCES[b"return torch.linear(input, weight, bias)"])
def test_source_that_is_no_torchscript_is_refused(source):
    change = _replacing(b"return torch.linear(input, weight, bias)", source)
    with pytest.raises((RuntimeError, NotImplementedError), match=r"torch\.jit\.load|not TorchScript"):
        torch.jit.load(_changed({"linear.py": change}))


@pytest.mark.parametrize(
    "text",
    [b"for x in weight:\n      pass\n    return torch.linear", b"while 1:\n      pass\n    return torch.linear"],
    ids=["for", "while"],
)
def test_control_flow_that_is_no_torchscript_is_refused(text):
    with pytest.raises(RuntimeError, match=r"torch\.jit\.load: line"):
        torch.jit.load(_changed({"linear.py": _replacing(b"return torch.linear", text)}))


def test_source_is_parsed_and_never_compiled(monkeypatch):
    compiled = []
    original = compile

    def watch(source, name, mode, flags=0, *args, **kwargs):
        if not flags & ast.PyCF_ONLY_AST and "TOKEN" in str(source):
            compiled.append(source)
        return original(source, name, mode, flags, *args, **kwargs)

    monkeypatch.setattr("builtins.compile", watch)
    change = _replacing(b"return torch.linear", b"TOKEN = torch.relu(input)\n    return torch.linear")
    torch.jit.load(_changed({"linear.py": change}))(torch.ones(1, 2))
    assert compiled == []


class _Runs:
    def __reduce__(self):
        return print, ("executed",)


@pytest.mark.parametrize("record", ["data.pkl", "constants.pkl"])
def test_pickles_do_not_run(record, capsys):
    with pytest.raises(RuntimeError, match="refused"):
        torch.jit.load(_changed({record: pickle.dumps(_Runs(), 2)}))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x02c__torch__\nM\nK\x01\x85\x81.", b"\x80\x02c__torch__\nM\n)\x81K\x01b.",
        b"\x80\x02c__torch__\nM\n)R.",
        b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R.", b"\x80\x02.", b"",
        b"\x80\x02c__torch__\nMissing\n)\x81}b.",
    ],
)  # fmt: skip
def test_malformed_objects_are_refused(data):
    with pytest.raises((RuntimeError, EOFError)):
        torch.jit.load(_changed({"data.pkl": data}))


def test_a_file_cannot_set_what_a_module_is_made_of():
    program = torch.jit.trace(nn.Linear(2, 2), torch.ones(1, 2))
    source = _replacing(
        b"  training : bool\n", b"  training : bool\n  _forward_hooks : bool\n  _methods : bool\n  forward : bool\n"
    )
    data = pickle.dumps({"training": True}, 2)
    assert data
    with pytest.raises(RuntimeError, match="no value for attribute '_forward_hooks'"):
        torch.jit.load(_changed({"linear.py": source}, program))


@pytest.mark.parametrize("record", ["constants.pkl", "data.pkl", "linear.py", "data/0"])
def test_missing_records(record):
    with pytest.raises(RuntimeError):
        torch.jit.load(_changed({record: None}))


def test_truncated_and_foreign_files():
    whole = torch.jit.trace(nn.Linear(2, 2), torch.ones(1, 2)).save_to_buffer()
    for size in range(0, len(whole), 97):
        with pytest.raises(RuntimeError):
            torch.jit.load(io.BytesIO(whole[:size]))
    plain = io.BytesIO()
    torch.save({"a": torch.ones(1)}, plain)
    with pytest.raises(RuntimeError, match=r"constants\.pkl"):
        torch.jit.load(io.BytesIO(plain.getvalue()))


def test_sizes_are_not_believed():
    bomb = io.BytesIO()
    whole = torch.jit.trace(nn.Linear(2, 2), torch.ones(1, 2)).save_to_buffer()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(bomb, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("linear.py"):
                new.writestr(name, data + b" " * (1 << 27), compress_type=zipfile.ZIP_DEFLATED)
            else:
                new.writestr(name, data)
    with pytest.raises(RuntimeError, match="no source"):
        torch.jit.load(io.BytesIO(bomb.getvalue()))


def test_the_unpickler_is_the_restricted_one():
    with pytest.raises(pickle.UnpicklingError):
        ObjectUnpickler(io.BytesIO(pickle.dumps(_Runs(), 2))).load()
