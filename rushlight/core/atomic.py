"""Writing a file so that a reader meets the old one or the new one, whole: aside in its folder, then renamed."""

import contextlib
import os
import re
import sys

__all__ = ["open_aside", "remove_leftovers", "replace_by_link", "replacing", "sync_folder"]


@contextlib.contextmanager
def replacing(target, *, mode=None, sync=False):
    """Context manager that gives a new binary file, which takes the place of `target` when the block ends without error.

    It is a temporary file in the same folder until then. After any error it is gone, and `target` is as it was. `mode` are
    the file's permissions, those of `open()` by default; with `sync`, its bytes reach the disk before it is renamed.

    Raises OSError when the folder does not exist, or when writing fails (a full disk).
    """
    temporary, file = open_aside(target)
    try:
        with file:  # open, and so locked, until it has its name
            if mode is not None:
                os.chmod(temporary, mode)
            yield file
            file.flush()
            if sync:
                os.fsync(file.fileno())
            if os.name == "nt":  # an open file cannot be renamed there
                file.close()
            os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def replace_by_link(target, source):
    """Make `target` another name of the file `source`: at once, so that there is no moment without it.

    Raises OSError where the folder cannot be written, or the two are on different file systems; `target` is as it was then.
    """
    link = f"{target}.{os.getpid()}.link"
    os.link(source, link)
    try:
        os.replace(link, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(link)
        raise


def open_aside(target):
    """(path, file) of a new temporary file next to `target`, which is locked as long as its writer lives."""
    folder, name = os.path.split(os.fspath(target))
    while True:
        # a long name is shortened: the temporary one must fit into the file system's limit too
        temporary = os.path.join(folder, f".{name[:40]}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
        with contextlib.suppress(FileExistsError):
            file = open(temporary, "xb")  # noqa: SIM115 (the caller closes it)
            _lock(file)
            if os.path.exists(temporary):  # else another save took it for a leftover, before it was locked
                return temporary, file
            file.close()


def sync_folder(folder):
    """Wait until the names in a folder have reached the disk."""
    if os.name == "nt":  # a folder cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
    if sys.platform == "win32":  # where os.kill() ends processes
        return True
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
