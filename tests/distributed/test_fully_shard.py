"""Modules whose parameters are spread over processes; numbers are torch 2.13's (`tests/golden/sharded.json`)."""

import copy
import json
import math
import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed import checkpoint
from rushlight.distributed.checkpoint import state_dict as states
from rushlight.distributed.fsdp import FSDPModule, _averages, fully_shard
from rushlight.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

sys.path.insert(0, str(Path(__file__).parent))
import sharded_cases as cases
from several import results_of

sys.path.pop(0)

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "sharded.json").read_text())
nn = torch.nn


def losses(rank, size):
    return {name: cases.losses(torch, name, rank, size) for name in cases.CASES}


def one_by_one(rank, size):
    """`losses` where each gradient travels by itself as soon as it is there."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(_averages, "_LARGE", 1)
        changed.setattr(_averages, "_UNIT", 1)
        return losses(rank, size)


def sent_early(rank, size):
    """Which gradients had travelled before backward left the unit, where one process does not use `a`, a Function has none for
    `b` here, `d` gets one by a pass within the pass as well, and `e` is frozen; and the whole gradients."""

    class NoGradient(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return None if not rank else 2 * g

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c, self.d, self.e = (nn.Parameter(torch.ones(3, 2) * i) for i in range(1, 6))
            self.e.requires_grad_(False)

        def inner(self, x):
            return x * self.d

        def forward(self, x):
            x = x * (self.a if rank else 1.0) + NoGradient.apply(self.b) * self.c + self.e
            x = torch.utils.checkpoint.checkpoint(self.inner, x, use_reentrant=True)
            return x * self.d

    early, found = [], []
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(_averages, "_LARGE", 1)
        changed.setattr(_averages, "_UNIT", 1)
        begin = _averages.Averages.begin
        names = lambda self: [member.name for member in self.parts]  # noqa: E731
        changed.setattr(_averages.Averages, "begin", lambda self: (early.append(names(self)), begin(self))[1])
        net = fully_shard(Net())
        for syncs in (True, False, True):
            net.set_requires_gradient_sync(syncs)
            net(torch.full((3, 2), rank + 1.0)).sum().backward()
            found.append([p.grad if p.grad is None else p.grad.full_tensor()[0, 0].item() for p in net.parameters()])
            if not syncs:
                continue
            net.zero_grad()
    return early, found


def surface(rank, size):
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 3))
    net = copy.deepcopy(plain)
    fully_shard(net[0])
    assert fully_shard(net) is net
    assert isinstance(net, FSDPModule) and type(net[:2]) is nn.Sequential and isinstance(net[0], nn.Linear)
    p, whole = net[0].weight, plain[0].weight
    found = {
        "text": (repr(net).splitlines()[:2], repr(p)[:21], repr(p)[repr(p).index("device") :]),
        "kinds": (type(p) is DTensor, isinstance(p, nn.Parameter), p.is_leaf, p.requires_grad, p.shape, p.stride()),
        "parts": {name: tuple(q.to_local().shape) for name, q in net.named_parameters()},
        "whole": torch.equal(p.full_tensor(), whole) and type(p.full_tensor()) is torch.Tensor,
        "state": {k: (type(v) is DTensor, v.requires_grad) for k, v in net.state_dict().items()},
    }
    output = net(torch.ones(2, 5))
    assert torch.equal(output, plain(torch.ones(2, 5)))
    inner, outer = net[0]._get_fsdp_state().unit, net._get_fsdp_state().unit
    found["after forward"] = (type(net[0].weight) is DTensor, type(net[2].weight), inner.is_whole, outer.is_whole)
    assert not inner.pages.array.any() and outer.pages.array.any()  # given back: zeros
    output.sum().backward()
    plain(torch.ones(2, 5)).sum().backward()
    assert type(p.grad) is DTensor and p.grad.placements == (Shard(0),)
    assert torch.allclose(p.grad.full_tensor(), whole.grad) and not outer.is_whole
    total = nn.utils.clip_grad_norm_(net.parameters(), 1e9)
    found["norm"] = (total.item(), float(total.full_tensor()), nn.utils.clip_grad_norm_(plain.parameters(), 1e9).item())
    optimizer = torch.optim.AdamW(net.parameters())
    optimizer.step()
    found["optimizer"] = {k: type(v).__name__ for k, v in optimizer.state[p].items()}
    assert optimizer.state[p]["exp_avg"].to_local().shape == p.to_local().shape
    net.unshard()
    found["unsharded"] = type(net[2].weight) is nn.Parameter
    net.load_state_dict(net.state_dict())
    net.reshard()
    net.double()
    assert net[2].weight.dtype is net(torch.ones(1, 5).double()).dtype is torch.float64
    return found


def refused(rank, size):
    net = fully_shard(nn.Linear(4, 4))
    p, tied = net.weight, nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    tied[1].weight = tied[0].weight
    fully_shard(tied[0])
    scalar = nn.Module()
    scalar.scale = nn.Parameter(torch.tensor(1.0))
    found = {}
    for name, call in {
        "twice": lambda: fully_shard(net),
        "list": lambda: fully_shard(nn.ModuleList([nn.Linear(1, 1)])),
        "tied": lambda: fully_shard(tied),
        "scalar": lambda: fully_shard(scalar),
        "meta": lambda: fully_shard(nn.Linear(1, 1, device="meta")),
        "mixed": lambda: p + torch.ones(4, 4),
        "matmul": lambda: p @ p,
        "index": lambda: p[0],
        "prod": lambda: p.prod(),
        "item": lambda: p.item(),
        "plain state": lambda: net.load_state_dict({"weight": torch.ones(4, 4), "bias": torch.ones(4)}),
        "copy": lambda: copy.deepcopy(net),
        "pickle": lambda: torch.save(net.state_dict(), "/dev/null"),
        "number": lambda: fully_shard(nn.Linear(1, 1), reshard_after_forward=2),
        "muon": lambda: (net(torch.ones(1, 4)).sum().backward(), torch.optim.Muon([p]).step()),
    }.items():
        with pytest.raises(Exception) as error:
            call()
        found[name] = (error.type.__name__, str(error.value))
    return found


def compiled(rank, size):
    """A compiled step with a sharded module runs eagerly, with a warning; a module that loops call is right as well."""
    found = {}
    for kind in ("eager", "step"):
        net = cases.shard(torch, "plain")
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = cases.batch(torch, "plain", rank, size)

        def step(x, y, net=net, optimizer=optimizer):
            optimizer.zero_grad()
            loss = cases.loss_of(torch, net, x, y)
            loss.backward()
            optimizer.step()
            return loss

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run = torch.compile(step) if kind == "step" else step
            found[kind] = [run(x, y).item() for _ in range(12)]
        found[f"{kind} warned"] = [str(w.message) for w in caught if "sharded" in str(w.message)]
    return found


def tensors(rank, size):
    mesh = dist.init_device_mesh("cpu", (size,))
    whole = torch.arange(14.0).view(7, 2)
    t = distribute_tensor(whole if not rank else torch.zeros(7, 2), mesh, [Shard(0)])
    same = distribute_tensor(whole * (rank + 1), mesh, [Replicate()])
    back = DTensor.from_local(t.to_local(), mesh, [Shard(0)])
    w = nn.Parameter(t)
    (w.full_tensor() ** 2).sum().backward()
    grad = w.grad
    w.grad = None
    (w.to_local() ** 2).sum().backward()
    return {
        "whole": torch.equal(t.full_tensor(), whole) and torch.equal(same.full_tensor(), whole),
        "back": back.shape == whole.shape and torch.equal(back.full_tensor(), whole),
        "grads": torch.equal(grad.full_tensor(), 2 * whole) and torch.equal(w.grad.full_tensor(), 2 * whole),
        "norms": [t.norm(p).item() for p in (1, 2, 3, float("inf"))],
        "sum": t.sum().item(),
        "mean": (t.mean().item(), t.mean().full_tensor().item(), same.mean().item()),
        "layouts": layouts(t, same, whole),
        "all and any": [bool(f) for f in ((t < 13).all(), (t < 14).all(), (t > 12).any(), (~(t < 14)).any())],
        "elements": torch.equal(((t + 1) * t / 2).full_tensor(), (whole + 1) * whole / 2),
        "state": torch.equal(torch.zeros_like(t).add_(t, alpha=2).full_tensor(), 2 * whole),
    }


def layouts(t, same, whole):
    """The same numbers in another layout."""
    everywhere, parts = t.redistribute(placements=[Replicate()]), same.redistribute(same.device_mesh, [Shard(0)])
    total = (t * 2).sum().redistribute(placements=[Replicate()])
    return (
        everywhere.placements == (Replicate(),) and torch.equal(everywhere.to_local(), whole),
        parts.placements == (Shard(0),) and torch.equal(parts.to_local(), t.to_local()),
        parts.shape == whole.shape and torch.equal(t.redistribute(placements=[Shard(0)]).to_local(), t.to_local()),
        total.to_local().item() == 2 * whole.sum().item(),
    )


def other_dimensions(rank, size):
    """Parts along any dimension are `chunk`'s, and go back to the whole and to parts along another one."""
    mesh, wrong = dist.init_device_mesh("cpu", (size,)), []
    for shape in ((5, 7), (2, 3, 4), (1, 4), (4, 1), (3,)):
        whole = torch.arange(1.0, 1 + math.prod(shape)).view(shape)
        for dim in range(-1, len(shape)):
            t = distribute_tensor(whole if not rank else torch.zeros(shape), mesh, [Shard(dim)])
            parts = whole.chunk(size, dim)
            mine = parts[rank] if rank < len(parts) else whole.narrow(dim, 0, 0)
            local = t.to_local()
            total = (t * 2).sum().full_tensor().item() == 2 * whole.sum().item()
            at_home = (
                torch.equal(local, mine)
                and local.stride() == mine.clone(memory_format=torch.contiguous_format).stride()
            )
            back = DTensor.from_local(local, mesh, [Shard(dim)])
            elsewhere = [t.redistribute(placements=[Shard(e)]).full_tensor() for e in range(len(shape))]
            if not (total and at_home and back.shape == whole.shape):
                wrong.append((shape, dim))
            if not all(torch.equal(whole, x) for x in (t.full_tensor(), back.full_tensor(), *elsewhere)):
                wrong.append((shape, dim, "whole"))
    w = nn.Parameter(distribute_tensor(whole.view(1, 3), mesh, [Shard(1)]))
    (w.full_tensor() ** 2).sum().backward()
    try:
        distribute_tensor(whole, mesh, [Shard(1)])
    except IndexError:
        return wrong, torch.equal(w.grad.full_tensor(), 2 * whole.view(1, 3)), w.grad.placements == (Shard(1),)


def switched(rank, size):
    """Methods that say when parameters are gathered, freed and averaged change no number: how far the losses are from the plain
    ones', and what is whole after a pass."""

    def trained(change):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 7), nn.Tanh(), nn.Linear(7, 3))
        for layer in net[::2]:
            fully_shard(layer)
        fully_shard(net)
        change(net)
        freed = []  # whether units are whole when their gradients are collected
        for layer in net[::2]:
            unit = layer._get_fsdp_state().unit
            unit.reduce = lambda unit=unit, plain=unit.reduce: (freed.append(unit.is_whole), plain())[1]
        optimizer, found = torch.optim.SGD(net.parameters(), lr=0.5), []
        for step in range(4):
            torch.manual_seed(10 * step + rank)
            loss = net(torch.randn(4, 5)).square().mean()
            loss.backward()
            whole = [layer._get_fsdp_state().unit.is_whole for layer in net[::2]]
            net.reshard()
            optimizer.step()
            optimizer.zero_grad()
            found.append(loss.item())
        assert freed and not any(freed)
        return np.array(found), whole

    def ahead(net):
        net[0].set_modules_to_forward_prefetch([net[2], net[4]])
        net[4].set_modules_to_backward_prefetch([net[2]])
        net.set_is_last_backward(True)
        for hint in (
            "unshard_in_backward",
            "force_sum_reduction_for_comms",
            "allocate_memory_from_process_group_for_comm",
        ):
            getattr(net, f"set_{hint}")(hint != "unshard_in_backward")
        for refused in ("all_reduce_hook", "custom_all_gather", "custom_reduce_scatter"):
            with pytest.raises(NotImplementedError, match=refused):
                getattr(net, f"set_{refused}")(print)

    def kept(net):
        net.set_reshard_after_forward(False)
        net.set_reshard_after_backward(False, recurse=False)

    plain, whole = trained(lambda net: None)
    found = {"plain": (0.0, whole)}
    for change in (ahead, kept):
        values, whole = trained(change)
        found[change.__name__] = (abs(values - plain).max(), whole)
    divided, _ = trained(
        lambda net: [m.set_gradient_divide_factor(1e9) for m in net.modules() if isinstance(m, FSDPModule)]
    )
    with pytest.raises(ValueError, match="reshard_after_forward should be a bool"):
        fully_shard(nn.Linear(2, 2)).set_reshard_after_forward(1)
    return found, abs(divided - plain).max() > 1e-3


def unused(rank, size):
    """A parameter that one process alone uses, and one that none does."""

    class Either(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = (nn.Linear(2, 2, bias=False) for _ in range(3))

        def forward(self, x):
            return self.a(x) if not rank else self.b(x)

    model = fully_shard(Either())
    model(torch.ones(1, 2)).sum().backward()
    a, b, c = (each.weight.grad for each in (model.a, model.b, model.c))
    return a.full_tensor().tolist(), b.full_tensor().tolist(), c


def written(rank, size):
    """A write to the parts between forward and backward, and what is left after the error."""
    net = fully_shard(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)), reshard_after_forward=True)
    output = net(torch.ones(1, 2))
    with torch.no_grad():
        net[1].weight.mul_(2.0)
    with pytest.raises(RuntimeError) as error:
        output.sum().backward()
    is_sharded = type(net[1].weight) is DTensor
    net(torch.ones(1, 2)).sum().backward()
    return str(error.value), is_sharded, net[1].weight.grad is not None


def updated_by_hooks(rank, size):
    """The parameters after steps of optimizers that post-accumulate hooks call, and after plain steps; the hooks' calls."""
    found, calls = [], []
    for by_hooks in (True, False):
        net = cases.shard(torch, "plain")
        optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in net.parameters()}

        def update(p, optimizers=optimizers):
            calls.append(type(p.grad).__name__)
            optimizers[p].step()
            optimizers[p].zero_grad()

        for p in net.parameters() if by_hooks else ():
            p.register_post_accumulate_grad_hook(update)
        x, y = cases.batch(torch, "plain", rank, size)
        for _ in range(3):
            for accumulates in (True, False):
                net.set_requires_gradient_sync(not accumulates)
                cases.loss_of(torch, net, x, y).backward()
            for optimizer in optimizers.values() if not by_hooks else ():
                optimizer.step()
                optimizer.zero_grad()
        net.reshard()
        found.append([p.full_tensor().tolist() for p in net.parameters()])
    return found, calls


def scaled(rank, size):
    """Scales, and whether a step changed the parameters, where one process's gradients are infinite in the second step."""
    net = cases.shard(torch, "plain")
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = cases.batch(torch, "plain", rank, size)
    scaler, found = torch.amp.GradScaler("cpu", init_scale=1024.0), []
    for step in range(3):
        before = [p.to_local().clone() for p in net.parameters()]
        optimizer.zero_grad()
        loss = cases.loss_of(torch, net, x, y)
        scaler.scale(loss * (float("inf") if step == rank == 1 else 1.0)).backward()
        scaler.step(optimizer)
        scaler.update()
        net.reshard()
        same = [torch.equal(b, p.to_local()) for b, p in zip(before, net.parameters()) if b.numel()]
        found.append((scaler.get_scale(), all(same)))
    return found


def checkpointed(rank, size):
    """What a checkpoint of two processes gives back in two."""
    net, optimizer = _trained(rank, size)
    model_state, optimizer_state = states.get_state_dict(net, optimizer)
    checkpoint.save({"model": model_state, "optimizer": optimizer_state}, checkpoint_id=_folder())
    other, its = _trained(rank, size, steps=0)
    _load(other, its)
    whole = states.get_model_state_dict(net, options=states.StateDictOptions(full_state_dict=True))
    again = cases.shard(torch, "conv")
    for p in again.parameters():
        p.detach().zero_()
    states.set_model_state_dict(again, whole, options=states.StateDictOptions(full_state_dict=True))
    full = states.get_optimizer_state_dict(net, optimizer, options=states.StateDictOptions(full_state_dict=True))
    third = torch.optim.AdamW(again.parameters(), lr=0.5)
    states.set_optimizer_state_dict(again, third, full, options=states.StateDictOptions(full_state_dict=True))
    same = all(torch.equal(a.full_tensor(), b.full_tensor()) for a, b in zip(net.parameters(), again.parameters()))
    moments = all(
        torch.equal(optimizer.state[a][k].full_tensor(), third.state[b][k].full_tensor())
        for a, b in zip(net.parameters(), again.parameters()) if optimizer.state[a] for k in ("exp_avg", "exp_avg_sq")
    )  # fmt: skip
    return {
        "bits": _bits(net, optimizer),
        "loaded": _bits(other, its),
        "full": (same, moments, third.param_groups[0]["lr"]),
    }


def loaded(rank, size):
    """What the checkpoint of two processes gives in another number of them."""
    net, optimizer = _trained(rank, size, steps=0)
    _load(net, optimizer)
    return _bits(net, optimizer)


def _folder():
    return os.environ["SHARDED_TEST_FOLDER"]


def _trained(rank, size, steps=3):
    net = cases.shard(torch, "conv")
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
    x, y = cases.batch(torch, "conv", rank, size)
    for _ in range(steps):
        cases.loss_of(torch, net, x, y).backward()
        optimizer.step()
        optimizer.zero_grad()
    return net, optimizer


def _load(net, optimizer):
    model_state, optimizer_state = states.get_state_dict(net, optimizer)
    state = {"model": model_state, "optimizer": optimizer_state}
    checkpoint.load(state, checkpoint_id=_folder())
    states.set_state_dict(net, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])


def _bits(net, optimizer):
    net.reshard()
    found = {name: p.full_tensor().detach().numpy().tobytes() for name, p in net.named_parameters()}
    for name, p in net.named_parameters():
        found |= {
            f"{name}.{k}": v.full_tensor().numpy().tobytes() for k, v in optimizer.state[p].items() if k != "step"
        }
    return found


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    functions = [
        losses,
        one_by_one,
        sent_early,
        surface,
        refused,
        unused,
        switched,
        written,
        compiled,
        tensors,
        other_dimensions,
        scaled,
        updated_by_hooks,
        checkpointed,
    ]
    folder = tmp_path_factory.mktemp("sharded")
    os.environ["SHARDED_TEST_FOLDER"] = str(folder / "saved")
    found = results_of(functions, 2, folder)
    found += results_of([loaded, other_dimensions], 3, tmp_path_factory.mktemp("three"))
    return found


def test_parts_along_any_dimension(results):
    """In two and in three processes."""
    assert [result["other_dimensions"] for result in results] == [([], True, True)] * 5


def test_when_parameters_are_gathered_and_freed(results):
    for result in results[:2]:
        assert result["switched"] == ({name: (0.0, [False] * 3) for name in ("plain", "ahead", "kept")}, True)


@pytest.mark.parametrize("travels", ["losses", "one_by_one"])
@pytest.mark.parametrize("name", cases.CASES)
def test_losses_are_torchs(name, travels, results):
    tolerance = 5e-3 if name == "mixed" else 2e-6
    for rank in range(2):
        found, expected = results[rank][travels][name], GOLDEN[name][rank]
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def test_gradients_travel_as_soon_as_they_are_there(results):
    """Those that all processes reach, from the last parameter on; what comes later, or in one process only, counts as well."""
    once, twice = [16.0, 48.0, 64.0, 148.0, None], [32.0, 96.0, 128.0, 296.0, None]
    for result in results[:2]:
        assert result["sent_early"] == ([["d", "c"]] * 2, [once, [None] * 5, twice])


def test_parameters_are_dtensors(results):
    mesh = "DeviceMesh((2,), 'cpu', stride=(1,))"
    for rank in range(2):
        found = results[rank]["surface"]
        assert found["text"] == (
            ["FSDPSequential(", "  (0): FSDPLinear(in_features=5, out_features=7, bias=True)"],
            "DTensor(local_tensor=",
            f"device_mesh={mesh}, placements=(Shard(dim=0),))",
        )
        assert found["kinds"] == (True, True, True, True, (7, 5), (5, 1))
        rows = (4, 2) if rank == 0 else (3, 1)
        assert found["parts"] == {
            "0.weight": (rows[0], 5), "0.bias": rows[:1], "2.weight": (rows[1], 7), "2.bias": rows[1:],
        }  # fmt: skip
        assert found["whole"] and found["unsharded"]
        assert found["state"] == dict.fromkeys(["0.weight", "0.bias", "2.weight", "2.bias"], (True, False))
        assert found["after forward"] == (True, nn.Parameter, False, True)
        assert found["norm"] == pytest.approx([found["norm"][2]] * 3)
        assert found["optimizer"] == {"step": "Tensor", "exp_avg": "DTensor", "exp_avg_sq": "DTensor"}


REFUSED = {
    "twice": ("AssertionError", "Each distinct composable distributed API can only be applied to a module once."),
    "list": ("ValueError", "fully_shard does not support containers that do not implement forward"),
    "tied": ("ValueError", "Parameter '1.weight' is shared with a parameter already managed by another FSDP group"),
    "scalar": ("ValueError", "fully_shard doesn't support scalar parameters. Change scale to a 1D tensor"),
    "meta": ("NotImplementedError", "has no values on the CPU"),
    "mixed": ("RuntimeError", "aten.add.Tensor got mixed torch.Tensor and DTensor, need to convert all torch.Tensor"),
    "matmul": ("NotImplementedError", "of a DTensor, of which this process has a part, is not implemented"),
    "index": ("NotImplementedError", "torch.select of a DTensor"),
    "prod": ("NotImplementedError", "torch.prod of a DTensor"),
    "item": ("RuntimeError", "a Tensor with 16 elements cannot be converted to Scalar"),
    "plain state": ("RuntimeError", "got mixed torch.Tensor and DTensor"),
    "copy": ("AssertionError", "FSDP does not support deepcopy. Please use state dict for serialization."),
    "pickle": ("NotImplementedError", "cannot be pickled: save it with torch.distributed.checkpoint"),
    "number": ("NotImplementedError", "reshard_after_forward=an integer"),
    "muon": ("NotImplementedError", "of a DTensor, of which this process has a part"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_out_of_reach_is_refused(name, results):
    for rank in range(2):
        kind, message = results[rank]["refused"][name]
        assert kind == REFUSED[name][0] and REFUSED[name][1] in message


def test_a_parameter_that_one_process_uses(results):
    for rank in range(2):
        assert results[rank]["unused"] == ([[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]], None)


def test_parts_written_between_forward_and_backward(results):
    for rank in range(2):
        message, is_sharded, has_gradient = results[rank]["written"]
        assert "has been modified by an inplace operation" in message and is_sharded and has_gradient


def test_compiled_steps_run_eagerly(results):
    for rank in range(2):
        found = results[rank]["compiled"]
        assert len(found["step warned"]) == 1 and not found["eager warned"]
        np.testing.assert_allclose(found["step"], found["eager"], rtol=1e-6)
        assert found["step"][-1] < found["step"][0] / 2


def test_tensors_of_parts(results):
    whole = np.arange(14.0)
    norms = [np.linalg.norm(whole, p) for p in (1, 2, 3, np.inf)]
    for rank in range(2):
        found = results[rank]["tensors"]
        assert found.pop("norms") == pytest.approx(norms) and found.pop("sum") == 91.0
        assert found.pop("all and any") == [False, True, True, False]
        assert found.pop("mean") == (6.5, 6.5, 6.5) and found.pop("layouts") == (True,) * 4
        assert all(found.values()), found


def test_post_accumulate_hooks_of_parts(results):
    for rank in range(2):
        (by_hooks, plain), called = results[rank]["updated_by_hooks"]
        assert by_hooks == plain and called == ["DTensor"] * 48  # 16 parameters are used


def test_all_skip_a_step_whose_gradients_are_infinite_in_one(results):
    for rank in range(2):
        assert results[rank]["scaled"] == [(1024.0, False), (512.0, True), (512.0, False)]


def test_checkpoints_at_another_number_of_processes(results):
    for rank in range(2):
        found = results[rank]["checkpointed"]
        assert found["bits"] == found["loaded"] == results[2]["loaded"] == results[4]["loaded"]
        assert found["full"] == (True, True, 0.1) and any("exp_avg_sq" in name for name in found["bits"])


@pytest.mark.parametrize("width, times", [(600, 1), (8, 0)])
def test_memory_of_gradients_is_given_back(tmp_path, monkeypatch, width, times):
    """Where it is much: gaps of the heap would stay, which the next unit's gradients do not fit into."""
    from rushlight.compile.runtime import heap

    calls = []
    monkeypatch.setattr(heap, "give_back", lambda: calls.append(1))
    dist.init_process_group("gloo", f"file://{tmp_path}/meet", rank=0, world_size=1)
    try:
        model = fully_shard(nn.Linear(width, width))
        model(torch.ones(2, width)).sum().backward()
        assert len(calls) == times and model.weight.grad.full_tensor()[0, 0].item() == 2
    finally:
        dist.destroy_process_group()
