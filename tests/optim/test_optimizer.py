"""Optimizer itself: groups, state and checkpoints, zero_grad, hooks, closures, printing, pickling."""

import copy
import pickle

import pytest

import rushlight as torch
from rushlight.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
    required,
)


def leaf(*values):
    return torch.tensor([float(v) for v in values] or [1.0, 2.0], requires_grad=True)


def with_grad(p, value=1.0):
    p.grad = torch.full_like(p, value)
    return p


class Descent(Optimizer):
    """A user's own optimizer."""

    def __init__(self, params, lr=required):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.add_(p.grad, alpha=-group["lr"])
        return loss


# ------------------------------------------------------------------------------------------------------------- groups


def test_groups_take_defaults_and_keep_their_own():
    p, q = leaf(), leaf()
    optimizer = torch.optim.SGD([{"params": p}, {"params": (t for t in [q]), "lr": 0.5, "mine": 3}], lr=0.1)
    assert [g["lr"] for g in optimizer.param_groups] == [0.1, 0.5]
    assert optimizer.param_groups[0]["params"][0] is p
    assert optimizer.param_groups[1]["mine"] == 3
    optimizer.add_param_group({"params": [leaf()], "momentum": 0.5})
    assert optimizer.param_groups[2]["momentum"] == 0.5


def test_named_parameters():
    p, q = leaf(), leaf()
    optimizer = torch.optim.SGD([("w", p), ("b", q)], lr=0.1)
    assert optimizer.param_groups[0]["param_names"] == ["w", "b"]
    assert optimizer.param_groups[0]["params"][1] is q
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["w", "b"]
    with pytest.raises(ValueError, match="cannot add param group without names to the optimizer"):
        optimizer.add_param_group({"params": [leaf()]})
    with pytest.raises(ValueError, match="Some param names are missing"):
        torch.optim.SGD([("w", p), q], lr=0.1)


def test_errors_of_construction():
    p = leaf()
    cases = [
        (TypeError, "an iterable of Tensors or dicts, but got torch.FloatTensor", p),
        (ValueError, "optimizer got an empty parameter list", []),
        (TypeError, "optimizer can only optimize Tensors, but one of the params is int", [p, 3]),
        (TypeError, "but one of the params is list", [[p]]),
        (ValueError, "can't optimize a non-leaf Tensor", [p * 2]),
        (TypeError, "the ordering of tensors in sets will change between runs", [{"params": {p}}]),
        (ValueError, "some parameters appear in more than one parameter group", [{"params": p}, {"params": p}]),
    ]
    for error, message, params in cases:
        with pytest.raises(error, match=message):
            torch.optim.SGD(params, lr=0.1)
    with pytest.raises(TypeError, match="param_group must be a dict, but got <class 'list'>"):
        torch.optim.SGD([p], lr=0.1).add_param_group([p])
    with pytest.raises(ValueError, match="didn't specify a value of required optimization parameter lr"):
        Descent([p])
    assert repr(required) == "<required parameter>"


def test_a_non_leaf_that_retains_its_gradient_and_differentiable_are_allowed():
    p = leaf() * 2
    p.retain_grad()
    torch.optim.SGD([p], lr=0.1)
    torch.optim.SGD([leaf() * 2], lr=0.1, differentiable=True)


def test_duplicates_warn():
    p = leaf()
    with pytest.warns(UserWarning, match="optimizer contains a parameter group with duplicate parameters"):
        torch.optim.SGD([p, p], lr=0.1)


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ({"foreach": True}, False),
        ({"foreach": True, "momentum": 0.5}, True),
        ({"foreach": True, "weight_decay": 0.5}, True),
        ({"fused": True, "momentum": 0.5}, False),
        ({"momentum": 0.5}, False),
    ],
)
@pytest.mark.filterwarnings("ignore:optimizer contains a parameter group with duplicate")
def test_updates_of_lists_refuse_a_repeated_parameter_where_the_order_of_operations_counts(options, refused):
    p = with_grad(leaf(1.0, 2.0))
    optimizer = torch.optim.SGD([p, p], lr=0.25, **options)
    if refused:
        with pytest.raises(NotImplementedError, match="a parameter given twice"):
            optimizer.step()
    else:
        optimizer.step()
        assert p.tolist() == [0.5, 1.5]


@pytest.mark.filterwarnings("ignore:optimizer contains a parameter group with duplicate")
def test_fused_steps_refuse_a_repeated_parameter_where_steps_are_counted():
    for options in ({"fused": True}, {"foreach": True}):
        p = with_grad(leaf())
        with pytest.raises(NotImplementedError, match="a parameter given twice"):
            torch.optim.Adam([p, p], **options).step()


def test_repr():
    optimizer = torch.optim.SGD([{"params": leaf()}, {"params": leaf(), "lr": 1e-3}], lr=0.1, momentum=0.9)
    assert repr(optimizer) == (
        "SGD (\nParameter Group 0\n    dampening: 0\n    differentiable: False\n    foreach: None\n    fused: None\n"
        "    lr: 0.1\n    maximize: False\n    momentum: 0.9\n    nesterov: False\n    weight_decay: 0\n\n"
        "Parameter Group 1\n    dampening: 0\n    differentiable: False\n    foreach: None\n    fused: None\n"
        "    lr: 0.001\n    maximize: False\n    momentum: 0.9\n    nesterov: False\n    weight_decay: 0\n)"
    )


# ---------------------------------------------------------------------------------------------------------- gradients


def test_zero_grad():
    p = with_grad(leaf())
    optimizer = torch.optim.SGD([p], lr=0.1)
    grad = p.grad
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is grad
    assert grad.tolist() == [0, 0]
    optimizer.zero_grad()
    assert p.grad is None
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is None


def test_zero_grad_detaches():
    p = leaf()
    p.grad = (leaf() * 2).clone()
    assert p.grad.grad_fn is not None
    torch.optim.SGD([p], lr=0.1).zero_grad(set_to_none=False)
    assert p.grad.grad_fn is None
    assert not p.grad.requires_grad


def test_parameters_without_gradient_are_skipped():
    p, q = with_grad(leaf(1)), leaf(1)
    optimizer = torch.optim.Adam([p, q])
    optimizer.step()
    assert p.item() < 1
    assert q.item() == 1
    assert list(optimizer.state) == [p]


def test_plain_descent_keeps_no_state():
    p = with_grad(leaf())
    optimizer = torch.optim.SGD([p], lr=0.5)
    optimizer.step()
    assert p.tolist() == [0.5, 1.5]
    assert optimizer.state_dict()["state"] == {}


def test_a_closure_runs_with_gradients_and_its_loss_comes_back():
    p = leaf()
    optimizer = torch.optim.SGD([p], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with torch.no_grad():
        loss = optimizer.step(closure)
    assert loss.item() == 5
    assert p.requires_grad
    assert p.tolist() == pytest.approx([0.8, 1.6])


def test_a_users_own_optimizer():
    p = with_grad(leaf(1))
    seen = []
    optimizer = Descent([p], lr=0.5)
    optimizer.register_step_post_hook(lambda *args: seen.append(args))
    assert optimizer.step() is None
    assert p.item() == 0.5
    assert len(seen) == 1
    with pytest.raises(NotImplementedError):
        Optimizer([p], {}).step()


# -------------------------------------------------------------------------------------------------------- checkpoints


def trained():
    p, q = leaf(1, 2), leaf(3)
    optimizer = torch.optim.Adam([{"params": [p]}, {"params": [q], "lr": 0.5}], lr=0.1)
    with_grad(p), with_grad(q)
    optimizer.step()
    return optimizer, p, q


def test_state_dict_packs_parameters_as_indices():
    optimizer, p, _ = trained()
    saved = optimizer.state_dict()
    assert list(saved) == ["state", "param_groups"]
    assert [g["params"] for g in saved["param_groups"]] == [[0], [1]]
    assert sorted(saved["state"]) == [0, 1]
    assert saved["state"][0]["exp_avg"] is optimizer.state[p]["exp_avg"]
    assert saved["state"][0]["step"].item() == 1
    assert saved["state"][0]["step"].dtype == torch.float32


def test_loading_casts_state_but_not_the_step():
    optimizer, _, _ = trained()
    saved = copy.deepcopy(optimizer.state_dict())
    p = torch.ones(2, dtype=torch.float64, requires_grad=True)
    q = torch.ones(1, dtype=torch.float64, requires_grad=True)
    other = torch.optim.Adam([{"params": [p]}, {"params": [q]}])
    other.load_state_dict(saved)
    assert other.param_groups[1]["lr"] == 0.5
    assert other.state[p]["exp_avg"].dtype == torch.float64
    assert other.state[p]["step"].dtype == torch.float32
    assert other.param_groups[0]["params"][0] is p


def test_loading_a_step_that_is_a_number():
    optimizer, p, _ = trained()
    saved = copy.deepcopy(optimizer.state_dict())
    for state in saved["state"].values():
        state["step"] = 1
    optimizer.load_state_dict(saved)
    assert optimizer.state[p]["step"].item() == 1


def test_loading_another_shape():
    optimizer, p, q = trained()
    saved = optimizer.state_dict()
    with pytest.raises(ValueError, match="loaded state dict has a different number of parameter groups"):
        torch.optim.Adam([p]).load_state_dict(saved)
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
        torch.optim.Adam([{"params": [p, leaf()]}, {"params": [q]}]).load_state_dict(saved)


def test_names_survive_loading():
    p = leaf()
    optimizer = torch.optim.SGD([("w", p)], lr=0.1)
    optimizer.load_state_dict(torch.optim.SGD([p], lr=0.2).state_dict())
    assert optimizer.param_groups[0]["param_names"] == ["w"]
    optimizer.load_state_dict(torch.optim.SGD([("v", p)], lr=0.2).state_dict())
    assert optimizer.param_groups[0]["param_names"] == ["v"]


def test_checkpoint_hooks_in_order():
    optimizer, _, _ = trained()
    calls = []
    optimizer.register_state_dict_pre_hook(lambda o: calls.append("pre"))
    optimizer.register_state_dict_pre_hook(lambda o: calls.append("first"), prepend=True)
    optimizer.register_state_dict_post_hook(lambda o, s: {**s, "extra": 1})
    saved = optimizer.state_dict()
    assert calls == ["first", "pre"]
    assert saved["extra"] == 1

    def half(o, s):
        for group in s["param_groups"]:
            group["lr"] = 0.25
        return s

    handle = optimizer.register_load_state_dict_pre_hook(half)
    optimizer.register_load_state_dict_post_hook(lambda o: calls.append(o.param_groups[0]["lr"]))
    optimizer.load_state_dict(saved)
    assert calls[2:] == [0.25]
    handle.remove()
    assert not optimizer._optimizer_load_state_dict_pre_hooks


def test_pickle_and_deepcopy():
    optimizer, p, _ = trained()
    for other in (pickle.loads(pickle.dumps(optimizer)), copy.deepcopy(optimizer)):
        assert type(other) is torch.optim.Adam
        q = other.param_groups[0]["params"][0]
        assert q is not p
        assert q.tolist() == p.tolist()
        with_grad(q)
        other.step()
        assert other.state[q]["step"].item() == 2
        assert optimizer.state[p]["step"].item() == 1


# -------------------------------------------------------------------------------------------------------------- hooks


def test_step_hooks_see_and_change_the_arguments():
    p = with_grad(leaf())
    optimizer = torch.optim.SGD([p], lr=0.1)
    calls = []
    handles = [
        optimizer.register_step_pre_hook(lambda o, args, kwargs: calls.append(("pre", args[1:], kwargs))),
        optimizer.register_step_post_hook(lambda o, args, kwargs: calls.append("post")),
        register_optimizer_step_pre_hook(lambda o, args, kwargs: calls.append("global pre")),
        register_optimizer_step_post_hook(lambda o, args, kwargs: calls.append("global post")),
    ]
    optimizer.step()
    assert calls == ["global pre", ("pre", (), {}), "post", "global post"]
    for handle in handles:
        handle.remove()
    optimizer.step()
    assert len(calls) == 4

    with optimizer.register_step_pre_hook(lambda o, args, kwargs: (args, {"closure": lambda: 7})):
        assert optimizer.step() == 7
    with (
        optimizer.register_step_pre_hook(lambda o, args, kwargs: 3),
        pytest.raises(RuntimeError, match="must return None or a tuple"),
    ):
        optimizer.step()


def test_the_step_leaves_the_grad_mode_alone():
    p = with_grad(leaf())
    optimizer = torch.optim.SGD([p], lr=0.1)
    optimizer.step()
    assert torch.is_grad_enabled()
    with torch.no_grad():
        optimizer.step()
        assert not torch.is_grad_enabled()

    def fails():
        raise KeyError

    with pytest.raises(KeyError):
        optimizer.step(fails)
    assert torch.is_grad_enabled()
