"""Gradients averaged over two processes, against one process that sees all."""

import pickle
import warnings
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest
from several import results_of

import rushlight as torch
import rushlight.distributed as dist
from rushlight import nn
from rushlight.nn.parallel import DataParallel, DistributedDataParallel, data_parallel, parallel_apply
from rushlight.utils.checkpoint import checkpoint


def network(seed):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2))


def batch(step):
    torch.manual_seed(100 + step)
    return torch.randn(8, 6), torch.randn(8, 2)


def train(model, part, steps=6):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(steps):
        x, y = batch(step)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x[part]), y[part]).backward()
        optimizer.step()
    return [p.detach().numpy() for p in model.parameters()]


def trained(rank, size):
    model = DistributedDataParallel(network(rank), bucket_cap_mb=0.0001)  # several buckets, other weights at the start
    return train(model, slice(rank, None, size))


def compiled(rank, size):
    """Trained with the wrapped network compiled, and with the whole step compiled; sums in a compiled function; programs."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        network_compiled = train(torch.compile(DistributedDataParallel(network(rank))), slice(rank, None, size))
        model = DistributedDataParallel(network(rank))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

        @torch.compile
        def one(x, y):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()

        for step in range(6):
            x, y = batch(step)
            one(x[rank::size], y[rank::size])

        total = torch.compile(lambda x: (dist.all_reduce(x), x)[1])
        sums = [total(torch.full((2,), float(rank + i))).tolist() for i in range(6)]
        unused = torch.compile(DistributedDataParallel(network(rank), find_unused_parameters=True))
        train(unused, slice(rank, None, size))
    eagerly = [str(w.message) for w in seen if "runs eagerly" in str(w.message)]
    programs = [sum(c.program is not None for c in function.captured) for function in (one, total)]
    return network_compiled, [p.detach().numpy() for p in model.parameters()], sums, eagerly, programs


def accumulated(rank, size):
    model = DistributedDataParallel(network(0))
    gradients = []
    with model.no_sync():
        for step in (0, 1):
            x, y = batch(step)
            nn.functional.mse_loss(model(x[rank::size]), y[rank::size]).backward()
            gradients.append(model.module[0].weight.grad.numpy().copy())
    x, y = batch(2)
    nn.functional.mse_loss(model(x[rank::size]), y[rank::size]).backward()
    return model.module[0].weight.grad.numpy(), gradients[-1]


CHANNELS_LAST_WAYS = "eager", "views", "compiled", "compiled views", "mixed", "large", "large compiled", "large mixed"


def channels_last(rank, size):
    """{way: [for each step, the gradients as (strides, elements)]} of weights in channels-last memory; `expected`: averages."""
    found = {}
    for way in ("expected", *CHANNELS_LAST_WAYS):
        torch.manual_seed(0)
        width = 128 if "large" in way else 4
        net = nn.Sequential(nn.Conv2d(3, width, 3), nn.ReLU(), nn.Conv2d(width, width, 3), nn.Conv2d(width, 2, 1))
        model = net.to(memory_format=torch.channels_last)
        if way != "expected":
            model = DistributedDataParallel(model, gradient_as_bucket_view="views" in way)

        def step(x, model=model):
            model.zero_grad()
            (model(x) ** 2).mean().backward()

        is_compiled = "compiled" in way or ("mixed" in way and rank == 1)
        function, steps = torch.compile(step) if is_compiled else step, []
        for i in range(4):
            torch.manual_seed(i)
            x = torch.randn(2 * size, 3, 6, 6).to(memory_format=torch.channels_last)
            function(x if way == "expected" else x[rank::size])
            weights = [p for p in net.parameters() if p.dim() == 4]
            assert all(p.grad.stride() == p.stride() for p in weights), (way, i)
            steps.append([p.grad.numpy().copy() for p in weights])
        found[way] = steps
    return found


def hooks_by_name(rank, size):
    """{name of a hook: the gradient of a step}"""
    from rushlight.distributed.algorithms import ddp_comm_hooks

    found = {}
    for kind in ddp_comm_hooks.DDPCommHookType:
        model = DistributedDataParallel(nn.Linear(2, 1))
        ddp_comm_hooks.register_ddp_comm_hook(kind, model)
        model(torch.full((1, 2), 1.0 + 2 * rank)).sum().backward()
        found[kind.name] = model.module.weight.grad.tolist()
    return found


class Large(nn.Module):
    """Parameters above ALONE_BYTES: gradients of one memory, of other strides, of a number, of a half that nothing uses."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.a, self.b, self.c, self.d, self.small = (nn.Parameter(torch.randn(n, 380) / 9) for n in (380,) * 4 + (1,))

    def forward(self, x):
        both = x @ (self.a + self.b)
        return (both * self.small).tanh().sum() + (x @ self.c.T).tanh().sum() + self.d.sum() * x[0, 0]


def large(rank, size):
    """{way: the gradients and digests of parameters in steps}; `expected`: of the averages of both losses' gradients."""
    found = {}
    group = dist.distributed_c10d._get_default_group()
    for way in ("expected", "eager", "views", "compiled", "unused", "eager far", "compiled far"):
        module = Large()
        group.is_local = (lambda: False) if "far" in way else partial(type(group).is_local, group)
        model = DistributedDataParallel(
            module, gradient_as_bucket_view=way == "views", find_unused_parameters=way == "unused"
        )
        model = module if way == "expected" else model
        optimizer = torch.optim.SGD(module.parameters(), lr=0.001)

        def step(x, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            model(x).backward()
            optimizer.step()

        call = torch.compile(step) if "compiled" in way else step
        kept = []
        for i in range(5):
            inputs = [torch.randn(7, 380, generator=torch.Generator().manual_seed(10 * i + r)) for r in range(size)]
            if way == "expected":
                gradients = [torch.autograd.grad(model(x), list(module.parameters())) for x in inputs]
                for p, *parts in zip(module.parameters(), *gradients, strict=True):
                    p.grad = sum(part / size for part in parts)
                optimizer.step()
            else:
                call(inputs[rank])
            kept.append([p.grad.numpy().copy() for p in module.parameters()])
        if "compiled" in way:
            assert call.captured[0].program is not None
        found[way] = kept, [p.detach().numpy().tobytes() for p in module.parameters()]
    return found


def large_accumulated(rank, size):
    """The gradients of a large parameter after a pass without averages and one with them, and the number of buckets."""
    model = DistributedDataParallel(nn.Linear(400, 400))
    for i, context in enumerate((model.no_sync(), nullcontext())):
        with context:
            model(torch.full((2, 400), rank + i + 1.0)).sum().backward()
    return model.module.weight.grad.unique().tolist(), len(model.reducer.buckets)


def buffers(rank, size):
    model = DistributedDataParallel(nn.BatchNorm1d(3))
    for step in range(3):
        model(torch.full((4, 3), float(rank)) + torch.arange(4.0)[:, None] + step)
    model(torch.zeros(4, 3))
    return model.module.running_mean.tolist() if rank == 0 else None


def hooks(rank, size):
    """{hook: the gradients of one step}, and what a hook of the program sees"""
    from rushlight.distributed.algorithms.ddp_comm_hooks import default_hooks

    seen = []

    def own(state, bucket: dist.GradBucket):
        seen.append((state, bucket.index(), bucket.is_last(), bucket.buffer().numel(), len(bucket.gradients())))
        assert [g.shape for g in bucket.gradients()] == [p.shape for p in bucket.parameters()]
        return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(lambda f: f.value()[0] * 10)

    wrapped = default_hooks.bf16_compress_wrapper(default_hooks.allreduce_hook)
    out = {}
    for name, hook in {**vars(default_hooks), "own": own, "wrapped": wrapped, "none": None}.items():
        if name.endswith("_hook") or name in ("own", "wrapped", "none"):
            model = DistributedDataParallel(network(0), bucket_cap_mb=0.0001)
            if hook is not None:
                model.register_comm_hook("state" if name == "own" else None, hook)
            x, y = batch(0)
            nn.functional.mse_loss(model(x[rank::size]), y[rank::size]).backward()
            out[name] = [p.grad.numpy() for p in model.parameters()]
    with pytest.raises(TypeError, match="must be callable"):
        model.register_comm_hook(None, 3)
    model.register_comm_hook(None, own)
    with pytest.raises(RuntimeError, match="can only be called once"):
        model.register_comm_hook(None, own)
    return out, seen


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.never = nn.Linear(2, 1), nn.Linear(2, 1), nn.Linear(2, 1)

    def forward(self, x, which):
        return self.a(x) if which == 0 else self.b(x)


def unused(rank, size):
    model = DistributedDataParallel(Branches(), find_unused_parameters=True)
    out = []
    for which in (rank, rank, 0):
        model.zero_grad()
        model(torch.full((1, 2), rank + 1.0), which).sum().backward()
        out.append([None if p.grad is None else p.grad.sum().item() for p in model.parameters()])
    plain = DistributedDataParallel(Branches())
    plain(torch.ones(1, 2), 0).sum().backward()
    with pytest.raises(RuntimeError, match="Expected to have finished reduction in the prior iteration"):
        plain(torch.ones(1, 2), 0)
    return out


def delayed(rank, size):
    """Averages that begin last, and arguments that do not fit."""
    inner = network(rank)
    named, hooked = list(inner.named_parameters())[:1], list(inner.parameters())[-1]
    model = DistributedDataParallel(inner, delay_all_reduce_named_params=named, param_to_hook_all_reduce=hooked)
    last = [p.shape for p in model.reducer.buckets[-1].parameters]
    for options in (
        {"delay_all_reduce_named_params": named},
        {"param_to_hook_all_reduce": hooked},
        {"delay_all_reduce_named_params": [("x", torch.ones(1))], "param_to_hook_all_reduce": hooked},
    ):
        with pytest.raises(ValueError, match="delay_all_reduce_named_params"):
            DistributedDataParallel(network(rank), **options)
    trained_late = train(model, slice(rank, None, size))
    return trained_late, last == [named[0][1].shape], len(model.reducer.buckets)


class Twice(nn.Module):
    """Whose layer is used outside of a reentrant checkpoint and within it, where another backward pass adds to its gradient."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(3, 3, bias=False)

    def forward(self, x):
        return checkpoint(self.layer, self.layer(x), use_reentrant=True)


LATE = -4.00703239, -5.60984516  # the gradients' sums, by torch; with static_graph in both processes the mean


def late_gradients(rank, size):
    """[the sum of the gradient, the warnings] without and with static_graph; with find_unused_parameters the error."""
    found = []
    for options in ({}, {"static_graph": True}, {"find_unused_parameters": True}):
        model = DistributedDataParallel(Twice(), **options)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            try:
                model(torch.full((2, 3), rank + 1.0, requires_grad=True)).sum().backward()
                found.append(model.module.layer.weight.grad.sum().item())
            except RuntimeError as error:
                found.append(str(error))
        found.append([str(w.message) for w in seen])
    return found


def forwards(rank, size):
    """Two passes, each of which begins with the first process's statistics, and one backward."""
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4)))
    x, _ = batch(rank)
    (model(x).square().mean() + model(2 * x).abs().mean()).backward()
    model.eval()
    (model(x).square().mean() + model(2 * x).abs().mean()).backward()
    step = torch.compile(lambda x: (model(x).square().mean() + model(2 * x).abs().mean()).backward())
    for _ in range(4):
        step(x)
    return model.module[1].weight.grad.tolist()


class Tables(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.linear = nn.Embedding(4, 2, sparse=True), nn.Linear(2, 1)

    def forward(self, i, looks_up):
        return self.linear(self.words(i) if looks_up else torch.ones(2)).sum()


def sparse_gradients(rank, size):
    """Of a table that one process, or none, looks up in; with uneven batches; in a compiled step; a dense one; other sizes."""
    torch.manual_seed(0)
    model = DistributedDataParallel(Tables(), find_unused_parameters=True)
    table, found = model.module.words.weight, []
    for looks_up in (rank == 1, False):
        table.grad = None
        model(torch.tensor([rank, 3]), looks_up).backward()
        found.append(None if table.grad is None else table.grad.to_dense().tolist())
    share = (model.module.linear.weight / size).tolist()[0]
    model = DistributedDataParallel(Tables())
    with model.join():
        for _ in range(1 + rank):
            model(torch.tensor([3]), True).backward()
            found.append(table_of(model))
            model.zero_grad()
    torch.manual_seed(0)
    weights = []
    for wraps in (lambda step: step, torch.compile):
        model = DistributedDataParallel(Tables())
        model.load_state_dict({k: torch.ones_like(v) for k, v in model.state_dict().items()})
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def step(i, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            model(i, True).backward()
            optimizer.step()

        run = wraps(step)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what leaves the program
            for i in range(6):
                run(torch.tensor([i % 4, rank]))
        weights.append([p.tolist() for p in model.parameters()])
    model.module.words.weight.register_hook(lambda g: g.to_dense())
    with pytest.raises(
        RuntimeError, match=r"words\.weight belongs to a module with sparse=True, and its gradient is dense"
    ):
        model(torch.tensor([1]), True).backward()
    with pytest.raises(RuntimeError, match=r"have other types or sizes than torch\.float32"):
        dist.all_reduce(torch.zeros(2 + rank, 2).to_sparse())
    return found, share, weights


def table_of(model):
    return model.module.words.weight.grad.to_dense()[3].tolist(), model.module.linear.weight.tolist()[0]


def own_hooks(rank, size):
    """What hooks of the program see, two passes long: with hooks that clamp, and that take the gradient away; kept gradients."""
    found = []
    for act in ("clamp", "take"):
        net = nn.Linear(2, 1)
        model, seen = DistributedDataParallel(net), []

        def hook(p, act=act, seen=seen):
            seen.append(p.grad.sum().item())
            p.grad = p.grad.clamp(-1, 1) if act == "clamp" else None

        for p in net.parameters():
            p.register_post_accumulate_grad_hook(hook)
        for _ in range(2):
            model(torch.full((1, 2), 1.0 + 2 * rank)).sum().backward()
        found.append((sorted(seen), [p.grad.tolist() for p in net.parameters()]))
    model = DistributedDataParallel(nn.Linear(2, 1), gradient_as_bucket_view=True)
    kept = []
    for _ in range(2):
        model.zero_grad(set_to_none=False)
        model(torch.full((1, 2), 1.0 + 2 * rank)).sum().backward()
        kept.append([p.grad for p in model.parameters()])
    return [*found, all(a is b for a, b in zip(*kept, strict=True))]


BUFFER_OPTIONS = (
    {}, {"forward_sync_buffers": False}, {"forward_sync_buffers": True}, {"broadcast_buffers": False}, {"init_sync": False},
    {"forward_sync_buffers": False, "broadcast_buffers": True}, {"check_reduction": True},
)  # fmt: skip


def buffers_taken(rank, size):
    """For each of the options: a buffer and one that states leave out, both the rank at first, after the start and a forward pass
    in which they are 10 more; whether the next one takes them, and the words of warnings."""
    found = []
    for options in BUFFER_OPTIONS:
        net = nn.Linear(1, 1)
        net.register_buffer("kept", torch.tensor(float(rank)))
        net.register_buffer("left_out", torch.tensor(float(rank)), persistent=False)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            model = DistributedDataParallel(net, **options)
        start = net.kept.item(), net.left_out.item()
        takes = model.will_sync_module_buffers()
        assert model.broadcast_buffers is model.forward_sync_buffers is takes
        with torch.no_grad():
            net.kept.fill_(rank + 10.0)
            net.left_out.fill_(rank + 10.0)
        model(torch.ones(1, 1))
        found.append((start, (net.kept.item(), net.left_out.item()), takes, [str(w.message)[:24] for w in seen]))
    model.broadcast_buffers = True
    found.append(
        (model.forward_sync_buffers, pickle.loads(pickle.dumps(model)).forward_sync_buffers, model.device_type)
    )
    return found


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return results_of(
        [
            trained,
            compiled,
            accumulated,
            hooks_by_name,
            channels_last,
            large,
            large_accumulated,
            buffers,
            hooks,
            unused,
            delayed,
            late_gradients,
            forwards,
            own_hooks,
            sparse_gradients,
            buffers_taken,
        ],
        2,
        tmp_path_factory.mktemp("ddp"),
    )


def test_training_equals_one_process(results):
    whole = train(network(0), slice(None))
    for parameter, first, second in zip(whole, *(result["trained"] for result in results), strict=True):
        assert np.array_equal(first, second)
        np.testing.assert_allclose(first, parameter, rtol=1e-4, atol=1e-6)


def test_compiled_functions_go_on_averaging(results):
    for rank, result in enumerate(results):
        by_network, by_step, sums, eagerly, programs = result["compiled"]
        for parameter, first, second in zip(results[0]["trained"], by_network, by_step, strict=True):
            np.testing.assert_allclose(first, parameter, rtol=1e-4, atol=1e-6)
            np.testing.assert_allclose(second, parameter, rtol=1e-4, atol=1e-6)
        assert sums == [[2 * i + 1.0] * 2 for i in range(6)]
        assert len(eagerly) == 1 and "find_unused_parameters" in eagerly[0], rank
        assert programs == [1, 1]


def test_two_forward_passes_before_backward(results):
    first, second = (result["forwards"] for result in results)
    assert first == second and all(abs(g) > 0.1 for g in first)


def test_sparse_gradients(results):
    (first, share, weights), (second, _, others) = (result["sparse_gradients"] for result in results)
    assert first[0] == second[0] == [[0, 0], pytest.approx(share), [0, 0], pytest.approx(share)]
    assert first[1] is second[1] is None  # nobody has looked up
    assert first[2] == second[2] and first[2][0] == pytest.approx(first[2][1])
    row, weight = second[3]  # of a pass that the other process takes part in without a batch
    assert row == pytest.approx([w / 2 for w in weight]) and len(first) == 3
    assert weights == others
    for eager, compiled in zip(*weights, strict=True):
        assert np.allclose(eager, compiled, rtol=1e-6)


def test_hooks_of_programs_come_before_averages(results):
    clamped, taken, stays = results[0]["own_hooks"]  # torch's numbers
    assert clamped == ([1.0, 2.0, 2.0, 4.0], [[[1.0, 1.0]], [1.0]])
    assert taken == ([1.0, 1.0, 2.0, 2.0], [[[0.0, 0.0]], [0.0]])
    assert stays


def test_delayed_averages_are_the_same(results):
    for result in results:
        values, is_last, buckets = result["delayed"]
        assert is_last and buckets == 2
        for late, plain in zip(values, result["trained"], strict=True):
            np.testing.assert_allclose(late, plain, rtol=1e-5, atol=1e-7)


def test_no_sync_accumulates(results):
    model, total = network(0), 0
    for step in (0, 1, 2):
        x, y = batch(step)
        model.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        total = total + model[0].weight.grad.numpy()
    (first, local), (second, other) = (result["accumulated"] for result in results)
    assert np.array_equal(first, second) and not np.array_equal(local, other)
    np.testing.assert_allclose(first, total, rtol=1e-4, atol=1e-6)


def test_buffers_follow_the_first_process(results):
    mean = 0.0
    for batch_mean in (1.5, 2.5, 3.5, 0.0):
        mean = 0.9 * mean + 0.1 * batch_mean
    np.testing.assert_allclose(results[0]["buffers"], [mean] * 3, rtol=1e-6)


def test_which_buffers_are_taken_and_when(results):
    for rank in range(2):
        r = float(rank)
        own, first, theirs = (r, r), (0.0, 0.0), (10.0, 10.0)
        mine = (r + 10, r + 10)
        assert results[rank]["buffers_taken"] == [
            (first, theirs, True, []),
            (first, mine, False, []),
            (first, theirs, True, []),
            (own, mine, False, ["`broadcast_buffers` is d"]),
            (own, theirs, True, []),
            (first, mine, False, ["Both `broadcast_buffers`"]),
            (first, theirs, True, ["The `check_reduction` ar"]),
            (True, True, "cpu"),
        ]


def test_communication_hooks(results):
    (first, seen), (second, _) = (result["hooks"] for result in results)
    assert set(first) == {"allreduce_hook", "fp16_compress_hook", "bf16_compress_hook", "own", "wrapped", "none"}
    assert seen == [("state", 0, False, 34, 2), ("state", 1, True, 112, 2)]
    for name, gradients in first.items():
        close = {"allreduce_hook": 1e-6, "none": 0, "own": 1e-6}.get(name, 1e-2)
        for g, other, plain in zip(gradients, second[name], first["none"], strict=True):
            assert np.array_equal(g, other)
            np.testing.assert_allclose(g, plain * 20 if name == "own" else plain, rtol=close, atol=close / 10)
    assert not np.array_equal(first["fp16_compress_hook"][0], first["none"][0])


def test_unused_parameters(results):
    halves = [1.0, 0.5, 2.0, 0.5, None, None]  # each branch was used by one process of two
    both = [3.0, 1.0, None, None, None, None]
    assert [result["unused"] for result in results] == [[halves, halves, both]] * 2


def test_a_gradient_that_comes_after_its_average(results):
    for result, own in zip(results, LATE, strict=True):
        plain, (warning,), static, nothing, error, _ = result["late_gradients"]
        assert plain == pytest.approx(own) and "layer.weight after its average was made" in warning
        assert static == pytest.approx(sum(LATE) / 2) and nothing == []
        assert "mark a variable ready only once" in error and "layer.weight" in error


def test_wrong_modules(tmp_path):
    with pytest.raises(ValueError, match="Default process group"):
        DistributedDataParallel(nn.Linear(1, 1))
    dist.init_process_group("gloo", f"file://{tmp_path}/meet", rank=0, world_size=1)
    try:
        with pytest.raises(RuntimeError, match="not needed when a module doesn't have any parameter that"):
            DistributedDataParallel(nn.ReLU())
        with pytest.raises(ValueError, match="device_ids and output_device"):
            DistributedDataParallel(nn.Linear(1, 1), device_ids=[0])
        with pytest.raises(NotImplementedError, match="mixed_precision"):
            DistributedDataParallel(nn.Linear(1, 1), mixed_precision=object())
        assert list(DistributedDataParallel(nn.Linear(1, 1)).state_dict()) == ["module.weight", "module.bias"]
    finally:
        dist.destroy_process_group()


def test_data_parallel_without_devices():
    model = network(0)
    wrapped = DataParallel(model, device_ids=[0, 1])
    x, _ = batch(0)
    assert torch.equal(wrapped(x), model(x)) and wrapped.device_ids == []
    assert next(iter(wrapped.state_dict())) == "module.0.weight"
    assert torch.equal(parallel_apply([model, model], [x, (x,)])[1], model(x))
    with pytest.raises(RuntimeError, match="device type could not be determined"):
        data_parallel(model, x, range(2))


def other_shapes(rank, size):
    """What processes hear whose modules differ in a shape, in the number of parameters, or in strides."""
    found = []
    formats = torch.contiguous_format, torch.channels_last
    other_strides = nn.Conv2d(3, 2, 3).to(memory_format=formats[rank])
    for module in (nn.Linear(3 + rank, 2), nn.Linear(3, 2, bias=not rank), other_strides):
        try:
            DistributedDataParallel(module)
            found.append("")
        except RuntimeError as error:
            found.append(str(error))
    return found


def test_shapes_are_compared_at_the_start(tmp_path):
    for result in results_of([other_shapes], 2, tmp_path):
        shape, number, strides = result["other_shapes"]
        assert "appears not to match strides of the same param in process 0" in strides
        assert "params[0] in this process" in shape and "in process 0" in shape
        assert "Rank 1 has 1 params" in number and "2 params" in number


def test_large_gradients_are_averaged_where_they_are(results):
    first, second = (result["large"] for result in results)
    for way in ("eager", "views", "compiled", "unused", "eager far", "compiled far"):
        assert first[way][1] == second[way][1], way
        for step, (got, expected) in enumerate(zip(first[way][0], first["expected"][0], strict=True)):
            for g, e in zip(got, expected, strict=True):
                np.testing.assert_allclose(g, e, rtol=2e-4, atol=2e-4, err_msg=f"{way}, step {step}")


def test_gradients_have_the_strides_of_their_parameters(results):
    first, second = (result["channels_last"] for result in results)
    for way in CHANNELS_LAST_WAYS:
        for step, (one, other) in enumerate(zip(first[way], second[way], strict=True)):
            for i, (a, b) in enumerate(zip(one, other, strict=True)):
                assert np.array_equal(a, b), (way, step)
                if "large" not in way:
                    np.testing.assert_allclose(a, first["expected"][step][i], rtol=1e-4, atol=1e-6, err_msg=way)
    for way in ("large compiled", "large mixed"):
        for one, other in zip(first["large"], first[way], strict=True):
            for a, b in zip(one, other, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6, err_msg=way)


def test_large_gradients_accumulate(results):
    # both passes of both processes: 2 rows of 1 and 2, of 2 and 3
    assert [result["large_accumulated"] for result in results] == [([8.0], 2)] * 2


def test_hooks_by_name(results):
    for rank, result in enumerate(results):
        found = result["hooks_by_name"]
        assert found.pop("NOOP") == [[1.0 + 2 * rank] * 2]
        assert len(found) == 7 and all(gradient == [[2.0] * 2] for gradient in found.values())
