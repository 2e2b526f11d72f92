"""How processes find each other: from an address to (store, rank, number of processes)."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from .errors import DistNetworkError
from .store import DEFAULT_TIMEOUT, FileStore, Store, StoreGone, TCPStore

__all__ = ["register_rendezvous_handler", "rendezvous"]

_handlers: dict[str, Callable[..., Iterator[tuple[Store, int, int]]]] = {}


def register_rendezvous_handler(scheme: str, handler: Callable[..., Any]) -> None:
    """Let `handler(url, timeout=...)` serve addresses that begin with `scheme://`; it yields (store, rank, size)."""
    if scheme in _handlers:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def rendezvous(
    url: str, rank: int = -1, world_size: int = -1, timeout: timedelta = DEFAULT_TIMEOUT
) -> Iterator[tuple[Store, int, int]]:
    """Yields (store, rank, number of processes) for an address: env://, tcp://host:port or file:///path.

    Raises ValueError for what neither the address nor the arguments nor the environment say.
    """
    from urllib.parse import parse_qsl, urlparse, urlunparse

    if not isinstance(url, (str, bytes)):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    parts = urlparse(str(url))
    if parts.scheme not in _handlers:
        raise RuntimeError(f"No rendezvous handler for {parts.scheme}://")
    query = dict(parse_qsl(parts.query))
    if rank != -1:
        query["rank"] = str(rank)
    if world_size != -1:
        query["world_size"] = str(world_size)
    plain = urlunparse(parts._replace(query="&".join(f"{k}={v}" for k, v in query.items())))
    return _handlers[parts.scheme](plain, timeout=timeout)


def _query(url: str) -> tuple[Any, dict[str, str]]:
    from urllib.parse import parse_qsl, urlparse

    parts = urlparse(url)
    return parts, dict(parse_qsl(parts.query))


def _missing(scheme: str, what: str) -> ValueError:
    return ValueError(f"Error initializing torch.distributed using {scheme}:// rendezvous: {what} parameter missing")


def _store_of_first(host: Any, port: int, world_size: int, rank: int, timeout: timedelta) -> TCPStore:
    """The store that process 0 keeps."""
    try:
        return TCPStore(host, port, world_size, rank == 0, timeout)
    except StoreGone as error:
        name = socket.gethostname() if _is_loopback(host) else host
        raise DistNetworkError(
            f"process 0 on host {name}, which kept the store, has ended before the group was made: {error}"
        ) from error


def _is_loopback(host: str) -> bool:
    try:
        return host == "::1" or socket.gethostbyname(host).startswith("127.")
    except OSError:
        return False


def _by_tcp(url: str, timeout: timedelta = DEFAULT_TIMEOUT, **options: Any) -> Iterator[tuple[Store, int, int]]:
    parts, query = _query(url)
    if not parts.port:
        raise _missing("tcp", "port number")
    for name in ("rank", "world_size"):
        if name not in query:
            raise _missing("tcp", name.replace("_", " "))
    rank, world_size = int(query["rank"]), int(query["world_size"])
    yield _store_of_first(parts.hostname, parts.port, world_size, rank, timeout), rank, world_size


def _by_file(url: str, timeout: timedelta = DEFAULT_TIMEOUT, **options: Any) -> Iterator[tuple[Store, int, int]]:
    parts, query = _query(url)
    path = parts.netloc + parts.path
    if not path:
        raise _missing("file", "path")
    for name in ("rank", "world_size"):
        if name not in query:
            raise _missing("file", name.replace("_", " "))
    rank, world_size = int(query["rank"]), int(query["world_size"])
    store = FileStore(path, world_size)
    store.set_timeout(timeout)
    yield store, rank, world_size


def _by_environment(url: str, timeout: timedelta = DEFAULT_TIMEOUT, **options: Any) -> Iterator[tuple[Store, int, int]]:
    _, query = _query(url)

    def variable(name: str) -> str:
        value = os.environ.get(name)
        if value is None:
            raise ValueError(
                f"Error initializing torch.distributed using env:// rendezvous: environment variable {name} expected, "
                "but not set"
            )
        return value

    rank = int(query["rank"]) if "rank" in query else int(variable("RANK"))
    world_size = int(query["world_size"]) if "world_size" in query else int(variable("WORLD_SIZE"))
    host, port = variable("MASTER_ADDR"), int(variable("MASTER_PORT"))
    yield _store_of_first(host, port, world_size, rank, timeout), rank, world_size


register_rendezvous_handler("tcp", _by_tcp)
register_rendezvous_handler("file", _by_file)
register_rendezvous_handler("env", _by_environment)
