"""Saving to a file so that a reader, or a crash, meets the old one or the new one, with torch's errors."""

import contextlib
import os
import stat

from ..core.atomic import remove_leftovers, replacing, sync_folder
from ..core.terminal import long_work

__all__ = ["atomic_write"]


_CHUNK_BYTES = 1 << 25  # of what is shown to be written


@contextlib.contextmanager
def atomic_write(path, size_bytes=None):
    """Context manager that gives a binary file, which takes the place of `path` when the block ends without error.

    The bytes go to a temporary file in the same folder, reach the disk, and are renamed. After any error the temporary
    file is gone and `path` is as it was. A link is followed; the permissions of a replaced file are kept. What is not a
    regular file (a device, a pipe) is written to directly. What killed processes have left of their temporary files in
    the folder is removed. What takes more than two seconds is shown in a terminal, with its part of `size_bytes`.

    Raises RuntimeError when the folder does not exist, or when writing fails (a full disk), from the OSError.
    """
    target = os.path.realpath(os.fspath(path))
    if isinstance(target, bytes):
        target = os.fsdecode(target)
    with long_work(f"saving {os.path.basename(target)}", size_bytes) as advance, _replacing(target, path) as file:
        yield file if advance is None else _Shown(file, advance)


class _Shown:
    """A file that tells how much of it is written."""

    def __init__(self, file, advance):
        self._file, self._advance = file, advance

    def __getattr__(self, name):
        return getattr(self._file, name)

    def write(self, data):
        """Write all of it, in parts."""
        rest = memoryview(data).cast("B")
        for start in range(0, len(rest), _CHUNK_BYTES):
            part = rest[start : start + _CHUNK_BYTES]
            self._file.write(part)
            self._advance(len(part))
        return len(rest)


@contextlib.contextmanager
def _replacing(target, path):
    with _naming_errors(path):
        try:
            mode = os.stat(target).st_mode
        except (FileNotFoundError, NotADirectoryError):  # the folder is looked at below
            mode = None
    if mode is not None and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        with _naming_errors(path), open(target, "wb") as file:
            yield file
        return
    _check_target(target, mode, path)
    with _naming_errors(path):
        yield from _replace(target, mode)


def check_folder(path):
    """Raise RuntimeError where the folder of a file to be written does not exist."""
    folder = os.path.dirname(os.fsdecode(path))
    if folder and not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")


def _check_target(target, mode, path):
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {os.path.dirname(os.fsdecode(path)) or folder} does not exist.")
    if mode is not None and stat.S_ISDIR(mode):
        raise RuntimeError(f"invalid file name: {os.fspath(path)!r} is a directory")


@contextlib.contextmanager
def _naming_errors(path):
    try:
        yield
    except _NotSynced as error:
        raise RuntimeError(
            f"PytorchStreamWriter failed writing file {os.fspath(path)!r}: {error.__cause__}. The file has its new contents, "
            "but its folder did not reach the disk: a crash may bring back the one that was there before."
        ) from error.__cause__
    except OSError as error:
        raise RuntimeError(
            f"PytorchStreamWriter failed writing file {os.fspath(path)!r}: file write failed: {error}. "
            "A file that was there before is unchanged."
        ) from error


class _NotSynced(Exception):
    """The file was replaced, and fsync of its folder failed, for the cause."""


def _replace(target, mode):
    folder = os.path.dirname(target)
    remove_leftovers(folder)
    with replacing(target, mode=None if mode is None else stat.S_IMODE(mode), sync=True) as file:
        yield file
    try:
        sync_folder(folder)
    except OSError as error:
        raise _NotSynced from error
