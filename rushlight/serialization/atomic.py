"""Writing a file so that a reader, or a crash, meets the old one or the new one and nothing in between."""

import contextlib
import os
import re
import stat

__all__ = ["atomic_write"]


@contextlib.contextmanager
def atomic_write(path):
    """Context manager that gives a binary file, which takes the place of `path` when the block ends without error.

    The bytes go to a temporary file in the same folder, reach the disk, and are renamed. After any error the temporary
    file is gone and `path` is as it was. A link is followed; the permissions of a replaced file are kept. What is not a
    regular file (a device, a pipe) is written to directly. What killed processes have left of their temporary files in
    the folder is removed.

    Raises RuntimeError when the folder does not exist, or when writing fails (a full disk), from the OSError.
    """
    target = os.path.realpath(os.fspath(path))
    if isinstance(target, bytes):
        target = os.fsdecode(target)
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
    remove_leftovers(os.path.dirname(target))
    temporary, file = _open_beside(target)
    try:
        with file:  # open, and so locked, until it has its name
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
    try:
        _sync_folder(os.path.dirname(target))
    except OSError as error:
        raise _NotSynced from error


def _open_beside(target):
    """(path, file) of a new temporary file, which is locked as long as its writer lives."""
    folder, name = os.path.split(target)
    while True:
        # a long name is shortened: the temporary one must fit into the file system's limit too
        temporary = os.path.join(folder, f".{name[:40]}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
        with contextlib.suppress(FileExistsError):
            file = open(temporary, "xb")  # noqa: SIM115 (the caller closes it)
            _lock(file)
            if os.path.exists(temporary):  # else another save took it for a leftover, before it was locked
                return temporary, file
            file.close()


# ---------------------------------------------------------------- what killed processes leave

_TEMPORARY = re.compile(r"\..{1,40}\.(\d+)-[0-9a-f]{8}\.tmp", re.DOTALL)


def remove_leftovers(folder):
    """Remove the temporary files of dead processes in a folder: own ones that no process has locked.

    The lock goes with the process, however it ended. A process that has the dead one's number by now is told by its start,
    which came after the file's last write.
    """
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            match = _TEMPORARY.fullmatch(entry.name)
            if match and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    _remove_if_left(entry.path, int(match[1]))


def _remove_if_left(path, pid):
    descriptor = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    with open(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        is_own = not hasattr(os, "geteuid") or about.st_uid == os.geteuid()
        if is_own and not _has_run_since(pid, about.st_mtime) and _lock(file):
            os.unlink(path)


def _lock(file):
    """Whether this process has the file's lock now; False where another one has it, or where there are no locks."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _has_run_since(pid, time):
    """Whether a process of this number has been running since `time`."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # another user's
        pass
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        with open("/proc/stat", "rb") as file:
            boot = int(re.findall(rb"^btime (\d+)$", file.read(), re.MULTILINE)[0])
    except (OSError, ValueError, IndexError, TypeError):  # no such system
        return True
    return boot + ticks / os.sysconf("SC_CLK_TCK") <= time + 2  # btime is of whole seconds


def _sync_folder(folder):
    if os.name == "nt":  # a folder cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
