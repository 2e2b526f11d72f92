"""The helpers that optimizers written outside of the package import from `torch.optim.optimizer`, answers as torch gives them."""

import math
import warnings

import pytest

import rushlight as torch
from rushlight.optim import optimizer as names
from rushlight.optim.lbfgs import _strong_wolfe
from rushlight.optim.lr_scheduler import LRScheduler, _enable_get_lr_call, _warn_get_lr_called_within_step

REAL, WHOLE = torch.ones(2), torch.ones(2, dtype=torch.int32)


@pytest.mark.parametrize(
    ("params", "differentiable", "use_fused", "answer"),
    [
        ([REAL], False, False, (False, False)),
        ([REAL], False, True, (True, False)),
        ([REAL], True, True, (False, False)),
        ([], False, False, (False, True)),
        ([], False, True, (True, False)),
        ([None], False, False, (False, True)),
        ([WHOLE], False, True, (False, False)),
    ],
)
def test_default_to_fused_or_foreach(params, differentiable, use_fused, answer):
    assert names._default_to_fused_or_foreach(params, differentiable, use_fused) == answer


def test_small_helpers():
    assert names._get_value(torch.tensor([2.0])) == 2.0 and names._get_value(3) == 3
    assert names._to_scalar(torch.ones(1)).shape == () and names._to_scalar(0.5) == 0.5
    steps = [torch.ones(())]
    assert names._stack_if_compiling(steps) is steps
    assert names._disable_dynamo_if_unsupported(single_tensor_fn=len)(max) is max
    assert "privateuseone" in names._get_capturable_supported_devices(supports_xla=False)
    names._device_dtype_check_for_fused(REAL)
    with pytest.raises(RuntimeError, match="`fused=True` requires all the params to be floating point"):
        names._device_dtype_check_for_fused(WHOLE)


def test_view_as_real():
    params, grads = [torch.ones(2, dtype=torch.complex64), REAL], [torch.zeros(2, dtype=torch.complex64), REAL]
    names._view_as_real(params, grads)
    assert [tuple(t.shape) for t in params + grads] == [(2, 2), (2,)] * 2


class HalfCosine(LRScheduler):
    """A scheduler as programs write them: with torch's own helpers."""

    def get_lr(self):
        _warn_get_lr_called_within_step(self)
        return [lr * (1 + math.cos(self.last_epoch)) / 2 for lr in self.base_lrs]


def test_scheduler_helpers():
    scheduler = HalfCosine(torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=2.0))
    with pytest.warns(UserWarning, match="please use `get_last_lr\\(\\)`"):
        scheduler.get_lr()
    with warnings.catch_warnings(), _enable_get_lr_call(scheduler):
        warnings.simplefilter("error")
        assert scheduler.get_lr() == [2.0]


def test_line_search_takes_torchs_arguments():
    """As torchmin calls it; the numbers are those of torch 2.13."""

    def rosenbrock(x, t, d):
        w = (x + t * d).requires_grad_()
        f = 100 * (w[1] - w[0] ** 2) ** 2 + (1 - w[0]) ** 2
        return f.item(), torch.autograd.grad(f, w)[0]

    x = torch.tensor([-1.2, 1.0], dtype=torch.float64)
    f, g = rosenbrock(x, 0.0, x)
    f_new, g_new, t, evals = _strong_wolfe(rosenbrock, x, 1.0, -g, f, g, -g.dot(g))
    assert f_new == pytest.approx(4.128138340789158) and float(t) == pytest.approx(0.0007892073839786153) and evals == 8
    assert g_new.tolist() == pytest.approx([-0.40759429066892405, 1.7731274075127867])
