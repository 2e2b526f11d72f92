"""`summary`: the tree, its counts against numbers worked out by hand, and a model that stays as it was."""

import copy
import io
import random
import threading
from dataclasses import dataclass

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F


def by_name(report):
    return {layer.name: layer for layer in report.model}


class Shared(nn.Module):
    """A layer that is called twice, an LSTM under two names, tied weights, and a layer without calls."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.rnn = nn.LSTM(16, 16, batch_first=True)
        self.again = self.rnn
        self.norm = nn.BatchNorm1d(4)
        self.decode = nn.Linear(16, 50)
        self.decode.weight = self.embed.weight
        self.unused = nn.Linear(3, 3)
        self.rnn.bias_hh_l0.requires_grad_(False)

    def forward(self, ids, *, scale=1.0):
        x, _ = self.rnn(self.embed(ids) * scale)
        x, (h, _) = self.again(x)
        self.norm(x)
        return {"logits": self.decode(x), "last": (h, self.decode(h[0]))}


def test_text():
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.Sequential(nn.ReLU(), nn.Flatten()), nn.Linear(512, 10))
    model[0].weight.requires_grad_(False)
    assert str(torch.summary(model, torch.zeros(2, 3, 8, 8))) == (
        """\
Layer             Output                     Parameters  Multiply-adds
----------------------------------------------------------------------
Sequential        [2, 10]       5,354 (5,138 trainable)         37,888
├─ 0: Conv2d      [2, 8, 8, 8]        224 (8 trainable)         27,648
├─ 1: Sequential  [2, 512]                            0              0
│  ├─ 0: ReLU     [2, 8, 8, 8]                        0              0
│  └─ 1: Flatten  [2, 512]                            0              0
└─ 2: Linear      [2, 10]                         5,130         10,240
----------------------------------------------------------------------
Parameters: 5,354 (5,138 trainable, 216 frozen)
Multiply-adds: 37,888
Memory: parameters 20.9 KiB, buffers 0 B, input 1.5 KiB, outputs of layers 12.1 KiB"""
    )


def test_shared_layers_and_parameters_count_once():
    model = Shared()
    report = torch.summary(model, input_size=(2, 4), dtypes=torch.int64)
    layers = by_name(report)
    assert (
        report.parameters == sum(p.numel() for p in model.parameters()) == 50 * 16 + 2 * 64 * 16 + 2 * 64 + 8 + 50 + 12
    )
    assert report.trainable == report.parameters - 64
    assert report.buffer_bytes == 2 * 16 + 8
    assert layers["rnn"].calls == 2 and layers["again"].same_as == "rnn"
    assert layers["rnn"].multiply_adds == 2 * (2 * 4) * 2 * 64 * 16
    assert layers["decode"].outputs == ["[2, 4, 50]", "[2, 50]"]
    assert layers["decode"].multiply_adds == (8 + 2) * 16 * 50
    assert layers["decode"].tied == ["decode.weight is embed.weight"]
    assert report.multiply_adds == layers["rnn"].multiply_adds + layers["decode"].multiply_adds
    assert layers["unused"].calls == 0 and layers["unused"].outputs == []
    assert layers[""].outputs == ["(logits=[2, 4, 50], last=([1, 2, 16], [2, 50]))"]
    assert layers["rnn"].output_shapes == [torch.Size([2, 4, 16]), torch.Size([1, 2, 16]), torch.Size([1, 2, 16])]
    text = str(report)
    for said in ("again: LSTM (same as rnn)", "[2, 4, 50] or [2, 50]", "not called", "decode.weight is embed.weight"):
        assert said in text


def state(model):
    """All that a run could change."""
    found = {}
    for name, module in model.named_modules():
        kept = {k: v for k, v in vars(module).items() if k not in ("_parameters", "_buffers", "_modules")}
        found[name] = (type(module), {k: dict(v) if isinstance(v, dict) else v for k, v in kept.items()})
    for name, t in [*model.named_parameters(), *model.named_buffers()]:
        found[name] = (id(t), t._version, t.grad, None if nn.parameter.is_lazy(t) else t.tolist())
    return found


@pytest.mark.parametrize("mode", ["train", "eval", "same"])
def test_the_model_stays_as_it_was(mode):
    model = nn.Sequential(
        nn.LazyConv2d(4, 3), nn.BatchNorm2d(4), nn.Dropout(0.5), nn.ReLU(inplace=True), nn.Flatten(), nn.LazyLinear(3)
    )
    model[1].eval()
    model[1].weight.grad = torch.ones(4)
    image = torch.full((2, 3, 6, 6), -1.0)
    before, streams = (
        state(model),
        (torch.get_rng_state().tolist(), random.getstate(), np.random.get_state()[1].tolist()),
    )
    report = torch.summary(model, image, mode=mode)
    assert state(model) == before
    assert streams == (torch.get_rng_state().tolist(), random.getstate(), np.random.get_state()[1].tolist())
    assert isinstance(model[0], nn.LazyConv2d) and (image == -1).all()
    assert [layer.kind for layer in report.model.inner][:2] == ["Conv2d", "BatchNorm2d"]
    assert report.parameters == 4 * 27 + 4 + 8 + 64 * 3 + 3
    assert report.multiply_adds == 2 * 16 * 4 * 27 + 2 * 64 * 3


def test_a_run_that_fails_changes_nothing():
    model = nn.Sequential(nn.BatchNorm1d(4), nn.Dropout(), nn.Linear(5, 2)).train()
    before, stream = state(model), torch.get_rng_state().tolist()
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        torch.summary(model, input_size=(3, 4), mode="train")
    assert state(model) == before and torch.get_rng_state().tolist() == stream


def test_the_mode_of_the_run():
    seen = []

    class Asks(nn.Module):
        def forward(self, x):
            seen.append((self.training, torch.is_grad_enabled()))
            return x

    model = Asks().train()
    for mode in ("eval", "train", "same"):
        torch.summary(model, torch.ones(1), mode=mode)
    assert seen == [(False, False), (True, False), (True, False)]
    with pytest.raises(ValueError, match="mode"):
        torch.summary(model, torch.ones(1), mode="other")


@dataclass
class Pair:
    logits: torch.Tensor
    hidden: tuple
    missing: object = None


class Nested(nn.Module):
    def forward(self, first, rest, *, mask=None):
        a, b = rest["a"], rest["list"][0]
        assert mask is None or mask.dtype is torch.bool
        return Pair(first @ a, (b.half(), [b > 0]))


def test_nested_inputs_and_outputs():
    first, rest = torch.ones(2, 3), {"a": torch.ones(3, 4), "list": [torch.ones(5)]}
    expected = ["Pair(logits=[2, 4], hidden=([5] float16, ([5] bool)))"]
    by_position = torch.summary(Nested(), (first, rest))
    by_keyword = torch.summary(Nested(), {"first": first, "rest": rest, "mask": torch.ones(2) > 0})
    mixed = torch.summary(Nested(), (first,), rest=rest)
    made = torch.summary(
        Nested(),
        input_size={"first": (2, 3), "rest": {"a": (3, 4), "list": [(5,)]}, "mask": (2,)},
        dtypes={"mask": torch.bool},
    )
    for report in (by_position, by_keyword, mixed, made):
        assert report.model.outputs == expected and report.multiply_adds == 2 * 3 * 4
    assert (by_position.input_bytes, by_keyword.input_bytes) == (4 * (6 + 12 + 5), 4 * (6 + 12 + 5) + 2)


def test_made_inputs():
    class Keeps(nn.Module):
        def forward(self, *args):
            kept.extend(args)
            return args[0]

    kept = []
    torch.summary(Keeps(), input_size=[(2, 3), (4,), ()], dtypes=[torch.float64, torch.int64, torch.bool])
    assert [(t.dtype, tuple(t.shape)) for t in kept] == [
        (torch.float64, (2, 3)), (torch.int64, (4,)), (torch.bool, ()),
    ]  # fmt: skip
    assert 0 <= kept[0].min() < kept[0].max() < 1 and not kept[1].any()
    with pytest.raises(ValueError, match="do not fit"):
        torch.summary(Keeps(), input_size=[(2,), (3,)], dtypes=[torch.float32])
    with pytest.raises(ValueError, match="which input_size does not have"):
        torch.summary(Keeps(), input_size={"a": (2,)}, dtypes={"b": torch.float32})
    with pytest.raises(ValueError, match="no shape"):
        torch.summary(Keeps(), input_size=[(2,), "three"])
    with pytest.raises(ValueError, match="not both"):
        torch.summary(Keeps(), torch.ones(2), input_size=(2,))
    with pytest.raises(TypeError, match="not int"):
        torch.summary(3, torch.ones(2))


COUNTED = [
    ("gru", lambda: nn.GRU(5, 7, 2, bidirectional=True), [(3, 2, 5)], 6 * 2 * (21 * 5 + 21 * 7 + 21 * 14 + 21 * 7)),
    ("projected lstm", lambda: nn.LSTM(5, 7, proj_size=3), [(4, 2, 5)], 8 * (28 * 5 + 28 * 3 + 3 * 7)),
    ("rnn cell", lambda: nn.RNNCell(5, 7), [(2, 5)], 2 * (7 * 5 + 7 * 7)),
    ("attention", lambda: nn.MultiheadAttention(8, 2), [(5, 2, 8)] * 3, 10 * 4 * 64 + 2 * (2 * 5 * 5 * 8)),
    ("transposed", lambda: nn.ConvTranspose1d(3, 4, 2), [(2, 3, 5)], 2 * 5 * 24),
    ("grouped", lambda: nn.Conv2d(4, 6, 3, groups=2), [(2, 4, 7, 7)], 2 * 25 * 108),
    ("bilinear", lambda: nn.Bilinear(4, 5, 6), [(2, 4), (2, 5)], 2 * 4 * 30 + 2 * 30),
    ("fused attention", lambda: Calls(F.scaled_dot_product_attention), [(2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 6)], 6 * 35 * 10),
    ("matrix and vector", lambda: Calls(torch.matmul), [(3, 4), (4,)], 12),
    ("matrices and vector", lambda: Calls(torch.matmul), [(2, 3, 4), (4,)], 24),
    ("vectors", lambda: Calls(torch.dot), [(4,), (4,)], 4),
    ("outer", lambda: Calls(torch.outer), [(3,), (4,)], 12),
    ("addmv", lambda: Calls(torch.addmv), [(3,), (3, 4), (4,)], 12),
    ("addbmm", lambda: Calls(torch.addbmm), [(3, 5), (2, 3, 4), (2, 4, 5)], 2 * 60),
    ("elementwise", lambda: Calls(torch.mul), [(3, 4), (3, 4)], 0),
]  # fmt: skip


class Calls(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


@pytest.mark.parametrize(("make", "sizes", "expected"), [c[1:] for c in COUNTED], ids=[c[0] for c in COUNTED])
def test_multiply_adds(make, sizes, expected):
    assert torch.summary(make(), input_size=sizes).multiply_adds == expected


def test_without_input():
    report = torch.summary(nn.Sequential(nn.Linear(2, 3), nn.LazyLinear(4)))
    assert not report.ran and report.parameters == 9 and report.model.lazy
    assert (
        str(report)
        == """\
Layer                Parameters
-------------------------------
Sequential           9 and more
├─ 0: Linear                  9
└─ 1: LazyLinear  not known yet
-------------------------------
Parameters: 9 (9 trainable, 0 frozen)
Lazy layers get their parameters at their first call.
Memory: parameters 36 B, buffers 0 B"""
    )


def test_depth_says_what_it_hides():
    model = nn.Sequential(nn.Sequential(nn.Sequential(nn.Linear(2, 2), nn.ReLU())), nn.Linear(2, 1))
    report = torch.summary(model, input_size=(1, 2), depth=1)
    assert "│  └─ (3 inner layers)" in str(report) and "ReLU" not in str(report)
    assert [layer.kind for layer in report.model].count("ReLU") == 1
    whole = str(torch.summary(model, input_size=(1, 2)))
    assert len([line for line in whole.split("\n") if "─ " in line]) == 5 and "hidden" not in whole


def test_hooks_of_the_model_run_and_stay():
    model, seen = nn.Sequential(nn.Linear(2, 3)), []
    handle = model[0].register_forward_hook(lambda module, args, out: seen.append(module) or out[:, :2])
    report = torch.summary(model, input_size=(4, 2))
    assert by_name(report)["0"].outputs == ["[4, 2]"] and len(seen) == 1 and seen[0] is not model[0]
    assert len(model[0]._forward_hooks) == 1
    handle.remove()


def test_what_cannot_be_copied_is_shared():
    model = nn.Linear(2, 3)
    model.lock = threading.Lock()
    model.cache = (torch.ones(3, requires_grad=True) * 2,)
    assert torch.summary(model, input_size=(1, 2)).model.outputs == ["[1, 3]"]
    with pytest.raises(TypeError):
        copy.deepcopy(model)


def test_outputs_of_the_innermost_layers_that_run():
    report = torch.summary(nn.MultiheadAttention(8, 2, batch_first=True), input_size=[(2, 5, 8)] * 3)
    assert by_name(report)["out_proj"].calls == 0  # its weight is used without a call
    assert report.output_bytes == 4 * (2 * 5 * 8 + 2 * 5 * 5)
    twice = torch.summary(nn.Sequential(nn.Sequential(nn.ReLU()), nn.ReLU()), input_size=(3,))
    assert twice.output_bytes == 2 * 3 * 4


def test_scripted_models():
    report = torch.summary(torch.jit.script(nn.Sequential(nn.Linear(2, 3), nn.ReLU())), input_size=(4, 2))
    assert [layer.kind for layer in report.model] == ["Sequential", "Linear", "ReLU"]
    assert [layer.multiply_adds for layer in report.model] == [24, 24, 0]


def test_compiled_models():
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh())
    compiled = torch.compile(model)
    for _ in range(4):
        compiled(torch.ones(1, 2))
    for one in (compiled, nn.Sequential(compiled)):
        report = torch.summary(one, input_size=(1, 2))
        assert report.multiply_adds == 6
        assert {layer.kind: layer.calls for layer in report.model}["Tanh"] == 1


def test_the_doctor_sees_none_of_it():
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.doctor.watch() as report:
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.rand(4, 2)).sum().backward()
            optimizer.step()
            torch.summary(model, input_size=(4, 2))
    assert report.findings == []


def test_meta():
    model = nn.Linear(1000, 1000, device="meta")
    report = torch.summary(model, input_size=(8, 1000))
    assert report.multiply_adds == 8_000_000 and report.parameters == 1_001_000


def test_shows_itself(monkeypatch):
    report = torch.summary(nn.Sequential(nn.Linear(2, 3)), input_size=(1, 2))
    file = io.StringIO()
    report.show(file)
    assert file.getvalue() == f"{report}\n" == f"{report!r}\n"
    html = report._repr_html_()
    assert html.count("<tr>") == 3 and "└─ 0: Linear</td>" in html and "Multiply-adds: 6" in html


def test_html_escapes_names():
    model = nn.Module()
    model.forward = lambda x: x
    model.add_module("<b>", nn.Identity())
    assert "<b>" not in torch.summary(model)._repr_html_() and "&lt;b&gt;" in torch.summary(model)._repr_html_()


def test_in_a_terminal_nothing_is_cut():
    rich = pytest.importorskip("rich.console")
    report = torch.summary(Shared(), input_size=(2, 4), dtypes=torch.int64)
    for width in (60, 200):
        console = rich.Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
        console.print(report)
        shown = "".join(console.file.getvalue().split())
        assert "…" not in shown
        for word in ("Embedding", "not", "called", "multiply-adds"[:8].capitalize(), "embed.weight"):
            assert word in shown
    assert "([2,4,16],([1,2,16],[1,2,16]))" in shown


def test_a_container_has_what_is_computed_inside_it():
    class Parts(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.ModuleDict({"a": nn.Linear(3, 4), "b": nn.Linear(3, 4, bias=False)})

        def forward(self, x):
            return self.parts["a"](x) + self.parts["b"](x)

    report = torch.summary(Parts(), input_size=(2, 3))
    counts = {layer.name: (layer.calls, layer.multiply_adds) for layer in report.model}
    assert counts == {"": (1, 48), "parts": (0, 48), "parts.a": (1, 24), "parts.b": (1, 24)}
