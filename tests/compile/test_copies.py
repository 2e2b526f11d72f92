"""Copies into another order of the elements by generated code: NumPy's bytes, from any strides into any order."""

import random

import numpy as np
import pytest

import rushlight as torch
from rushlight.compile.lower.eager import copies
from rushlight.core.dispatch.extension_points import copy_elements
from rushlight.core.tensor.casting import LARGE, copy_into

pytestmark = pytest.mark.skipif(not copies.available(), reason="no code can be made here")
TYPES = np.uint8, np.bool_, np.float16, np.int16, np.float32, np.int64, np.float64, np.complex64, np.complex128


def some_array(chance):
    """An array of random bytes: dimensions in any order, reversed, with gaps, or repeated."""
    dims = chance.randint(1, 6)
    sizes = (1, 2, 3, 5, 8, 16, 17, 33, 64, 130) if dims < 4 else (1, 2, 3, 4, 8, 17)
    shape = [chance.choice(sizes) for _ in range(dims)]
    kind = np.dtype(chance.choice(TYPES))
    memory = np.random.RandomState(chance.randrange(1 << 30)).bytes(int(np.prod(shape)) * kind.itemsize)
    a = np.frombuffer(memory, np.uint8).reshape(*shape, kind.itemsize)
    a = (a & 1 if kind.kind == "b" else a).copy().view(kind)[..., 0].transpose(chance.sample(range(dims), dims))
    for axis in range(dims):
        what = chance.random()
        if what < 0.15:
            a = np.flip(a, axis)
        elif what < 0.3:
            a = a[(slice(None),) * axis + (slice(chance.randint(0, 1), None, chance.randint(1, 2)),)]
    if chance.random() < 0.2:
        a = np.broadcast_to(a, (chance.randint(1, 5), *a.shape))
    if chance.random() < 0.1:
        a = np.broadcast_to(a[..., None], (*a.shape, chance.randint(1, 40)))
    return a


@pytest.mark.parametrize("seed", range(6))
def test_the_bytes_of_numpys_copy(seed):
    chance, made = random.Random(seed), 0
    for _ in range(150):
        a = some_array(chance)
        order = chance.sample(range(a.ndim), a.ndim)
        memory = np.full([a.shape[axis] + (axis == order[-1]) * chance.choice((0, 0, 3)) for axis in order], 1, a.dtype)
        whole = memory.transpose(np.argsort(order))
        out = whole[tuple(slice(n) for n in a.shape)]
        made += (done := copies.copy(out, a))
        if done:
            assert out.tobytes() == a.tobytes(), (a.dtype, a.shape, a.strides, out.strides)
            out[...] = 1
        assert (memory == 1).all()  # what lies between the elements was left
    assert made > 40


def test_what_is_left_to_numpy():
    x = np.ones((200, 200), np.float32)
    repeated = np.broadcast_to(np.zeros(200, np.float32), (200, 200))
    shared = np.lib.stride_tricks.as_strided(x, (100, 100), (4, 4))
    for out in (repeated, repeated.T, shared, x[:, ::2], x[:, ::-1]):
        assert not copies.copy(out, np.ones(out.shape, np.float32))
    locked = np.ones((200, 200), np.float32)
    locked.flags.writeable = False
    assert not copies.copy(locked, x.T)
    assert not copies.copy(np.ones((0, 5)), np.ones((0, 5)))
    assert not copies.copy(np.ones((200, 200), complex), np.ones((200, 200), complex).T)


@pytest.fixture
def counted():
    """The numbers of copies that generated code made and left."""
    made, before = [], copy_elements.value

    def copy(out, a):
        made.append(copies.copy(out, a))
        return made[-1]

    copy_elements.register(copy)
    yield made
    copy_elements.register(before)


CALLS = {
    "contiguous": lambda x: x.mT.contiguous(),
    "clone": lambda x: x.mT.clone(memory_format=torch.contiguous_format),
    "reshape": lambda x: x.mT.reshape(-1),
    "flip": lambda x: x.flip(2),
    "rot90": lambda x: x.rot90(1, (1, 2)),
    "permute": lambda x: x.permute(2, 0, 1).contiguous(),
    "expand": lambda x: x[:, :, :1].expand(3, 150, 130).clone(),
    "copy_": lambda x: torch.empty(3, 130, 150).copy_(x.mT),
    "pixel_shuffle": lambda x: torch.pixel_shuffle(x.reshape(9, 50, 130)[:8], 2),
    "channel_shuffle": lambda x: torch.channel_shuffle(torch.cat([x, x])[None], 3),
    "channels_last": lambda x: x[None].contiguous(memory_format=torch.channels_last),
}


@pytest.mark.parametrize("name", CALLS)
def test_tensors(counted, name):
    x = torch.randn(3, 150, 130, requires_grad=True)
    found = CALLS[name](x)
    assert any(counted)
    with torch.no_grad():
        copy_elements.register(None)
        expected = CALLS[name](x)
    assert torch.equal(found, expected) and found.stride() == expected.stride()
    (gradient,) = torch.autograd.grad((found * expected).sum(), x)
    assert torch.equal(gradient, torch.autograd.grad((CALLS[name](x) * expected).sum(), x)[0])


def test_memory_that_both_share(counted):
    """NumPy reads everything before it writes."""
    size = int(LARGE**0.5) + 1
    for turned in (lambda x: x[::-1], lambda x: x.T):
        x = np.arange(float(size * size)).reshape(size, size)
        expected = turned(x).copy()
        copy_into(x, turned(x))
        assert (x == expected).all() and not counted
    copy_into(x, expected.T)
    assert counted == [True] and (x == expected.T).all()


def test_small_copies_and_devices_are_left(counted):
    torch.ones(8, 8).t().contiguous()
    torch.ones(200, 200, device="meta").t().contiguous()
    assert not counted
