"""Schedules against torch's, through checkpoints, and their warnings and errors."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from schedules import CLOSED, SCHEDULES, trace

import rushlight as torch
from rushlight.optim import lr_scheduler as L

GOLDEN = np.load(Path(__file__).parent.parent / "golden" / "optim.npz")


def optimizer(lr=0.1, **options):
    return torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=lr, **options)


@pytest.mark.filterwarnings("ignore:Detected call")  # nested schedules are stepped when they are made
@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_are_torchs(name):
    rows, _ = trace(torch, L, SCHEDULES[name], name)
    np.testing.assert_allclose(rows, GOLDEN["schedule " + name], rtol=1e-15, atol=0)


@pytest.mark.filterwarnings("ignore:Detected call")  # nested schedules are stepped when they are made
@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_resume(name):
    rows, _ = trace(torch, L, SCHEDULES[name], name, resume_at=11)
    np.testing.assert_allclose(rows, GOLDEN["schedule " + name], rtol=1e-15, atol=0)


@pytest.mark.filterwarnings("ignore:The epoch parameter")
@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms_are_torchs(name):
    rows, _ = trace(torch, L, SCHEDULES[name], name, epochs=[(7 * k) % 23 for k in range(29)])
    np.testing.assert_allclose(rows, GOLDEN["closed " + name], rtol=1e-15, atol=0)


def test_last_lr_and_state():
    o = optimizer()
    s = L.StepLR(o, 2, 0.5)
    assert s.get_last_lr() == [0.1]
    assert s.base_lrs == [0.1]
    assert s.last_epoch == 0
    o.step()
    s.step()
    o.step()
    s.step()
    assert s.get_last_lr() == [0.05]
    assert o.param_groups[0]["initial_lr"] == 0.1
    state = s.state_dict()
    names = ["_get_lr_called_within_step", "_is_initial", "_last_lr", "_step_count"]
    assert sorted(state) == [*names, "base_lrs", "gamma", "last_epoch", "step_size"]


def test_a_tensor_learning_rate_keeps_its_identity():
    lr = torch.tensor(0.5)
    o = optimizer(lr)
    s = L.ExponentialLR(o, 0.5)
    o.step()
    s.step()
    assert o.param_groups[0]["lr"] is lr
    assert lr.item() == 0.25
    assert s.get_last_lr()[0] is not lr
    assert s.base_lrs[0].item() == 0.5


def test_resuming_needs_the_initial_rate():
    with pytest.raises(KeyError, match="param 'initial_lr' is not specified in param_groups"):
        L.StepLR(optimizer(), 2, last_epoch=3)
    o = optimizer()
    o.param_groups[0]["initial_lr"] = 0.1
    assert L.CosineAnnealingLR(o, 10, last_epoch=3).last_epoch == 4


def test_order_of_steps_is_watched():
    o = optimizer()
    s = L.StepLR(o, 2)
    with pytest.warns(UserWarning, match=r"Detected call of `lr_scheduler.step\(\)` before `optimizer.step\(\)`"):
        s.step()
    o = optimizer()
    s = L.StepLR(o, 2)
    o.step = lambda: None
    with pytest.warns(UserWarning, match=r"Seems like `optimizer.step\(\)` has been overridden"):
        s.step()
    o = optimizer()
    s = L.StepLR(o, 2)
    o.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        s.step()


def test_other_warnings():
    o = optimizer()
    s = L.StepLR(o, 2)
    o.step()
    with pytest.warns(UserWarning, match="please use `get_last_lr\\(\\)`"):
        s.get_lr()
    with pytest.warns(UserWarning, match="The epoch parameter in `scheduler.step\\(\\)` was not necessary"):
        s.step(5)
    assert s.last_epoch == 5


def test_saved_functions():
    class Decay:
        def __init__(self, rate):
            self.rate = rate

        def __call__(self, epoch):
            return self.rate**epoch

    s = L.LambdaLR(optimizer(), Decay(0.5))
    state = s.state_dict()
    assert state["lr_lambdas"] == [{"rate": 0.5}]
    other = L.LambdaLR(optimizer(), Decay(0.9))
    other.load_state_dict(state)
    assert other.lr_lambdas[0].rate == 0.5
    assert L.LambdaLR(optimizer(), lambda e: 1).state_dict()["lr_lambdas"] == [None]
    cyclic = L.CyclicLR(optimizer(momentum=0.9), 0.1, 0.2, scale_fn=Decay(0.5))
    assert cyclic.state_dict()["_scale_fn_custom"] == {"rate": 0.5}


def test_restarts_at_fractions_of_an_epoch():
    o = optimizer(1.0)
    s = L.CosineAnnealingWarmRestarts(o, T_0=4, T_mult=2)
    s.step(2.0)
    assert s.get_last_lr()[0] == pytest.approx(0.5)
    s.step(26)
    assert (s.T_i, s.T_cur, s.last_epoch) == (16, 14, 26)
    s.step()
    assert s.T_cur == 15
    with pytest.raises(ValueError, match="Expected non-negative epoch, but got -1"):
        s.step(-1)


def test_plateau_after_a_group_was_added():
    o = optimizer()
    s = L.ReduceLROnPlateau(o, patience=0, min_lr=[0.01])
    o.add_param_group({"params": [torch.ones(1, requires_grad=True)]})
    s.step(1.0)
    with pytest.raises(RuntimeError, match="The number of param groups in the `optimizer`"):
        s.step(2.0)
    s = L.ReduceLROnPlateau(o, patience=0, min_lr=0.05)
    s.step(torch.tensor(1.0))
    s.step(torch.tensor(2.0))
    assert s.get_last_lr() == [0.05, 0.05]
    assert not s.in_cooldown


def test_one_cycle_ends():
    o = optimizer(momentum=0.9)
    s = L.OneCycleLR(o, 1.0, total_steps=3)
    o.step()
    for _ in range(3):
        s.step()
    with pytest.raises(ValueError, match=r"Tried to step 4 times. The specified number of total steps is 3"):
        s.step()


def test_beta1_is_cycled():
    p = torch.ones(2, requires_grad=True)
    o = torch.optim.Adam([p])
    L.OneCycleLR(o, 1.0, total_steps=10)
    assert o.param_groups[0]["betas"] == (0.95, 0.999)
    o = torch.optim.Adagrad([p])
    with pytest.raises(ValueError, match="optimizer must support momentum or beta1"):
        L.OneCycleLR(o, 1.0, total_steps=10)


BAD = [
    (TypeError, "int is not an Optimizer", lambda o: L.StepLR(3, 2)),
    (TypeError, "lr_lambda should be a function, but got int", lambda o: L.MultiplicativeLR(o, 3)),
    (ValueError, "Expected 1 lr_lambdas, but got 2", lambda o: L.LambdaLR(o, [abs, abs])),
    (ValueError, "Constant multiplicative factor expected to be between 0 and 1", lambda o: L.ConstantLR(o, 2.0)),
    (ValueError, "Starting multiplicative factor expected", lambda o: L.LinearLR(o, 0.0)),
    (ValueError, "Ending multiplicative factor expected", lambda o: L.LinearLR(o, 0.5, 2.0)),
    (ValueError, "Expected positive integer T_0, but got 0", lambda o: L.CosineAnnealingWarmRestarts(o, 0)),
    (ValueError, "Expected integer T_mult >= 1, but got 1.5", lambda o: L.CosineAnnealingWarmRestarts(o, 1, 1.5)),
    (ValueError, "mode is invalid and scale_fn is None", lambda o: L.CyclicLR(o, 0.1, 1.0, mode="no")),
    (ValueError, "max_lr must have the same length", lambda o: L.CyclicLR(o, 0.1, [1.0, 2.0])),
    (ValueError, "You must define either total_steps OR", lambda o: L.OneCycleLR(o, 1.0)),
    (ValueError, "Expected positive integer total_steps", lambda o: L.OneCycleLR(o, 1.0, total_steps=-1)),
    (ValueError, "pct_start, but got 1.5", lambda o: L.OneCycleLR(o, 1.0, total_steps=5, pct_start=1.5)),
    (ValueError, "anneal_strategy must be", lambda o: L.OneCycleLR(o, 1.0, total_steps=5, anneal_strategy="no")),
    (ValueError, "Factor should be < 1.0", lambda o: L.ReduceLROnPlateau(o, factor=1.0)),
    (ValueError, "mode no is unknown!", lambda o: L.ReduceLROnPlateau(o, "no")),
    (ValueError, "threshold mode no is unknown!", lambda o: L.ReduceLROnPlateau(o, threshold_mode="no")),
    (ValueError, "expected 1 min_lrs, got 2", lambda o: L.ReduceLROnPlateau(o, min_lr=[0, 0])),
    (ValueError, "expects at least one scheduler", lambda o: L.ChainedScheduler([])),
    (ValueError, "expects at least one scheduler", lambda o: L.SequentialLR(o, [], [])),
    (ValueError, "to be equal to 1", lambda o: L.SequentialLR(o, [L.StepLR(o, 2)], [3])),
    (
        ValueError,
        "all schedulers to belong to the same optimizer",
        lambda o: L.ChainedScheduler([L.StepLR(o, 2), L.StepLR(optimizer(), 2)]),
    ),
    (ValueError, "does not support `ReduceLROnPlateau`", lambda o: L.ChainedScheduler([L.ReduceLROnPlateau(o)])),
    (TypeError, "at index 0 should have `optimizer`", lambda o: L.SequentialLR(o, [3], [])),
]


@pytest.mark.parametrize("error, message, make", BAD)
def test_bad_options(error, message, make):
    with pytest.raises(error, match=message.replace("(", r"\(")):
        make(optimizer(momentum=0.9))


def test_a_users_own_scheduler():
    class Halving(L._LRScheduler):
        def get_lr(self):
            return [lr / 2**self.last_epoch for lr in self.base_lrs]

    o = optimizer(1.0)
    s = Halving(o)
    o.step()
    s.step()
    assert s.get_last_lr() == [0.5]
    with pytest.raises(NotImplementedError):
        L.LRScheduler(o)
