"""Averaged models, their batch-norm statistics and the schedule that goes with them."""

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.optim import swa_utils


def model_with(value):
    model = nn.Linear(2, 2)
    with torch.no_grad():
        for p in model.parameters():
            p.fill_(value)
    return model


def weights(averaged):
    return {p.flatten()[0].item() for p in averaged.module.parameters()}


@pytest.mark.parametrize(
    "options, want",
    [
        ({}, 3.0),
        ({"multi_avg_fn": swa_utils.get_swa_multi_avg_fn()}, 3.0),
        ({"avg_fn": swa_utils.get_swa_avg_fn()}, 3.0),
        ({"avg_fn": swa_utils.get_ema_avg_fn(0.5)}, 3.5),
        ({"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.5)}, 3.5),
        ({"avg_fn": lambda average, current, count: average + count.item()}, 4.0),
    ],
)
def test_averages(options, want):
    averaged = swa_utils.AveragedModel(model_with(0.0), **options)
    for value in (1.0, 3.0, 5.0):
        averaged.update_parameters(model_with(value))
    assert weights(averaged) == {want}
    assert averaged.n_averaged.item() == 3
    assert "n_averaged" in averaged.state_dict()
    assert averaged(torch.zeros(1, 2)).shape == (1, 2)


def test_buffers_are_copied_or_averaged():
    for use_buffers, want in ((False, 4.0), (True, 3.0)):
        model = nn.BatchNorm1d(2)
        averaged = swa_utils.AveragedModel(model, use_buffers=use_buffers)
        for value in (2.0, 4.0):
            model.running_mean.fill_(value)
            averaged.update_parameters(model)
        assert averaged.module.running_mean.tolist() == [want, want]


def test_update_bn_takes_the_statistics_of_the_data():
    x = torch.tensor([[0.0, 1.0], [2.0, 5.0]])
    model = nn.Sequential(nn.BatchNorm1d(2, momentum=0.3))
    model.eval()
    swa_utils.update_bn([(x, None), x + 2], model)
    assert model[0].running_mean.tolist() == [2, 4]
    assert model[0].momentum == 0.3
    assert not model.training


def test_errors():
    with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn"):
        swa_utils.AveragedModel(model_with(0.0), avg_fn=max, multi_avg_fn=max)
    for make in (swa_utils.get_ema_avg_fn, swa_utils.get_ema_multi_avg_fn):
        with pytest.raises(ValueError, match="Invalid decay value 2"):
            make(2)
    o = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    with pytest.raises(ValueError, match="anneal_strategy must be one of 'cos' or 'linear', instead got no"):
        swa_utils.SWALR(o, 0.1, anneal_strategy="no")
    with pytest.raises(ValueError, match="anneal_epochs must be equal or greater than 0, got -1"):
        swa_utils.SWALR(o, 0.1, anneal_epochs=-1)


# torch 2.13
@pytest.mark.parametrize(
    "strategy, want",
    [("linear", [1.0, 0.8, 0.6, 0.4, 0.2, 0.2]), ("cos", [1.0, 0.8828427, 0.6, 0.3171573, 0.2, 0.2])],
)
def test_the_schedule(strategy, want):
    o = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    s = swa_utils.SWALR(o, 0.2, anneal_epochs=4, anneal_strategy=strategy)
    got = []
    for _ in want:
        got.append(o.param_groups[0]["lr"])
        o.step()
        s.step()
    assert got == pytest.approx(want)
    assert "anneal_func" not in s.state_dict()
    s.load_state_dict(s.state_dict())
