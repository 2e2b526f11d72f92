"""Messages between processes: whole, in shared memory where large, and the memory given back."""

import gc
import mmap
import os

import ml_dtypes
import numpy as np
import pytest

from rushlight import ops
from rushlight.core.tensor.tensor import Tensor, wrap
from rushlight.utils.data import blocks, transport
from rushlight.utils.data.transport import INLINE_BYTES, channel_over, open_channel_pair

LARGE = INLINE_BYTES


@pytest.fixture
def ends():
    here, there = map(channel_over, open_channel_pair())
    yield here, there
    here.close()
    there.close()


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def memory_under(tensor: Tensor):
    """The object that owns the tensor's memory."""
    owner = tensor._array
    while True:
        below = owner.obj if isinstance(owner, memoryview) else getattr(owner, "base", None)
        if below is None:
            return owner
        owner = below


ARRAYS = {
    "0-d": np.array(3.5),
    "empty": np.zeros((2, 0, 3), np.float32),
    "bool": np.array([True, False]),
    "complex": np.array([1 + 2j], np.complex64),
    "bfloat16": np.array([1.5, -2.0], ml_dtypes.bfloat16),
    "transposed": np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1),
    "sliced": np.arange(24).reshape(4, 6)[::2, 1:5:3],
    "reversed": np.arange(5)[::-1],
    "broadcast": np.broadcast_to(np.arange(3), (4, 3)),
    "large": np.arange(LARGE, dtype=np.int64),
    "large channels last": np.ones((2, 64, 64, 16), np.float32).transpose(0, 3, 1, 2),
}


@pytest.mark.parametrize("name", [name for name in ARRAYS if name not in ("reversed", "broadcast")])
def test_tensors(ends, name):
    here, there = ends
    array = ARRAYS[name]
    here.post(["x", wrap(array)])
    _, received = there.receive()
    assert received._array.dtype == array.dtype
    np.testing.assert_array_equal(received._array, array, strict=True)
    if name not in ("sliced", "empty"):
        assert received._array.strides == array.strides
    received._array[...] = 1  # writable


@pytest.mark.parametrize("name", ARRAYS)
def test_memory_and_rebuilding(name):
    array, memory = transport._memory(ARRAYS[name])
    dtype = array.dtype.str if array.dtype.isbuiltin == 1 else array.dtype
    rebuilt = np.ndarray(array.shape, dtype, memory, 0, array.strides)
    np.testing.assert_array_equal(rebuilt, ARRAYS[name], strict=True)


@pytest.mark.parametrize(
    "message",
    [
        None,
        (1, [2.5, "a"], {"b": b"c"}),
        "x" * (2 * LARGE),
        list(range(LARGE)),
        {"a": np.arange(5), "b": np.arange(LARGE)},
    ],
    ids=["none", "containers", "long text", "long list", "arrays"],
)
def test_other_messages(ends, message):
    here, there = ends
    here.post(message)
    received = there.receive()
    assert type(received) is type(message)
    np.testing.assert_equal(received, message)


def test_many_tensors(ends):
    here, there = ends
    here.post([wrap(np.array([i])) for i in range(2000)])
    assert [tensor.item() for tensor in there.receive()] == list(range(2000))


def test_requires_grad_identity_and_type(ends):
    here, there = ends
    leaf = ops.ones(2).requires_grad_()
    here.post((leaf, leaf, ops.ones(2)))
    first, second, third = there.receive()
    assert first is second and first.requires_grad and first.is_leaf and not third.requires_grad


def test_only_large_messages_are_shared(ends):
    here, there = ends
    here.post(ops.zeros(4))
    here.post([ops.zeros(LARGE), ops.zeros(8)])
    small, (large, companion) = there.receive(), there.receive()
    assert not isinstance(memory_under(small), mmap.mmap)
    assert memory_under(large) is memory_under(companion)
    assert isinstance(memory_under(large), mmap.mmap)


def send(sender, receiver, value):
    sender.post(wrap(np.full(LARGE, value)))
    return receiver.receive()


def test_blocks_are_used_again_after_their_tensors_died(ends):
    here, there = ends
    first = send(here, there, 1)
    block = memory_under(first)
    second = send(here, there, 2)
    assert memory_under(second) is not block
    view = first[3:5]
    del first
    there.post(None), here.receive()
    assert memory_under(send(here, there, 3)) is not block  # the view still needs it
    assert view.tolist() == [1, 1]
    del view
    there.post(None), here.receive()
    fourth = send(here, there, 4)
    assert memory_under(fourth) is block
    assert (second[0].item(), fourth[0].item()) == (2, 4)


def test_blocks_that_a_forked_process_may_still_read_are_not_used_again(ends):
    here, there = ends
    tensor = send(here, there, 1)
    gate = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(gate[0], 1)
        os._exit(0 if tensor.tolist() == [1] * LARGE else 1)
    del tensor
    there.post(None), here.receive()
    for value in (2, 3):
        send(here, there, value)
    os.write(gate[1], b"!")
    assert os.waitpid(child, 0)[1] == 0
    os.close(gate[0]), os.close(gate[1])


def test_a_closed_channel_holds_nothing_and_its_tensors_live_on():
    here, there = map(channel_over, open_channel_pair())
    gc.collect()
    before = descriptors()
    kept = [send(here, there, i) for i in range(10)]
    here.close()
    there.close()
    assert [tensor[0].item() for tensor in kept] == list(range(10))
    del kept
    gc.collect()
    assert descriptors() == before - 2


def test_more_blocks_than_descriptors(ends, monkeypatch):
    here, there = ends
    gc.collect()
    limit = len(blocks._mappings) + 3
    monkeypatch.setattr(blocks, "_max_mappings", lambda: limit)
    before = descriptors()
    kept = []
    for i in range(20):
        kept.append(send(here, there, i))
        there.post(None), here.receive()
    assert [tensor[-1].item() for tensor in kept] == list(range(20))
    assert descriptors() <= before + 2 * 3


def test_a_block_that_could_not_be_written_is_given_up(ends, monkeypatch):
    here, there = ends
    before = descriptors()

    def fail(descriptor, memory, offset):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space left"):
        patch.setattr(blocks, "_write", fail)
        here.post(ops.zeros(LARGE))
    assert descriptors() == before
    assert send(here, there, 7)[-1].item() == 7


def test_idle_blocks_are_limited(ends):
    here, there = ends
    before = descriptors()
    kept = [send(here, there, i) for i in range(30)]
    kept.clear()
    there.post(None), here.receive()
    assert descriptors() <= before + 2 * blocks._IDLE_BLOCKS


def test_full_connections_keep_a_backlog(ends):
    here, there = ends
    count = 0
    while here.post(count):
        count += 1
    here.post("last")
    assert [there.receive() for _ in range(count)] == list(range(count))
    with pytest.raises(BlockingIOError):
        there.receive()
    assert here.flush()
    assert [there.receive(), there.receive()] == [count, "last"]
    here.close()
    with pytest.raises(EOFError):
        there.receive()
