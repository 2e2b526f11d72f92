"""Hosts of a network, played by network namespaces of this machine: each with a link of a given speed to one switch.

Making them needs Linux, the rights of root, `ip`, `tc` and `unshare`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["Hosts", "missing"]

_ROOT = str(Path(__file__).parent.parent)
_LIMIT_S = 600


def missing() -> str:
    """What these hosts need and is not there, or ''."""
    if sys.platform != "linux" or os.geteuid():
        return "Linux and the rights of root"
    return " and ".join(name for name in ("ip", "tc", "unshare") if not shutil.which(name))


def _run(*words: object) -> None:
    subprocess.run([str(word) for word in words], check=True, capture_output=True)


class Hosts:
    """`count` hosts with links of `mbit` Mbit/s in each direction. A context manager: at its end they are gone."""

    def __init__(self, count: int, mbit: int):
        self.names = [f"rlb{os.getpid()}-{i}" for i in range(count)]
        self.switch, self.mbit = f"rlb{os.getpid()}-s", mbit

    def __enter__(self) -> Hosts:
        try:
            _run("ip", "netns", "add", self.switch)
            _run("ip", "-n", self.switch, "link", "add", "switch", "type", "bridge")
            _run("ip", "-n", self.switch, "link", "set", "switch", "up")
            for i, name in enumerate(self.names):
                self._connect(i, name)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _connect(self, i: int, name: str) -> None:
        port = f"port{i}"
        _run("ip", "netns", "add", name)
        _run("ip", "link", "add", port, "netns", self.switch, "type", "veth", "peer", "eth0", "netns", name)
        _run("ip", "-n", self.switch, "link", "set", port, "master", "switch", "up")
        _run("ip", "-n", name, "addr", "add", f"10.92.1.{i + 1}/24", "dev", "eth0")
        for device in ("eth0", "lo"):
            _run("ip", "-n", name, "link", "set", device, "up")
        for space, device in ((name, "eth0"), (self.switch, port)):
            burst = max(1600, 40 * self.mbit)  # bytes: a frame, or what passes in a third of a millisecond
            limit = ("rate", f"{self.mbit}mbit", "burst", str(burst), "latency", "50ms")
            _run("ip", "netns", "exec", space, "tc", "qdisc", "add", "dev", device, "root", "tbf", *limit)

    def __exit__(self, *error: object) -> None:
        for name in (self.switch, *self.names):
            subprocess.run(["ip", "netns", "del", name], capture_output=True)

    def run(self, python: str, script: Path, *arguments: str) -> str:
        """Run a script on each host as one job under env://; what rank 0 has printed."""
        shared = {"MASTER_ADDR": "10.92.1.1", "MASTER_PORT": "29511", "WORLD_SIZE": str(len(self.names))}
        shared |= {"PYTHONPATH": _ROOT, "OMP_NUM_THREADS": "1", "UCX_TLS": "tcp,self", "GLOO_SOCKET_IFNAME": "eth0"}
        # a name and shared memory of its own: else MPI would take the hosts for one
        setup = 'mount -t tmpfs none /dev/shm; hostname "$0"; exec "$@"'
        processes = [
            subprocess.Popen(
                ["ip", "netns", "exec", name, "unshare", "--uts", "--mount", "sh", "-c", setup, f"host{rank}",
                 python, str(script), *arguments],
                env={**os.environ, **shared, "RANK": str(rank)}, stdout=subprocess.PIPE, text=True,
            )
            for rank, name in enumerate(self.names)
        ]  # fmt: skip
        try:
            said = [process.communicate(timeout=_LIMIT_S)[0] for process in processes]
        finally:
            for process in processes:
                process.kill()
                process.wait()
        if any(process.returncode for process in processes):
            raise RuntimeError(f"a job on {len(processes)} hosts failed: {[p.returncode for p in processes]}")
        return said[0]
