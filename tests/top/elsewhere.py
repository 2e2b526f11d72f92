"""What makes a process on Linux look like one on macOS or Windows: the names that those lack are taken from Python.

`ELSEWHERE.format(**SYSTEMS[name])` is the beginning of a program.
"""

NOT_ON_MACOS = {
    "os": "memfd_create sched_getaffinity posix_fallocate eventfd",
    "socket": "SOCK_SEQPACKET SOCK_CLOEXEC",
    "select": "epoll",
    "mmap": "MADV_HUGEPAGE MAP_POPULATE MAP_NORESERVE",
}
NOT_ON_WINDOWS = {
    "os": "fork register_at_fork getuid geteuid uname sysconf memfd_create sched_getaffinity posix_spawn setsid O_NOFOLLOW "
    "O_DIRECTORY posix_fallocate pread pwrite wait kill",  # kill(): there is one, which ends the process
    "signal": "SIGKILL SIGSTOP SIGCONT SIGCHLD SIGUSR1 SIGHUP SIG_BLOCK SIG_UNBLOCK SIG_SETMASK pthread_sigmask setitimer",
    "socket": "AF_UNIX SCM_RIGHTS SOCK_SEQPACKET SOCK_CLOEXEC send_fds recv_fds",
    "select": "poll epoll POLLIN",
    "mmap": "MAP_PRIVATE MAP_SHARED MAP_ANONYMOUS PROT_READ PROT_WRITE MADV_DONTNEED MADV_HUGEPAGE",
}
# Python's own modules have chosen their way by then, and so has llvmlite, whose library is the one for Linux
ELSEWHERE = """
import asyncio, builtins, concurrent.futures.process, ctypes, getpass, http.client, importlib, mmap, multiprocessing.spawn
import os, pdb, platform, select, shutil, signal, socket, subprocess, sys, tempfile, tqdm, urllib.request, webbrowser
import llvmlite.binding, ml_dtypes, numpy

for module, names in {lacking!r}.items():
    for name in names.split():
        vars(importlib.import_module(module)).pop(name, None)
for name in {modules!r}.split():
    sys.modules[name] = None


def only_elsewhere(file, *args, _open=builtins.open, **kwargs):
    if str(file).startswith(("/proc", "/sys", "/dev/shm")):
        raise FileNotFoundError(2, "no such file", file)
    return _open(file, *args, **kwargs)


class Library(ctypes.CDLL):
    def __init__(self, name, *args, **kwargs):
        if name is None and sys.platform == "win32":
            raise TypeError("bad argument type for built-in operation")
        super().__init__("libm.so.6" if name == "/usr/lib/libSystem.dylib" else name, *args, **kwargs)


machine = platform.machine()  # which may start a process
builtins.open, ctypes.CDLL = only_elsewhere, Library
sys.platform, system = {platform!r}
platform.system, platform.machine = lambda: system, lambda: machine
"""
SYSTEMS = {
    "macOS": {"lacking": NOT_ON_MACOS, "modules": "", "platform": ("darwin", "Darwin")},
    "Windows": {
        "lacking": NOT_ON_WINDOWS,
        "modules": "fcntl resource pwd grp termios pty _posixsubprocess",
        "platform": ("win32", "Windows"),
    },
}
