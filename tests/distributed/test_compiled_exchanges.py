"""Programs that exchange data with other processes: what they make, when they hold, and the same numbers as eager steps."""

import hashlib
import os
import signal
import warnings
from contextlib import nullcontext
from datetime import timedelta

import numpy as np
import pytest
from several import gather_by_files, results_of, started

import rushlight as torch
import rushlight.distributed as dist
from rushlight import nn
from rushlight.compile.ir.exchange import is_exchange
from rushlight.compile.jit import backward, module_calls
from rushlight.compile.jit.step import CompiledStep
from rushlight.compile.runtime import native
from rushlight.core.dispatch.extension_points import module_caller
from rushlight.core.jit_switch import jit
from rushlight.nn.parallel import DistributedDataParallel

STEPS = 1000


def network(size=6):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8, bias=False), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, size))


def batches(rank, steps, n=8):
    generator = torch.Generator().manual_seed(rank)
    return [torch.randn(n, 6, generator=generator) for _ in range(steps)]


def digest(model):
    """Of the parameters: statistics are those of each process's own batch until the next pass."""
    return hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest()


def programs(function):
    function = getattr(function, "forward", function)
    return sum(c.program is not None for c in function.captured) if isinstance(function, CompiledStep) else None


def trained(rank, steps, compiled, as_views=False):
    """A network with statistics, whose gradients travel in several buckets, accumulate in two passes and are clipped."""
    model = DistributedDataParallel(network(), bucket_cap_mb=0.0001, gradient_as_bucket_view=as_views)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)

    def step(x):
        optimizer.zero_grad()
        with model.no_sync():
            (model(x[:4]) ** 2).mean().backward()
        loss = ((model(x[4:]) - 1) ** 2).mean()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        return loss, norm

    function = torch.compile(step) if compiled else step
    for x in batches(rank, steps):
        loss, norm = function(x)
    own = (loss.item(), norm.item())
    return model, own, function


def many_steps(rank, size):
    found = {}
    for as_views in (False, True):
        expected, _, _ = trained(rank, 60, False, as_views)
        model, _, _ = trained(rank, 60, True, as_views)
        pairs = zip(expected.parameters(), model.parameters(), strict=True)
        found[f"difference {as_views}"] = max(float((p - q).detach().abs().max()) for p, q in pairs)
    model, (_, norm), function = trained(rank, STEPS, True)
    found |= {"digest": digest(model), "norm": norm, "programs": programs(function)}
    text = str(torch.compile.explain(function)(batches(rank, 1)[0]))
    found["explained"] = next(line for line in text.splitlines() if "exchanges" in line)
    return found


def where_they_are(rank, size):
    """Steps whose bucket is summed in the gradients' memory: all processes compiled, none, and one of them."""
    found = {}
    for name, compiled in (("all", True), ("none", False), ("one", rank == 0)):
        torch.manual_seed(0)
        conv = nn.Conv2d(3, 40, 3).to(memory_format=torch.channels_last)
        model = DistributedDataParallel(nn.Sequential(conv, nn.ReLU(), nn.Flatten(), nn.Linear(160, 9)))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def step(x, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            (model(x) ** 2).mean().backward()
            optimizer.step()

        function = torch.compile(step) if compiled else step
        generator = torch.Generator().manual_seed(rank)
        for _ in range(8):
            function(torch.randn(2, 3, 4, 4, generator=generator))
        found[name] = digest(model), [p.detach().numpy() for p in model.parameters()]
        if name == "all":
            (c,) = function.captured
            exchanges = [len(n.operands) for n in c.graph.nodes if is_exchange(n)]
            names = {n.record.name for n in c.graph.nodes if hasattr(n, "record")}
            found["nodes"] = exchanges, "cat" in names
    return found


def by_hand(rank, size):
    """Collectives in a compiled function: in order, on parts of tensors, in a subgroup, with results that nothing reads."""
    pair = dist.new_group([1, 0])
    kept = torch.zeros(3)

    def exchange(x, table):
        a = x * (rank + 1)
        dist.all_reduce(a, dist.ReduceOp.MAX)
        dist.broadcast(table[1], src=1)  # a row
        b = x + rank
        dist.all_reduce(b)  # nobody reads it
        dist.all_reduce(table[:, 0], group=pair)
        kept.add_(a)
        dist.broadcast(kept, src=0, group=pair)
        return a

    function = torch.compile(exchange)
    found = []
    for i in range(6):
        table = torch.full((2, 3), float(rank))
        found.append((function(torch.full((3,), i + 1.0), table).tolist(), table.tolist(), kept.tolist()))
    return found, programs(function)


def sharded_step(whole, part, x):
    """An update of this process's part of a tensor that all have: its gradient begins to travel while x is summed up."""
    own = torch.empty_like(part)
    work = dist.reduce_scatter_single(own, whole * x, async_op=True)
    total = x.sum(0, keepdim=True)
    summing = dist.all_reduce(total, async_op=True)
    told = x[:2] + 1
    telling = dist.broadcast(told, 1, async_op=True)
    work.wait()
    part.sub_(own, alpha=0.1)
    gathering = dist.all_gather_single(whole, part, async_op=True)
    telling.wait()
    gathering.wait()
    summing.wait(timedelta(seconds=50))
    assert summing.wait()  # again: nothing more
    return total, told


def onto_itself(whole, x):
    """What is sent is a part of what is written, and the other way round."""
    part = whole[2 * dist.get_rank() :][:2]
    part.copy_(x)
    dist.all_gather_single(whole, part)
    gathered = whole.clone()
    dist.reduce_scatter_single(part, whole)
    return gathered


def aliases(rank, size):
    """The gathered tensor and the summed one, in six calls eagerly, then compiled; and single numbers."""
    found = []
    for function in (onto_itself, torch.compile(onto_itself)):
        whole = torch.zeros(4, 2)
        found.append([(function(whole, torch.full((2, 2), rank + 1.0 + i)).tolist(), whole.tolist()) for i in range(6)])
    numbers = torch.zeros(2)
    dist.all_gather_single(numbers, torch.tensor(rank + 1.0))
    return *found, programs(function), numbers.tolist()


def in_halves(rank, size):
    """Collectives with async_op=True: eagerly, in programs, in the interpreter, and by one process in a program only."""
    found = []
    for way in ("eager", "program", "interpreter", "mixed"):
        with pytest.MonkeyPatch.context() as patch:
            if way == "interpreter":
                patch.setattr(native, "available", lambda: False)
            function = torch.compile(sharded_step) if way != "eager" else sharded_step
            whole = torch.arange(8.0).reshape(4, 2) + 1
            part = whole[2 * rank : 2 * rank + 2].clone()
            for i in range(7):
                x = torch.full((4, 2), float(rank + i + 1)) * (1 + rank * torch.arange(2.0))
                call = sharded_step if way == "mixed" and rank == i % 2 else function
                last = [t.tolist() for t in call(whole, part, x)]
            found.append((whole.tolist(), part.tolist(), last))
            if way == "program":
                text = str(torch.compile.explain(function)(whole, part, x))
                explained = next(line for line in text.splitlines() if "exchanges" in line)
                count = programs(function)
    return found, count, explained


def of_views(rank, size):
    """A sum of a tensor in another shape is under way while others are computed: in four calls eagerly, then compiled."""

    def step(x):
        y = x * 2
        work = dist.all_reduce(y.view(-1), async_op=True)
        z = torch.sort(torch.sort(x + 1).values * 3).values  # in the memory of others
        work.wait()
        return y.sum(), z.sum()

    x = torch.full((16, 16), rank + 1.0)
    return [[[t.item() for t in call(x)] for _ in range(4)] for call in (step, torch.compile(step))]


def left_under_way(rank, size):
    """What a program cannot repeat runs eagerly, and is right."""

    def escaping(x):
        return x, dist.all_reduce(x, async_op=True)

    def asking(x):
        work = dist.all_reduce(x, async_op=True)
        while not work.is_completed():
            pass
        assert work.is_success() and work.exception() is None and work.get_future().wait()[0] is x
        return x, work

    texts = []
    for function in (escaping, asking):
        compiled = torch.compile(function)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for i in range(5):
                x, work = compiled(torch.full((2,), float(rank + i)))
                assert work.wait() and x.tolist() == [2 * i + 1.0] * 2, (function, i, x)
        texts.append([str(w.message) for w in seen if "runs eagerly" in str(w.message)])
    return texts


def wrapped(rank, size):
    """`compile(DDP(net))`, within `no_sync()` and outside, with statistics: as the eager one."""
    found = []
    for compiled in (False, True):
        model = DistributedDataParallel(network())
        call = torch.compile(model) if compiled else model
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for i, x in enumerate(batches(rank, 16)):
            if i % 4 == 3:
                with model.no_sync():
                    (call(x) ** 2).mean().backward()
                continue
            (call(x) ** 2).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
        found.append([t.detach().numpy() for t in (*model.parameters(), *model.buffers())])
    return found, digest(model), programs(call)


def micro_batches(rank, size):
    """Two passes in no_sync() and one outside, each a call of a compiled function: three programs, which follow each other."""
    found = []
    for compiled in (False, True):
        model = DistributedDataParallel(network())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

        def pass_(x, model=model):
            loss = (model(x) ** 2).mean()
            loss.backward()
            return loss

        call = torch.compile(pass_) if compiled else pass_
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for i, x in enumerate(batches(rank, 36)):
                with model.no_sync() if i % 3 < 2 else nullcontext():
                    call(x)
                if i % 3 == 2:
                    optimizer.step()
                    optimizer.zero_grad()
        found.append([t.detach().numpy() for t in (*model.parameters(), *model.buffers())])
    return found, digest(model), programs(call), call.replays


def new_groups(rank, size):
    """A group that is destroyed and made again: the program of the old one is not used."""
    group = dist.new_group([0, 1])
    holder = {"group": group}

    def total(x):
        dist.all_reduce(x, group=holder["group"])
        return x

    function = torch.compile(total)
    found = [function(torch.tensor([1.0 + rank])).item() for _ in range(5)]
    before = programs(function)
    holder["group"] = dist.new_group([0, 1])
    dist.destroy_process_group(group)
    found += [function(torch.tensor([2.0 + rank])).item() for _ in range(5)]
    return found, before, programs(function)


def refused(rank, size):
    """What is decided anew in each pass runs eagerly, with one warning for each function."""
    texts = []
    for options in ({"find_unused_parameters": True}, {"static_graph": True}, {}):
        model = DistributedDataParallel(network(), **options)
        if not options:
            model.register_comm_hook(None, lambda state, bucket: _future(bucket))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

        def step(x, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            (model(x) ** 2).mean().backward()
            optimizer.step()

        function = torch.compile(step)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for x in batches(rank, 5):
                function(x)
        texts.append([str(w.message) for w in seen if "runs eagerly" in str(w.message)])
        texts.append(digest(model))
    return texts


def _future(bucket):
    return dist.all_reduce(bucket.buffer(), async_op=True).get_future()


def hook_later(rank, size):
    """A hook that is registered when there is a program: the next call does not use it."""
    model = DistributedDataParallel(network())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)

    def step(x):
        optimizer.zero_grad()
        (model(x) ** 2).mean().backward()
        optimizer.step()

    function = torch.compile(step)
    x = batches(rank, 1)[0]
    for _ in range(4):
        function(x)
    before, had = [p.grad.clone() for p in model.parameters()], programs(function)
    model.register_comm_hook(None, lambda state, bucket: _future(bucket))  # the sum in place of the average
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function(x)
    pairs = zip(before, model.parameters(), strict=True)
    return had, max(float((p.grad - 2 * g).abs().max()) for g, p in pairs)


def loops(rank, size):
    """Loops in which nothing is compiled by name: the backward is a program, and averages after it; a hook is called within."""
    found = []
    for jits in (True, False):
        model = DistributedDataParallel(network(), bucket_cap_mb=0.0001)
        if not jits:
            calls = []
            next(model.parameters()).register_post_accumulate_grad_hook(lambda p, calls=calls: calls.append(p.shape))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        before = len(backward._state.programs)
        for x in batches(rank, 12, 5):  # as in no other test: programs serve all that is alike
            optimizer.zero_grad()
            (model(x) ** 2).mean().backward()
            optimizer.step()
        made = sum(p.is_hooked for p in list(backward._state.programs)[before:])
        found.append((made, [p.detach().numpy() for p in model.parameters()]))
    return found, len(calls), digest(model)


class Branches(nn.Module):
    """Whose forward uses `extra` in some calls only."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.norm, self.second, self.extra = (
            nn.Linear(6, 9),
            nn.BatchNorm1d(9),
            nn.Linear(9, 5),
            nn.Linear(9, 5),
        )

    def forward(self, x, with_extra):
        x = torch.tanh(self.norm(self.first(x))).mul(2).relu()
        x = self.second(x) + (self.extra(x) if with_extra else 0)
        return x.sigmoid()


def modules_within(rank, size):
    """Loops in which the module within DistributedDataParallel is a program, with and without one whose parts change."""
    found = []
    for unused in (False, True):
        for on in (True, False):
            names = []
            module_calls.made.register(lambda calls, names=names: names.append(calls.__name__))
            search = module_calls.Search()
            search.called = lambda: None
            module_caller.register(search if on else None)
            jit.on = on
            model = DistributedDataParallel(Branches(), find_unused_parameters=unused)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
            for i, x in enumerate(batches(rank, 30, 7)):
                optimizer.zero_grad()
                out = model(x, not unused or i % 3 == 2)
                (out**2).mean().backward()
                optimizer.step()
            module_caller.register(None)
            found.append((names, [p.detach().numpy() for p in model.parameters()], digest(model)))
    jit.on = True
    return found


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    functions = [
        loops,
        many_steps,
        where_they_are,
        by_hand,
        in_halves,
        of_views,
        aliases,
        left_under_way,
        wrapped,
        micro_batches,
        new_groups,
        refused,
        hook_later,
        modules_within,
    ]  # loops: before other tapes count
    return results_of(functions, 2, tmp_path_factory.mktemp("exchanges"))


def test_a_thousand_steps(results):
    first, second = (result["many_steps"] for result in results)
    assert first["digest"] == second["digest"]
    assert first["norm"] == second["norm"]
    for found in (first, second):
        assert found["difference False"] < 2e-5 and found["difference True"] < 2e-5
        assert found["programs"] == 1
    # from the last parameter on, until 104 bytes are there; after a pass within no_sync() buffers are not broadcast
    assert "2 buckets of gradients (216, 256 bytes), 2 broadcast(src=0) (64, 8 bytes)" in first["explained"]


def test_gradients_are_summed_where_they_are(results):
    first, second = (result["where_they_are"] for result in results)
    for name in ("all", "none", "one"):
        assert first[name][0] == second[name][0]
        for p, q in zip(first[name][1], first["none"][1], strict=True):
            np.testing.assert_allclose(p, q, rtol=1e-5, atol=1e-6)
    assert first["nodes"] == ([0, 4, 0], False)


def test_collectives_by_hand(results):
    for rank, result in enumerate(results):
        found, count = result["by_hand"]
        assert count == 1
        total = [0.0] * 3
        for i, (a, table, kept) in enumerate(found):
            total = [t + 2 * (i + 1.0) for t in total]
            assert a == [2 * (i + 1.0)] * 3 and kept == total
            assert table == [[1.0, rank, rank], [2.0, 1.0, 1.0]]


def test_parts_of_a_tensor_are_exchanged_with_itself(results):
    for rank, result in enumerate(results):
        eager, compiled, count, numbers = result["aliases"]
        assert eager == compiled and count == 1 and numbers == [1, 2]
        rows = [[i + 1.0 + row // 2] * 2 for i in (5,) for row in range(4)]
        assert eager[5][0] == rows
        assert eager[5][1] == [[2 * r[0]] * 2 if row // 2 == rank else r for row, r in enumerate(rows)]


def test_collectives_in_halves(results):
    for result in results:
        (eager, *others), count, explained = result["in_halves"]
        assert others == [eager] * 3 and count == 1
        for name in (
            "reduce_scatter_tensor(SUM) (32 bytes)",
            "all_reduce(SUM) (8 bytes)",
            "all_gather_into_tensor (16 bytes)",
        ):
            assert name in explained
        (escaping,), (asking,) = result["left_under_way"]
        assert "wait() for all_reduce(SUM) comes after the compiled function has returned" in escaping
        assert "is_completed() of a torch.distributed call depends on how far it is" in asking


def test_sums_of_views_have_their_memory_until_the_end(results):
    for rank, result in enumerate(results):
        for found in result["of_views"]:
            assert found == [[6 * 256, 3 * (rank + 2) * 256]] * 4


def test_a_wrapped_network(results):
    for result in results:
        (eager, compiled), _, count = result["wrapped"]
        assert count and all(abs(a - b).max() < 1e-5 for a, b in zip(eager, compiled, strict=True))
    assert results[0]["wrapped"][1] == results[1]["wrapped"][1]


def test_passes_that_are_calls_of_a_compiled_function(results):
    for r in results:
        (eager, compiled), _, programs, replays = r["micro_batches"]
        assert programs == 3 and replays >= 36 - 3 * 2 - 1
        for a, b in zip(eager, compiled, strict=True):
            assert a == pytest.approx(b, rel=1e-4, abs=1e-6)
    assert results[0]["micro_batches"][1] == results[1]["micro_batches"][1]


def test_a_new_group(results):
    for result in results:
        found, before, after = result["new_groups"]
        assert found == [3.0] * 5 + [5.0] * 5
        assert before == 1 and after >= 1


def test_what_runs_eagerly(results):
    for result in results:
        texts = result["refused"]
        assert [len(said) for said in texts[::2]] == [1, 1, 1]
        assert all("find_unused_parameters, static_graph, a communication hook" in said[0] for said in texts[::2])
    assert results[0]["refused"][1::2] == results[1]["refused"][1::2]


def test_a_hook_after_the_program(results):
    for result in results:
        had, difference = result["hook_later"]
        assert had == 1 and difference < 1e-5


def test_loops_without_a_compiled_function(results):
    for result in results:
        ((made, first), (none, second)), calls, _ = result["loops"]
        assert (made, none, calls) == (2, 0, 12)  # of the plain tape, and of the one with the module's program
        assert all(abs(a - b).max() < 1e-5 for a, b in zip(first, second, strict=True))
    assert results[0]["loops"][2] == results[1]["loops"][2]


def test_modules_within_the_wrapper(results):
    for result in results:
        (always, a, _), (_, b, _), (sometimes, c, _), (_, d, _) = result["modules_within"]
        assert always == ["Branches"] and sometimes == ["Branches"] * 2
        assert all(abs(p - q).max() < 1e-5 for p, q in zip(a + c, b + d, strict=True))
    for one, other in zip(*(result["modules_within"] for result in results), strict=True):
        assert one[2] == other[2]


# ---------------------------------------------------------------------------------------------- a process that dies


def _until_death(rank, folder):
    dist.init_process_group("gloo", f"file://{folder}/meet", timedelta(seconds=60), world_size=2, rank=rank)
    model = DistributedDataParallel(network())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    @torch.compile
    def step(x):
        optimizer.zero_grad()
        (model(x) ** 2).mean().backward()
        optimizer.step()

    for i, x in enumerate(batches(rank, 40)):
        if i == 12:
            gather_by_files(rank, 2, folder)  # the other one has ended its step 11
            if rank == 1:
                os.kill(os.getpid(), signal.SIGKILL)
        try:
            step(x)
        except dist.DistBackendError as error:
            with open(f"{folder}/said", "w") as file:
                file.write(f"{programs(step)} {i} {error}")
            os._exit(7)


def test_death_of_a_process(tmp_path):
    processes = started(_until_death, (str(tmp_path),), 2).processes
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [7, -signal.SIGKILL]
    said = (tmp_path / "said").read_text()
    assert said.startswith("1 12 ") and "process 1" in said
