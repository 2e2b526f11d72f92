"""States of optimizers under parameters' names, as torch.distributed.checkpoint takes and sets them, in one process."""

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_optimizer_state_dict,
)

FLAT = StateDictOptions(flatten_optimizer_state_dict=True)
KINDS = {"Adam": {"lr": 0.05}, "SGD": {"lr": 0.05, "momentum": 0.9}}


def trained(kind, steps, lrs=(0.1, 0.01)):
    """A network and an optimizer with two groups."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 2)))
    parameters = list(net.parameters())
    groups = [{"params": parameters[:2], "lr": lrs[0]}, {"params": parameters[2:], "lr": lrs[1]}]
    optimizer = getattr(torch.optim, kind)(groups, **KINDS[kind])
    for _ in range(steps):
        optimizer.zero_grad()
        net(torch.ones(4, 2)).square().sum().backward()
        optimizer.step()
    return net, optimizer


def same(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return bool((a == b).all()) if isinstance(a, torch.Tensor) else a == b


@pytest.mark.parametrize("kind", KINDS)
def test_flat_states_come_back(kind):
    net, optimizer = trained(kind, 2)
    flat = get_optimizer_state_dict(net, optimizer, options=FLAT)
    buffer = "exp_avg" if kind == "Adam" else "momentum_buffer"
    assert torch.equal(flat[f"state.1.0.weight.{buffer}"], optimizer.state[net[1][0].weight][buffer])
    assert flat["param_groups.0.bias.lr"] == 0.1 and flat["param_groups.1.0.bias.lr"] == 0.01
    assert not any(isinstance(value, dict) for value in flat.values())
    other_net, other = trained(kind, 5, (0.3, 0.2))
    set_optimizer_state_dict(other_net, other, flat, options=FLAT)
    assert same(other.state_dict(), optimizer.state_dict())


def test_a_parameter_that_is_in_no_group_has_the_options_of_its_own():
    net, optimizer = trained("Adam", 2)
    state = get_optimizer_state_dict(net, optimizer)
    state["param_groups"][0]["params"].remove("0.weight")
    other_net, other = trained("Adam", 3, (0.3, 0.2))
    set_optimizer_state_dict(other_net, other, state)
    assert same(other.state_dict(), optimizer.state_dict())
    state["param_groups"][0]["params"].clear()
    with pytest.raises(KeyError, match=r"0\.weight.* is in no group"):
        set_optimizer_state_dict(other_net, other, state)


def test_parameters_without_gradients_are_left_out():
    net, _ = trained("SGD", 1)
    net[0].weight.requires_grad_(False)
    assert set(get_model_state_dict(net, options=StateDictOptions(ignore_frozen_params=True))) == {
        "0.bias",
        "1.0.weight",
        "1.0.bias",
    }


def test_parts_of_a_model():
    net, _ = trained("SGD", 1)
    with pytest.warns(FutureWarning, match="submodules only"):
        assert set(get_model_state_dict(net, submodules={net[1]})) == {"1.0.weight", "1.0.bias"}
    with pytest.warns(FutureWarning, match="submodules only"):
        short = get_model_state_dict(net, submodules={net[1]}, options=StateDictOptions(keep_submodule_prefixes=False))
    assert set(short) == {"0.weight", "0.bias"}
