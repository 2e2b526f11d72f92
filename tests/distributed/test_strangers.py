"""Who connects without the job's key gets nothing, changes nothing and costs nothing; a second job is told so."""

import json
import os
import resource
import socket
import stat
import struct
import subprocess
import sys
import threading
from datetime import timedelta

import pytest
from ports import free_port

from rushlight.distributed import DistNetworkError, DistStoreError, FileStore, HashStore, TCPStore, handshake
from rushlight.distributed.mesh import Mesh
from rushlight.distributed.store import receive_fields, send_fields

SHORT = timedelta(seconds=20)


@pytest.fixture
def store():
    made = TCPStore("127.0.0.1", 0, is_master=True)
    made.set("secret", "value")
    yield made
    made.close()


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


OPENINGS = {
    "a huge count": b"\xff" * 4,
    "more of it": b"\xff" * 4096,
    "a message without a handshake": struct.pack("!II", 1, 4) + b"keys",
    "a web browser": b"GET / HTTP/1.1\r\n\r\n",
    "a wrong proof": handshake.MAGIC + b"n" * 32 + b"p" * 32 + b"\x00\x02{}",
    "a huge introduction": handshake.MAGIC + b"n" * 32 + b"p" * 32 + b"\xff\xff" + b"x" * 65535,
    "half a greeting": handshake.MAGIC[:3],
}


@pytest.mark.parametrize("name", OPENINGS)
def test_what_a_stranger_says(store, name, monkeypatch):
    monkeypatch.setattr(handshake, "HELLO_S", 0.2)
    before = peak_bytes()
    with socket.create_connection(("127.0.0.1", store.port), 5) as stranger:
        stranger.sendall(OPENINGS[name])
        heard = b""
        try:
            while part := stranger.recv(1 << 16):
                heard += part
        except ConnectionResetError:  # closed with unread bytes
            pass
    assert b"secret" not in heard and b"value" not in heard
    assert len(heard) <= len(handshake.MAGIC) + 64  # at most the answer to a greeting
    assert peak_bytes() - before < 16 << 20
    assert store.list_keys() == ["secret"]


def test_a_client_with_another_key(store, monkeypatch):
    monkeypatch.setenv("RUSHLIGHT_JOB_KEY", "another")
    with pytest.raises(DistNetworkError, match=r"another key.*Set RUSHLIGHT_JOB_KEY"):
        TCPStore("127.0.0.1", store.port, timeout=SHORT)
    assert store.num_keys() == 1


def test_a_client_of_another_job(monkeypatch):
    monkeypatch.setenv("RUSHLIGHT_JOB_ID", "first")
    server = TCPStore("127.0.0.1", 0, is_master=True)
    monkeypatch.setenv("RUSHLIGHT_JOB_ID", "second")
    with pytest.raises(DistNetworkError, match=r"of job 'first', and this is .* of job 'second'"):
        TCPStore("127.0.0.1", server.port, timeout=SHORT)
    monkeypatch.delenv("RUSHLIGHT_JOB_ID")  # a process that no launcher started may ask
    client = TCPStore("127.0.0.1", server.port)
    client.set("a", "b")
    assert server.get("a") == b"b"
    client.close()
    server.close()


def test_many_silent_strangers_do_not_shut_out_the_job(store):
    strangers = [socket.create_connection(("127.0.0.1", store.port), 5) for _ in range(50)]
    client = TCPStore("127.0.0.1", store.port, timeout=SHORT)
    assert client.get("secret") == b"value"
    client.close()
    for stranger in strangers:
        stranger.close()


def test_what_a_server_that_is_none_says(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer():
            connection, _ = listener.accept()
            with connection:
                connection.recv(100)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n" * 10)

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(DistNetworkError, match="no Rushlight process"):
            TCPStore("127.0.0.1", listener.getsockname()[1], timeout=SHORT)
        thread.join()


def test_lengths_of_a_member_are_not_believed_either():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(struct.pack("!II", 1, 0xFFFFFFFF) + b"x" * 100)
        ours.shutdown(socket.SHUT_WR)
        before = peak_bytes()
        with pytest.raises(EOFError):
            receive_fields(theirs)
        assert peak_bytes() - before < 16 << 20
        send_fields(theirs, b"a", b"")
        assert receive_fields(ours) == [b"a", b""]


def test_a_wrong_command_is_an_error_and_not_the_end(store):
    store.set("text", "no number")
    with pytest.raises(DistStoreError, match="refuses 'add': ValueError"):
        store.add("text", 1)
    with pytest.raises(DistStoreError, match="does not know the command 'other'"):
        store._ask("other")
    assert store.get("secret") == b"value"


# ---------------------------------------------------------------------------------------------- the key


def test_the_key_file(tmp_path, monkeypatch):
    monkeypatch.delenv("RUSHLIGHT_JOB_KEY")
    monkeypatch.setattr(handshake, "_home", lambda: str(tmp_path))
    key = handshake.job_key()
    path = tmp_path / ".cache" / "rushlight" / "job-key"
    assert key == handshake.job_key() == b"file:" + path.read_bytes() and len(key) == 69
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in path.parent.iterdir()] == ["job-key"]
    monkeypatch.setattr(handshake.tempfile, "gettempdir", lambda: str(tmp_path / "absent" / "x"))
    path.chmod(0o644)
    monkeypatch.setattr(handshake.os, "makedirs", lambda *a, **k: None)
    with pytest.raises(DistNetworkError, match=r"(?s)set RUSHLIGHT_JOB_KEY.*others may read it"):
        handshake.job_key()


def test_makers_of_the_key_at_the_same_time_agree(tmp_path):
    keys = []
    threads = [threading.Thread(target=lambda: keys.append(handshake._key_in(str(tmp_path)))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys) == 8 and len(set(keys)) == 1


def test_a_file_store_is_private_and_refuses_what_is_no_table(tmp_path):
    path = tmp_path / "store"
    store = FileStore(str(path), 1)
    store.set("token", "t")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for junk in (b"\xff", b"\xff" * 8, struct.pack("!II", 3, 100) + b"abc"):
        path.write_bytes(junk)
        with pytest.raises(DistStoreError, match="no table of a FileStore"):
            store.get("token")


# ---------------------------------------------------------------------------------------------- the mesh


def meet(store, rank, size, errors):
    try:
        mesh = Mesh(store, rank, size, SHORT)
        mesh.close()
    except Exception as error:
        errors[rank] = str(error)


def test_the_mesh_takes_no_stranger(monkeypatch):
    monkeypatch.setattr(
        handshake, "HELLO_S", 100.0
    )  # a stranger that were waited for would be so longer than a call may last
    store, errors = HashStore(), {}
    first = threading.Thread(target=meet, args=(store, 0, 2, errors))
    first.start()
    host, port = store.get("address/0").decode().split()
    strangers = [socket.create_connection((host, int(port)), 5) for _ in range(20)]
    for i, stranger in enumerate(strangers):
        stranger.sendall([b"", b"\xff" * 19, handshake.MAGIC + b"x" * 100][i % 3])
    meet(store, 1, 2, errors)
    first.join(60)
    assert not errors and not first.is_alive()
    for stranger in strangers:
        stranger.close()


def test_a_rank_is_taken_once():
    store, errors = HashStore(), {}
    other = {**handshake.introduction(), "pid": 77, "rank": 1, "size": 2, "nonce": "x"}
    store.set("member/1", json.dumps(other))
    store.set("member/0", json.dumps({**other, "rank": 0, "job": handshake.job_name()}))
    meet(store, 1, 2, errors)
    assert "two processes claim rank 1" in errors[1] and "process 77 on" in errors[1]
    assert f"process {os.getpid()} on" in errors[1]


@pytest.mark.parametrize("change", [{"job": "other"}, {"size": 3}])
def test_ranks_of_two_jobs(change):
    store, errors = HashStore(), {}
    first = {**handshake.introduction(), "rank": 0, "size": 2, "nonce": "x", **change}
    store.set("member/0", json.dumps(first))
    meet(store, 1, 2, errors)
    assert f"two jobs meet at one address. Rank 0 of {first['size']}: process" in errors[1]
    assert "Rank 1 of 2: process" in errors[1]
    assert not store.check(["member/1"])  # the place is left for the process that it belongs to


JOB = """
import os, sys
import rushlight as torch
import rushlight.distributed as dist
from datetime import timedelta
try:
    dist.init_process_group("gloo", timeout=timedelta(seconds=30))
except Exception as error:
    print(type(error).__name__, error)
    sys.exit(5)
if dist.get_rank() == 0:
    sys.stdin.readline()
x = torch.tensor([float(sys.argv[1])])
dist.all_reduce(x)
print(x.item())
dist.barrier()
dist.destroy_process_group()
"""


def test_the_second_job_on_a_port(tmp_path):
    """Two jobs of two processes at one address, as two shells would start them: the first one's sum is its own."""
    script = tmp_path / "job.py"
    script.write_text(JOB)
    port = free_port()
    shared = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}

    def start(job, rank, value):
        environment = {**shared, "RANK": str(rank), "RUSHLIGHT_JOB_ID": job}
        command = [sys.executable, str(script), str(value)]
        return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    first = start("first", 0, 1)
    intruder = start("second", 1, 100)  # comes before the first job's own process
    told = intruder.communicate(timeout=60)[0]
    own = start("first", 1, 2)
    assert [p.communicate("\n", timeout=60)[0] for p in (first, own)] == ["3.0\n", "3.0\n"]
    assert intruder.returncode == 5 and "DistNetworkError" in told and "'first'" in told and "'second'" in told
