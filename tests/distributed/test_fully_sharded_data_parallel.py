"""Modules with flat parameters; numbers, names and shapes are torch 2.13's with gloo in two processes."""

import json
import os
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import rushlight as torch
from rushlight.distributed import checkpoint, fsdp
from rushlight.distributed.checkpoint.state_dict import get_state_dict
from rushlight.distributed.fsdp import FullyShardedDataParallel as FSDP
from rushlight.distributed.fsdp import StateDictType, _averages, wrap
from rushlight.distributed.tensor import DTensor

sys.path.insert(0, str(Path(__file__).parent))
import sharded_cases as cases
from several import results_of

sys.path.pop(0)

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "sharded.json").read_text())
nn = torch.nn


def losses(rank, size):
    return {name: cases.losses(torch, name, rank, size) for name in cases.FLAT_CASES}


def one_by_one(rank, size):
    """`losses` where each gradient travels by itself as soon as it is there."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(_averages, "_LARGE", 1)
        changed.setattr(_averages, "_UNIT", 1)
        return losses(rank, size)


def _model(originals, **options):
    torch.manual_seed(0)
    inner = FSDP(nn.Linear(5, 7), use_orig_params=originals, **options)
    net = nn.Sequential(inner, nn.BatchNorm1d(7), nn.ReLU(), nn.Linear(7, 3))
    return FSDP(net, use_orig_params=originals, **options)


def _shapes(items):
    return {name: tuple(value.shape) for name, value in items}


def surface(rank, size):
    found = {}
    for originals in (False, True):
        net = _model(originals)
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
        torch.manual_seed(1)
        net(torch.randn(4, 5)).sum().backward()
        grads = {name: None if p.grad is None else tuple(p.grad.shape) for name, p in net.named_parameters()}
        shapes = _shapes(net.named_parameters())
        optimizer.step()
        with FSDP.summon_full_params(net):
            summoned = _shapes(net.named_parameters())
            net.module[3].bias.data.fill_(5.0)
        with FSDP.state_dict_type(net, StateDictType.FULL_STATE_DICT, fsdp.FullStateDictConfig(rank0_only=True)):
            first_only = _shapes(net.state_dict().items())
        with FSDP.state_dict_type(net, StateDictType.SHARDED_STATE_DICT):
            spread = net.state_dict()
        with FSDP.state_dict_type(net, StateDictType.LOCAL_STATE_DICT):
            local = net.state_dict()
        whole = net.state_dict()
        same = all(torch.equal(v.full_tensor(), whole[k]) for k, v in spread.items() if type(v) is DTensor)
        by_name = FSDP.optim_state_dict(net, optimizer)
        found[originals] = {
            "shapes": shapes, "grads": grads, "summoned": summoned, "first only": first_only, "local": _shapes(local.items()),
            "whole": _shapes(whole.items()), "same": same, "written": whole["3.bias"].tolist(),
            "spread": {k: tuple(v.to_local().shape) for k, v in spread.items() if type(v) is DTensor},
            "states": {k: _shapes(v.items()) for k, v in by_name["state"].items()},
            "names": by_name["param_groups"][0]["params"],
            "to load": {
                k: _shapes(v.items()) for k, v in FSDP.optim_state_dict_to_load(net, optimizer, by_name)["state"].items()
            },
        }  # fmt: skip
        inner = net.module[0]
        found[originals]["roots"] = (net.check_is_root(), inner.check_is_root(), len(FSDP.fsdp_modules(net)))
        assert not inner._unit.memory.any()  # given back
        for kind in StateDictType:  # each state loads into another model
            with FSDP.state_dict_type(net, kind):
                state = net.state_dict()
            other = _model(originals)
            with FSDP.state_dict_type(other, kind):
                for p in other.parameters():
                    p.data.zero_()
                other.load_state_dict(state)
            again = other.state_dict()
            assert all(torch.equal(again[k], v) for k, v in whole.items()), kind
        with pytest.raises(RuntimeError, match=r"Missing key\(s\) in state_dict: \"3.bias\"") as error:
            other.load_state_dict({k: v for k, v in whole.items() if k != "3.bias"} | {"5.x": torch.ones(1)})
        assert '5.x"' in str(error.value)
        with pytest.raises(RuntimeError, match=r"size mismatch for 3\.bias"):
            other.load_state_dict(whole | {"3.bias": torch.ones(4)})
    return found


def cast_arguments(rank, size):
    """[the argument's type in the outermost module, which has no parameters of its own, in each of two steps] by its option."""
    found = []
    for casts in (True, False):
        options = {"param_dtype": torch.bfloat16, "cast_root_forward_inputs": casts, "cast_forward_inputs": True}
        net = nn.Sequential(nn.Identity(), nn.Linear(4, 4))
        policy = wrap.ModuleWrapPolicy({nn.Linear})
        model = FSDP(net, auto_wrap_policy=policy, mixed_precision=fsdp.MixedPrecision(**options), use_orig_params=True)
        seen = []
        net[0].register_forward_pre_hook(lambda module, args, seen=seen: seen.append(args[0].dtype))
        for _ in range(2):
            model(torch.ones(2, 4)).sum().backward()
        found.append(seen)
    return found


def refused(rank, size):
    net, found = _model(False), {}
    mixed = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2).double())
    frozen = nn.Linear(2, 2)
    frozen.bias.requires_grad_(False)
    for name, call in {
        "hybrid": lambda: FSDP(
            nn.Linear(1, 1), None, fsdp.ShardingStrategy.HYBRID_SHARD, auto_wrap_policy=wrap.always_wrap_policy
        ),
        "types": lambda: FSDP(mixed),
        "frozen": lambda: FSDP(frozen),
        "inner clip": lambda: net.module[0].clip_grad_norm_(1.0),
        "double": lambda: net.double(),
        "outline": lambda: net.module[3].weight + torch.ones(3, 7),
        "config": lambda: FSDP.set_state_dict_type(net, StateDictType.FULL_STATE_DICT, fsdp.LocalStateDictConfig()),
        "wrapped": lambda: FSDP(net, auto_wrap_policy=wrap.always_wrap_policy),
        "hook": lambda: net.register_comm_hook(None, print),
        "helpers": lambda: get_state_dict(net, torch.optim.SGD(net.parameters())),
    }.items():
        net.check_is_root()
        with pytest.raises(Exception) as error:
            call()
        found[name] = (error.type.__name__, str(error.value))
    return found


def warned(rank, size):
    """What is said, and the strategy of a process alone."""
    alone = [torch.distributed.new_group([i]) for i in range(size)][rank]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        net = FSDP(nn.Linear(2, 2), sharding_strategy=fsdp.ShardingStrategy.NO_SHARD)
        FSDP.set_state_dict_type(net, StateDictType.FULL_STATE_DICT)
        one = FSDP(nn.Linear(2, 2), alone)
    assert all(w.filename == __file__ for w in caught)
    return [(w.category.__name__, str(w.message)[:74]) for w in caught], one.sharding_strategy.name


def wrapped(rank, size):
    """Which modules the policies take."""

    def names(policy, **options):
        net, _ = cases.make(torch, "plain")
        return [type(m.module).__name__ for m in FSDP.fsdp_modules(FSDP(net, auto_wrap_policy=policy, **options))]

    block = type(cases.make(torch, "plain")[1][0])
    by_name = lambda m: type(m).__name__ == "Block"  # noqa: E731
    with wrap.enable_wrap(wrapper_cls=FSDP, use_orig_params=True):
        inside = wrap.wrap(nn.Linear(2, 2))
    return {
        "size": names(partial(wrap.size_based_auto_wrap_policy, min_num_params=150)),
        "function": names(partial(wrap.lambda_auto_wrap_policy, lambda_fn=by_name)),
        "custom": names(wrap.CustomPolicy(lambda m: {"use_orig_params": True} if by_name(m) else False)),
        "always": len(names(wrap.always_wrap_policy)),
        "classes": len(names(partial(wrap.transformer_auto_wrap_policy, transformer_layer_cls={block}))),
        "inside": (
            type(inside) is FSDP,
            list(_shapes(inside.named_parameters())),
            type(wrap.wrap(nn.ReLU())) is nn.ReLU,
        ),
    }


def saved(rank, size):
    net, optimizer = _trained(rank, size)
    checkpoint.save(_spread(net, optimizer), checkpoint_id=os.environ["SHARDED_TEST_FOLDER"])
    return _bits(net, optimizer)


def loaded(rank, size):
    """What the checkpoint of two processes gives in three, with parameters of the other kind."""
    net, optimizer = _trained(rank, size, "flat conv originals", steps=1)
    state = _spread(net, optimizer)
    checkpoint.load(state, checkpoint_id=os.environ["SHARDED_TEST_FOLDER"])
    with FSDP.state_dict_type(net, StateDictType.SHARDED_STATE_DICT):
        net.load_state_dict(state["model"])
        optimizer.load_state_dict(FSDP.optim_state_dict_to_load(net, optimizer, state["optimizer"]))
    return _bits(net, optimizer)


def _trained(rank, size, name="flat conv", steps=3):
    net = cases.shard(torch, name)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
    x, y = cases.batch(torch, "conv", rank, size)
    for _ in range(steps):
        cases.loss_of(torch, net, x, y).backward()
        optimizer.step()
        optimizer.zero_grad()
    return net, optimizer


def _spread(net, optimizer):
    with FSDP.state_dict_type(net, StateDictType.SHARDED_STATE_DICT):
        return {"model": net.state_dict(), "optimizer": FSDP.optim_state_dict(net, optimizer)}


def _bits(net, optimizer):
    found = {k: v.numpy().tobytes() for k, v in net.state_dict().items() if "running" not in k}
    for name, values in FSDP.optim_state_dict(net, optimizer)["state"].items():
        found |= {f"{name}.{k}": v.numpy().tobytes() for k, v in values.items()}
    return found


def older_states(rank, size):
    """States of optimizers by torch's older names: how far training goes on as it would have, by each way of loading; which keys,
    and which warnings."""
    found = {}
    for originals in (False, True):
        net, optimizer = _older(originals)
        _go_on(net, optimizer, rank)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            whole = FSDP.full_optim_state_dict(net, optimizer, rank0_only=False)
            first = FSDP.full_optim_state_dict(net, optimizer)
            rows = FSDP.sharded_optim_state_dict(net, optimizer)
        assert [w.category for w in caught] == [FutureWarning] * 3
        found["kinds"] = (len(first), len(whole["state"]), type(rows["state"]["0.weight"]["exp_avg"]) is DTensor)
        numbered = FSDP.rekey_optim_state_dict(whole, fsdp.OptimStateKeyType.PARAM_ID, _plain())
        named = FSDP.rekey_optim_state_dict(numbered, fsdp.OptimStateKeyType.PARAM_NAME, _plain())
        found["keys"] = (sorted(numbered["state"]), numbered["param_groups"][0]["params"], sorted(named["state"]))
        state = net.state_dict()
        expected = _go_on(net, optimizer, rank)
        for name, load in {
            "shard": lambda net, o, whole=whole: FSDP.shard_full_optim_state_dict(whole, net, optim=o),
            "shard all": lambda net, o, whole=whole: FSDP.shard_full_optim_state_dict(whole, net),
            "input": lambda net, o, whole=whole: FSDP.shard_full_optim_state_dict(
                whole, net, optim_input=[{"params": list(net.parameters())}]
            ),
            "scatter": lambda net, o, first=first: FSDP.scatter_full_optim_state_dict(first or None, net),
            "rows": lambda net, o, rows=rows: FSDP.flatten_sharded_optim_state_dict(rows, net, o),
        }.items():
            again, other = _older(originals)
            again.load_state_dict(state)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)
                other.load_state_dict(load(again, other))
            found[name, originals] = _go_on(again, other, rank) == expected
    with warnings.catch_warnings(), pytest.raises(ValueError, match="has 1 groups of parameters, the optimizer has 2"):
        warnings.simplefilter("ignore", FutureWarning)
        groups = [{"params": [p]} for p in net.parameters()][:2]
        FSDP.shard_full_optim_state_dict(whole, net, optim_input=groups)
    with pytest.raises(ValueError, match="Invalid parameter keys"):
        mixed = {"state": {0: {}, "a": {}}, "param_groups": []}
        FSDP.rekey_optim_state_dict(mixed, fsdp.OptimStateKeyType.PARAM_ID, _plain())
    return found


def _plain():
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3))


def _older(originals):
    torch.manual_seed(3)
    net = _plain()
    net[0] = FSDP(net[0], use_orig_params=originals)
    net = FSDP(net, use_orig_params=originals)
    return net, torch.optim.AdamW(net.parameters(), lr=0.01)


def _go_on(net, optimizer, rank):
    torch.manual_seed(rank)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = net(torch.randn(4, 5)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("flat")
    os.environ["SHARDED_TEST_FOLDER"] = str(folder / "saved")
    found = results_of(
        [losses, one_by_one, older_states, surface, cast_arguments, refused, warned, wrapped, saved], 2, folder
    )
    return found + results_of([loaded], 3, tmp_path_factory.mktemp("three"))


@pytest.mark.parametrize("travels", ["losses", "one_by_one"])
@pytest.mark.parametrize("name", cases.FLAT_CASES)
def test_losses_are_torchs(name, travels, results):
    tolerance = 5e-3 if "mixed" in name else 2e-6
    for rank in range(2):
        np.testing.assert_allclose(results[rank][travels][name], GOLDEN[name][rank], rtol=tolerance, atol=tolerance)


def test_optimizers_states_by_older_names(results):
    names = ["0.bias", "0.weight", "2.bias", "2.weight"]
    for rank in range(2):
        found = results[rank]["older_states"]
        assert found.pop("kinds") == (0 if rank else 2, 4, True)
        assert found.pop("keys") == ([0, 1, 2, 3], [0, 1, 2, 3], names)
        assert len(found) == 10 and all(found.values()), found


PLAIN = {"0.weight": (7, 5), "0.bias": (7,), "1.weight": (7,), "1.bias": (7,), "3.weight": (3, 7), "3.bias": (3,)}
BUFFERS = {"1.running_mean": (7,), "1.running_var": (7,), "1.num_batches_tracked": ()}
ROWS = [
    {"0.weight": (4, 5), "0.bias": (4,), "1.weight": (4,), "1.bias": (4,), "3.weight": (2, 7), "3.bias": (2,)},
    {"0.weight": (3, 5), "0.bias": (3,), "1.weight": (3,), "1.bias": (3,), "3.weight": (1, 7), "3.bias": (1,)},
]
INSIDE = "_fsdp_wrapped_module."
PIECES = [
    {"0.weight": (22,), "0.bias": (0,), "1.weight": (7,), "1.bias": (7,), "3.weight": (6,), "3.bias": (0,)},
    {"0.weight": (13,), "0.bias": (7,), "1.weight": (0,), "1.bias": (0,), "3.weight": (15,), "3.bias": (3,)},
]


@pytest.mark.parametrize("originals", [False, True])
def test_names_and_shapes_are_torchs(originals, results):
    for rank in range(2):
        found = results[rank]["surface"][originals]
        if originals:
            expected = {
                INSIDE + ("0." + INSIDE + k[2:] if k[0] == "0" else k): shape for k, shape in PIECES[rank].items()
            }
            local = {"_flat_param": (44,), "0._flat_param": (44,), **BUFFERS}
        else:
            expected = {f"{INSIDE}_flat_param": (19,), f"{INSIDE}0.{INSIDE}_flat_param": (21,)}
            local = {"_flat_param": (38,), "0._flat_param": (42,), **BUFFERS}
        assert found["shapes"] == expected and found["local"] == local
        assert found["grads"] == {k: shape if shape != (0,) else None for k, shape in expected.items()}
        assert found["summoned"] == PLAIN and found["whole"] == PLAIN | BUFFERS
        assert found["first only"] == ({} if rank else PLAIN | BUFFERS)
        assert found["spread"] == ROWS[rank] and found["same"] and found["written"] == [5.0] * 3
        assert found["states"] == {k: {"step": (), "exp_avg": v, "exp_avg_sq": v} for k, v in PLAIN.items()}
        in_order = list(PLAIN) if originals else [*list(PLAIN)[2:], *list(PLAIN)[:2]]
        assert found["names"] == in_order
        shapes = list(PIECES[rank].values()) if originals else [(19,), (21,)]
        assert found["to load"] == {
            i: {"step": (), "exp_avg": v, "exp_avg_sq": v} for i, v in enumerate(shapes) if v != (0,)
        }
        assert found["roots"] == (True, False, 2)


REFUSED = {
    "hybrid": ("NotImplementedError", "HYBRID_SHARD"),
    "types": ("ValueError", "Must flatten tensors with uniform dtype but got torch.float32 and torch.float64"),
    "frozen": ("ValueError", "Must flatten tensors with uniform `requires_grad` when `use_orig_params=False`"),
    "inner clip": ("RuntimeError", "`clip_grad_norm_()` should only be called on the root FSDP instance"),
    "double": ("NotImplementedError", "do not change parameters that FullyShardedDataParallel has made flat"),
    "outline": ("RuntimeError", "meta"),
    "config": ("RuntimeError", "Expected state_dict_config of type"),
    "wrapped": ("ValueError", "FSDP auto wrapping requires modules to not already have FSDP applied"),
    "hook": ("NotImplementedError", "register_comm_hook"),
    "helpers": ("NotImplementedError", "FullyShardedDataParallel.optim_state_dict"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_out_of_reach_is_refused(name, results):
    for rank in range(2):
        kind, message = results[rank]["refused"][name]
        assert kind == REFUSED[name][0] and REFUSED[name][1] in message


def test_each_step_casts_the_outermost_arguments(results):
    for rank in range(2):
        assert results[rank]["cast_arguments"] == [[torch.bfloat16] * 2, [torch.float32] * 2]


def test_warnings_are_torchs(results):
    for rank in range(2):
        said, strategy = results[rank]["warned"]
        assert strategy == "NO_SHARD" and said == [
            ("FutureWarning", "The `NO_SHARD` sharding strategy is deprecated. If having issues, please u"),
            ("FutureWarning", "FSDP.state_dict_type() and FSDP.set_state_dict_type() are being deprecated"),
            ("UserWarning", "FSDP is switching to use `NO_SHARD` instead of ShardingStrategy.FULL_SHARD"),
        ]


def test_wrap_policies(results):
    for rank in range(2):
        assert results[rank]["wrapped"] == {
            "size": ["Blocks", "Linear", "Linear", "Linear", "Linear"],
            "function": ["Blocks", "Block", "Block"],
            "custom": ["Blocks", "Block", "Block"],
            "always": 13,
            "classes": 1,
            "inside": (True, ["_fsdp_wrapped_module.weight", "_fsdp_wrapped_module.bias"], True),
        }


def test_checkpoints_at_another_number_of_processes(results):
    expected = results[0]["saved"]
    assert any("exp_avg_sq" in name for name in expected)
    for rank in range(3):
        assert results[2 + rank]["loaded"] == expected
