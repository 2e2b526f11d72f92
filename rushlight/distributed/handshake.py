"""Who speaks: each connection begins with a proof that both ends know the same key, and with a word about themselves.

    client -> server   MAGIC, 32 random bytes a
    server -> client   MAGIC, 32 random bytes b, HMAC(key, "server" a b)
    client -> server   HMAC(key, "client" a b introduction), the introduction's size (2 bytes), the introduction
    server -> client   the refusal's size (2 bytes), the refusal; size 0: welcome

Until the client's proof has been checked, the server reads a few fixed sizes only, for at most `HELLO_S` seconds. The key
itself is never sent. What follows the handshake is neither encrypted nor signed: it keeps out strangers, not someone
who controls the network between the processes.
"""

from __future__ import annotations

import hmac
import json
import os
import socket
import struct
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

from .control import process_state
from .errors import DistNetworkError

__all__ = [
    "HELLO_S",
    "NotYet",
    "admit",
    "greet",
    "introduction",
    "job_key",
    "job_name",
    "receive_exactly",
    "same_job",
    "same_start",
    "starting",
]

HELLO_S = 10.0  # for the whole handshake
MAGIC = b"rushlt-2"
_NONCE, _PROOF = 32, 32
_LIMIT = 4096  # bytes of an introduction or a refusal
_CHUNK = 1 << 20
_start: ContextVar[int | None] = ContextVar("start", default=None)


class NotYet(Exception):
    """A client is welcome at this address, but not to this server: it comes again."""


# ---------------------------------------------------------------------------------------------- identity


def job_key() -> bytes:
    """The key that the processes of one job share: RUSHLIGHT_JOB_KEY, or a file in the home folder of the user.

    The file is made when it is first needed and can be read by its owner only. Processes of one user on one machine, or
    on machines with one home folder, find the same; elsewhere the environment has to say it.
    """
    given = os.environ.get("RUSHLIGHT_JOB_KEY")
    if given:
        return b"environment:" + given.encode()
    reasons = []
    for folder in _key_folders():
        try:
            return b"file:" + _key_in(folder)
        except OSError as error:
            reasons.append(str(error))
    raise DistNetworkError(
        "no key by which the processes of this job know each other: set RUSHLIGHT_JOB_KEY to the same secret text in all "
        f"of them ({'; '.join(reasons)})"
    )


def _key_folders() -> list[str]:
    own = str(os.getuid()) if hasattr(os, "getuid") else "user"
    return [
        os.path.join(_home(), ".cache", "rushlight"),
        os.path.join(tempfile.gettempdir(), f"rushlight-{own}"),
    ]


def _home() -> str:
    """The home folder by the user's entry, which does not depend on the environment; else what the environment says."""
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_dir
    except (ImportError, KeyError):
        return os.path.expanduser("~")


def _key_in(folder: str) -> bytes:
    """The key in a folder's file, which is made where it is missing. Raises OSError where others could write or read it."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, "job-key")
    if not os.path.exists(path):
        _make_key(folder, path)
    with open(path, "rb") as file:
        about = os.fstat(file.fileno())
        key = file.read(1024)
    if hasattr(os, "getuid") and (about.st_uid != os.getuid() or about.st_mode & 0o077):
        raise PermissionError(f"{path} belongs to another user, or others may read it (chmod 600 cures the latter)")
    if len(key) < 16:
        raise OSError(f"{path} holds {len(key)} bytes, which is too short for a key")
    return key


def _make_key(folder: str, path: str) -> None:
    """Write a new key next to its place and link it there: a second writer finds the first one's, never half of it."""
    descriptor, temporary = tempfile.mkstemp(prefix="job-key-", dir=folder)  # mode 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(os.urandom(32).hex().encode())
        with suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        os.unlink(temporary)


def job_name() -> str:
    """What tells this job from another one of the same user: what the launcher has set, or '' where nothing did."""
    for variable in ("RUSHLIGHT_JOB_ID", "TORCHELASTIC_RUN_ID"):
        value = os.environ.get(variable, "")
        if value and value != "none":
            return value
    return ""


def introduction() -> dict[str, Any]:
    """What a process says of itself."""
    command = " ".join(sys.argv)[:200] or sys.executable
    who = {"job": job_name(), "host": socket.gethostname(), "pid": os.getpid(), "command": command}
    return {**who, "process": process_state.identity(), "start": _start.get()}


@contextmanager
def starting(number: int) -> Iterator[None]:
    """Within the context, this process introduces itself as one that makes its default group number `number`."""
    token = _start.set(number)
    try:
        yield
    finally:
        _start.reset(token)


def described(who: dict[str, Any]) -> str:
    """`introduction` in words."""
    job = f"job {who.get('job')!r}" if who.get("job") else "a job without a name"
    return f"process {who.get('pid')} on {who.get('host')} ({who.get('command')}) of {job}"


def named(who: dict[str, Any]) -> str:
    """A process of the job in few words."""
    rank = who.get("rank")
    name = "a process" if rank is None else f"process {rank}"
    return f"{name} (pid {who['pid']} on host {who['host']})" if "pid" in who else name


def same_start(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two introductions may be of one default group: those that are made for no group may be."""
    return None in (one.get("start"), other.get("start")) or one["start"] == other["start"]


def same_job(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two introductions may be of one job: a job without a name may be any."""
    return not one.get("job") or not other.get("job") or one["job"] == other["job"]


# ---------------------------------------------------------------------------------------------- the exchange


def greet(connection: socket.socket, key: bytes, who: dict[str, Any], deadline: float) -> None:
    """The client's part. Raises DistNetworkError where the other end is no member, EOFError or OSError where it is gone."""
    mine = os.urandom(_NONCE)
    connection.sendall(MAGIC + mine)
    theirs = receive_exactly(connection, len(MAGIC) + _NONCE + _PROOF, deadline)
    if theirs[: len(MAGIC)] != MAGIC:
        raise DistNetworkError(f"what listens at {_name(connection)} is no Rushlight process of this version")
    nonce, proof = theirs[len(MAGIC) : -_PROOF], theirs[-_PROOF:]
    if not hmac.compare_digest(proof, _proof(key, b"server", mine, nonce)):
        raise DistNetworkError(
            f"the process that listens at {_name(connection)} has another key: it belongs to another user or another job, or "
            "to a machine with another home folder. Set RUSHLIGHT_JOB_KEY to the same secret text in all processes of a job."
        )
    said = json.dumps(who).encode()
    connection.sendall(_proof(key, b"client", mine, nonce, said) + struct.pack("!H", len(said)) + said)
    refusal = _short(connection, deadline).decode(errors="replace")
    if refusal:
        raise DistNetworkError(refusal)


def admit(connection: socket.socket, key: bytes, judge: Any) -> dict[str, Any] | None:
    """The server's part: the introduction of a client that has proved to know the key, and None for any other.

    `judge(introduction)` returns '' or why this client, although it knows the key, is refused for good. It raises NotYet
    where the client is to come again.
    """
    deadline = time.monotonic() + HELLO_S
    try:
        first = receive_exactly(connection, len(MAGIC) + _NONCE, deadline)
        if first[: len(MAGIC)] != MAGIC:
            return None
        theirs, mine = first[len(MAGIC) :], os.urandom(_NONCE)
        connection.sendall(MAGIC + mine + _proof(key, b"server", theirs, mine))
        proof = receive_exactly(connection, _PROOF, deadline)
        said = _short(connection, deadline)
        if not hmac.compare_digest(proof, _proof(key, b"client", theirs, mine, said)):
            return None
        who = json.loads(said)
        refusal = judge(who).encode()[:_LIMIT]
        connection.sendall(struct.pack("!H", len(refusal)) + refusal)
        connection.settimeout(None)
    except (EOFError, OSError, ValueError, NotYet):
        return None
    return None if refusal else who


def _proof(key: bytes, side: bytes, client: bytes, server: bytes, said: bytes = b"") -> bytes:
    return hmac.digest(key, side + client + server + said, "sha256")


def _short(connection: socket.socket, deadline: float) -> bytes:
    (size,) = struct.unpack("!H", receive_exactly(connection, 2, deadline))
    if size > _LIMIT:
        raise EOFError(f"an introduction of {size} bytes")
    return receive_exactly(connection, size, deadline)


def _name(connection: socket.socket) -> str:
    host, port, *_ = connection.getpeername()
    return f"{host}:{port}"


def receive_exactly(connection: socket.socket, size: int, deadline: float | None = None) -> bytes:
    """The next `size` bytes. Memory grows with what arrives, not with what was announced.

    Raises EOFError when the other end is gone, TimeoutError at `deadline` on the monotonic clock.
    """
    data = bytearray()
    while len(data) < size:
        if deadline is not None:
            connection.settimeout(max(0.001, deadline - time.monotonic()))
        part = connection.recv(min(size - len(data), _CHUNK))
        if not part:
            raise EOFError("the other process closed the connection")
        data += part
    return bytes(data)
