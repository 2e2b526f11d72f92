"""Compiled modules on disk, for the next process: machine code by the text it was made of, and what else made it so.

A file is `name.o`, its name the SHA-256 of the assembly, of how it is optimised, of llvmlite's and LLVM's versions, and of
the processor and its features. It begins with the SHA-256 of the rest: a damaged file counts as none and is made again.
`name.host` has what LLVM says of a processor (`host.py`).
Files are written aside and renamed, so that processes can share the folder; beyond `MOST_BYTES`, those read least
recently go.

`RUSHLIGHT_CACHE` names another folder than `rushlight/` in the user's folder of caches; "0" turns the cache off, and "1" leaves
it where it is. Code is read only from a folder that is the user's own and that no other user can write to.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import sys
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from ....core.atomic import replacing
from ...log import show

__all__ = ["MOST_BYTES", "Module", "folder", "key_of", "load", "read", "store", "write"]

MOST_BYTES = 256 << 20
_SWEPT_BY = 256  # one stored file in so many has the size of all looked at, whichever process stores it


class Module(NamedTuple):
    """What there is of a compiled module: the functions that it defines and calls, and its object file."""

    names: list[str]
    declared: list[str]
    image: bytes


def folder() -> Path | None:
    """Where compiled modules are kept; None where they are not."""
    setting = os.environ.get("RUSHLIGHT_CACHE", "")
    if setting == "0":
        return None
    if setting and setting != "1":
        return Path(setting).expanduser()
    if sys.platform == "darwin":
        return Path("~/Library/Caches/rushlight").expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "rushlight"


def key_of(*parts: str) -> str:
    """The name under which a module is kept that is determined by these texts."""
    digest = sha256()
    for part in parts:
        data = part.encode()
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()


def load(key: str) -> Module | None:
    """The module of this key; None where there is none, or where it is damaged or belongs to another user."""
    rest = read(f"{key}.o")
    if rest is None:
        return None
    head, _, image = rest.partition(b"\n")
    names, declared = json.loads(head)
    return Module(names, declared, image)


def store(key: str, module: Module) -> None:
    """Keep a module. What the disk does not allow is left out: the code runs without it."""
    write(f"{key}.o", json.dumps([module.names, module.declared]).encode() + b"\n" + module.image)


def read(name: str) -> bytes | None:
    """What `write` has kept under a name; None where there is nothing, or where it is damaged or belongs to another user."""
    where = folder()
    if where is None or not _is_own(where):
        return None
    path = where / name
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, _, rest = content.partition(b"\n")
    if digest != sha256(rest).hexdigest().encode():
        show("jit", lambda: f"cache: {path} is damaged and is made again")
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # for `_sweep`
    return rest


def write(name: str, rest: bytes) -> None:
    """Keep some bytes under a name, as far as the disk allows it."""
    where = folder()
    if where is None:
        return
    try:
        where.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_own(where):
            return
        with replacing(where / name, mode=0o600) as file:
            file.write(sha256(rest).hexdigest().encode() + b"\n" + rest)
        if crc32(name.partition(".")[0].encode()) % _SWEPT_BY == 0:  # thousands of files take a tenth of a second
            _sweep(where)
    except OSError as error:
        show("jit", lambda error=error: f"cache: nothing is kept in {where}: {error}")


def _is_own(where: Path) -> bool:
    """Whether the folder is this user's and closed to the writing of others."""
    try:
        found = where.stat()
    except OSError:
        return False
    if not hasattr(os, "getuid"):  # Windows: folders of users are closed
        return True
    return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _sweep(where: Path) -> None:
    """Remove the files that were read least recently, down to three quarters of the bound, and what writers left behind."""
    files = []
    for entry in os.scandir(where):
        with contextlib.suppress(OSError):
            if entry.name.endswith((".o", ".host", ".tmp", ".part")):  # .part: what older versions left
                found = entry.stat()
                files.append((found.st_mtime, found.st_size, entry.path))
    total = sum(size for _, size, _ in files)
    if total <= MOST_BYTES:
        return
    for _, size, path in sorted(files):
        with contextlib.suppress(OSError):
            os.unlink(path)
        total -= size
        if total <= MOST_BYTES * 3 // 4:
            return
