"""Hosts that lose each other: network namespaces of this machine, whose link goes down or whose address goes away.

Making them needs the rights of root.
"""

import os
import shutil
import struct
import subprocess
import sys
import time
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from rushlight.distributed import mesh

LIMIT_S = 20.0  # 5 to 7 where the machine has nothing else to do; the limit of the calls is half an hour
_number = count()

PROGRAM = """
import sys, time, torch, torch.distributed as dist
dist.init_process_group("gloo")
x = torch.ones(4)
dist.all_reduce(x)
print("begun", flush=True)
try:
    while True:
        dist.all_reduce(x)
        time.sleep(0.01)
except dist.DistBackendError as error:
    print(error, flush=True)
"""


def run(*command):
    subprocess.run(command, check=True, capture_output=True)


class Hosts:
    """Two hosts with a link between them."""

    def __init__(self):
        self.names = [f"rl{os.getpid()}-{next(_number)}" for _ in range(2)]
        self.processes = []

    def __enter__(self):
        if sys.platform != "linux" or os.geteuid() or not shutil.which("ip") or not shutil.which("unshare"):
            pytest.skip("needs root, ip and unshare")
        ends = [f"v{name[2:]}"[:15] for name in self.names]
        try:
            for name in self.names:
                run("ip", "netns", "add", name)
            run(
                "ip",
                "link",
                "add",
                ends[0],
                "netns",
                self.names[0],
                "type",
                "veth",
                "peer",
                ends[1],
                "netns",
                self.names[1],
            )
            for i, (name, end) in enumerate(zip(self.names, ends, strict=True)):
                run("ip", "-n", name, "addr", "add", f"10.91.7.{i + 1}/24", "dev", end)
                run("ip", "-n", name, "link", "set", end, "up")
                run("ip", "-n", name, "link", "set", "lo", "up")
        except subprocess.CalledProcessError as error:
            self.__exit__()
            pytest.skip(f"no network namespaces: {error.stderr.decode()}")
        self.ends = ends
        return self

    def __exit__(self, *error):
        for process in self.processes:
            process.kill()
            process.wait()
            process.stdout.close()
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)

    def command(self, rank, *words):
        """A command on a host, with a name of the host's own."""
        place = ["ip", "netns", "exec", self.names[rank], "unshare", "--uts", "sh", "-c", 'hostname "$0"; exec "$@"']
        return [*place, f"host{rank}", sys.executable, "-m", *words]

    def begin(self, script):
        """Start a process on each host, with a name of the host's own; wait until they work together."""
        shared = {"MASTER_ADDR": "10.91.7.1", "MASTER_PORT": "29501", "WORLD_SIZE": "2", "RUSHLIGHT_MPI": "0"}
        shared["PYTHONPATH"] = str(Path(mesh.__file__).parents[2])
        for rank in range(2):
            command = self.command(rank, "rushlight", "run", str(script))
            environment = {**os.environ, **shared, "RANK": str(rank)}
            self.processes.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
        assert [process.stdout.readline() for process in self.processes] == ["begun\n"] * 2

    def said(self):
        """What each process has said at its end."""
        return [process.stdout.read() for process in self.processes]


WORLD = """
import os, sys, time
while True:
    print(os.environ["RANK"], os.environ["WORLD_SIZE"], flush=True)
    time.sleep(0.2)
    if os.environ["WORLD_SIZE"] == "1" and os.path.exists(sys.argv[1]):
        break
"""


def begin_launchers(hosts, folder):
    """A launcher on each host, of a job whose machines may come and go."""
    options = ["--nnodes", "1:2", "--rdzv-endpoint", "10.91.7.1:29400", "--rdzv-conf", "last_call_timeout=60"]
    environment = {**os.environ, "PYTHONPATH": str(Path(mesh.__file__).parents[2])}
    for rank in (0, 1):
        command = hosts.command(rank, "rushlight.distributed.run", *options, str(folder / "world.py"), str(folder))
        hosts.processes.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
    assert sorted(process.stdout.readline() for process in hosts.processes) == ["0 2\n", "1 2\n"]  # who came first


def test_cuts_and_a_lost_address(tmp_path):
    """At the same time, since most of it is waiting."""
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "world.py").write_text(WORLD)
    with Hosts() as cut, Hosts() as lost, Hosts() as elastic:
        begin_launchers(elastic, tmp_path)
        for hosts in (cut, lost):
            hosts.begin(tmp_path / "program.py")
        begun = time.monotonic()
        for hosts in (cut, elastic):
            run("ip", "-n", hosts.names[1], "link", "set", hosts.ends[1], "down")
        run("ip", "-n", lost.names[1], "addr", "del", "10.91.7.2/24", "dev", lost.ends[1])
        for hosts in (cut, lost):
            for rank, text in enumerate(hosts.said()):
                assert f"process {1 - rank} " in text and f"host host{1 - rank}" in text
        assert time.monotonic() - begun < LIMIT_S
        assert elastic.said()[0].endswith("0 1\n")  # the first host goes on alone
        assert [process.wait(60) for process in elastic.processes] == [0, 1]


@pytest.mark.parametrize(
    "facts, cut",
    [
        ((1, 5001, 0, 0), True),  # not acknowledged
        ((1, 4999, 0, 0), False),
        ((0, 60_000, 0, 100), False),  # nothing to say
        ((0, 5001, 52, 100), True),  # not sent, though there is room
        ((0, 60_000, 52, 0), False),  # a process that takes nothing
    ],
)
def test_what_the_kernel_says(facts, cut):
    unacknowledged, last_ms, unsent, room = facts
    info = struct.pack("=24xI28xI84xI80xI", unacknowledged, last_ms, unsent, room)
    assert mesh._is_cut(SimpleNamespace(getsockopt=lambda *_: info)) is cut
    old = SimpleNamespace(getsockopt=lambda *_: info[:104])  # Linux 4
    assert mesh._is_cut(old) is (cut and unacknowledged > 0)
