"""Writing a file so that a reader, or a crash, meets the old one or the new one and nothing in between."""

import contextlib
import os
import stat

__all__ = ["atomic_write"]


@contextlib.contextmanager
def atomic_write(path):
    """Context manager that gives a binary file, which takes the place of `path` when the block ends without error.

    The bytes go to a temporary file in the same folder, reach the disk, and are renamed. After any error the temporary
    file is gone and `path` is as it was. A link is followed; the permissions of a replaced file are kept. What is not a
    regular file (a device, a pipe) is written to directly.

    Raises RuntimeError when the folder does not exist, or when writing fails (a full disk), from the OSError.
    """
    target = os.path.realpath(os.fspath(path))
    if isinstance(target, bytes):
        target = os.fsdecode(target)
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        with _naming_errors(path), open(target, "wb") as file:
            yield file
        return
    _check_target(target, mode, path)
    with _naming_errors(path):
        yield from _replace(target, mode)


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
    except OSError as error:
        raise RuntimeError(
            f"PytorchStreamWriter failed writing file {os.fspath(path)!r}: file write failed: {error}. "
            "A file that was there before is unchanged."
        ) from error


def _replace(target, mode):
    temporary, file = _open_beside(target)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(temporary, stat.S_IMODE(mode))
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(os.path.dirname(target))


def _open_beside(target):
    folder, name = os.path.split(target)
    while True:
        # a long name is shortened: the temporary one must fit into the file system's limit too
        temporary = os.path.join(folder, f".{name[:40]}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
        with contextlib.suppress(FileExistsError):
            return temporary, open(temporary, "xb")


def _sync_folder(folder):
    if os.name == "nt":  # a folder cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
