"""send and recv: to which request a message goes, and where its bytes are written."""

import sys
from pathlib import Path

import numpy as np

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed.control.inbox import Inbox, Request

sys.path.insert(0, str(Path(__file__).parent))
from several import results_of

sys.path.pop(0)
LARGE = 300_000  # elements: more than is sent at once


def in_order_of_requests(rank, size):
    """Messages go to `irecv` calls in their order, whichever is waited for first."""
    if rank:
        for value in (1.0, 2.0, 3.0):
            dist.isend(torch.full((LARGE,), value), 0).wait()
        return None
    tensors = [torch.zeros(LARGE) for _ in range(3)]
    works = [dist.irecv(t, 1) for t in tensors]
    for work in reversed(works):
        work.wait()
    return [(t[0].item(), t[-1].item()) for t in tensors]


def large_before_small(rank, size):
    """A small message that is sent after a large one, which takes long, comes after it."""
    if rank:
        works = [dist.isend(torch.full((n,), float(n)), 0, tag=4) for n in (3_000_000, 3, 2)]
        for work in works:
            work.wait()
        return None
    got = []
    for n in (3_000_000, 3, 2):
        x = torch.zeros(n)
        dist.recv(x, tag=4)
        got.append(x[-1].item())
    return got


def both_send_first(rank, size):
    x, y = torch.full((2_000_000,), rank + 1.0), torch.zeros(2_000_000)
    dist.send(x, 1 - rank)
    return dist.recv(y, 1 - rank), y.sum().item()


def other_type(rank, size):
    """A message of another type is not written into the tensor, not even where its size fits."""
    if rank:
        dist.send(torch.ones(4, dtype=torch.int32), 0)
        return None
    x = torch.zeros(4)
    try:
        dist.recv(x, 1)
    except RuntimeError as error:
        return str(error), x.tolist()


def columns(rank, size):
    """Into a tensor whose elements are not side by side."""
    if rank:
        dist.send(torch.arange(3.0), 0)
        return None
    x = torch.zeros(3, 2)
    work = dist.irecv(x[:, 1], 1)
    work.wait()
    return x.tolist()


def test_messages_of_two_processes(tmp_path):
    first, second = results_of(
        [in_order_of_requests, large_before_small, both_send_first, other_type, columns], 2, tmp_path
    )
    assert first["in_order_of_requests"] == [(1, 1), (2, 2), (3, 3)]
    assert first["large_before_small"] == [3_000_000, 3, 2]
    assert first["both_send_first"] == (1, 4_000_000) and second["both_send_first"] == (0, 2_000_000)
    text, values = first["other_type"]
    assert "sent int32 [4] (16 bytes), the tensor is float32 [4]" in text and values == [0] * 4
    assert first["columns"] == [[0, 0], [0, 1], [0, 2]]


def test_a_request_that_comes_while_a_message_is_read_gets_it():
    inbox, message = Inbox(), np.zeros(3, np.uint8)
    claimed = inbox.claim(1, b"key")
    request = Request(1, b"key")
    inbox.post(request)
    inbox.deliver(1, b"key", b"note", message, claimed)
    assert claimed is None and request.message == (1, b"note", message) and not inbox.messages
    later = Request(None, b"key")
    inbox.deliver(2, b"key", b"", message)
    inbox.post(later)
    assert later.message == (2, b"", message)
    inbox.post(request := Request(1, b"key"))
    inbox.withdraw(request)
    inbox.deliver(1, b"key", b"", message)
    assert request.message is None and list(inbox.messages) == [(1, b"key")]
