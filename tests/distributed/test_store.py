"""Stores, one table of calls for all kinds."""

from datetime import timedelta

import pytest

from rushlight.distributed import DistStoreError, FileStore, HashStore, PrefixStore, TCPStore


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
