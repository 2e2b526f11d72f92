"""Normalisation's two backwards, raw and recorded, and what a listener sees of the running statistics."""

import numpy as np
import pytest

import rushlight as torch
from rushlight.core.dispatch.mode import thread

F = torch.nn.functional

CALLS = {
    "batch": ((6, 4, 3, 5), (4,), lambda x, w, b: F.batch_norm(x, None, None, w, b, True)),
    "batch, rows": ((6, 4), (4,), lambda x, w, b: F.batch_norm(x, None, None, w, b, True)),
    "batch, evaluated": ((6, 4, 3), (4,), lambda x, w, b: F.batch_norm(x, *torch.ones(2, 4, dtype=x.dtype), w, b)),
    "layer": ((6, 4, 5), (5,), lambda x, w, b: F.layer_norm(x, (5,), w, b)),
    "layer, two": ((6, 4, 5), (4, 5), lambda x, w, b: F.layer_norm(x, (4, 5), w, b)),
    "group": ((6, 4, 3, 5), (4,), lambda x, w, b: F.group_norm(x, 2, w, b)),
}


@pytest.mark.parametrize(("shape", "parameters", "call"), CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("given", ["both", "weight", "bias", "none"])
def test_raw_and_recorded_backward_agree(shape, parameters, call, dtype, given):
    torch.manual_seed(0)
    x = torch.randn(shape, dtype=dtype, requires_grad=True)
    w = torch.randn(parameters, dtype=dtype, requires_grad=True) if given in ("both", "weight") else None
    b = torch.randn(parameters, dtype=dtype, requires_grad=True) if given in ("both", "bias") else None
    g = torch.randn(shape, dtype=dtype)
    for leaves in ([x], [t for t in (x, w, b) if t is not None], [t for t in (w, b) if t is not None]):
        if not leaves:
            continue
        out = call(x, w, b)
        raw = torch.autograd.grad(out, leaves, g, retain_graph=True)
        recorded = torch.autograd.grad(out, leaves, g, create_graph=True)
        for one, other in zip(raw, recorded, strict=True):
            assert one.dtype is other.dtype
            np.testing.assert_allclose(one.numpy(), other.detach().numpy(), rtol=1e-4, atol=2e-6)


@pytest.fixture
def listened():
    """The names of the operators called within."""
    names = []
    thread.state.listener = lambda record, tensors, metadata, result: names.append(record.name)
    thread.state.refresh()
    yield names
    thread.state.listener = None
    thread.state.refresh()


def statistics():
    torch.manual_seed(0)
    mean, var = torch.zeros(5), torch.ones(5)
    for momentum in (0.1, 0.25):
        F.batch_norm(torch.randn(8, 5, 6, 6) * 3 + 1, mean, var, None, None, True, momentum)
    return mean.tolist(), var.tolist()


def test_a_listener_sees_the_running_statistics_change(listened):
    seen = statistics()
    assert listened.count("add") >= 4  # each of the two, twice
    thread.state.listener = None
    thread.state.refresh()
    assert seen == statistics()


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", [(2, 0), (0, 4), (2, 4, 0)])
def test_an_empty_batch_keeps_the_running_statistics(shape, training):
    """As torch, which multiplies by the first weight and adds the first bias, and looks at no sizes."""
    layer = torch.nn.BatchNorm1d(4).train(training)
    out = layer(torch.zeros(shape))
    assert out.shape == shape and type(out.grad_fn).__name__ == "AddBackward0"
    out.sum().backward()
    assert layer.weight.grad.tolist() == [0.0] * 4
    assert layer.running_mean.tolist() == [0.0] * 4 and layer.running_var.tolist() == [1.0] * 4


def test_evaluation_reads_the_statistics_that_there_are_in_backward():
    """Training moves them and counts no version; a write of the user's is one, as in torch."""
    norm = torch.nn.BatchNorm1d(2)
    x = torch.tensor([[1.0, 2.0], [3.0, 6.0]], requires_grad=True)
    norm.eval()
    y = norm(x)
    norm.train()
    norm(x.detach() * 4)
    version = norm.running_mean._version
    y.pow(2).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [[0.98772347, 1.0806807], [2.9631705, 3.2420421]], rtol=1e-5)
    np.testing.assert_allclose(norm.weight.grad.numpy(), [6.7165194, 14.697257], rtol=1e-5)
    norm(x.detach())
    assert norm.running_mean._version == version
    y = norm.eval()(x)
    norm.running_var.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_group_norm_refuses_parameters_of_another_type():
    x, p = torch.ones(2, 4), torch.ones(4)
    for input, weight in ((x.double(), p), (x, p.double()), (x, p.bfloat16())):
        with pytest.raises(RuntimeError, match="mixed dtype"):
            F.group_norm(input, 2, weight, weight)
    assert F.group_norm(x.bfloat16(), 2, p, p).dtype is torch.bfloat16
