"""Stores, one table of calls for all kinds."""

import threading
from datetime import timedelta

import pytest

from rushlight.distributed import DistStoreError, FileStore, HashStore, PrefixStore, QueueEmptyError, TCPStore


@pytest.fixture(params=["hash", "file", "tcp", "prefix"])
def store(request, tmp_path):
    if request.param == "tcp":
        made = TCPStore("127.0.0.1", 0, is_master=True)
        yield made
        made.close()
    elif request.param == "file":
        yield FileStore(str(tmp_path / "store"), 1)
    else:
        yield PrefixStore("p", HashStore()) if request.param == "prefix" else HashStore()


def test_values(store):
    store.set("a", "1")
    store.set("a", b"\x00two")
    assert store.get("a") == b"\x00two"
    assert (store.add("n", 3), store.add("n", -1), store.get("n")) == (3, 2, b"2")
    assert store.check(["a", "n"]) and not store.check(["a", "b"])
    assert store.num_keys() == 2
    assert (store.delete_key("a"), store.delete_key("a"), store.num_keys()) == (True, False, 1)
    store.append("l", "x")
    store.append("l", "y")
    store.multi_set(["p", "q"], ["1", "2"])
    assert store.multi_get(["l", "p", "q"]) == [b"xy", b"1", b"2"]


def test_swap(store):
    assert store.compare_set("k", "", "first") == b"first"
    assert store.compare_set("k", "other", "second") == b"first"
    assert store.compare_set("k", "first", "second") == b"second"
    assert store.compare_set("new", "something", "value") == b"something"


def test_absent_key(store):
    store.set_timeout(timedelta(milliseconds=20))
    with pytest.raises(DistStoreError, match="wait timeout after 20ms, keys: /nope"):
        store.get("nope")


def test_two_clients_of_one_server():
    server = TCPStore("127.0.0.1", 0, is_master=True)
    client = TCPStore("127.0.0.1", server.port)
    client.set("from", "client")
    assert server.get("from") == b"client"
    assert [server.add("n", 1), client.add("n", 1)] == [1, 2]
    client.close()
    server.close()


def close(*stores):
    for store in stores:
        if isinstance(store, TCPStore):
            store.close()


def test_queues(store):
    if isinstance(store, FileStore):
        with pytest.raises(NotImplementedError, match="queue support is not implemented"):
            store.queue_push("q", "a")
        return
    assert store.queue_len("q") == 0 and not store.check(["q"])
    store.queue_push("q", "a")
    store.queue_push("q", b"b")
    assert store.queue_len("q") == 2 and store.check(["q"])
    store.wait(["q"])
    assert (store.queue_pop("q"), store.queue_pop("q", block=False)) == (b"a", b"b")
    with pytest.raises(QueueEmptyError, match="queue is empty"):
        store.queue_pop("q", False)
    store.set_timeout(timedelta(milliseconds=20))
    with pytest.raises(DistStoreError, match="wait timeout after 20ms, keys: /q") as raised:
        store.queue_pop("q")
    assert not isinstance(raised.value, QueueEmptyError) and not store.check(["q"])


def test_who_waits_for_a_queue_gets_each_value_once(store):
    if isinstance(store, FileStore):
        pytest.skip("has no queues")
    got, clones = [], [store.clone() for _ in range(3)]
    takers = [threading.Thread(target=lambda one=one: got.append(one.queue_pop("q"))) for one in clones]
    for thread in takers:
        thread.start()
    for value in ("a", "b", "c"):
        store.queue_push("q", value)
    for thread in takers:
        thread.join(60)
    assert sorted(got) == [b"a", b"b", b"c"] and store.queue_len("q") == 0
    close(*clones)


def test_a_barrier(store):
    store.barrier("alone", 1)
    other = store.clone()
    thread = threading.Thread(target=other.barrier, args=("both", 2))
    thread.start()
    store.barrier("both", 2, timedelta(seconds=60))
    thread.join(60)
    assert not thread.is_alive()
    with pytest.raises(DistStoreError, match="wait timeout after 20ms"):
        store.barrier("never", 2, timedelta(milliseconds=20))
    close(other)


def test_the_store_below_prefixes():
    base = HashStore()
    assert PrefixStore("a", PrefixStore("b", base))._underlying_non_prefix_store is base
