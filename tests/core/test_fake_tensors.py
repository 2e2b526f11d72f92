"""`torch._subclasses.fake_tensor`: shapes, types, strides and devices without numbers. Recorded from torch."""

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F
from rushlight.torch._subclasses import DynamicOutputShapeException, FakeTensor, FakeTensorMode
from rushlight.torch._subclasses.fake_tensor import DataDependentOutputException
from rushlight.utils._python_dispatch import TorchDispatchMode


def test_models_tell_their_shapes():
    with FakeTensorMode():
        model = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(72, 5)
        )
        out = model(torch.randn(2, 3, 7, 7))
        assert (type(out), tuple(out.shape), out.requires_grad) == (FakeTensor, (2, 5), True)
        F.cross_entropy(out, torch.zeros(2, dtype=torch.long)).backward()
        torch.optim.Adam(model.parameters()).step()
    assert model[0].weight.grad.shape == (8, 3, 3, 3) and isinstance(model[0].weight, nn.Parameter)


def test_no_memory_is_taken():
    with FakeTensorMode():
        assert (torch.ones(10**6, 10**6) @ torch.ones(10**6, 3)).shape == (10**6, 3)


@pytest.mark.parametrize(
    ("program", "shape", "stride"),
    [
        (lambda x: x.t(), (3, 2), (1, 3)),
        (lambda x: x.expand(4, 2, 3), (4, 2, 3), (0, 3, 1)),
        (lambda x: torch.cat([x, x]), (4, 3), (3, 1)),
        (lambda x: x.sum(), (), ()),
        (lambda x: torch.where(x > 0, 1.0, 0.0), (2, 3), (3, 1)),
        (lambda x: torch.einsum("ij,kj->ik", x, x), (2, 2), (2, 1)),
        (lambda x: nn.LSTM(3, 4)(x)[0], (2, 4), (4, 1)),
    ],
)
def test_shapes_and_strides(program, shape, stride):
    with FakeTensorMode():
        out = program(torch.ones(2, 3))
    assert (tuple(out.shape), out.stride(), out.device.type) == (shape, stride, "cpu")
    assert out.is_contiguous() == (stride not in ((1, 3), (0, 3, 1)))


def test_devices_that_are_not_here():
    with FakeTensorMode():
        x = torch.empty(2, device="cuda")
        assert str((x + 1).device) == "cuda:0"
        with pytest.raises(RuntimeError, match="two devices, cuda:0 and cpu"):
            x + torch.empty(2)


def test_other_tensors():
    mode, x = FakeTensorMode(), torch.ones(2, 3)
    fake = mode.from_tensor(x)
    assert isinstance(fake, FakeTensor) and fake.fake_mode is mode and (fake @ fake.t()).shape == (2, 2)
    assert isinstance(mode.from_tensor(nn.Parameter(x)), nn.Parameter)
    with pytest.raises(AssertionError, match=r"Please convert all Tensors to FakeTensors first .* aten\.add\.Tensor"):
        fake + x
    with pytest.raises(AssertionError, match="Mixing fake modes"):
        fake + FakeTensorMode().from_tensor(x)
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert (x + torch.ones(3)).shape == (2, 3)


@pytest.mark.parametrize(
    ("look", "error"),
    [
        (lambda x: x.tolist(), DataDependentOutputException),
        (lambda x: bool(x.sum() > 0), DataDependentOutputException),
        (lambda x: torch.equal(x, x), DataDependentOutputException),
        (lambda x: x.nonzero(), DynamicOutputShapeException),
        (lambda x: x.numpy(), RuntimeError),
        (lambda x: x.item(), RuntimeError),
    ],
)
def test_numbers(look, error):
    with FakeTensorMode(), pytest.raises(error):
        look(torch.ones(3))


def test_numbers_of_the_program_are_known():
    with FakeTensorMode():
        step = torch.tensor(3.0)
        step += 1
        assert (step * 2).item() == 8
        assert repr(torch.ones(2)) == "FakeTensor(..., size=(2,))"
        assert repr(torch.ones(2, dtype=torch.int64)) == "FakeTensor(..., size=(2,), dtype=torch.int64)"


@pytest.mark.parametrize("name", ["Adam", "RMSprop", "Adagrad", "Adadelta", "NAdam", "Adamax"])
def test_optimizers_in_a_mode(name):
    with FakeTensorMode():
        fake = nn.Parameter(torch.ones(2))
        fake.grad = torch.ones(2)
        optimizer = getattr(torch.optim, name)([fake], lr=0.1)
        optimizer.step()
        optimizer.step()
    assert fake.shape == (2,)


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (lambda a: a.addcmul_(a, a, value=2), "addcmul_.default"),
        (lambda a: a.lerp_(a, 0.5), "lerp_.Scalar"),
        (lambda a: a.scatter_(0, torch.tensor([0]), 2.0), "scatter_.value"),
        (lambda a: a.index_add_(0, torch.tensor([0]), a[:1].clone(), alpha=2), "index_add_.default"),
        (lambda a: a.cumsum_(0), "cumsum_.default"),
    ],
)
def test_modes_see_writes_by_torchs_arguments(write, said):
    seen = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    alone, watched = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0])
    write(alone)
    with Log():
        write(watched)
    assert watched.tolist() == alone.tolist() and f"aten.{said}" in seen


@pytest.mark.parametrize("name", ["hardsigmoid", "hardswish", "mish", "silu", "relu", "celu"])
def test_activations_in_place(name):
    with FakeTensorMode() as mode:
        x = mode.from_tensor(torch.ones(2, 3))
        assert getattr(torch.nn.functional, name)(x, inplace=True) is x and x.elem._version == 1
