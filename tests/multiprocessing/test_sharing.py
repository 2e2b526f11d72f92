"""Tensors in memory that several processes see."""

import gc
import os

import pytest
import rushlight.multiprocessing as mp

import rushlight as torch
from rushlight import nn

METHODS = [method for method in ("fork", "spawn") if method in mp.get_all_start_methods()]


def change(t, model, answers):
    t += 1
    model.weight.data.fill_(7.0)
    answers.put((t[1:], model.bias, torch.zeros(2, 0), torch.ones(2, dtype=torch.bfloat16)))
    answers.put(torch.arange(4).t())
    answers.close()
    answers.join_thread()
    t.stop.wait()


@pytest.mark.parametrize("method", METHODS)
def test_a_child_writes(method):
    context = mp.get_context(method)
    t, model = torch.zeros(3).share_memory_(), nn.Linear(2, 2)
    view = t[:2]
    assert model.share_memory() is model and model.weight.is_shared() and view.is_shared()
    t.stop = context.Event()
    answers = context.Queue()
    child = context.Process(target=change, args=(t, model, answers))
    child.start()
    part, bias, empty, half = answers.get()
    numbers = answers.get()
    part += 10  # the other end of the child's tensor
    t.stop.set()
    child.join()
    assert child.exitcode == 0
    assert t.tolist() == [1, 11, 11] and view.tolist() == [1, 11]
    assert model.weight.tolist() == [[7, 7], [7, 7]]
    assert isinstance(bias, nn.Parameter) and bias.requires_grad and bias.tolist() == model.bias.tolist()
    assert empty.shape == (2, 0) and half.dtype is torch.bfloat16 and numbers.tolist() == [0, 1, 2, 3]


def add_to(parameters, steps):
    optimizer = torch.optim.SGD(parameters, lr=0.25)
    for _ in range(steps):
        optimizer.zero_grad()
        sum((p - 1).pow(2).sum() for p in parameters).backward()
        optimizer.step()


@pytest.mark.parametrize("method", METHODS)
def test_two_train_one_model(method):
    model = nn.Linear(3, 2).share_memory()
    context = mp.get_context(method)
    children = [context.Process(target=add_to, args=(list(model.parameters()), 40)) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0, 0]
    for p in model.parameters():
        assert torch.allclose(p, torch.ones_like(p), atol=1e-3) and p.grad is None


def test_sharing_keeps_the_tensor():
    a = torch.arange(6.0).reshape(2, 3)
    transposed = a.t()
    assert a.share_memory_() is a and a.share_memory_() is a
    transposed[0, 0] = 9
    assert a[0, 0] == 9 and transposed.is_shared() and a.stride() == (3, 1) and a.storage_offset() == 0
    w = torch.ones(2, requires_grad=True).share_memory_()
    (w * 2).sum().backward()
    assert w.grad.tolist() == [2, 2] and not w.grad.is_shared()
    assert not torch.ones(1).is_shared() and not (a * 1).is_shared()


def test_history_does_not_travel():
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        mp.reductions.reduce_tensor(torch.ones(1, requires_grad=True) * 2)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="asks Linux which files are open")
def test_nothing_is_left():
    def files():
        gc.collect()
        names = (os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd"))
        return sum("memfd:rushlight" in name for name in names)

    before = files()
    t = torch.ones(3).share_memory_()
    views = t[1:]
    del t
    assert files() > before
    del views
    assert files() == before


def test_strategies():
    assert mp.get_all_sharing_strategies() == {"file_descriptor", "file_system"}
    mp.set_sharing_strategy("file_system")
    assert mp.get_sharing_strategy() == "file_system"
    mp.set_sharing_strategy("file_descriptor")
    with pytest.raises(AssertionError, match="invalid sharing strategy"):
        mp.set_sharing_strategy("pigeon")
