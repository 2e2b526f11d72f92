"""A call that fails keeps nothing: its tensors and their graphs die with the exception, without a collection."""

import gc
import warnings
import weakref
from typing import Any

import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn
from rushlight.testing.samples import covered, function_of


@pytest.fixture
def no_collection():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def kept_by(call, *tensors):
    """Whether `call(*tensors)` failed, and how many of the tensors and nodes outlive it."""
    watched = [weakref.ref(t) for t in tensors] + [weakref.ref(t.grad_fn) for t in tensors if t.grad_fn is not None]
    failed = False
    try:
        call(*tensors)
    except Exception:
        failed = True
    del tensors
    return failed, watched


def wrong_calls(args, kwargs):
    """Calls that most operators refuse: shapes, types and options replaced one by one."""
    for i, arg in enumerate(args):
        if isinstance(arg, torch.Tensor):
            others = [
                arg.detach().reshape(arg.shape + (1, 1, 1)),
                torch.ones(arg.numel() * 2 + 3),
                torch.ones(2).bool(),
            ]
            others += [arg.detach().to(torch.complex64), "text", None]
        else:
            others = [-99, "x", (7, 7, 7), 2.5]
        for other in others:
            yield [*args[:i], other, *args[i + 1 :]], kwargs
    for key in kwargs:
        for other in (-99, "x"):
            yield args, {**kwargs, key: other}
    yield [*args, "x"], kwargs
    yield args, {**kwargs, "no_such_option": 1}


def test_operators(no_collection):
    failures, leaks, seen = 0, [], set()
    for name, sample in covered():
        if name in seen:
            continue
        seen.add(name)
        function: Any = function_of(name)
        for args, kwargs in wrong_calls(*sample.make(grad=True)):
            fresh = [a * 1 if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in args]
            where = [i for i, a in enumerate(fresh) if isinstance(a, torch.Tensor) and a.is_floating_point()]

            def call(*tensors, fresh=fresh, where=where, kwargs=kwargs, function=function):
                given = list(fresh)
                for i, t in zip(where, tensors, strict=True):
                    given[i] = t
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    function(*given, **kwargs)

            tensors = [fresh[i] for i in where]
            for i in where:
                fresh[i] = None
            failed, watched = kept_by(call, *tensors)
            del tensors
            failures += failed
            if failed and any(ref() is not None for ref in watched):
                leaks.append((name, [type(a).__name__ for a in args], kwargs))
    assert failures > 1500
    assert not leaks


def bad_targets():
    return torch.full((20,), 99)


OTHERS = {
    "cross_entropy": lambda h: F.cross_entropy(h, bad_targets()),
    "in place": lambda h: h.add_(torch.ones(7)),
    "in place, type": lambda h: h.mul_(torch.ones(20, 10, dtype=torch.complex64)),
    "index": lambda h: h[99],
    "index of tensors": lambda h: h[torch.tensor([99])],
    "assignment": lambda h: h.__setitem__(0, torch.ones(3)),
    "out": lambda h: torch.add(h, 1, out=torch.ones(20, 10, dtype=torch.int32)),
    "operator": lambda h: h @ torch.ones(3),
    "reflected": lambda h: torch.ones(3) - h,
    "view": lambda h: h.view(7),
    "module": lambda h: nn.Sequential(nn.ReLU(), nn.Linear(3, 2))(h),
    "backward": lambda h: h.backward(),
    "backward, shape": lambda h: h.backward(torch.ones(3)),
    "item": lambda h: h.item(),
    "numpy": lambda h: h.numpy(),
    "cat": lambda h: torch.cat([h, torch.ones(3, 3)]),
    "einsum": lambda h: torch.einsum("ij,jk->ik", h, torch.ones(3, 3)),
    "conv": lambda h: F.conv2d(h[None, None], torch.ones(1, 2, 3, 3)),
    "embedding": lambda h: F.embedding(bad_targets(), h),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_ways_to_fail(name, no_collection):
    w = torch.ones(10, 10, requires_grad=True)
    failed, watched = kept_by(OTHERS[name], torch.ones(20, 10) @ w)
    assert failed
    assert [ref() for ref in watched] == [None, None]


def test_a_sparse_tensor(no_collection):
    def call(t):
        t.to_sparse().cumsum(0)

    failed, watched = kept_by(call, torch.ones(2, 2))
    assert failed and watched[0]() is None
