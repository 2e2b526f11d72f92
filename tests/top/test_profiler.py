"""Profiles: which operators and blocks they name, over which steps."""

import json
import subprocess
import sys

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
    assert table.splitlines()[3].split()[0] == longest.key and "Self CPU time total" in table


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
    assert {"name", "ts", "dur"} <= set(events[0]) and len(events) == len(p.function_events)


def test_schedule():
    ready = []
    plan = schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=2)
    with profile(schedule=plan, on_trace_ready=lambda p: ready.append([e.name for e in p.events()])) as p:
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


@pytest.mark.parametrize("option", ["with_flops", "with_modules"])
def test_what_is_absent(option):
    with pytest.raises(NotImplementedError, match=option):
        profile(**{option: True})


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
    assert (block.cpu_memory_usage, block.self_cpu_memory_usage) == (30 * 10 * 4, 0)
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
