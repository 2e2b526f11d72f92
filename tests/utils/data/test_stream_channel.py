"""Batches through streams, as on systems without packets that keep their bounds or anonymous memory files."""

import os

import pytest

import rushlight as torch
from rushlight.utils.data import DataLoader, Dataset, transport


class Numbers(Dataset):
    def __len__(self):
        return 20

    def __getitem__(self, i):
        if i == 30:
            os._exit(3)
        return {"large": torch.full((200, 200), float(i)), "number": i, "text": f"v{i}"}


@pytest.fixture
def streams(monkeypatch):
    monkeypatch.setattr(transport, "_has_packets", lambda: False)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_batches(streams, method):
    loader = DataLoader(
        Numbers(), batch_size=6, num_workers=2, multiprocessing_context=method, persistent_workers=method == "fork"
    )
    for _ in range(2 if method == "fork" else 1):
        batches = list(loader)
        assert [b["number"].tolist() for b in batches] == [list(range(i, min(i + 6, 20))) for i in range(0, 20, 6)]
        assert all(torch.equal(b["large"][:, 7, 9], b["number"].float()) for b in batches)
        assert batches[1]["text"] == [f"v{i}" for i in range(6, 12)]


def test_a_worker_that_dies(streams):
    with pytest.raises(RuntimeError, match="exited with code 3"):
        list(DataLoader(Numbers(), sampler=[1, 30], num_workers=1, multiprocessing_context="fork"))


def test_parts_of_messages():
    import socket

    here, there = map(transport.StreamChannel, socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM))
    with pytest.raises(BlockingIOError):
        there.receive()
    large = torch.arange(3_000_000)
    assert not here.post(large) and not here.post("next")
    while True:
        here.flush()
        try:
            found = there.receive()
            break
        except BlockingIOError:
            pass
    assert torch.equal(found, large) and here.flush() and there.receive() == "next"
    here.close()
    with pytest.raises(EOFError):
        there.receive()
    there.close()
