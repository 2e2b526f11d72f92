"""Profiles: which operators and blocks they name, over which steps."""

import json
import subprocess
import sys
import threading

import pytest
from rushlight.profiler import ProfilerAction, ProfilerActivity, profile, record_function, schedule

import rushlight as torch


def names(events):
    return {event.key: event.count for event in events}


def test_operators_and_blocks():
    x = torch.randn(4, 4, requires_grad=True)
    with profile(activities=[ProfilerActivity.CPU]) as p:
        with record_function("outer"), record_function("inner"):
            y = (x @ x).exp()
        y.sum().backward()
    found = names(p.key_averages())
    assert found["outer"] == found["inner"] == found["aten::exp"] == found["aten::sum"] == 1
    by_name = {event.key: event for event in p.key_averages()}
    assert by_name["outer"].cpu_time_total >= by_name["inner"].cpu_time_total >= by_name["aten::exp"].cpu_time_total
    outer = by_name["outer"]
    assert outer.self_cpu_time_total == pytest.approx(outer.cpu_time_total - by_name["inner"].cpu_time_total)
    table = p.key_averages().table(sort_by="cpu_time_total", row_limit=2)
    longest = max(by_name.values(), key=lambda event: event.cpu_time_total)
    assert table.splitlines()[3].strip().startswith(longest.key) and "Self CPU time total" in table


def test_operators_that_run_for_the_first_time_are_there():
    code = (
        "import rushlight as torch\nwith torch.profiler.profile() as p:\n  x = torch.ones(3, requires_grad=True)\n"
        "  (x.sin() @ x).backward()\nprint(*sorted(e.key for e in p.key_averages()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert {"aten::sin", "aten::cos", "aten::dot"} <= set(done.stdout.split()), done


def test_the_numbers_stay(tmp_path):
    def step():
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
        optimizer = torch.optim.Adam(model.parameters())
        for _ in range(5):
            optimizer.zero_grad()
            model(torch.randn(2, 3)).pow(2).sum().backward()
            optimizer.step()
        return [p.tolist() for p in model.parameters()]

    before = step()
    with torch.autograd.profiler.profile() as p:
        inside = step()
    assert before == inside == step()
    p.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    timed = [e for e in events if e["ph"] == "X" and e["cat"] != "Trace"]
    assert {"name", "ts", "dur"} <= set(timed[0]) and len(timed) == len(p.function_events)


def test_schedule():
    ready = []
    plan = schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=2)
    with profile(schedule=plan, on_trace_ready=lambda p: ready.append([e.trace_name for e in p.events()])) as p:
        for _ in range(12):
            torch.ones(1).exp()
            p.step()
    steps = [[name for name in names if name.startswith("ProfilerStep")] for names in ready]
    assert steps == [["ProfilerStep#3", "ProfilerStep#4"], ["ProfilerStep#7", "ProfilerStep#8"]]
    assert [names.count("aten::exp") for names in ready] == [2, 2]
    assert [plan(step) for step in (0, 1, 2, 3, 4, 9)] == [
        ProfilerAction.NONE, ProfilerAction.NONE, ProfilerAction.WARMUP, ProfilerAction.RECORD,
        ProfilerAction.RECORD_AND_SAVE, ProfilerAction.NONE,
    ]  # fmt: skip


def test_steps_are_one_row(tmp_path):
    with profile(schedule=schedule(wait=0, warmup=0, active=3, repeat=1), with_modules=True) as p:
        for _ in range(3):
            torch.ones(1).exp()
            p.step()
    assert {e.key: e.count for e in p.key_averages()} == {"ProfilerStep*": 3, "aten::exp": 3}
    p.export_chrome_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())
    steps = [e["name"] for e in trace["traceEvents"] if e.get("cat") == "user_annotation"]
    assert steps == ["ProfilerStep#0", "ProfilerStep#1", "ProfilerStep#2"] and trace["with_modules"] == 1


def test_memory_of_what_is_written_in_place():
    a = torch.ones(30, 20)
    with profile(profile_memory=True) as p:
        a.add_(1)
        a.mul(2).sum()
    used = {e.key: e.self_cpu_memory_usage for e in p.key_averages() if e.self_cpu_memory_usage}
    assert used.pop("[memory]") in (-2400, -2404)  # where the sum is one of NumPy's numbers its end is not seen
    assert used == {"aten::mul": 2400, "aten::sum": 4}


def test_memory_that_is_freed_is_subtracted_where_that_happens():
    """As in torch but for the four bytes of numbers."""
    a, b = torch.ones(30, 20), torch.ones(20, 10)
    with profile(profile_memory=True) as p:
        with record_function("both"):
            a @ b
        kept = a @ b
        freed = kept @ b.t()
        del freed
        viewed = kept[0]
        del kept
    found = {e.key: (e.count, e.cpu_memory_usage, e.self_cpu_memory_usage) for e in p.key_averages()}
    assert found["both"] == (1, 0, -1200) and found["[memory]"] == (1, -30 * 20 * 4, -30 * 20 * 4)
    assert found["aten::mm"][2] == 2 * 1200 + 2400 and viewed.shape == (10,)
    w = torch.ones(30, 20, requires_grad=True)
    with profile(profile_memory=True) as p:
        (w * 2).tanh().sum().backward()
    assert sum(e.self_cpu_memory_usage for e in p.events()) <= w.grad.nbytes + 4
    assert next(e for e in p.events() if e.name.endswith(": TanhBackward0")).self_cpu_memory_usage < 0
    del viewed  # a closed profile counts no more


def test_what_is_absent():
    with pytest.raises(NotImplementedError, match="experimental_config"):
        profile(experimental_config=object())
    with profile() as p:
        pass
    with pytest.raises(NotImplementedError, match="export_memory_timeline"):
        p.export_memory_timeline("memory.html")


def test_other_devices_are_left_out():
    with pytest.warns(UserWarning, match="CUDA is not available"):
        profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
    with record_function("outside"):  # does nothing
        pass


def test_handler(tmp_path):
    handler = torch.profiler.tensorboard_trace_handler(str(tmp_path), "me", use_gzip=True)
    with profile(on_trace_ready=handler):
        torch.ones(1).exp()
    (file,) = tmp_path.iterdir()
    assert file.name.startswith("me.") and file.name.endswith(".pt.trace.json.gz")


def test_shapes_memory_and_lines(tmp_path):
    a, b = torch.ones(30, 20), torch.ones(20, 10)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True, with_stack=True) as p:
        with record_function("both"):
            a @ b
        a @ b.sum(1)
    products = [e for e in p.key_averages(group_by_input_shape=True) if e.key in ("aten::mm", "aten::mv")]
    assert {e.key: e.input_shapes for e in products} == {"aten::mm": [[30, 20], [20, 10]], "aten::mv": [[30, 20], [20]]}
    block = next(e for e in p.key_averages() if e.key == "both")
    assert (block.cpu_memory_usage, block.self_cpu_memory_usage) == (0, -30 * 10 * 4)  # the product is gone
    first = next(e for e in p.events() if e.name == "aten::mm")
    assert first.stack[0].startswith(__file__) and first.cpu_memory_usage == 30 * 10 * 4
    table = p.key_averages(group_by_input_shape=True).table(sort_by="self_cpu_memory_usage", row_limit=3)
    assert "[[30, 20], [20, 10]]" in table and "1.17 KB" in table
    assert all(not e.input_shapes for e in p.key_averages())
    p.export_chrome_trace(tmp_path / "trace.json")
    assert "Input Dims" in (tmp_path / "trace.json").read_text()


def test_a_table_has_torchs_columns():
    with profile(activities=[ProfilerActivity.CPU]) as p:
        with record_function("a" * 60):
            torch.ones(2).exp()
        torch.ones(2).sin()
    rule, titles, _, *rows, _, last = p.key_averages().table(sort_by="count").splitlines()
    assert titles == "  ".join(
        title.rjust(width)
        for title, width in (
            ("Name", 55), ("Self CPU %", 12), ("Self CPU", 12), ("CPU total %", 12), ("CPU total", 12),
            ("CPU time avg", 12), ("# of Calls", 12),
        )
    ) + "  "  # fmt: skip
    assert {len(line) for line in (rule, titles, *rows)} == {55 + 6 * 14 + 2}
    assert rows[0].startswith("a" * 52 + "...  ") and last.startswith("Self CPU time total: ")
    text = p.key_averages().table(header="mine", row_limit=1, top_level_events_only=True, time_unit="us")
    head = ["=" * (len(rule) - 2)]
    assert text.splitlines()[:5] == [*head, "mine", *head, "This report only display top-level ops statistics", rule]
    outer = [e.key for e in p.key_averages() if e.cpu_parent is None]
    assert outer == ["a" * 60, "aten::sin"]
    assert text.splitlines()[-1].endswith("us")


def test_a_table_of_nothing_is_empty():
    with profile(activities=[ProfilerActivity.CPU]) as p:
        pass
    assert p.key_averages().table() == ""


def counts(p):
    return {e.key: e.count for e in p.key_averages()}


@pytest.mark.parametrize("steps", [0, 20])
def test_operators_are_those_that_torch_calls(steps):
    """Of a small network, forth and back, also where a program would do the pass by now. Counts and FLOPs: torch's."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    x = torch.randn(5, 3)
    for _ in range(steps):
        net.zero_grad()
        net(x).sum().backward()
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_flops=True) as p:
        net(x).sum().backward()
    found = {e.key: (e.count, e.flops) for e in p.key_averages()}
    assert {k: v for k, v in found.items() if k in ("aten::linear", "aten::addmm", "aten::mm", "aten::tanh", "aten::sum")} == {
        "aten::linear": (2, 0), "aten::addmm": (2, 160), "aten::mm": (3, 200), "aten::tanh": (1, 0), "aten::sum": (3, 0),
    }  # fmt: skip
    assert {k: v[0] for k, v in found.items() if "Backward" in k or "Accumulate" in k} == {
        f"{before}{name}": n
        for before in ("", "autograd::engine::evaluate_function: ")
        for name, n in {
            "SumBackward0": 1, "AddmmBackward0": 2, "TanhBackward0": 1, "torch::autograd::AccumulateGrad": 4,
        }.items()
    }  # fmt: skip
    assert [e.input_shapes for e in p.events() if e.key == "aten::addmm"] == [
        [[4], [5, 3], [3, 4], [], []],
        [[1], [5, 4], [4, 1], [], []],
    ]
    assert [e.cpu_parent.key for e in p.events() if e.key == "aten::addmm"] == ["aten::linear"] * 2
    assert "MFLOPs" not in p.key_averages().table() and "Total FLOPs" in p.key_averages().table()


F = torch.nn.functional
VIEWED_AS_T = ["aten::t", "aten::transpose", "aten::as_strided"]
CONVERTED = ["aten::to", "aten::_to_copy", "aten::copy_"]
CALLS = {  # what torch calls, without what only allocates
    "conv2d": (
        lambda t: F.conv2d(t.view(2, 1, 1, 3), torch.ones(1, 1, 1, 2)),
        ["aten::view", "aten::conv2d", "aten::convolution", "aten::_convolution", "aten::mkldnn_convolution"],
    ),
    "dropout": (lambda t: F.dropout(t, training=False), ["aten::dropout"]),
    "to": (lambda t: t.double(), CONVERTED),
    "flatten": (lambda t: t.flatten(), ["aten::flatten", "aten::view"]),
    "batch_norm": (
        lambda t: F.batch_norm(t, torch.zeros(3), torch.ones(3), training=True),
        ["aten::batch_norm", "aten::_batch_norm_impl_index", "aten::native_batch_norm"],
    ),
    "linear": (
        lambda t: F.linear(t, t, torch.ones(2)),
        [
            "aten::linear",
            *VIEWED_AS_T,
            "aten::addmm",
            "aten::expand",
            "aten::as_strided",
            "aten::copy_",
        ],
    ),
    "relu": (lambda t: t.relu(), ["aten::relu", "aten::clamp_min"]),
    "hardswish": (lambda t: F.hardswish(t), ["aten::hardswish"]),
    "max_pool2d": (
        lambda t: F.max_pool2d(t.view(1, 1, 2, 3), 2),
        ["aten::view", "aten::max_pool2d", "aten::max_pool2d_with_indices"],
    ),
    "softmax": (lambda t: t.softmax(-1), ["aten::softmax", "aten::_softmax"]),
    "layer_norm": (lambda t: F.layer_norm(t, (3,)), ["aten::layer_norm", "aten::native_layer_norm"]),
    "nll": (
        lambda t: F.cross_entropy(t, torch.tensor([0, 1])),
        [
            "aten::cross_entropy_loss",
            "aten::log_softmax",
            "aten::_log_softmax",
            "aten::nll_loss_nd",
            "aten::nll_loss",
            "aten::nll_loss_forward",
        ],
    ),
    "plain linear": (lambda t: F.linear(t, t), ["aten::linear", *VIEWED_AS_T, "aten::matmul", "aten::mm"]),
    "item": (lambda t: t[0, 1:], ["aten::select", "aten::as_strided", "aten::slice", "aten::as_strided"]),
    "row": (lambda t: t[0], ["aten::select", "aten::as_strided"]),
    "+=": (lambda t: t.add_(1), ["aten::add_", *CONVERTED]),
    "exp_": (lambda t: t.exp_(), ["aten::exp_"]),
    "clamp_": (lambda t: t.clamp_(0, 1), ["aten::clamp_"]),
    "lerp_": (lambda t: t.lerp_(torch.ones(2, 3), 0.5), ["aten::lerp_"]),
    "addcdiv_": (lambda t: t.addcdiv_(t, t), ["aten::addcdiv_"]),
    "masked_fill_": (lambda t: t.masked_fill_(t > 9, 0.0), ["aten::gt", "aten::masked_fill_"]),
    "copy_": (lambda t: t.copy_(torch.ones(3)), ["aten::copy_"]),
    "fill_": (lambda t: t.fill_(3), ["aten::fill_"]),
    "zero_": (lambda t: t.zero_(), ["aten::zero_"]),
    "normal_": (lambda t: t.normal_(), ["aten::normal_"]),
    "rand": (lambda t: torch.rand(3), ["aten::rand"]),
}


@pytest.mark.parametrize("name", CALLS)
def test_names_of_calls(name):
    run, expected = CALLS[name]
    for _ in range(3):  # a profile leaves nothing behind
        with profile(activities=[ProfilerActivity.CPU]) as p:
            run(torch.full((2, 3), 0.5))
    assert [e.name for e in p.events()] == expected


def test_a_matmul_of_more_dimensions():
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as p:
        torch.ones(2, 3, 4) @ torch.ones(2, 4, 5)
        torch.ones(2, 3, 4) @ torch.ones(4, 5)
        F.linear(torch.ones(2, 3, 4), torch.ones(5, 4), torch.ones(5))
        F.linear(torch.ones(3, 2, 4).transpose(0, 1), torch.ones(5, 4, requires_grad=True), torch.ones(5))
    flops = {e.key: (e.count, e.flops) for e in p.key_averages() if e.flops}
    assert flops == {"aten::bmm": (1, 240), "aten::mm": (2, 480), "aten::addmm": (1, 240)}


def test_calls_of_several_threads_find_their_nodes():
    def forth():
        results.append((torch.ones(3, requires_grad=True) * 2).exp().sum())

    results = []
    with profile(activities=[ProfilerActivity.CPU]) as p:
        threads = [threading.Thread(target=forth) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        torch.stack(results).sum().backward()
    visits = [e for e in p.events() if e.name.startswith("autograd::engine") and "Accumulate" not in e.name]
    calls = {e.sequence_nr: e.name for e in p.events() if e.scope == 0 and e.sequence_nr >= 0}
    assert len(visits) == 4 * 3 + 2
    assert {(e.name.rpartition(" ")[2], calls[e.sequence_nr]) for e in visits} == {
        ("MulBackward0", "aten::mul"), ("ExpBackward0", "aten::exp"), ("SumBackward0", "aten::sum"),
        ("StackBackward0", "aten::stack"),
    }  # fmt: skip


def test_flops_of_convolutions():
    """torch's: two for each product, of images only."""
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as p:
        F.conv2d(torch.ones(4, 6, 14, 14), torch.ones(16, 3, 5, 5), stride=2, padding=1, groups=2)
        F.conv1d(torch.ones(1, 1, 9), torch.ones(1, 1, 3))
        torch.ones(3, 5).mul(2).add(1)
    assert {e.key: e.flops for e in p.key_averages() if e.flops} == {
        "aten::conv2d": 2 * 4 * 6 * 6 * 25 * 3 * 16, "aten::mul": 15, "aten::add": 15,
    }  # fmt: skip


def test_a_function_of_the_program():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return F.linear(2 * ctx.saved_tensors[0] * g, torch.eye(3))  # the program calls it, so it is shown

    x = torch.ones(3, requires_grad=True)
    with profile(activities=[ProfilerActivity.CPU]) as p:
        Square.apply(x).sum().backward()
    assert [(e.name, e.cpu_parent and e.cpu_parent.name) for e in p.events() if e.name in ("aten::mul", "aten::linear") or "Sq" in e.name] == [
        ("Square", None), ("aten::mul", "Square"),
        ("autograd::engine::evaluate_function: SquareBackward", None),
        ("SquareBackward", "autograd::engine::evaluate_function: SquareBackward"),
        ("aten::mul", "SquareBackward"), ("aten::mul", "SquareBackward"), ("aten::linear", "SquareBackward"),
    ]  # fmt: skip


def test_what_torch_does_not_have_is_called_so():
    with profile(activities=[ProfilerActivity.CPU]) as p:
        torch.nn.LSTM(2, 3)(torch.ones(2, 1, 2))
    assert "rushlight::lstm_layer" in counts(p) and "aten::lstm_layer" not in counts(p)


def test_backward_is_one_operator_where_torch_has_one():
    """And a gradient is accumulated after the visit of the node that gave it: all as torch shows it."""
    x = torch.full((2, 3), 0.5, requires_grad=True)
    with profile(activities=[ProfilerActivity.CPU]) as p:
        for _ in range(2):
            F.hardswish(x).backward(x)
        F.hardswish(x).sum().backward()
    visit = "autograd::engine::evaluate_function: "
    shown = [
        (e.name, e.cpu_parent and e.cpu_parent.name)
        for e in p.events() if any(part in e.name for part in ("swish", "Accumulate", "add_", "detach", "ones_like"))
    ]  # fmt: skip
    leaf = "torch::autograd::AccumulateGrad"
    node = [(f"{visit}HardswishBackward0", None), ("HardswishBackward0", f"{visit}HardswishBackward0")]
    node += [("aten::hardswish_backward", "HardswishBackward0"), (f"{visit}{leaf}", None), (leaf, f"{visit}{leaf}")]
    assert shown == [
        ("aten::hardswish", None), *node, ("aten::detach", leaf), ("detach", "aten::detach"),
        ("aten::hardswish", None), *node, ("aten::add_", leaf),
        ("aten::hardswish", None), ("aten::ones_like", None), *node, ("aten::add_", leaf),
    ]  # fmt: skip


def test_errors_in_a_profile_are_those_without():
    def wrong():
        with pytest.raises(Exception) as caught:
            F.cross_entropy([1.0], torch.tensor([0]))
        return type(caught.value), str(caught.value)

    without = wrong()
    with profile() as p:
        assert wrong() == without
        torch.ones(2).exp()
    assert [e.cpu_parent for e in p.events() if e.name == "aten::exp"] == [None]


def test_steps_batches_and_replays():
    data = torch.utils.data.DataLoader(torch.arange(4.0), batch_size=2)
    p = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([p], lr=0.1)

    @torch.compile
    def f(x):
        return (x * 2 + 1).exp().sum()

    for _ in range(4):
        f(p)
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        for batch in data:
            optimizer.zero_grad()
            (p * batch).sum().backward()
            optimizer.step()
        f(p)
    found = counts(prof)
    assert found["enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"] == 3
    assert found["Optimizer.zero_grad#SGD.zero_grad"] == found["Optimizer.step#SGD.step"] == 2
    assert found["Torch-Compiled Region: f/0"] == 1 and "aten::exp" not in found


def test_a_trace_has_torchs_layout(tmp_path):
    x = torch.ones(3, requires_grad=True)
    p = profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_stack=True)
    with p, record_function("mine"):
        (x.exp() * 2).sum().backward()
    p.add_metadata("note", 'a "text"')
    p.add_metadata_json("numbers", "[1, 2]")
    p.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert {
        "schemaVersion", "deviceProperties", "trace_id", "with_stack", "record_shapes", "host_name", "displayTimeUnit",
        "baseTimeNanoseconds", "traceName", "traceEvents",
    } <= set(trace)  # fmt: skip
    assert trace["note"] == 'a "text"' and trace["numbers"] == [1, 2] and "with_flops" not in trace
    events = trace["traceEvents"]
    assert [e["name"] for e in events if e["ph"] == "M"] == [
        "process_name", "process_labels", "process_sort_index", "thread_name", "thread_sort_index",
    ]  # fmt: skip
    by_time = {(e["ph"], e["ts"]): e for e in events if e["ph"] == "X"}
    arrows = {}
    for e in events:
        if e.get("cat") == "fwdbwd":
            arrows.setdefault(e["id"], []).append(by_time["X", e["ts"]]["name"])
    engine = "autograd::engine::evaluate_function: "
    assert sorted(arrows.values()) == [
        ["aten::exp", f"{engine}ExpBackward0"],
        ["aten::mul", f"{engine}MulBackward0"],
        ["aten::sum", f"{engine}SumBackward0"],
    ]
    assert next(e for e in events if e["name"] == "mine")["cat"] == "user_annotation"


def test_stacks(tmp_path):
    def inner(x):
        return torch.linalg.inv(x)

    with profile(activities=[ProfilerActivity.CPU], with_stack=True) as p:
        inner(torch.eye(200))
    event = next(e for e in p.events() if e.name == "aten::linalg_inv_ex")
    assert [line.rsplit(": ", 1)[1] for line in event.stack[:2]] == ["inner", "test_stacks"]
    p.export_stacks(str(tmp_path / "stacks.txt"))
    lines = [line.rpartition(" ") for line in (tmp_path / "stacks.txt").read_text().splitlines()]
    assert all(int(microseconds) > 0 for calls, _, microseconds in lines if calls.split(";")[-1].endswith("inner"))
    assert any(calls.split(";")[-1].endswith("inner") for calls, _, _ in lines)
    with pytest.raises(ValueError, match="metric should be one of"):
        p.export_stacks(str(tmp_path / "stacks.txt"), "count")
    with profile() as without:
        pass
    with pytest.raises(AssertionError, match="with_stack"):
        without.export_stacks(str(tmp_path / "stacks.txt"))
