"""An optimizer lent to other parameters and another state."""

import copy

import pytest

import rushlight as torch

swap = torch.optim.swap_in_optimizer_params_and_state


def trained():
    p = torch.tensor([1.0, 2.0], requires_grad=True)
    p.grad = torch.ones(2)
    optimizer = torch.optim.Adam([p], lr=0.1)
    optimizer.step()
    return optimizer, p


def test_the_step_inside_is_on_the_other_parameters():
    optimizer, p = trained()
    q = torch.tensor([5.0, 5.0], requires_grad=True)
    q.grad = torch.ones(2)
    saved = copy.deepcopy(optimizer.state_dict())
    saved["param_groups"][0]["lr"] = 1.0
    before = p.tolist()
    with swap(optimizer, {"w": q}, saved):
        assert optimizer.param_groups[0]["params"][0] is q
        optimizer.step()
    assert q.tolist() == pytest.approx([4.0, 4.0])
    assert saved["state"][0]["step"].item() == 2
    assert p.tolist() == before
    assert optimizer.state[p]["step"].item() == 1
    assert optimizer.param_groups[0]["lr"] == 0.1


def test_an_error_inside_gives_the_optimizer_back():
    optimizer, p = trained()
    with pytest.raises(KeyError), swap(optimizer, {"w": p.detach().clone()}, optimizer.state_dict()):
        raise KeyError
    assert optimizer.param_groups[0]["params"][0] is p
    assert list(optimizer.state) == [p]


def test_forms_that_do_not_match():
    optimizer, p = trained()
    good = optimizer.state_dict()
    group = good["param_groups"][0]
    cases = [
        ("a DCP-style optimizer state_dict", []),
        ("to be a dict mapping packed parameter ids", {**good, "state": []}),
        ("state keyed by packed parameter ids", {**good, "state": {p: {}}}),
        ("state entries to be dictionaries", {**good, "state": {0: 3}}),
        ("to be a list of param-group dicts, got dict", {**good, "param_groups": {}}),
        ("a different number of parameter groups", {**good, "param_groups": []}),
        ("each optimizer param group to be a dictionary", {**good, "param_groups": [3]}),
        ("entries keyed by packed parameter ids", {**good, "param_groups": [{**group, "params": [p]}]}),
        ("a different number of params", {**good, "param_groups": [{**group, "params": [0, 1]}]}),
        ("Keys only in swap-in: \\['mine'\\]", {**good, "param_groups": [{**group, "mine": 1}]}),
        ("got extra keys \\[7\\]", {**good, "state": {7: {}}}),
    ]
    for message, saved in cases:
        with pytest.raises(RuntimeError, match=message), swap(optimizer, {"w": p}, saved):
            pass
    with pytest.raises(RuntimeError, match=r"match optimizer.param_groups ordering"), swap(optimizer, {}, good):
        pass
    fresh = torch.optim.Adam([p])
    with pytest.raises(RuntimeError, match="initialized optimizer state"), swap(fresh, {"w": p}, good):
        pass
